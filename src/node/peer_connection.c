/* See peer_connection.h. */
#include "peer_connection.h"
#include "log.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/*
 * Silence in milliseconds after which a connection is given up. Without this TCP would repeat more
 * and more slowly, and a network that works again be of no use for minutes.
 */
enum { MAX_SILENCE = 3000 };

/* ---- the end of a connection ---- */

static void forget_bytes(peer_connection *l)
{
    resp_free(&l->greeting);
    resp_free(&l->sending);
    free(l->pending);
    l->pending = NULL;
    l->pending_bytes = l->pending_capacity = 0;
    l->writes = false;
}

static void guest_closed(uv_handle_t *handle)
{
    peer_connection *l = handle->data;
    list_remove(&l->in_guests);
    l->of->guest_count--;
    free(l);
}

static void closed(uv_handle_t *handle)
{
    peer_connection *l = handle->data;
    links *of = l->of;
    forget_bytes(l);
    l->open = l->closing = false;
    if (!l->dials) {
        uv_close((uv_handle_t *)&l->again, guest_closed);
    } else if (!of->ends) {
        l->pause = l->pause * 2 > LINK_MAX_PAUSE ? LINK_MAX_PAUSE : l->pause * 2;
        link_dial_after(l, l->pause);
    }
}

void link_hang_up(peer_connection *l, const char *why)
{
    if (!l->open || l->closing)
        return;
    l->closing = true;
    bool known = l->auth.state == PEER_AUTH_DONE;
    log_line(known ? LOG_INFO : LOG_DEBUG, "peer_gone", "peer=%s direction=%s why=\"%s\"",
             l->auth.other < l->of->all->nodes ? l->of->all->node[l->auth.other].id : "unknown",
             l->dials ? "out" : "in", why);
    if (l->dials && known)
        node_reached(l->of->node, l->peer, false);
    uv_close((uv_handle_t *)&l->socket, closed);
}

/* Whoever said nothing for too long, or does not take what it is sent, is not there. */
void link_look_at_clock(uv_timer_t *timer)
{
    peer_connection *l = timer->data;
    bool greets = l->auth.state != PEER_AUTH_DONE;
    bool late = greets || uv_now(l->of->loop) > l->heard + MAX_SILENCE;
    if (!greets && l->dials)
        return; /* it only speaks: TCP says whether that arrives */
    if (late && l->doubted) {
        link_hang_up(l, greets ? "no greeting in time" : "silent for too long");
        return;
    }
    l->doubted = late; /* if this node itself slept, what was said is still to be read */
    uv_timer_start(&l->again, link_look_at_clock, late ? LINK_LEAST_PAUSE : MAX_SILENCE, 0);
}

static void set_limits(peer_connection *l)
{
    int socket;
    unsigned limit = MAX_SILENCE;
    if (uv_fileno((uv_handle_t *)&l->socket, &socket) == 0)
        setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
    uv_tcp_nodelay(&l->socket, 1);
    uv_tcp_keepalive(&l->socket, 1, 1);
}

/* ---- bytes out ---- */

static void written(uv_write_t *write, int status)
{
    peer_connection *l = write->data;
    l->writes = false;
    resp_free(&l->sending);
    if (status < 0)
        link_hang_up(l, uv_strerror(status));
    else if (l->auth.state == PEER_AUTH_REFUSED)
        link_hang_up(l, l->auth.complaint);
}

/* Takes the bytes away from `out`. */
void link_transmit(peer_connection *l, resp_out *out)
{
    if (l->writes || l->closing || !l->open || out->bytes == 0)
        return;
    resp_out empty = {.max = out->max};
    l->sending = *out;
    *out = empty;
    uv_buf_t bytes = uv_buf_init(l->sending.at, (unsigned)l->sending.bytes);
    int sent = uv_try_write((uv_stream_t *)&l->socket, &bytes, 1);
    if (sent == (int)l->sending.bytes) {
        resp_free(&l->sending);
        return;
    }
    size_t done = sent > 0 ? (size_t)sent : 0;
    bytes = uv_buf_init(l->sending.at + done, (unsigned)(l->sending.bytes - done));
    l->writes = true;
    int error = uv_write(&l->write, (uv_stream_t *)&l->socket, &bytes, 1, written);
    if (error != 0)
        link_hang_up(l, uv_strerror(error));
}

/* ---- bytes in ---- */

/* Of a node that has started anew, nothing is heard any more that it has said before. */
static void hang_up_on_the_former(const peer_connection *l)
{
    LIST_EACH (at, &l->of->guests) {
        peer_connection *g = OWNER_OF(at, peer_connection, in_guests);
        if (g != l && g->auth.state == PEER_AUTH_DONE && g->auth.other == l->auth.other)
            link_hang_up(g, "it has come anew");
    }
}

/* Who dials is there: it must not wait, and suspect this node, until the pause is over. */
static void dial_back(peer_connection *l)
{
    if (l->pauses)
        link_dial_after(l, 0);
}

static size_t greet(peer_connection *l, const char *bytes, size_t count)
{
    peer_auth_state before = l->auth.state;
    size_t used = peer_auth_receive(&l->auth, bytes, count, &l->greeting);
    link_transmit(l, &l->greeting);
    if (l->auth.state == PEER_AUTH_REFUSED) {
        log_line(LOG_WARN, "peer_refused", "direction=%s why=\"%s\"", l->dials ? "out" : "in",
                 l->auth.complaint);
        if (!l->writes)
            link_hang_up(l, l->auth.complaint);
    } else if (l->auth.state == PEER_AUTH_DONE && before != PEER_AUTH_DONE) {
        l->pause = LINK_LEAST_PAUSE;
        log_line(LOG_INFO, "peer", "peer=%s direction=%s", l->of->all->node[l->auth.other].id,
                 l->dials ? "out" : "in");
        if (l->dials) {
            l->tried--; /* that address is good, next time too */
            l->waits_since = l->early_since = 0;
            node_reached(l->of->node, l->peer, true);
        } else {
            hang_up_on_the_former(l);
            dial_back(&l->of->to[l->auth.other]);
        }
    }
    return used;
}

static size_t read_one(peer_connection *l, const char *bytes, size_t count)
{
    peer_said *said = &l->of->said;
    resp_parsed p = peer_read(bytes, count, l->of->all->nodes, said);
    if (p.verdict == RESP_BAD) {
        log_line(LOG_WARN, "peer_garbage", "peer=%s why=\"%s\"", l->of->all->node[l->auth.other].id,
                 p.complaint);
        link_hang_up(l, p.complaint);
        return count;
    }
    if (p.verdict == RESP_MORE)
        return 0;
    if (said->verb == PEER_COMPLAINT)
        log_line(LOG_WARN, "peer_complains", "peer=%s what=\"%.*s\"",
                 l->of->all->node[l->auth.other].id, (int)said->words.bytes, said->words.at);
    else if (!l->dials)
        node_receive(l->of->node, l->auth.other, said, uv_now(l->of->loop));
    peer_said_drop(said);
    return p.used;
}

/* As far as it is complete; returns how much was used. */
static size_t take(peer_connection *l, const char *bytes, size_t count)
{
    size_t used = 0;
    while (used < count && !l->closing) {
        size_t now = l->auth.state == PEER_AUTH_DONE ? read_one(l, bytes + used, count - used)
                                                     : greet(l, bytes + used, count - used);
        if (now == 0)
            break;
        used += now;
    }
    return used;
}

static bool keep(peer_connection *l, const char *bytes, size_t count)
{
    if (l->pending_bytes + count > PEER_MAX_BYTES + LINK_CHUNK) /* the next has begun */
        return false;
    if (l->pending_bytes + count > l->pending_capacity) {
        size_t capacity = (l->pending_bytes + count) * 2;
        char *grown = realloc(l->pending, capacity);
        if (grown == NULL)
            return false;
        l->pending = grown;
        l->pending_capacity = capacity;
    }
    memcpy(l->pending + l->pending_bytes, bytes, count);
    l->pending_bytes += count;
    return true;
}

static void take_pending(peer_connection *l)
{
    size_t used = take(l, l->pending, l->pending_bytes);
    l->pending_bytes -= used;
    memmove(l->pending, l->pending + used, l->pending_bytes);
    if (l->pending_bytes == 0) {
        free(l->pending);
        l->pending = NULL;
        l->pending_capacity = 0;
    }
}

static void have_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *chunk)
{
    peer_connection *l = stream->data;
    if (count < 0) {
        link_hang_up(l, count == UV_EOF ? "closed" : uv_strerror((int)count));
        return;
    }
    l->heard = uv_now(l->of->loop);
    size_t bytes = (size_t)count;
    size_t used = l->pending_bytes == 0 ? take(l, chunk->base, bytes) : 0;
    if (l->closing)
        return;
    if (used < bytes && !keep(l, chunk->base + used, bytes - used))
        link_hang_up(l, "more than a message can be");
    else if (l->pending_bytes > 0)
        take_pending(l);
}

static void get_chunk(uv_handle_t *handle, size_t suggested, uv_buf_t *chunk)
{
    peer_connection *l = handle->data;
    (void)suggested;
    *chunk = uv_buf_init(l->of->chunk, LINK_CHUNK);
}

void link_read(peer_connection *l)
{
    set_limits(l);
    uv_read_start((uv_stream_t *)&l->socket, get_chunk, have_read);
}
