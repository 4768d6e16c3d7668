/*
 * The server: accepts connections on the first loop, deals them out to all, and moves bytes between
 * them and their sessions. A connection stays with its loop, and only that touches it.
 */
#include "serve.h"
#include "baton/lock.h"
#include "listen.h"
#include "log.h"
#include "tokens.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum { CHUNK = 65536, IDLE_OUTPUT = 4096 };

typedef struct server server;
typedef struct connection connection;

/* A socket on its way to the loop that will serve it. */
typedef struct newcomer {
    struct newcomer *next;
    int socket;
    bool is_unix;
} newcomer;

/*
 * A loop and its letter box. Who has the box's lock may put something in; the loop takes it out when
 * it is woken.
 */
typedef struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    pthread_t thread;
    server *of;
    baton_tas box;
    notice *first_notice, *last_notice;
    newcomer *newcomers;
    bool stops;
    bool stopping;           /* the loop has heard that it stops */
    connection *connections; /* list */
    connection *dirty;       /* those with something to send */
    char chunk[CHUNK];
} loop;

struct server {
    service service; /* first: found from it */
    const serve_settings *settings;
    tokens tokens;
    loop *loop;
    uint32_t loops;
    uint32_t next_loop;
    listeners *listening;
    uv_timer_t care;
    uint64_t idle_since;
    uv_signal_t signals[2];
    BATON_ATOMIC(uint64_t) connections;
    BATON_ATOMIC(uint64_t) accepted;
};

struct connection {
    session session; /* first: found from it */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    uv_timer_t timer;
    uv_write_t write;
    resp_out sending; /* what libuv is writing */
    char *pending;    /* bytes that were read and not yet used */
    size_t pending_bytes, pending_room;
    loop *in;
    connection *next, *previous, *next_dirty;
    uint64_t timer_at; /* when the timer goes off; 0: it does not */
    bool writes, dirty, closing, paused;
    uint8_t open_handles;
};

/* ---- the letter box ---- */

static void post(session_roles *roles, notice *n)
{
    loop *in = ((connection *)(void *)roles)->in;
    n->next = NULL;
    baton_tas_enter(&in->box);
    if (in->last_notice != NULL)
        in->last_notice->next = n;
    else
        in->first_notice = n;
    in->last_notice = n;
    baton_tas_exit(&in->box);
    uv_async_send(&in->wake);
}

/* Nobody posts to the session any more; what is still in the box is not for it to read. */
static void drop_notices(loop *in, const session_roles *to)
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
    server *of = c->in->of;
    if (c->next != NULL)
        c->next->previous = c->previous;
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        c->in->connections = c->next;
    session_free(&c->session);
    resp_free(&c->sending);
    free(c->pending);
    free(c);
    atomic_fetch_sub_explicit(&of->connections, 1, memory_order_relaxed);
}

static void end_session(connection *c)
{
    session_end(&c->session);
    drop_notices(c->in, &c->session.roles);
    uv_close((uv_handle_t *)&c->timer, handle_closed);
}

static void grace_over(uv_timer_t *timer)
{
    end_session(timer->data);
}

/* The socket goes at once, the session when its grace is over. */
static void close_connection(connection *c, const char *why)
{
    server *of = c->in->of;
    if (c->closing)
        return;
    c->closing = true;
    log_line(LOG_DEBUG, "disconnected", "from=%s why=\"%s\"", c->session.from, why);
    uv_close(&c->socket.handle, handle_closed);
    if (c->session.waits) /* whatever it keeps for a while, it must not get more */
        registry_wait_over(of->service.locks, &c->session.roles, c->session.waits_for,
                           c->session.waits_for_bytes, uv_now(&c->in->uv));
    if (of->settings->grace > 0 && !c->in->stopping)
        uv_timer_start(&c->timer, grace_over, of->settings->grace, 0);
    else
        end_session(c);
}

/* ---- bytes out ---- */

static void flush(connection *c);

static void written(uv_write_t *write, int status)
{
    connection *c = write->data;
    c->writes = false;
    c->sending.bytes = 0;
    if (status < 0)
        close_connection(c, uv_strerror(status));
    else
        flush(c);
}

/* Gives back what a large reply needed. */
static void shrink(resp_out *out)
{
    out->bytes = 0;
    if (out->room > IDLE_OUTPUT)
        resp_free(out);
}

static void flush(connection *c)
{
    resp_out *out = &c->session.out;
    if (c->closing || c->writes)
        return;
    if (out->overflow) {
        log_line(LOG_WARN, "cut_off", "from=%s why=\"does not read what it gets\"",
                 c->session.from);
        close_connection(c, "does not read what it gets");
        return;
    }
    if (out->bytes > 0) {
        uv_buf_t bytes = uv_buf_init(out->at, (unsigned)out->bytes);
        int sent = uv_try_write(&c->socket.stream, &bytes, 1);
        if (sent < 0 && sent != UV_EAGAIN) {
            close_connection(c, uv_strerror(sent));
            return;
        }
        if (sent == (int)out->bytes) {
            shrink(out);
        } else { /* the rest is libuv's; the session goes on with an empty one */
            size_t done = sent > 0 ? (size_t)sent : 0;
            resp_out rest = *out;
            bytes = uv_buf_init(rest.at + done, (unsigned)(rest.bytes - done));
            *out = (resp_out){.most = rest.most, .third = rest.third};
            resp_free(&c->sending);
            c->sending = rest;
            c->writes = true;
            uv_write(&c->write, &c->socket.stream, &bytes, 1, written);
            return;
        }
    }
    if (c->session.ends)
        close_connection(c, "ended");
}

/* ---- time ---- */

static void serve_commands(connection *c);

static void time_over(uv_timer_t *timer)
{
    connection *c = timer->data;
    c->timer_at = 0;
    session_time(&c->session, uv_now(&c->in->uv));
    serve_commands(c);
}

static void set_timer(connection *c)
{
    uint64_t at = session_deadline(&c->session);
    uint64_t now = uv_now(&c->in->uv);
    if (c->closing || at == c->timer_at)
        return;
    /* A lease that was renewed is looked at when it would have ended: later is cheaper than anew. */
    if (at != 0 && c->timer_at != 0 && c->timer_at < at)
        return;
    c->timer_at = at;
    if (at == 0)
        uv_timer_stop(&c->timer);
    else
        uv_timer_start(&c->timer, time_over, at > now ? at - now : 0, 0);
}

/* ---- bytes in ---- */

static bool keep_pending(connection *c, const char *bytes, size_t count)
{
    if (c->pending_bytes + count > c->pending_room) {
        size_t room = c->pending_bytes + count;
        char *grown = realloc(c->pending, room);
        if (grown == NULL)
            return false;
        c->pending = grown;
        c->pending_room = room;
    }
    memcpy(c->pending + c->pending_bytes, bytes, count);
    c->pending_bytes += count;
    return true;
}

static void start_reading(connection *c);

/* Goes on with what was read before; sends what came of it; sets the clock. */
static void serve_commands(connection *c)
{
    session *s = &c->session;
    if (c->pending_bytes > 0 && !s->waits) {
        size_t used = session_feed(s, c->pending, c->pending_bytes, uv_now(&c->in->uv));
        c->pending_bytes -= used;
        memmove(c->pending, c->pending + used, c->pending_bytes);
        if (c->pending_bytes == 0) {
            free(c->pending);
            c->pending = NULL;
            c->pending_room = 0;
        }
    }
    flush(c);
    set_timer(c);
    if (c->paused && !s->waits && !c->closing)
        start_reading(c);
}

static void get_chunk(uv_handle_t *handle, size_t suggested, uv_buf_t *chunk)
{
    connection *c = handle->data;
    (void)suggested;
    *chunk = uv_buf_init(c->in->chunk, CHUNK);
}

static void have_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *chunk)
{
    connection *c = stream->data;
    session *s = &c->session;
    if (count < 0) {
        close_connection(c, count == UV_EOF ? "closed by the client" : uv_strerror((int)count));
        return;
    }
    size_t bytes = (size_t)count;
    size_t used = 0;
    if (c->pending_bytes == 0 && !s->waits)
        used = session_feed(s, chunk->base, bytes, uv_now(&c->in->uv));
    if (used < bytes && !keep_pending(c, chunk->base + used, bytes - used)) {
        close_connection(c, "out of memory");
        return;
    }
    serve_commands(c);
    /* One who waits and goes on sending must not fill the memory. */
    if (s->waits && !c->closing && c->pending_bytes > s->of->limits.command_bytes) {
        uv_read_stop(stream);
        c->paused = true;
    }
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
    if (who->is_unix) {
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

static void welcome(loop *in, const newcomer *who)
{
    connection *c = calloc(1, sizeof *c);
    if (c == NULL) {
        close(who->socket);
        return;
    }
    c->in = in;
    session_start(&c->session, &in->of->service, post);
    int error = open_socket(c, who);
    uv_timer_init(&in->uv, &c->timer);
    c->socket.handle.data = c->timer.data = c->write.data = c;
    c->open_handles = 2;
    c->next = in->connections;
    if (c->next != NULL)
        c->next->previous = c;
    in->connections = c;
    atomic_fetch_add_explicit(&in->of->connections, 1, memory_order_relaxed);
    if (who->is_unix)
        snprintf(c->session.from, sizeof c->session.from, "unix");
    else
        listen_peer_name(&c->socket.tcp, c->session.from, sizeof c->session.from);
    log_line(LOG_DEBUG, "connected", "from=%s", c->session.from);
    if (error != 0) {
        close(who->socket);
        close_connection(c, uv_strerror(error));
    } else {
        start_reading(c);
    }
}

/* ---- loops ---- */

static void stop_loop(loop *in)
{
    in->stopping = true;
    for (connection *c = in->connections, *next; c != NULL; c = next) {
        next = c->next;
        close_connection(c, "the server ends");
    }
    if (!uv_is_closing((uv_handle_t *)&in->wake))
        uv_close((uv_handle_t *)&in->wake, NULL);
}

static void woken(uv_async_t *wake)
{
    loop *in = wake->data;
    baton_tas_enter(&in->box);
    notice *notices = in->first_notice;
    newcomer *newcomers = in->newcomers;
    bool stops = in->stops;
    in->first_notice = in->last_notice = NULL;
    in->newcomers = NULL;
    baton_tas_exit(&in->box);
    while (notices != NULL) {
        notice *n = notices;
        notices = n->next;
        connection *c = (connection *)(void *)n->to;
        session_notice(n);
        if (!c->dirty) {
            c->dirty = true;
            c->next_dirty = in->dirty;
            in->dirty = c;
        }
    }
    while (in->dirty != NULL) {
        connection *c = in->dirty;
        in->dirty = c->next_dirty;
        c->dirty = false;
        serve_commands(c);
    }
    while (newcomers != NULL) {
        newcomer *who = newcomers;
        newcomers = who->next;
        welcome(in, who);
        free(who);
    }
    if (stops)
        stop_loop(in);
}

static void *run_loop(void *context)
{
    loop *in = context;
    uv_run(&in->uv, UV_RUN_DEFAULT);
    return NULL;
}

/* A socket that was accepted, on the first loop. */
static void deal_out(void *context, int socket, bool is_unix)
{
    server *of = context;
    atomic_fetch_add_explicit(&of->accepted, 1, memory_order_relaxed);
    newcomer *who = malloc(sizeof *who);
    if (who == NULL || of->connections >= of->settings->most_connections) {
        static const char full[] = "-ERR max number of clients reached\r\n";
        ssize_t told = write(socket, full, sizeof full - 1);
        (void)told; /* it is turned away either way */
        close(socket);
        free(who);
        log_line(LOG_WARN, "turned_away", "connections=%" PRIu64, (uint64_t)of->connections);
        return;
    }
    loop *in = &of->loop[of->next_loop++ % of->loops];
    *who = (newcomer){.socket = socket, .is_unix = is_unix};
    baton_tas_enter(&in->box);
    who->next = in->newcomers;
    in->newcomers = who;
    baton_tas_exit(&in->box);
    uv_async_send(&in->wake);
}

/* ---- the whole ---- */

static void stop_all(server *of)
{
    listen_close(of->listening);
    uv_close((uv_handle_t *)&of->care, NULL);
    for (size_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&of->signals[i], NULL);
    for (uint32_t i = 0; i < of->loops; i++) {
        baton_tas_enter(&of->loop[i].box);
        of->loop[i].stops = true;
        baton_tas_exit(&of->loop[i].box);
        uv_async_send(&of->loop[i].wake);
    }
}

static void stop(uv_signal_t *signal, int number)
{
    log_line(LOG_INFO, "ending", "signal=%d", number);
    stop_all(signal->data);
}

/* A server that was started for one user's commands need not stay when they are done. */
static void end_if_idle(server *of)
{
    uint64_t now = uv_now(&of->loop[0].uv);
    if (of->connections > 0)
        of->idle_since = now;
    if (of->settings->idle_exit == 0 || now - of->idle_since < of->settings->idle_exit)
        return;
    log_line(LOG_INFO, "ending", "why=idle");
    stop_all(of);
}

static void look_after(uv_timer_t *timer)
{
    server *of = timer->data;
    if (!tokens_reserve(&of->tokens, registry_next_generation(of->service.locks)))
        log_line(LOG_ERROR, "tokens", "why=\"cannot write %s\"", of->tokens.file);
    end_if_idle(of);
}

static void audit(service *s, const char *from, const char *what)
{
    (void)s;
    log_line(LOG_WARN, "audit", "from=%s what=\"%s\"", from, what);
}

static void more_info(service *s, resp_out *out)
{
    server *of = (server *)(void *)s;
    char lines[160];
    int length =
        snprintf(lines, sizeof lines,
                 "connections:%" PRIu64 "\r\naccepted:%" PRIu64 "\r\nloops:%" PRIu32 "\r\n",
                 (uint64_t)of->connections, (uint64_t)of->accepted, of->loops);
    resp_raw(out, lines, (size_t)length);
}

static void init_loop(server *of, uint32_t which)
{
    loop *in = &of->loop[which];
    in->of = of;
    baton_tas_init(&in->box, BATON_PARK);
    uv_loop_init(&in->uv);
    uv_async_init(&in->uv, &in->wake, woken);
    in->wake.data = in;
}

static void init_signals(server *of)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        uv_signal_init(&of->loop[0].uv, &of->signals[i]);
        of->signals[i].data = of;
        uv_signal_start(&of->signals[i], stop, numbers[i]);
    }
    uv_timer_init(&of->loop[0].uv, &of->care);
    of->care.data = of;
    of->idle_since = uv_now(&of->loop[0].uv);
    uv_timer_start(&of->care, look_after, 100, 100);
}

const char *serve(const serve_settings *settings)
{
    static char complaint[256];
    static server of;
    uint64_t first;
    of = (server){
        .settings = settings,
        .loops = settings->loops,
        .service = {.limits = {.word_bytes = settings->most_name > 512 ? settings->most_name : 512,
                               .command_bytes = CHUNK},
                    .most_output = settings->most_output,
                    .most_name = settings->most_name,
                    .longest_lease = (uint64_t)86400 * 1000,
                    .secret = settings->secret,
                    .info = more_info,
                    .audit = audit},
    };
    log_set_level(settings->level);
    if (!tokens_open(&of.tokens, settings->state, &first, complaint))
        return complaint;
    of.service.locks = registry_new(first, settings->most_waiters);
    of.loop = calloc(settings->loops, sizeof(loop));
    if (of.service.locks == NULL || of.loop == NULL)
        return "out of memory";
    for (uint32_t i = 0; i < of.loops; i++)
        init_loop(&of, i);
    of.listening = listen_open(&of.loop[0].uv, settings->address, settings->addresses, deal_out,
                               &of, complaint);
    if (of.listening == NULL)
        return complaint;
    init_signals(&of);
    for (uint32_t i = 1; i < of.loops; i++)
        if (pthread_create(&of.loop[i].thread, NULL, run_loop, &of.loop[i]) != 0)
            return "cannot start so many threads";
    run_loop(&of.loop[0]);
    for (uint32_t i = 1; i < of.loops; i++)
        pthread_join(of.loop[i].thread, NULL);
    for (uint32_t i = 0; i < of.loops; i++)
        uv_loop_close(&of.loop[i].uv);
    listen_free(of.listening);
    registry_free(of.service.locks);
    free(of.loop);
    log_line(LOG_INFO, "ended", "sections_reserved=%" PRIu64, of.tokens.reserved);
    return NULL;
}
