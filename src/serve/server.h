/* The server as its own files share it: serve.c, hold_back.c and pages.c. */
#ifndef BATON_SERVE_SERVER_H
#define BATON_SERVE_SERVER_H

#include "http.h"
#include "listen.h"
#include "log.h"
#include "loop.h"
#include "tokens.h"

typedef struct server {
    service service; /* first: found from it */
    const serve_settings *settings;
    tokens tokens;
    loop *loop;
    uint32_t loops;
    uint32_t next_loop;
    listeners *listening;
    tls_party *tls; /* NULL: no address asks for it */
    uv_timer_t care;
    uint64_t idle_since;
    uint64_t drains_until; /* 0: it does not */
    uint64_t max_kept;     /* locks and connections, since memory was last given back */
    uint32_t max_connections;
    uv_signal_t signals[3]; /* that end it */
    baton_atomic_count connections;
    baton_atomic_count strangers; /* of these, who have not given the password */
    baton_atomic_count staying;   /* sessions whose connection is gone, and not their grace */
    baton_atomic_count accepted;
    BATON_ATOMIC(bool) ending;
    baton_atomic_count stopped;         /* loops */
    baton_atomic_count held_back_until; /* milliseconds; 0: grants are not held back */
    session before;                     /* who holds all locks until then */
    guesses guesses;
    uint64_t guesses_told, guesses_told_at;     /* so many of them the log has heard of, and when */
    log_sum turned_away, cut_off, http_refused; /* connections */
    http_pages *pages;
} server;

/* ---- hold_back.c ---- */

/* When the state is open, and nobody is connected yet. */
void hold_back_begin(server *of);
/* Looks at the clock; to be called often, by the first loop. */
void hold_back_look(server *of);
/* Milliseconds for which grants are still held back. From any thread. */
uint64_t hold_back_left(const server *of);
/* For the service: a session's lease is about to change. */
bool hold_back_change_lease(service *s, uint64_t from, uint64_t to);

/* ---- pages.c ---- */

/* /health and /metrics; false if they cannot be served, and why. */
bool pages_open(server *of, char complaint[COMPLAINT]);
/* For the service: what INFO shows of the server. */
void pages_info(service *s, resp_out *out);

#endif
