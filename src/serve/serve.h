/* The server: sessions on sockets, on several event loops (libuv). */
#ifndef BATON_SERVE_SERVE_H
#define BATON_SERVE_SERVE_H

#include "complaint.h"
#include "log.h"
#include "session.h"
#include "tls.h"

struct server;

enum { MAX_ADDRESSES = 8, MAX_LOOPS = 64, SERVE_WHY = 256 }; /* the last: bytes of a sentence */

/*
 * What stands behind the sessions. `open` makes service.locks, when the loops are there and nobody
 * can connect yet; false, and why, if it cannot. `look_after` is called ten times a second, by the
 * first loop; `close` when everybody is gone.
 */
typedef struct serve_backend {
    bool (*open)(struct server *of, char complaint[COMPLAINT]);
    void (*look_after)(struct server *of);
    void (*stop)(
        struct server *of); /* the first loop ends: close what is open in it; may be NULL */
    void (*close)(struct server *of);
    /*
     * It was told to end: called again and again, by the first loop, until it is true or
     * settings.drain is over. Nobody new connects meanwhile. May be NULL.
     */
    bool (*drained)(struct server *of);
    /* The rest is called by the thread of the pages. */
    lock_counts (*count)(struct server *of);
    /* These may be NULL. */
    bool (*is_open)(struct server *of, char why[SERVE_WHY]); /* if nobody can be let in, why */
    void (*more_metrics)(struct server *of, resp_out *text); /* besides the usual */
} serve_backend;

/* The registers of this server alone. */
extern const serve_backend serve_alone;

typedef struct serve_settings {
    const serve_backend *backend;
    void *context;                      /* the backend's */
    const char *address[MAX_ADDRESSES]; /* HOST:PORT, tls://HOST:PORT, or a Unix socket's path */
    uint32_t addresses;
    const char *http; /* HOST:PORT of /health and /metrics; NULL: none */
    uint32_t loops;
    uint32_t max_connections;
    uint32_t max_waiters; /* for one lock */
    size_t max_name;
    size_t max_word; /* bytes of any other word of a command; 0: as a name */
    size_t max_output;
    uint64_t grace;     /* milliseconds for which a lost connection keeps what it held */
    uint64_t drain;     /* milliseconds for which it may take leave; 0: it ends at once */
    uint64_t idle_exit; /* milliseconds without a connection after which it ends; 0: never */
    const char *state;  /* file of tokens */
    bool at_once;       /* nobody is held back after a crash */
    const char *secret;
    tls_settings tls; /* for tls://; files only */
    log_level level;
} serve_settings;

/* Serves until SIGINT, SIGTERM or SIGHUP. Returns NULL, or why it could not begin. */
const char *serve(const serve_settings *settings);

#endif
