/* Connections: moves bytes between sockets and sessions, and tells sessions the time. */
#include "listen.h"
#include "log.h"
#include "loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What an idle connection may keep for output. */
enum { IDLE_OUTPUT = 4096 };

/* ---- the letter box ---- */

_Thread_local loop *loop_running;

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
    if (in == loop_running)
        in->has_own_notices = true; /* it is awake, and looks before it sleeps */
    else
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
    loop *in = c->in;
    if (--c->open_handles > 0)
        return;
    for (connection **link = &in->unsent; c->unsent && *link != NULL; link = &(*link)->next_unsent)
        if (*link == c) {
            *link = c->next_unsent;
            break;
        }
    if (c->next != NULL)
        c->next->previous = c->previous;
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        in->connections = c->next;
    session_free(&c->session);
    resp_free(&c->sending);
    free(c->pending);
    free(c);
    atomic_fetch_sub_explicit(in->connections_of_all, 1, memory_order_relaxed);
}

static void end_session(connection *c)
{
    uint64_t lease = session_end(&c->session, uv_now(&c->in->uv));
    if (c->in->stopping && lease > c->in->lease_left)
        c->in->lease_left = lease;
    drop_notices(c->in, &c->session.roles);
    uv_close((uv_handle_t *)&c->timer, handle_closed);
}

static void grace_over(uv_timer_t *timer)
{
    end_session(timer->data);
}

/* Whatever it keeps for a while, it must not get more. */
static void give_up_wait(connection *c)
{
    session *s = &c->session;
    if (s->waits_for != NULL) /* a lock; not an answer that comes in any case */
        registry_wait_over(s->of->locks, &s->roles, s->waits_for, s->waits_for_bytes,
                           uv_now(&c->in->uv));
}

/* The socket goes at once, the session when its grace is over. */
void connection_close(connection *c, const char *why)
{
    if (c->closing)
        return;
    c->closing = true;
    log_line(LOG_DEBUG, "disconnected", "from=%s why=\"%s\"", c->session.roles.from, why);
    uv_close(&c->socket.handle, handle_closed);
    give_up_wait(c);
    if (c->in->settings->grace > 0 && !c->in->stopping)
        uv_timer_start(&c->timer, grace_over, c->in->settings->grace, 0);
    else
        end_session(c);
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
    else if (uv_is_active((uv_handle_t *)&c->timer)) /* its grace */
        end_session(c);
}

/* ---- bytes out ---- */

static void flush(connection *c);

/* If what it says is not so yet, at the end of the turn. */
static void flush_in_turn(connection *c)
{
    if (c->in->service->turn_ends == NULL) {
        flush(c);
    } else if (!c->unsent && !c->closing) {
        c->unsent = true;
        c->next_unsent = c->in->unsent;
        c->in->unsent = c;
    }
}

void loop_send(loop *in)
{
    while (in->unsent != NULL) {
        connection *c = in->unsent;
        in->unsent = c->next_unsent;
        c->unsent = false;
        flush(c);
    }
}

static void written(uv_write_t *write, int status)
{
    connection *c = write->data;
    c->writes = false;
    c->sending.bytes = 0;
    if (status < 0)
        connection_close(c, uv_strerror(status));
    else
        flush_in_turn(c);
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
    if (c->closing || c->in->stopping)
        return;
    if (out->overflow) { /* also while a write is under way: it may be so for ever */
        log_line(LOG_WARN, "cut_off", "from=%s why=\"does not read what it gets\"",
                 c->session.roles.from);
        connection_close(c, "does not read what it gets");
        return;
    }
    if (c->writes)
        return;
    if (out->bytes > 0) {
        uv_buf_t bytes = uv_buf_init(out->at, (unsigned)out->bytes);
        int sent = uv_try_write(&c->socket.stream, &bytes, 1);
        if (sent < 0 && sent != UV_EAGAIN) {
            connection_close(c, uv_strerror(sent));
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
            int error = uv_write(&c->write, &c->socket.stream, &bytes, 1, written);
            if (error != 0) {
                c->writes = false;
                connection_close(c, uv_strerror(error));
            }
            return;
        }
    }
    if (c->session.ends)
        connection_close(c, "ended");
}

/* ---- time ---- */

static void time_over(uv_timer_t *timer)
{
    connection *c = timer->data;
    c->timer_at = 0;
    if (c->in->has_own_notices)
        loop_deliver(c->in); /* a grant that is on its way renews the lease */
    session_time(&c->session, uv_now(&c->in->uv));
    connection_serve(c);
}

static void set_timer(connection *c)
{
    uint64_t at = session_deadline(&c->session);
    uint64_t now = uv_now(&c->in->uv);
    if (c->closing || at == c->timer_at)
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
            c->pending_room = 0;
        }
    }
    flush_in_turn(c);
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
        connection_close(c, count == UV_EOF ? "closed by the client" : uv_strerror((int)count));
        return;
    }
    size_t bytes = (size_t)count;
    size_t used = 0;
    if (c->pending_bytes == 0 && !s->waits)
        used = session_feed(s, chunk->base, bytes, uv_now(&c->in->uv));
    if (s->ends)
        used = bytes; /* nobody will read it */
    if (s->waits && s->lease_until != 0)
        s->lease_until = uv_now(&c->in->uv) + s->lease; /* whatever it says, it lives */
    if (used < bytes && !keep_pending(c, chunk->base + used, bytes - used)) {
        connection_close(c, "out of memory");
        return;
    }
    if (c->in->has_own_notices)
        loop_deliver(c->in); /* whoever was let in first: it waits for longer than this one */
    connection_serve(c);
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

void connection_welcome(loop *in, const newcomer *who)
{
    connection *c = calloc(1, sizeof *c);
    if (c == NULL) {
        close(who->socket);
        return;
    }
    c->in = in;
    session_start(&c->session, in->service, &in->traffic, post);
    int error = open_socket(c, who);
    uv_timer_init(&in->uv, &c->timer);
    c->socket.handle.data = c->timer.data = c->write.data = c;
    c->open_handles = 2;
    c->next = in->connections;
    if (c->next != NULL)
        c->next->previous = c;
    in->connections = c;
    atomic_fetch_add_explicit(in->connections_of_all, 1, memory_order_relaxed);
    if (who->is_unix)
        snprintf(c->session.roles.from, sizeof c->session.roles.from, "unix");
    else
        listen_peer_name(&c->socket.tcp, c->session.roles.from, sizeof c->session.roles.from);
    log_line(LOG_DEBUG, "connected", "from=%s", c->session.roles.from);
    if (error != 0) {
        close(who->socket);
        connection_close(c, uv_strerror(error));
    } else {
        start_reading(c);
    }
}
