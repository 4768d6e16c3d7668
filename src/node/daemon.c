/* See daemon.h. No protocol here: it opens and closes, and ends turns. */
#include "daemon.h"
#include "../net/log.h"
#include "../net/server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

node_daemon *daemon_of(const server *of)
{
    return of->settings->context;
}

cluster_node *daemon_node(service *s)
{
    return &daemon_of((server *)(void *)s)->node;
}

const peers *daemon_peers(service *s)
{
    return &daemon_of((server *)(void *)s)->peers;
}

static bool remember_lease(service *s, uint64_t lease)
{
    (void)s;
    (void)lease;
    return true; /* a node that crashes is ejected, whatever leases its sessions had */
}

/*
 * The disk failed: nothing that was said since is true. Other nodes have what was acknowledged, so
 * to end is safe, and all that is.
 */
static void give_up(const node_daemon *d)
{
    log_line(LOG_ERROR, "disk", "why=\"%s\"", store_why(d->store));
    exit(EXIT_FAILURE);
}

static void turn_ends(service *s)
{
    node_daemon *d = daemon_of((server *)(void *)s);
    if (d->links != NULL)
        links_send_early(d->links);
    if (!node_turn_ends(&d->node))
        give_up(d);
    if (d->links != NULL)
        links_send(d->links);
}

static void tick(uv_timer_t *timer)
{
    node_daemon *d = timer->data;
    node_tick(&d->node, uv_now(timer->loop));
}

static bool open_store(node_daemon *d, char complaint[256])
{
    char cluster[PROOF_HEX + 1];
    char why[STORE_COMPLAINT];
    proof_to_hex(d->peers.digest, cluster);
    cluster[32] = '\0';
    store_options options = {
        .directory = d->data,
        .cluster = cluster,
        .node = d->peers.node[d->peers.me].id,
        .durability = d->durability,
        .most_bytes = d->most_bytes,
    };
    d->store = store_open(&options, why);
    if (d->store == NULL)
        snprintf(complaint, 256, "%.255s", why);
    return d->store != NULL;
}

static bool node_open(server *of, char complaint[256])
{
    node_daemon *d = daemon_of(of);
    uv_loop_t *uv = &of->loop[0].uv;
    uint8_t chance[PROOF_BYTES];
    uint64_t seed;
    signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error of the disk like any other */
    if (!open_store(d, complaint))
        return false;
    bool first_run = !store_booted(d->store);
    if (store_took_back(d->store))
        log_line(LOG_WARN, "disk", "why=\"the last turn did not come to the disk as a whole\"");
    if (!store_mark_booted(d->store) || !proof_nonce(chance)) {
        snprintf(complaint, 256, "%s", store_why(d->store));
        return false;
    }
    memcpy(&seed, chance, sizeof seed);
    node_beginning beginning = {.all = &d->peers,
                                .store = d->store,
                                .first_run = first_run,
                                .forgets = d->durability == STORE_MEMORY,
                                .ack_all = d->ack_all,
                                .chance = seed,
                                .now = uv_now(uv)};
    if (!node_start(&d->node, &beginning)) {
        const char *why = store_why(d->store);
        snprintf(complaint, 256, "%s", why[0] != '\0' ? why : "out of memory");
        return false;
    }
    d->node.most_waiters = of->settings->most_waiters;
    of->service.locks = &d->node.registry;
    of->service.more = daemon_commands;
    of->service.turn_ends = turn_ends;
    of->service.remember_lease = remember_lease;
    d->links = links_open(uv, &d->node, &d->peers, d->secret, complaint);
    if (d->links == NULL)
        return false;
    uv_timer_init(uv, &d->ticks);
    d->ticks.data = d;
    uv_timer_start(&d->ticks, tick, NODE_TICK, NODE_TICK);
    log_line(LOG_INFO, "node", "id=%s nodes=%u data=%s first_run=%d", d->peers.node[d->peers.me].id,
             d->peers.nodes, d->data, first_run);
    return true;
}

static void node_look_after(server *of)
{
    (void)of;
}

/*
 * Who holds nothing is cut off, and so moves on to another node; who holds something is given time.
 * It is over when the other nodes have been told about the last token.
 */
static bool node_drained(server *of)
{
    node_daemon *d = daemon_of(of);
    loop *in = &of->loop[0];
    for (connection *c = in->connections, *next; c != NULL; c = next) {
        next = c->next;
        if (c->closing || c->session.ends || node_holds(&c->session.roles))
            continue;
        registry_leave(of->service.locks, &c->session.roles, uv_now(&in->uv));
        c->session.ends = true;
        connection_serve(c);
    }
    bool sent = links_idle(d->links);
    return node_hand_over(&d->node) && sent && links_idle(d->links);
}

static void node_stop(server *of)
{
    node_daemon *d = daemon_of(of);
    links_close(d->links);
    uv_close((uv_handle_t *)&d->ticks, NULL);
}

static void node_close(server *of)
{
    node_daemon *d = daemon_of(of);
    d->node.writes = true; /* what the resource has executed need not be done again */
    if (!node_turn_ends(&d->node))
        give_up(d);
    links_free(d->links);
    node_end(&d->node);
    store_close(d->store);
}

const serve_backend serve_node = {
    .open = node_open,
    .look_after = node_look_after,
    .stop = node_stop,
    .close = node_close,
    .drained = node_drained,
    .is_open = daemon_is_open,
    .more_metrics = daemon_metrics,
};
