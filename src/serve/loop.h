/*
 * Event loops and their connections, as the files of the server share them. A connection stays with
 * its loop, and only that touches it; only the letter box is for everybody.
 */
#ifndef BATON_SERVE_LOOP_H
#define BATON_SERVE_LOOP_H

#include "address.h"
#include "baton/lock.h"
#include "list.h"
#include "log.h"
#include "serve.h"
#include "tls.h"

#include <pthread.h>
#include <uv.h>

enum { CHUNK = 65536 };

typedef struct connection connection;

/* A socket on its way to the loop that will serve it. */
typedef struct newcomer {
    struct newcomer *next;
    int socket;
    address_kind kind;
} newcomer;

/*
 * A loop and its letter box. Who has the box's lock may put something in; the loop takes it out
 * when it is woken.
 */
typedef struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t before_sleep; /* looks into the letter box for what the loop itself put there */
    uv_idle_t backlog_waits;   /* runs while `backlog` is not empty, and keeps the loop awake */
    pthread_t thread;
    service *service;
    const serve_settings *settings;
    baton_atomic_count *connections_of_all;
    baton_atomic_count *strangers_of_all;
    uint32_t max_strangers;
    tls_party *tls;                     /* for who comes by TLS; NULL: nobody does */
    baton_atomic_count *staying_of_all; /* sessions whose connection is gone */
    log_sum *cut_off_of_all;
    traffic traffic;
    baton_tas box;
    notice *first_notice, *last_notice;
    newcomer *first_newcomer, *last_newcomer;
    bool stops, closes;   /* first all loops stop, then all close their connections */
    bool has_own_notices; /* it has put some into its own box, and nobody has woken it */
    bool stopping;        /* the loop has heard that it stops */
    uint64_t lease_left;  /* longest that something was held under when it stopped */
    list_head connections;
    list_head dirty;     /* those that have had a notice, and not been served since */
    list_head unsent;    /* those that send when the turn has ended */
    list_head strangers; /* that have not given the password yet, the oldest first */
    list_head backlog;   /* those that have said more than their share; served in turn */
    char chunk[CHUNK];
    char plain[CHUNK]; /* what that means, if it came by TLS */
} loop;

struct connection {
    session session; /* first: found from it */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    tls_stream *tls; /* NULL: it is plain */
    uv_timer_t timer;
    uv_write_t write;
    resp_out sending; /* what libuv is writing */
    char *pending;    /* bytes that were read and not yet used */
    size_t pending_bytes, pending_capacity;
    loop *in;
    list_link in_connections, in_dirty, in_unsent, in_backlog, in_strangers;
    uint64_t timer_at; /* when the timer goes off; 0: it does not */
    bool writes, closing, paused;
    bool looked_first; /* its lease seems to be over, and the timer comes again after a look */
    uint8_t open_handles;
};

/* ---- connection.c ---- */

/* Serves a socket from now on. */
void connection_welcome(loop *in, const newcomer *who);
/* Takes notices to sessions of this loop out of its box, and sends what came of them. */
void loop_deliver(loop *in);
/* The loop that this thread runs. */
extern _Thread_local loop *loop_running;
/* Goes on with what was read before; sends what came of it; sets the clock. */
void connection_serve(connection *c);
/* The server ends: from now on nothing is read or sent, and nobody waits. */
void connection_stop(connection *c);
/* And when that is so on all loops, without grace. */
void connection_finish(connection *c);
/* The socket goes at once, the session when its grace is over. */
void connection_close(connection *c, const char *why);

/* ---- sending.c ---- */

/* Sends what the session has to say; if that is not so yet, at the end of the turn. */
void connection_send(connection *c);
/* Sends what TLS has to say of its failure, and nothing else, and closes. */
void connection_fail(connection *c, const char *why);
/* It does not read, and TLS has more and more to answer: it says things that want an answer. */
bool connection_owes_too_much(const connection *c);
/* What all connections have to send, after the end of the turn. */
void loop_send(loop *in);

#endif
