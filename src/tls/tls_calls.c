/* See tls_calls.h. */
#include "tls_calls.h"

const tls_calls baton_tls_calls_1 = {
    .open = tls_open,
    .close = tls_close,
    .dial = tls_dial,
    .dial_by_key = tls_dial_by_key,
    .hang_up = tls_hang_up,
    .feed = tls_feed,
    .read = tls_read,
    .write = tls_write,
    .unsent = tls_unsent,
    .sent = tls_sent,
    .is_ready = tls_is_ready,
    .failed = tls_failed,
    .why = tls_why,
};
