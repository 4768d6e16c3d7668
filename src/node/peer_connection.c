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
    tls_hang_up(l->tls);
    l->tls = NULL;
    l->greets = false;
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

static const char *other_id(const peer_connection *l)
{
    return l->hello.other < l->of->all->nodes ? l->of->all->node[l->hello.other].id : "unknown";
}

static const char *direction(const peer_connection *l)
{
    return l->dials ? "out" : "in";
}

void link_hang_up(peer_connection *l, const char *why)
{
    if (!l->open || l->closing)
        return;
    l->closing = true;
    bool known = link_is_known(l);
    log_line(known ? LOG_INFO : LOG_DEBUG, "peer_gone", "peer=%s direction=%s why=%s", other_id(l),
             direction(l), log_quote_text(why).text);
    if (!l->dials) {
        list_remove(&l->in_guests);
        l->of->stranger_count -= !known;
    }
    if (l->dials && known)
        node_reached(l->of->node, l->peer, false);
    uv_close((uv_handle_t *)&l->socket, closed);
}

/* Whoever said nothing for too long, or does not take what it is sent, is not there. */
void link_look_at_clock(uv_timer_t *timer)
{
    peer_connection *l = timer->data;
    bool greets = !link_is_known(l);
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

static void send_unsent(peer_connection *l);

static void written(uv_write_t *write, int status)
{
    peer_connection *l = write->data;
    l->writes = false;
    resp_free(&l->sending);
    if (status < 0) {
        link_hang_up(l, uv_strerror(status));
        return;
    }
    send_unsent(l);
    link_transmit(l, &l->greeting); /* if it had to wait */
    if (!l->writes && l->hello.state == PEER_HELLO_REFUSED)
        link_hang_up(l, l->hello.complaint);
}

/* What TLS has for the network: at once, as far as that takes it. */
static void send_unsent(peer_connection *l)
{
    const char *at;
    size_t count = l->writes || l->closing ? 0 : tls_unsent(l->tls, &at);
    if (count == 0)
        return;
    uv_buf_t bytes = uv_buf_init((char *)at, (unsigned)count);
    int sent = uv_try_write((uv_stream_t *)&l->socket, &bytes, 1);
    size_t done = sent > 0 ? (size_t)sent : 0;
    if (done < count)
        resp_raw(&l->sending, at + done, count - done);
    tls_sent(l->tls, count);
    if (done == count)
        return;
    bytes = uv_buf_init(l->sending.at, (unsigned)l->sending.bytes);
    l->writes = true;
    int error = l->sending.overflow
                    ? UV_ENOMEM
                    : uv_write(&l->write, (uv_stream_t *)&l->socket, &bytes, 1, written);
    if (error != 0)
        link_hang_up(l, uv_strerror(error));
}

/* Takes the bytes away from `out`; a buffer that was large once is not kept. */
void link_transmit(peer_connection *l, resp_out *out)
{
    if (l->writes || l->closing || !l->open || out->bytes == 0 || !tls_is_ready(l->tls))
        return;
    bool fine = tls_write(l->tls, out->at, out->bytes);
    out->bytes = 0;
    if (out->capacity > LINK_CHUNK) {
        size_t max = out->max;
        resp_free(out);
        out->max = max;
    }
    if (fine)
        send_unsent(l);
    else
        link_hang_up(l, tls_why(l->tls));
}

/* ---- bytes in ---- */

/* Of a node that has started anew, nothing is heard any more that it has said before. */
static void hang_up_on_the_former(const peer_connection *l)
{
    LIST_EACH (at, &l->of->guests) {
        peer_connection *g = OWNER_OF(at, peer_connection, in_guests);
        if (g != l && g->hello.other == l->hello.other)
            link_hang_up(g, "it has come anew");
    }
}

/* Who dials is there: it must not wait, and suspect this node, until the pause is over. */
static void dial_back(peer_connection *l)
{
    if (l->pauses)
        link_dial_after(l, 0);
}

static void welcome(peer_connection *l)
{
    l->pause = LINK_LEAST_PAUSE;
    log_line(LOG_INFO, "peer", "peer=%s direction=%s", other_id(l), direction(l));
    if (l->dials) {
        l->tried--; /* that address is good, next time too */
        l->waits_since = l->early_since = 0;
        node_reached(l->of->node, l->peer, true);
        return;
    }
    list_remove(&l->in_guests);
    list_push_front(&l->of->guests, &l->in_guests);
    l->of->stranger_count--;
    hang_up_on_the_former(l);
    dial_back(&l->of->to[l->hello.other]);
}

static void refuse(peer_connection *l, const char *why)
{
    /* Each peer has a line of its own: strangers, who can be many, must not hide what it says. */
    log_summed(&l->of->refused[l->dials][l->hello.other], uv_now(l->of->loop),
               "peer=%s direction=%s why=%s", other_id(l), direction(l), log_quote_text(why).text);
    if (!l->writes)
        link_hang_up(l, why);
}

static size_t greet(peer_connection *l, const char *bytes, size_t count)
{
    size_t used = peer_hello_receive(&l->hello, bytes, count, &l->greeting);
    if (l->hello.state == PEER_HELLO_DONE &&
        !peer_tls_is(&l->of->tls, l->tls, l->dials, l->hello.other)) {
        l->hello.state = PEER_HELLO_REFUSED;
        refuse(l, "TLS shows that it is another than it says");
        return count;
    }
    link_transmit(l, &l->greeting);
    if (l->hello.state == PEER_HELLO_REFUSED)
        refuse(l, l->hello.complaint);
    else if (l->hello.state == PEER_HELLO_DONE)
        welcome(l);
    return used;
}

static size_t read_one(peer_connection *l, const char *bytes, size_t count)
{
    peer_said *said = &l->of->said;
    resp_parsed p = peer_read(bytes, count, l->of->all->nodes, said);
    if (p.verdict == RESP_BAD) {
        log_line(LOG_WARN, "peer_garbage", "peer=%s why=%s", other_id(l),
                 log_quote_text(p.complaint).text);
        link_hang_up(l, p.complaint);
        return count;
    }
    if (p.verdict == RESP_MORE)
        return 0;
    if (said->verb == PEER_COMPLAINT)
        log_line(LOG_WARN, "peer_complains", "peer=%s what=%s", other_id(l),
                 log_quote(said->words.at, said->words.bytes).text);
    else if (!l->dials)
        node_receive(l->of->node, l->hello.other, said, uv_now(l->of->loop));
    peer_said_drop(said);
    return p.used;
}

/* As far as it is complete; returns how much was used. */
static size_t take(peer_connection *l, const char *bytes, size_t count)
{
    size_t used = 0;
    while (used < count && !l->closing) {
        size_t now = link_is_known(l) ? read_one(l, bytes + used, count - used)
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

/* What the other node has said, as it said it. */
static void have_plain(peer_connection *l, const char *bytes, size_t count)
{
    size_t used = l->pending_bytes == 0 ? take(l, bytes, count) : 0;
    if (l->closing)
        return;
    if (used < count && !keep(l, bytes + used, count - used))
        link_hang_up(l, "more than a message can be");
    else if (l->pending_bytes > 0)
        take_pending(l);
}

static void tls_has_failed(peer_connection *l)
{
    send_unsent(l); /* what it tells the other side of that */
    if (link_is_known(l))
        link_hang_up(l, tls_why(l->tls));
    else
        refuse(l, tls_why(l->tls));
}

/* Who dials speaks first. */
static void begin_hello(peer_connection *l)
{
    l->greets = true;
    if (l->dials)
        peer_hello_dial(&l->hello, l->of->all, l->peer, &l->greeting);
    link_transmit(l, &l->greeting);
}

/* It does not read, and says things that TLS itself has to answer. */
static bool owes_too_much(const peer_connection *l)
{
    const char *at;
    return l->writes && tls_unsent(l->tls, &at) > LINK_CHUNK;
}

static void have_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *chunk)
{
    peer_connection *l = stream->data;
    links *of = l->of;
    if (count < 0) {
        link_hang_up(l, count == UV_EOF ? "closed" : uv_strerror((int)count));
        return;
    }
    l->heard = uv_now(of->loop);
    tls_feed(l->tls, chunk->base, (size_t)count);
    for (size_t got; !l->closing && (got = tls_read(l->tls, of->plain, sizeof of->plain)) > 0;) {
        if (!l->greets)
            begin_hello(l);
        have_plain(l, of->plain, got);
    }
    if (l->closing)
        return;
    if (tls_failed(l->tls))
        tls_has_failed(l);
    else if (!l->greets && tls_is_ready(l->tls))
        begin_hello(l);
    else if (owes_too_much(l))
        link_hang_up(l, "it does not read what it gets");
    else
        send_unsent(l);
}

static void get_chunk(uv_handle_t *handle, size_t suggested, uv_buf_t *chunk)
{
    peer_connection *l = handle->data;
    (void)suggested;
    *chunk = uv_buf_init(l->of->chunk, LINK_CHUNK);
}

void link_begin(peer_connection *l, tls_stream *tls)
{
    l->tls = tls;
    if (tls == NULL) {
        link_hang_up(l, "out of memory");
        return;
    }
    set_limits(l);
    uv_read_start((uv_stream_t *)&l->socket, get_chunk, have_read);
    send_unsent(l);
}
