/*
 * libcurl's transfers on a libuv loop: its sockets are watched, its alarm is set, and who began a
 * transfer is told when it is done. Knows nothing of etcd.
 */
#ifndef BATON_ETCD_TRANSFERS_H
#define BATON_ETCD_TRANSFERS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <uv.h>

/* `owner` is what the transfer has as CURLOPT_PRIVATE. It is under way no more. */
typedef void transfer_done(void *owner, CURLcode result);

typedef struct transfers {
    uv_loop_t *loop;
    CURLM *multi;
    uv_timer_t alarm; /* libcurl's */
    transfer_done *done;
    bool closed;
} transfers;

/* False if there is no memory; then there is nothing to close. */
bool transfers_open(transfers *t, uv_loop_t *loop, transfer_done *done);
/* False if there is no memory. `done` is not called before this returns. */
bool transfers_begin(transfers *t, CURL *one);
/* It is under way; nobody is told. */
void transfers_end(transfers *t, CURL *one);
/* None is under way any more. The loop must run once more before t is freed. */
void transfers_close(transfers *t);

#endif
