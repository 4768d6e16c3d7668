/* The server: sessions on sockets, on several event loops (libuv). */
#ifndef BATON_NET_SERVE_H
#define BATON_NET_SERVE_H

#include "session.h"

enum { MOST_ADDRESSES = 8, MOST_LOOPS = 64 };

typedef enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } log_level;

typedef struct serve_settings {
    const char *address[MOST_ADDRESSES]; /* HOST:PORT, or the path of a Unix socket */
    uint32_t addresses;
    const char *http; /* HOST:PORT of /health and /metrics; NULL: none */
    uint32_t loops;
    uint32_t most_connections;
    uint32_t most_waiters; /* for one lock */
    size_t most_name;
    size_t most_output;
    uint64_t grace;     /* milliseconds for which a lost connection keeps what it held */
    uint64_t idle_exit; /* milliseconds without a connection after which it ends; 0: never */
    const char *state;  /* file of tokens */
    bool at_once;       /* nobody is held back after a crash */
    const char *secret;
    log_level level;
} serve_settings;

/* Serves until SIGINT or SIGTERM. Returns NULL, or why it could not begin. */
const char *serve(const serve_settings *settings);

#endif
