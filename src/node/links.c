/* See links.h. */
#include "links.h"
#include "peer_connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Connections that have not shown yet who they are. */
enum { MAX_STRANGERS = 64 };

/* ---- sending ---- */

/* Whether there are bytes that had to wait, and for longer than the early ones. */
static bool owes(const peer_connection *l)
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
        if (link_is_known(&l->to[i]) && !owes(&l->to[i]))
            link_transmit(&l->to[i], &l->node->early[i]);
}

/* On a connection that is slow, who has waited for longer is first: else the others never were. */
static void send_to(links *l, uint8_t peer)
{
    peer_connection *to = &l->to[peer];
    resp_out *early = &l->node->early[peer];
    resp_out *rest = &l->node->to_peer[peer];
    bool rest_first = owes(to);
    link_transmit(to, rest_first ? rest : early);
    link_transmit(to, rest_first ? early : rest);
    note_wait(early, l->turns, &to->early_since);
    note_wait(rest, l->turns, &to->waits_since);
}

void links_send(links *l)
{
    l->turns++;
    for (uint8_t i = 0; i < l->all->nodes; i++)
        if (link_is_known(&l->to[i]) && !node_may_wait(l->node, i))
            send_to(l, i);
}

void links_send_rest(links *l)
{
    for (uint8_t i = 0; i < l->all->nodes; i++)
        if (link_is_known(&l->to[i]))
            send_to(l, i);
}

void links_tell_refused(links *l)
{
    for (uint8_t i = 0; i <= l->all->nodes; i++) {
        log_sum_tell(&l->refused[false][i], uv_now(l->loop));
        log_sum_tell(&l->refused[true][i], uv_now(l->loop));
    }
    listen_tell_failures(l->listening);
}

bool links_idle(const links *l)
{
    for (uint8_t i = 0; i < l->all->nodes; i++)
        if (l->to[i].writes || l->node->to_peer[i].bytes > 0 || l->node->early[i].bytes > 0)
            return false;
    return true;
}

/* ---- accepting ---- */

/* Whoever knows the secret shows it at once: it is hardly ever the oldest. */
static void make_room(links *of)
{
    if (of->stranger_count >= MAX_STRANGERS)
        link_hang_up(OWNER_OF(list_first(&of->strangers), peer_connection, in_guests),
                     "too many strangers");
}

static void accepted(void *context, int socket, address_kind kind)
{
    links *of = context;
    peer_connection *l = calloc(1, sizeof *l);
    (void)kind;
    if (l == NULL) {
        close(socket);
        return;
    }
    make_room(of);
    l->of = of;
    l->open = true;
    uv_tcp_init(of->loop, &l->socket);
    uv_timer_init(of->loop, &l->again);
    l->socket.data = l->write.data = l->again.data = l;
    uv_timer_start(&l->again, link_look_at_clock, LINK_MAX_GREETING, 0);
    list_push_back(&of->strangers, &l->in_guests);
    of->stranger_count++;
    peer_hello_listen(&l->hello, of->all);
    int error = uv_tcp_open(&l->socket, socket);
    if (error != 0) {
        close(socket);
        link_hang_up(l, uv_strerror(error));
    } else {
        link_begin(l, peer_tls_accept(&of->tls));
    }
}

/* ---- begin and end ---- */

static bool dial_all(links *l)
{
    for (uint8_t i = 0; i < l->all->nodes; i++) {
        peer_connection *to = &l->to[i];
        *to = (peer_connection){.of = l, .dials = true, .peer = i, .pause = LINK_LEAST_PAUSE};
        if (i != l->all->me && !link_dials(to))
            return false;
    }
    return true;
}

links *links_open(uv_loop_t *loop, cluster_node *node, const peers *all, const peer_credentials *by,
                  char complaint[COMPLAINT])
{
    char address[PEERS_MAX_HOST + 16];
    const char *own = address;
    const peers_node *me = &all->node[all->me];
    links *l = calloc(1, sizeof *l);
    if (l == NULL) {
        snprintf(complaint, COMPLAINT, "out of memory");
        return NULL;
    }
    *l = (links){.loop = loop, .node = node, .all = all};
    list_start(&l->guests);
    list_start(&l->strangers);
    for (uint8_t i = 0; i <= all->nodes; i++)
        l->refused[false][i] = l->refused[true][i] =
            (log_sum){.level = LOG_WARN, .event = "peer_refused"};
    if (!peer_tls_open(&l->tls, all, by, complaint)) {
        free(l);
        return NULL;
    }
    snprintf(address, sizeof address, strchr(me->host, ':') != NULL ? "[%s]:%u" : "%s:%u", me->host,
             me->port);
    l->listening = listen_open(loop, &own, 1, accepted, l, complaint);
    if (l->listening == NULL) {
        peer_tls_close(&l->tls);
        free(l);
        return NULL;
    }
    if (!dial_all(l)) {
        snprintf(complaint, COMPLAINT, "no descriptors are left; raise their limit");
        links_close(l); /* the loop has still to do with it, so it is not freed */
        return NULL;
    }
    return l;
}

int links_descriptor(const links *l)
{
    return listen_descriptor(l->listening);
}

void links_close(links *l)
{
    l->ends = true;
    listen_close(l->listening);
    for (uint8_t i = 0; i < l->all->nodes; i++) {
        peer_connection *to = &l->to[i];
        if (to->name.host == NULL)
            continue; /* this node itself, or one that was not dialed yet */
        link_dials_no_more(to);
        link_hang_up(to, "this node ends");
    }
    LIST_EACH (at, &l->guests)
        link_hang_up(OWNER_OF(at, peer_connection, in_guests), "this node ends");
    LIST_EACH (at, &l->strangers)
        link_hang_up(OWNER_OF(at, peer_connection, in_guests), "this node ends");
}

void links_free(links *l)
{
    listen_free(l->listening);
    peer_tls_close(&l->tls);
    free(l);
}
