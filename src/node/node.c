/* A node: messages, time, and the end of a turn. */
#include "node.h"
#include "../wme/out.h"
#include "site.h"

#include <stdlib.h>
#include <string.h>

bool node_start(cluster_node *n, const node_beginning *b)
{
    memset(n, 0, sizeof *n);
    n->registry.ways = &node_ways;
    n->all = b->all;
    n->wme = (wme_node){.me = b->all->me, .nodes = b->all->nodes, .ack_all = b->ack_all};
    n->store = b->store;
    n->first_run = b->first_run;
    n->most_waiters = 10000;
    n->chance = b->chance;
    n->run = b->chance | 1;
    n->now = b->now;
    n->counts.turns = 1;
    n->buckets = 256;
    n->bucket = calloc(n->buckets, sizeof(site *));
    for (uint8_t i = 0; i < n->wme.nodes; i++)
        n->to_peer[i].most = n->early[i].most = NODE_MOST_PEER_OUTPUT;
    detector_settings settings = {NODE_BEAT, NODE_FIRST_TIMEOUT, NODE_MOST_TIMEOUT};
    detector_start(&n->detector, n->wme.me, n->wme.nodes, settings, n->now);
    pthread_mutex_init(&n->shows, NULL);
    bool joins = join_start(n, b->forgets);
    node_show(n);
    return n->bucket != NULL && joins;
}

void node_end(cluster_node *n)
{
    for (size_t b = 0; b < n->buckets; b++)
        for (site *p = n->bucket[b], *next; p != NULL; p = next) {
            next = p->next;
            site_free(n, p);
        }
    free(n->bucket);
    ghosts_free(n);
    for (uint8_t i = 0; i < n->wme.nodes; i++) {
        resp_free(&n->to_peer[i]);
        resp_free(&n->early[i]);
    }
    for (uint32_t i = 0; i < WME_MOST_ACTIONS; i++)
        resp_free(&n->results[i]);
    pthread_mutex_destroy(&n->shows);
}

/* ---- for every lock ---- */

void sites_each(cluster_node *n, void (*what)(cluster_node *n, site *p))
{
    for (size_t b = 0; b < n->buckets; b++)
        for (site *p = n->bucket[b]; p != NULL; p = p->next)
            what(n, p);
}

static void hear_suspicion(cluster_node *n, site *p)
{
    replica_suspicion(&p->replica, &n->wme, &n->out);
    site_carry_out(n, p);
}

static void tick(cluster_node *n, site *p)
{
    replica_tick(&p->replica, &n->wme, &n->out);
    site_carry_out(n, p);
    seats_time(n, p);
}

void sites_suspicion(cluster_node *n)
{
    n->wme.suspected = n->detector.suspected;
    sites_each(n, hear_suspicion);
}

/* ---- messages ---- */

/* The resource that comes along must be one, and what it says of itself true. */
static bool check_snapshot(cluster_node *n, wme_message *m, const peer_snapshot *snapshot)
{
    uint64_t executed;
    byte_string bytes = {snapshot->at, snapshot->bytes};
    if (!m->snapshot)
        return true;
    if (store_check_snapshot(bytes, &executed, m->answered) == NULL && executed == m->executed)
        return true;
    n->wme.refused[WME_MALFORMED]++;
    return false;
}

void node_receive(cluster_node *n, uint8_t from, const peer_said *said, uint64_t now)
{
    n->now = now;
    /* Whoever is new may well be suspected: it does not use what it is said to own. */
    bool counts = said->verb != PEER_MUSTER || said->muster.state != MUSTER_NEW;
    if ((counts || !node_takes_part(n)) && detector_heard(&n->detector, from, now))
        sites_suspicion(n);
    if (join_receive(n, from, said) || said->verb != PEER_MESSAGE)
        return;
    n->counts.received++;
    if (said->words.bytes > STORE_MOST_NAME) {
        n->wme.refused[WME_MALFORMED]++;
        return;
    }
    wme_message m = said->message;
    if (m.kind == WME_SYNC && site_knows(n, said->words, &m))
        return;
    site *p = site_get(n, said->words.at, said->words.bytes);
    if (p == NULL || !check_snapshot(n, &m, &said->snapshot))
        return;
    if (m.kind != WME_SYNC) /* that comes for want of news */
        p->used_at = now;
    n->snapshot = &said->snapshot;
    replica_receive(&p->replica, &n->wme, from, &m, &n->out);
    site_carry_out(n, p);
    n->snapshot = NULL;
}

void node_reached(cluster_node *n, uint8_t peer, bool reached)
{
    n->reached[peer] = reached;
    resp_free(&n->to_peer[peer]);
    resp_free(&n->early[peer]);
    n->to_peer[peer] = n->early[peer] = (resp_out){.most = NODE_MOST_PEER_OUTPUT};
    if (!reached) {
        resting_lost(n);
        return;
    }
    join_tick(n);
    resting_tell(n, peer);
    if (node_takes_part(n))
        sites_each(n, tick); /* to find out who has missed something */
}

/* ---- consensus outside ---- */

void site_ask(cluster_node *n, site *p)
{
    if (p->asks || n->now < p->ask_after)
        return; /* it comes again with the next tick */
    p->asks = true;
    p->next_asking = NULL;
    *(n->last_asking != NULL ? &n->last_asking->next_asking : &n->asking) = p;
    n->last_asking = p;
}

site *site_next_asking(cluster_node *n)
{
    site *p = n->asking;
    if (p == NULL)
        return NULL;
    n->asking = p->next_asking;
    if (n->asking == NULL)
        n->last_asking = NULL;
    return p;
}

wme_refusal site_decided(cluster_node *n, site *p, const wme_record *decision)
{
    wme_refusal why = replica_decided(&p->replica, &n->wme, decision, &n->out);
    site_carry_out(n, p);
    return why;
}

/* ---- time ---- */

/* Something is going on that a lost message could stop. */
static bool is_busy(const site *p)
{
    const wme_stub *s = &p->replica.stub;
    return s->blocked || s->state == WME_REQUESTING || s->executed < s->now.ops || p->seats != NULL;
}

static void tick_if_busy(cluster_node *n, site *p)
{
    if (p->waiters > n->counts.longest_queue)
        n->counts.longest_queue = p->waiters;
    if (is_busy(p))
        tick(n, p);
}

/* The others in turn, a few each time. */
static void sweep(cluster_node *n)
{
    enum { BUCKETS_AT_ONCE = 16 };
    for (uint32_t i = 0; i < BUCKETS_AT_ONCE; i++) {
        n->next_sweep = (n->next_sweep + 1) & (n->buckets - 1);
        for (site *p = n->bucket[n->next_sweep], *next; p != NULL; p = next) {
            next = p->next;
            if (is_busy(p) || site_rests(n, p))
                continue;
            tick(n, p);
            p->compared_at = n->now;
        }
    }
}

void node_tick(cluster_node *n, uint64_t now)
{
    n->now = now;
    join_tick(n);
    detector_news news = detector_time(&n->detector, now);
    if (news.changed)
        sites_suspicion(n);
    if (!node_takes_part(n)) {
        sites_each(n, seats_time);
        return;
    }
    for (uint8_t i = 0; i < n->wme.nodes && news.beat; i++)
        if (n->reached[i])
            peer_say_heartbeat(&n->to_peer[i]);
    n->counts.longest_queue = 0;
    ghosts_time(n);
    sites_each(n, tick_if_busy);
    sweep(n);
    resting_tick(n);
}

bool node_turn_ends(cluster_node *n)
{
    /* What only the resource has changed waits for the next time; what has failed must not. */
    bool kept = n->writes ? store_commit(n->store) : store_works(n->store);
    n->counts.turns++;
    n->writes = false;
    node_show(n);
    return kept;
}

/* ---- for those who look ---- */

/* Whoever looks at a lock that nobody has used must not make it one that costs something. */
static bool is_known(cluster_node *n, byte_string name)
{
    store_lock kept;
    replica_durable durable;
    if (site_find(n, (const char *)name.at, name.bytes) != NULL)
        return true;
    store_found found = store_load(n->store, name, &kept, &durable);
    if (found == STORE_FOUND)
        replica_durable_end(&durable);
    return found == STORE_FOUND;
}

static void nothing_there(resp_out *out)
{
    resp_array(out, 4);
    resp_null(out);
    for (int i = 0; i < 3; i++)
        resp_integer(out, 0);
}

bool node_read(cluster_node *n, byte_string name, byte_string key, resp_out *out)
{
    if (!is_known(n, name)) {
        nothing_there(out);
        return true;
    }
    site *p = site_get(n, (const char *)name.at, name.bytes);
    resp_out value = {0};
    if (p == NULL || !store_read(n->store, &p->kept, key, &value)) {
        resp_free(&value);
        return false;
    }
    const wme_record *now = &p->replica.stub.now;
    resp_array(out, 4);
    if (value.bytes == 5 && memcmp(value.at, "$-1\r\n", 5) == 0)
        resp_null(out);
    else
        resp_raw(out, value.at, value.bytes);
    resp_integer(out, (int64_t)now->epoch);
    resp_integer(out, (int64_t)now->sn);
    resp_integer(out, (int64_t)p->kept.executed);
    resp_free(&value);
    return true;
}
