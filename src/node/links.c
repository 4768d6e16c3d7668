/* See links.h. */
#include "links.h"
#include "../net/listen.h"
#include "../net/log.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LEAST_PAUSE = 50,
    MOST_PAUSE = 1000,
    MOST_GREETING = 2000, /* milliseconds from the first packet until both know each other */
    /* Silence after which a connection is given up. Without this TCP would repeat more and more
     * slowly, and a network that works again be of no use for minutes. */
    MOST_SILENCE = 3000,
    CHUNK_BYTES = 65536,
    MOST_GUESTS = 64,
};

/*
 * A connection. Of those that this node dials there is one for each peer, for ever; one that was
 * accepted lives as long as its socket.
 */
typedef struct wire {
    links *of;
    bool dials;
    bool open; /* the socket is libuv's, and not yet closed */
    bool closing;
    uint64_t waits_since, early_since; /* turns; of what is said, and early: 0: nothing waits */
    bool writes;
    bool doubted; /* late, at the last look */
    uint8_t peer; /* whom it dials */
    uint32_t pause;
    uint32_t tried; /* addresses of the peer: a name may have several */
    uv_tcp_t socket;
    uv_timer_t again; /* of one that dials: then; while it greets, or was accepted: the end */
    uint64_t heard;   /* when the other last said something */
    uv_connect_t connecting;
    uv_getaddrinfo_t asking;
    uv_write_t write;
    peer_auth auth;
    resp_out greeting; /* of peer_auth */
    resp_out sending;
    char *pending;
    size_t pending_bytes, pending_room;
    struct wire *next, *previous; /* of those accepted */
} wire;

struct links {
    uv_loop_t *loop;
    cluster_node *node;
    const peers *all;
    proof_secret secret;
    listeners *listening;
    wire to[WME_MOST_NODES];
    wire *guests;
    uint32_t guest_count;
    bool ends;
    uint64_t turns;
    peer_said said; /* large, and used up before the next */
    char chunk[CHUNK_BYTES];
};

static void dial(uv_timer_t *timer);
static void have_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *chunk);

/* ---- the end of a connection ---- */

static void forget_bytes(wire *l)
{
    resp_free(&l->greeting);
    resp_free(&l->sending);
    free(l->pending);
    l->pending = NULL;
    l->pending_bytes = l->pending_room = 0;
    l->writes = false;
}

static void guest_closed(uv_handle_t *handle)
{
    wire *l = handle->data;
    *(l->previous != NULL ? &l->previous->next : &l->of->guests) = l->next;
    if (l->next != NULL)
        l->next->previous = l->previous;
    l->of->guest_count--;
    free(l);
}

static void closed(uv_handle_t *handle)
{
    wire *l = handle->data;
    links *of = l->of;
    forget_bytes(l);
    l->open = l->closing = false;
    if (!l->dials) {
        uv_close((uv_handle_t *)&l->again, guest_closed);
    } else if (!of->ends) {
        l->pause = l->pause * 2 > MOST_PAUSE ? MOST_PAUSE : l->pause * 2;
        uv_timer_start(&l->again, dial, l->pause, 0);
    }
}

static void hang_up(wire *l, const char *why)
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
static void look_at_clock(uv_timer_t *timer)
{
    wire *l = timer->data;
    bool greets = l->auth.state != PEER_AUTH_DONE;
    bool late = greets || uv_now(l->of->loop) > l->heard + MOST_SILENCE;
    if (!greets && l->dials)
        return; /* it only speaks: TCP says whether that arrives */
    if (late && l->doubted) {
        hang_up(l, greets ? "no greeting in time" : "silent for too long");
        return;
    }
    l->doubted = late; /* if this node itself slept, what was said is still to be read */
    uv_timer_start(&l->again, look_at_clock, late ? LEAST_PAUSE : MOST_SILENCE, 0);
}

static void set_limits(wire *l)
{
    int socket;
    unsigned limit = MOST_SILENCE;
    if (uv_fileno((uv_handle_t *)&l->socket, &socket) == 0)
        setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
    uv_tcp_nodelay(&l->socket, 1);
    uv_tcp_keepalive(&l->socket, 1, 1);
}

/* ---- bytes out ---- */

static void written(uv_write_t *write, int status)
{
    wire *l = write->data;
    l->writes = false;
    resp_free(&l->sending);
    if (status < 0)
        hang_up(l, uv_strerror(status));
    else if (l->auth.state == PEER_AUTH_REFUSED)
        hang_up(l, l->auth.complaint);
}

/* Takes the bytes away from `out`. */
static void transmit(wire *l, resp_out *out)
{
    if (l->writes || l->closing || !l->open || out->bytes == 0)
        return;
    resp_out empty = {.most = out->most};
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
        hang_up(l, uv_strerror(error));
}

/* Whether there are bytes that had to wait, and for longer than the early ones. */
static bool owes(const wire *l)
{
    return l->waits_since != 0 && (l->early_since == 0 || l->waits_since < l->early_since);
}

static void note_wait(const resp_out *out, uint64_t turn, uint64_t *since)
{
    if (out->bytes == 0)
        *since = 0;
    else if (*since == 0)
        *since = turn;
}

void links_send_early(links *l)
{
    for (uint8_t i = 0; i < l->all->nodes; i++)
        if (l->to[i].auth.state == PEER_AUTH_DONE && !owes(&l->to[i]))
            transmit(&l->to[i], &l->node->early[i]);
}

/* On a connection that is slow, who has waited for longer is first: else the others never were. */
void links_send(links *l)
{
    l->turns++;
    for (uint8_t i = 0; i < l->all->nodes; i++) {
        wire *to = &l->to[i];
        if (to->auth.state != PEER_AUTH_DONE)
            continue;
        resp_out *early = &l->node->early[i];
        resp_out *rest = &l->node->to_peer[i];
        bool rest_first = owes(to);
        transmit(to, rest_first ? rest : early);
        transmit(to, rest_first ? early : rest);
        note_wait(early, l->turns, &to->early_since);
        note_wait(rest, l->turns, &to->waits_since);
    }
}

bool links_idle(const links *l)
{
    for (uint8_t i = 0; i < l->all->nodes; i++)
        if (l->to[i].writes || l->node->to_peer[i].bytes > 0 || l->node->early[i].bytes > 0)
            return false;
    return true;
}

/* ---- bytes in ---- */

/* Of a node that has started anew, nothing is heard any more that it has said before. */
static void hang_up_on_the_former(const wire *l)
{
    for (wire *g = l->of->guests; g != NULL; g = g->next)
        if (g != l && g->auth.state == PEER_AUTH_DONE && g->auth.other == l->auth.other)
            hang_up(g, "it has come anew");
}

static size_t greet(wire *l, const char *bytes, size_t count)
{
    peer_auth_state before = l->auth.state;
    size_t used = peer_auth_receive(&l->auth, bytes, count, &l->greeting);
    transmit(l, &l->greeting);
    if (l->auth.state == PEER_AUTH_REFUSED) {
        log_line(LOG_WARN, "peer_refused", "direction=%s why=\"%s\"", l->dials ? "out" : "in",
                 l->auth.complaint);
        if (!l->writes)
            hang_up(l, l->auth.complaint);
    } else if (l->auth.state == PEER_AUTH_DONE && before != PEER_AUTH_DONE) {
        l->pause = LEAST_PAUSE;
        log_line(LOG_INFO, "peer", "peer=%s direction=%s", l->of->all->node[l->auth.other].id,
                 l->dials ? "out" : "in");
        if (l->dials) {
            l->tried--; /* that address is good, next time too */
            node_reached(l->of->node, l->peer, true);
        } else {
            hang_up_on_the_former(l);
        }
    }
    return used;
}

static size_t read_one(wire *l, const char *bytes, size_t count)
{
    peer_said *said = &l->of->said;
    resp_parsed p = peer_read(bytes, count, l->of->all->nodes, said);
    if (p.verdict == RESP_BAD) {
        log_line(LOG_WARN, "peer_garbage", "peer=%s why=\"%s\"", l->of->all->node[l->auth.other].id,
                 p.complaint);
        hang_up(l, p.complaint);
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
static size_t take(wire *l, const char *bytes, size_t count)
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

static bool keep(wire *l, const char *bytes, size_t count)
{
    if (l->pending_bytes + count > PEER_MOST_BYTES + CHUNK_BYTES) /* the next has begun */
        return false;
    if (l->pending_bytes + count > l->pending_room) {
        size_t room = (l->pending_bytes + count) * 2;
        char *grown = realloc(l->pending, room);
        if (grown == NULL)
            return false;
        l->pending = grown;
        l->pending_room = room;
    }
    memcpy(l->pending + l->pending_bytes, bytes, count);
    l->pending_bytes += count;
    return true;
}

static void take_pending(wire *l)
{
    size_t used = take(l, l->pending, l->pending_bytes);
    l->pending_bytes -= used;
    memmove(l->pending, l->pending + used, l->pending_bytes);
    if (l->pending_bytes == 0) {
        free(l->pending);
        l->pending = NULL;
        l->pending_room = 0;
    }
}

static void have_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *chunk)
{
    wire *l = stream->data;
    if (count < 0) {
        hang_up(l, count == UV_EOF ? "closed" : uv_strerror((int)count));
        return;
    }
    l->heard = uv_now(l->of->loop);
    size_t bytes = (size_t)count;
    size_t used = l->pending_bytes == 0 ? take(l, chunk->base, bytes) : 0;
    if (l->closing)
        return;
    if (used < bytes && !keep(l, chunk->base + used, bytes - used))
        hang_up(l, "more than a message can be");
    else if (l->pending_bytes > 0)
        take_pending(l);
}

static void get_chunk(uv_handle_t *handle, size_t suggested, uv_buf_t *chunk)
{
    wire *l = handle->data;
    (void)suggested;
    *chunk = uv_buf_init(l->of->chunk, CHUNK_BYTES);
}

static void begin_to_read(wire *l)
{
    set_limits(l);
    uv_read_start((uv_stream_t *)&l->socket, get_chunk, have_read);
}

/* ---- dialing ---- */

static void connected(uv_connect_t *connecting, int status)
{
    wire *l = connecting->data;
    uint8_t nonce[PROOF_BYTES];
    if (l->closing)
        return;
    if (status < 0 || !proof_nonce(nonce)) {
        hang_up(l, status < 0 ? uv_strerror(status) : "no random numbers");
        return;
    }
    peer_auth_dial(&l->auth, l->of->all, l->of->secret, l->peer, nonce, &l->greeting);
    begin_to_read(l);
    transmit(l, &l->greeting);
}

/* One after the other, a new one each time. */
static const struct sockaddr *next_address(wire *l, const struct addrinfo *all)
{
    uint32_t count = 0;
    for (const struct addrinfo *one = all; one != NULL; one = one->ai_next)
        count++;
    assert(count > 0);
    for (uint32_t skip = l->tried++ % count; skip > 0; skip--)
        all = all->ai_next;
    return all->ai_addr;
}

static void resolved(uv_getaddrinfo_t *asking, int status, struct addrinfo *found)
{
    wire *l = asking->data;
    if (l->of->ends) {
        uv_freeaddrinfo(found);
        return;
    }
    int error = status;
    if (error == 0) {
        uv_tcp_init(l->of->loop, &l->socket);
        l->socket.data = l;
        l->open = true;
        l->doubted = false;
        uv_timer_start(&l->again, look_at_clock, MOST_GREETING, 0);
        error = uv_tcp_connect(&l->connecting, &l->socket, next_address(l, found), connected);
        if (error != 0)
            hang_up(l, uv_strerror(error));
    } else {
        log_line(LOG_WARN, "peer_unknown", "host=%s why=\"%s\"", l->of->all->node[l->peer].host,
                 uv_strerror(error));
        uv_timer_start(&l->again, dial, MOST_PAUSE, 0);
    }
    uv_freeaddrinfo(found);
}

static void dial(uv_timer_t *timer)
{
    wire *l = timer->data;
    const peers_node *to = &l->of->all->node[l->peer];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    char port[8];
    snprintf(port, sizeof port, "%u", to->port);
    memset(&l->auth, 0, sizeof l->auth);
    l->auth.other = l->peer;
    if (uv_getaddrinfo(l->of->loop, &l->asking, resolved, to->host, port, &hints) != 0)
        uv_timer_start(&l->again, dial, MOST_PAUSE, 0);
}

/* ---- accepting ---- */

static void accepted(void *context, int socket, bool is_unix)
{
    links *of = context;
    uint8_t nonce[PROOF_BYTES];
    wire *l = of->guest_count < MOST_GUESTS ? calloc(1, sizeof *l) : NULL;
    (void)is_unix;
    if (l == NULL || !proof_nonce(nonce)) {
        free(l);
        close(socket);
        return;
    }
    l->of = of;
    l->open = true;
    uv_tcp_init(of->loop, &l->socket);
    uv_timer_init(of->loop, &l->again);
    l->socket.data = l->write.data = l->again.data = l;
    uv_timer_start(&l->again, look_at_clock, MOST_GREETING, 0);
    l->next = of->guests;
    if (l->next != NULL)
        l->next->previous = l;
    of->guests = l;
    of->guest_count++;
    peer_auth_listen(&l->auth, of->all, of->secret, nonce);
    int error = uv_tcp_open(&l->socket, socket);
    if (error != 0) {
        close(socket);
        hang_up(l, uv_strerror(error));
    } else {
        begin_to_read(l);
    }
}

/* ---- begin and end ---- */

links *links_open(uv_loop_t *loop, cluster_node *node, const peers *all, proof_secret secret,
                  char complaint[256])
{
    char address[PEERS_MOST_HOST + 16];
    const char *own = address;
    const peers_node *me = &all->node[all->me];
    links *l = calloc(1, sizeof *l);
    if (l == NULL) {
        snprintf(complaint, 256, "out of memory");
        return NULL;
    }
    *l = (links){.loop = loop, .node = node, .all = all, .secret = secret};
    snprintf(address, sizeof address, strchr(me->host, ':') != NULL ? "[%s]:%u" : "%s:%u", me->host,
             me->port);
    l->listening = listen_open(loop, &own, 1, accepted, l, complaint);
    if (l->listening == NULL) {
        free(l);
        return NULL;
    }
    for (uint8_t i = 0; i < all->nodes; i++) {
        if (i == all->me)
            continue;
        wire *to = &l->to[i];
        *to = (wire){.of = l, .dials = true, .peer = i, .pause = LEAST_PAUSE};
        uv_timer_init(loop, &to->again);
        to->again.data = to->connecting.data = to->asking.data = to->write.data = to;
        uv_timer_start(&to->again, dial, 0, 0);
    }
    return l;
}

void links_close(links *l)
{
    l->ends = true;
    listen_close(l->listening);
    for (uint8_t i = 0; i < l->all->nodes; i++)
        if (i != l->all->me) {
            uv_close((uv_handle_t *)&l->to[i].again, NULL);
            hang_up(&l->to[i], "this node ends");
        }
    for (wire *g = l->guests; g != NULL; g = g->next)
        hang_up(g, "this node ends");
}

void links_free(links *l)
{
    listen_free(l->listening);
    free(l);
}
