/* Connections: moves bytes between sockets and sessions, and tells sessions the time. */
#include "listen.h"
#include "log.h"
#include "loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a client may take to give the password, in milliseconds. */
enum { STRANGER_MS = 10000 };

/* Sessions whose connection is gone, and whose lease is not over; more are let go at once. */
enum { MAX_STAYING = 10000 };

/* ---- the letter box ---- */

_Thread_local loop *loop_running;

static void post(lock_session *who, notice *n)
{
    loop *in = ((connection *)(void *)who)->in;
    n->next = NULL;
    baton_tas_enter(&in->box);
    if (in->last_notice != NULL)
        in->last_notice->next = n;
    else
        in->first_notice = n;
    in->last_notice = n;
    baton_tas_exit(&in->box);
    if (in == loop_running)
        in->has_own_notices = true; /* it is awake, and looks before it sleeps */
    else
        uv_async_send(&in->wake);
}

/* Nobody posts to the session any more; what is still in the box is not for it to read. */
static void drop_notices(loop *in, const lock_session *to)
{
    baton_tas_enter(&in->box);
    notice **link = &in->first_notice;
    in->last_notice = NULL;
    while (*link != NULL) {
        notice *n = *link;
        if (n->to == to) {
            *link = n->next;
            free(n);
        } else {
            in->last_notice = n;
            link = &n->next;
        }
    }
    baton_tas_exit(&in->box);
}

/* ---- the end of a connection ---- */

static void handle_closed(uv_handle_t *handle)
{
    connection *c = handle->data;
    if (--c->open_handles > 0)
        return;
    list_remove(&c->in_unsent);
    list_remove(&c->in_backlog);
    list_remove(&c->in_connections);
    session_free(&c->session);
    tls_hang_up(c->tls);
    resp_free(&c->sending);
    free(c->pending);
    free(c);
}

static void end_session(connection *c)
{
    uint64_t lease = session_end(&c->session, uv_now(&c->in->uv));
    if (c->in->stopping && lease > c->in->lease_left)
        c->in->lease_left = lease;
    drop_notices(c->in, &c->session.who);
    uv_close((uv_handle_t *)&c->timer, handle_closed);
}

/* Its grace, or its lease. */
static void stay_over(connection *c)
{
    atomic_fetch_sub_explicit(c->in->staying_of_all, 1, memory_order_relaxed);
    end_session(c);
}

static void grace_over(uv_timer_t *timer)
{
    stay_over(timer->data);
}

/* Whatever it keeps for a while, it must not get more. */
static void give_up_wait(connection *c)
{
    session *s = &c->session;
    if (s->waits_for != NULL) /* a lock; not an answer that comes in any case */
        s->of->locks->backend->wait_over(s->of->locks, &s->who, s->waits_for, s->waits_for_bytes,
                                         uv_now(&c->in->uv));
}

static void stranger_no_more(connection *c)
{
    if (!list_is_linked(&c->in_strangers))
        return;
    list_remove(&c->in_strangers);
    atomic_fetch_sub_explicit(c->in->strangers_of_all, 1, memory_order_relaxed);
}

/*
 * For so long, in milliseconds, its section goes on. A client that is cut off may act until its
 * lease is over, and nobody can tell it not to.
 */
static uint64_t stays_for(connection *c)
{
    session *s = &c->session;
    const lock_backend *backend = s->of->locks->backend;
    uint64_t now = uv_now(&c->in->uv);
    bool may_act = !s->quits && s->lease_until > now && backend->must_stay != NULL &&
                   traffic_read(c->in->staying_of_all) < MAX_STAYING &&
                   backend->must_stay(s->of->locks, &s->who);
    uint64_t left = may_act ? s->lease_until - now : 0;
    return left > c->in->settings->grace ? left : c->in->settings->grace;
}

/* The socket goes at once, the session when its grace is over. */
void connection_close(connection *c, const char *why)
{
    if (c->closing)
        return;
    c->closing = true;
    log_line(LOG_DEBUG, "disconnected", "from=%s why=\"%s\"", c->session.who.from, why);
    uv_close(&c->socket.handle, handle_closed);
    give_up_wait(c);
    stranger_no_more(c);
    atomic_fetch_sub_explicit(c->in->connections_of_all, 1, memory_order_relaxed);
    uint64_t grace = c->in->stopping ? 0 : stays_for(c);
    if (grace == 0) {
        end_session(c);
        return;
    }
    atomic_fetch_add_explicit(c->in->staying_of_all, 1, memory_order_relaxed);
    uv_timer_start(&c->timer, grace_over, grace, 0);
}

void connection_stop(connection *c)
{
    if (c->closing)
        return;
    uv_read_stop(&c->socket.stream);
    give_up_wait(c);
}

void connection_finish(connection *c)
{
    if (!c->closing)
        connection_close(c, "the server ends");
    else if (uv_is_active((uv_handle_t *)&c->timer))
        stay_over(c);
}

/* ---- time ---- */

static void time_over(uv_timer_t *timer);

/*
 * The loop may have stood still, and timers come before sockets: a lease is over only if a look at
 * the socket, which comes in between, brings nothing.
 */
static bool must_look_first(connection *c)
{
    const session *s = &c->session;
    bool over = s->lease_until != 0 && uv_now(&c->in->uv) >= s->lease_until;
    c->looked_first = over && !c->looked_first;
    if (c->looked_first)
        uv_timer_start(&c->timer, time_over, 1, 0);
    return c->looked_first;
}

static void time_over(uv_timer_t *timer)
{
    connection *c = timer->data;
    session *s = &c->session;
    if (must_look_first(c))
        return;
    c->timer_at = 0;
    if (c->in->has_own_notices)
        loop_deliver(c->in); /* a grant that is on its way renews the lease */
    session_time(s, uv_now(&c->in->uv));
    connection_serve(c);
    bool is_late = !s->trusted && s->stranger_until != 0 && uv_now(&c->in->uv) >= s->stranger_until;
    if (is_late && c->writes) /* it leaves unread what it is told, maybe for ever */
        connection_close(c, "no password came in time");
}

static void set_timer(connection *c)
{
    enum {
        SOON = 1
    }; /* milliseconds; with none, a timer that sets itself keeps the loop for ever */
    uint64_t at = session_deadline(&c->session);
    uint64_t now = uv_now(&c->in->uv);
    if (c->closing || c->looked_first || at == c->timer_at)
        return;
    /*
     * A lease that was renewed is looked at when it would have ended: later is cheaper than anew.
     */
    if (at != 0 && c->timer_at != 0 && c->timer_at < at)
        return;
    c->timer_at = at;
    if (at == 0)
        uv_timer_stop(&c->timer);
    else
        uv_timer_start(&c->timer, time_over, at > now ? at - now : SOON, 0);
}

/* ---- bytes in ---- */

static bool keep_pending(connection *c, const char *bytes, size_t count)
{
    if (c->pending_bytes + count > c->pending_capacity) {
        size_t capacity = c->pending_bytes + count;
        char *grown = realloc(c->pending, capacity);
        if (grown == NULL)
            return false;
        c->pending = grown;
        c->pending_capacity = capacity;
    }
    memcpy(c->pending + c->pending_bytes, bytes, count);
    c->pending_bytes += count;
    return true;
}

static void start_reading(connection *c);
static void backlog_waits(uv_idle_t *idle);

/* Nothing more is read from it for now; what it sends fills its own buffers, not the server's. */
static void pause_reading(connection *c)
{
    uv_read_stop(&c->socket.stream);
    c->paused = true;
}

/* It has said more than its share of a turn: first all others, then it goes on. */
static void join_backlog(connection *c)
{
    pause_reading(c);
    list_remove(&c->in_backlog);
    list_push_back(&c->in->backlog, &c->in_backlog);
    if (!uv_is_active((uv_handle_t *)&c->in->backlog_waits))
        uv_idle_start(&c->in->backlog_waits, backlog_waits);
}

void connection_serve(connection *c)
{
    session *s = &c->session;
    if (c->in->stopping || c->closing)
        return;
    if (c->pending_bytes > 0 && !s->waits) {
        size_t used = session_feed(s, c->pending, c->pending_bytes, uv_now(&c->in->uv));
        c->pending_bytes -= used;
        memmove(c->pending, c->pending + used, c->pending_bytes);
        if (c->pending_bytes == 0) {
            free(c->pending);
            c->pending = NULL;
            c->pending_capacity = 0;
        }
    }
    connection_send(c);
    set_timer(c);
    if (c->closing)
        return;
    if (s->trusted)
        stranger_no_more(c);
    if (s->unfinished)
        join_backlog(c);
    else if (c->paused && !s->waits)
        start_reading(c);
}

static void backlog_waits(uv_idle_t *idle)
{
    enum { SLICE = 200000 }; /* nanoseconds: then others are looked at, who say less */
    loop *in = idle->data;
    uint64_t until = uv_hrtime() + SLICE;
    do {
        connection *c = OWNER_OF(list_pop(&in->backlog), connection, in_backlog);
        if (c == NULL) {
            uv_idle_stop(idle);
            return;
        }
        connection_serve(c);
    } while (uv_hrtime() < until);
}

static void get_chunk(uv_handle_t *handle, size_t suggested, uv_buf_t *chunk)
{
    connection *c = handle->data;
    (void)suggested;
    *chunk = uv_buf_init(c->in->chunk, CHUNK);
}

/* What it has said. */
static void have_heard(connection *c, const char *at, size_t bytes)
{
    session *s = &c->session;
    size_t used = 0;
    if (c->pending_bytes == 0 && !s->waits)
        used = session_feed(s, at, bytes, uv_now(&c->in->uv));
    if (s->ends)
        used = bytes; /* nobody will read it */
    if (s->waits && s->lease_until != 0)
        s->lease_until = uv_now(&c->in->uv) + s->lease; /* whatever it says, it lives */
    if (used < bytes && !keep_pending(c, at + used, bytes - used)) {
        connection_close(c, "out of memory");
        return;
    }
    if (c->in->has_own_notices)
        loop_deliver(c->in); /* whoever was let in first: it waits for longer than this one */
    connection_serve(c);
    /* One who waits and goes on sending must not fill the memory. */
    if (s->waits && !c->closing && c->pending_bytes > s->of->limits.command_bytes)
        pause_reading(c);
}

/* A key that was made of another password is a guess like any other. */
static void fail_tls(connection *c)
{
    const service *of = c->session.of;
    if (tls_was_wrong_key(c->tls) && of->guesses != NULL)
        guesses_wrong(of->guesses, c->session.who.from, uv_now(&c->in->uv));
    connection_fail(c, tls_why(c->tls));
}

/* The same by TLS. Whoever has shaken hands by the key of the password has given that. */
static void have_heard_tls(connection *c, const char *at, size_t bytes)
{
    char *plain = c->in->plain;
    tls_feed(c->tls, at, bytes);
    for (size_t got; !c->closing && (got = tls_read(c->tls, plain, CHUNK)) > 0;) {
        if (!c->session.trusted && strcmp(tls_identity(c->tls), PROOF_TLS_IDENTITY) == 0)
            session_trust(&c->session);
        have_heard(c, plain, got);
    }
    if (c->closing)
        return;
    if (tls_failed(c->tls))
        fail_tls(c);
    else if (connection_owes_too_much(c))
        connection_fail(c, "does not read what it gets");
    else
        connection_send(c); /* what TLS itself has to say */
}

static void have_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *chunk)
{
    connection *c = stream->data;
    if (count < 0) {
        connection_close(c, count == UV_EOF ? "closed by the client" : uv_strerror((int)count));
        return;
    }
    uv_update_time(&c->in->uv); /* leases count from now, not from when the loop woke */
    if (c->tls != NULL)
        have_heard_tls(c, chunk->base, (size_t)count);
    else
        have_heard(c, chunk->base, (size_t)count);
}

static void start_reading(connection *c)
{
    c->paused = false;
    uv_read_start(&c->socket.stream, get_chunk, have_read);
}

/* ---- the beginning of a connection ---- */

static int open_socket(connection *c, const newcomer *who)
{
    uv_loop_t *uv = &c->in->uv;
    if (who->kind == ADDRESS_UNIX) {
        uv_pipe_init(uv, &c->socket.pipe, 0);
        return uv_pipe_open(&c->socket.pipe, who->socket);
    }
    uv_tcp_init(uv, &c->socket.tcp);
    int error = uv_tcp_open(&c->socket.tcp, who->socket);
    if (error == 0) {
        uv_tcp_nodelay(&c->socket.tcp, 1);
        uv_tcp_keepalive(&c->socket.tcp, 1, 60);
    }
    return error;
}

/*
 * It has a while to give the password. If there are too many like it, the oldest leaves: who knows
 * the password gives it at once, so it is hardly ever that one.
 */
static void welcome_stranger(connection *c)
{
    loop *in = c->in;
    uint64_t others = atomic_fetch_add_explicit(in->strangers_of_all, 1, memory_order_relaxed);
    if (others >= in->max_strangers && !list_is_empty(&in->strangers))
        connection_close(OWNER_OF(list_first(&in->strangers), connection, in_strangers),
                         "too many strangers");
    c->session.stranger_until = uv_now(&in->uv) + STRANGER_MS;
    list_push_back(&in->strangers, &c->in_strangers);
    set_timer(c);
}

/* By TLS the password comes with the first bytes: they wait if others have guessed wrong there. */
static void wait_for_guesses(connection *c)
{
    session *s = &c->session;
    uint64_t now = uv_now(&c->in->uv);
    uint64_t turn =
        s->trusted || s->of->guesses == NULL ? now : guesses_turn(s->of->guesses, s->who.from, now);
    if (turn <= now)
        return;
    s->waits = true;
    s->wait_until = turn;
    pause_reading(c);
    set_timer(c);
}

void connection_welcome(loop *in, const newcomer *who)
{
    connection *c = calloc(1, sizeof *c);
    if (c == NULL) {
        close(who->socket);
        return;
    }
    c->in = in;
    session_start(&c->session, in->service, &in->traffic, post);
    if (who->kind == ADDRESS_TLS)
        c->tls = tls_accept(in->tls);
    int error = open_socket(c, who);
    if (error == 0 && who->kind == ADDRESS_TLS && c->tls == NULL)
        error = UV_ENOMEM;
    uv_timer_init(&in->uv, &c->timer);
    c->socket.handle.data = c->timer.data = c->write.data = c;
    c->open_handles = 2;
    list_push_front(&in->connections, &c->in_connections);
    list_start(&c->in_dirty);
    list_start(&c->in_unsent);
    list_start(&c->in_backlog);
    list_start(&c->in_strangers);
    atomic_fetch_add_explicit(in->connections_of_all, 1, memory_order_relaxed);
    if (who->kind == ADDRESS_UNIX)
        snprintf(c->session.who.from, sizeof c->session.who.from, "unix");
    else
        listen_peer_name(&c->socket.tcp, c->session.who.from, sizeof c->session.who.from);
    log_line(LOG_DEBUG, "connected", "from=%s", c->session.who.from);
    if (error != 0) {
        if (error != UV_ENOMEM)
            close(who->socket);
        connection_close(c, uv_strerror(error));
        return;
    }
    start_reading(c);
    if (!c->session.trusted)
        welcome_stranger(c);
    if (c->tls != NULL)
        wait_for_guesses(c);
}
