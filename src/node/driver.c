/* See driver.h. */
#include "driver.h"
#include "listen.h"
#include "log.h"

#include <stdio.h>
#include <string.h>

bool driver_is_local(const node_driver *d)
{
    char address[PEERS_MAX_HOST + 16];
    for (uint8_t i = 0; i < d->peers.nodes; i++) {
        const peers_node *node = &d->peers.node[i];
        const char *form = strchr(node->host, ':') != NULL ? "[%s]:%u" : "%s:%u";
        snprintf(address, sizeof address, form, node->host, node->port);
        if (!listen_is_local(address))
            return false;
    }
    return true;
}

/* ---- opening ---- */

static bool open_store(node_driver *d, char complaint[COMPLAINT])
{
    char cluster[PROOF_HEX + 1];
    char why[COMPLAINT];
    proof_to_hex(d->peers.digest, cluster);
    cluster[32] = '\0';
    store_options options = {
        .directory = d->data,
        .cluster = cluster,
        .node = d->peers.node[d->peers.me].id,
        .durability = d->durability,
        .max_bytes = d->max_bytes,
        .own = d->own,
    };
    d->store = store_open(&options, why);
    if (d->store == NULL)
        snprintf(complaint, COMPLAINT, "%s", why);
    return d->store != NULL;
}

static bool start_node(node_driver *d, uv_loop_t *loop, char complaint[COMPLAINT])
{
    uint8_t chance[PROOF_BYTES];
    uint64_t seed;
    bool first_run = !store_booted(d->store);
    if (store_took_back(d->store))
        log_line(LOG_WARN, "disk", "why=\"the last turn did not come to the disk as a whole\"");
    if (!store_mark_booted(d->store) || !proof_nonce(chance)) {
        snprintf(complaint, COMPLAINT, "%s", store_why(d->store));
        return false;
    }
    memcpy(&seed, chance, sizeof seed);
    node_beginning beginning = {.all = &d->peers,
                                .store = d->store,
                                .first_run = first_run,
                                .forgets = d->durability == STORE_MEMORY,
                                .ack_all = d->ack_all,
                                .chance = seed,
                                .now = uv_now(loop)};
    if (!node_start(&d->node, &beginning)) {
        const char *why = store_why(d->store);
        snprintf(complaint, COMPLAINT, "%s", why[0] != '\0' ? why : "out of memory");
        return false;
    }
    d->node.only = d->only;
    log_line(LOG_INFO, "node", "id=%s nodes=%u data=%s first_run=%d consensus=%s",
             d->peers.node[d->peers.me].id, d->peers.nodes, d->data, first_run, d->peers.engine);
    return true;
}

static void tick(uv_timer_t *timer)
{
    node_driver *d = timer->data;
    node_tick(&d->node, uv_now(timer->loop));
    links_tell_refused(d->links);
}

bool driver_open(node_driver *d, uv_loop_t *loop, char complaint[COMPLAINT])
{
    if (!open_store(d, complaint))
        return false;
    if (!start_node(d, loop, complaint)) {
        store_close(d->store);
        return false;
    }
    d->links = links_open(loop, &d->node, &d->peers, &d->credentials, complaint);
    if (d->links == NULL) {
        node_end(&d->node);
        store_close(d->store);
        return false;
    }
    uv_timer_init(loop, &d->ticks);
    d->ticks.data = d;
    uv_timer_start(&d->ticks, tick, NODE_TICK, NODE_TICK);
    return true;
}

/* ---- turns, and the end ---- */

bool driver_turn_ends(node_driver *d)
{
    links_send_early(d->links);
    if (!node_turn_ends(&d->node))
        return false;
    links_send(d->links);
    return true;
}

void driver_turn_told(node_driver *d)
{
    links_send_rest(d->links);
}

bool driver_last_turn(node_driver *d)
{
    d->node.writes = true; /* what the resource has executed need not be done again */
    return node_turn_ends(&d->node);
}

bool driver_drained(node_driver *d)
{
    bool sent = links_idle(d->links);
    return node_hand_over(&d->node) && sent && links_idle(d->links);
}

void driver_stop(node_driver *d)
{
    links_close(d->links);
    uv_close((uv_handle_t *)&d->ticks, NULL);
}

void driver_close(node_driver *d)
{
    links_free(d->links);
    node_end(&d->node);
    store_close(d->store);
}
