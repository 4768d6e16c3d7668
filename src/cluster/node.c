/* A node: messages, time, and the end of a turn. */
#include "node.h"
#include "node_lock.h"
#include "out.h"

#include <stdlib.h>
#include <string.h>

bool node_start(cluster_node *n, const node_beginning *b)
{
    enum { FIRST_BUCKETS = 256 };
    memset(n, 0, sizeof *n);
    n->locks.backend = &node_backend;
    n->all = b->all;
    n->wme = (wme_node){.me = b->all->me, .nodes = b->all->nodes, .ack_all = b->ack_all};
    n->store = b->store;
    n->first_run = b->first_run;
    n->max_waiters = 10000;
    n->max_detached = NODE_MAX_DETACHED;
    n->rest_after = NODE_REST_AFTER;
    n->max_output = NODE_MAX_PEER_OUTPUT;
    n->patrols = true;
    n->chance = b->chance;
    n->run = b->chance | 1;
    n->now = b->now;
    n->counts.turns = 1;
    due_start(n);
    list_start(&n->asking);
    list_start(&n->trying);
    list_start(&n->dismissed);
    list_start(&n->detached);
    bool has_room = name_table_start(&n->loaded, FIRST_BUCKETS);
    for (uint8_t i = 0; i < n->wme.nodes; i++)
        n->to_peer[i].max = n->early[i].max = n->max_output;
    detector_settings settings = {NODE_BEAT, NODE_FIRST_TIMEOUT, NODE_MAX_TIMEOUT};
    detector_start(&n->detector, n->wme.me, n->wme.nodes, settings, n->now);
    bool joins = join_start(n, b->forgets);
    return has_room && joins;
}

void node_end(cluster_node *n)
{
    node_locks_each(n, node_lock_free);
    name_table_end(&n->loaded);
    detached_free(n);
    queues_free(n);
    for (uint8_t i = 0; i < n->wme.nodes; i++) {
        resp_free(&n->to_peer[i]);
        resp_free(&n->early[i]);
    }
    for (uint32_t i = 0; i < WME_MAX_ACTIONS; i++)
        resp_free(&n->results[i]);
}

/* ---- for every lock ---- */

void node_locks_each(cluster_node *n, void (*what)(cluster_node *n, node_lock *p))
{
    name_walk loaded = name_walk_all(&n->loaded);
    for (node_lock *p; (p = node_lock_next(&loaded)) != NULL;)
        what(n, p);
}

void node_locks_suspicion(cluster_node *n)
{
    n->wme.suspected = n->detector.suspected;
    due_suspicions(n);
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

/* Whoever is new ignores what it is told about locks. When it does not any more, it is told. */
static void note_deafness(cluster_node *n, uint8_t from, const peer_said *said)
{
    uint16_t bit = wme_bit(from);
    if (said->verb == PEER_BOOT && said->boot_check.state == BOOT_NEW) {
        n->deaf |= bit;
    } else if (said->verb != PEER_BOOT && (n->deaf & bit) != 0) {
        n->deaf &= (uint16_t)~bit;
        due_link(n, from);
        resting_tell(n, from);
    }
}

static void hear_message(cluster_node *n, uint8_t from, resp_word name, wme_message *m,
                         const peer_snapshot *snapshot)
{
    n->counts.received++;
    if (name.bytes > STORE_MAX_NAME) {
        n->wme.refused[WME_MALFORMED]++;
        return;
    }
    if (m->kind == WME_SYNC && node_lock_knows(n, name, m))
        return;
    node_lock *p = node_lock_get(n, name.at, name.bytes);
    if (p == NULL || !check_snapshot(n, m, snapshot))
        return;
    n->snapshot = snapshot;
    replica_receive(&p->replica, &n->wme, from, m, &n->out);
    node_lock_carry_out(n, p);
    n->snapshot = NULL;
}

void node_receive(cluster_node *n, uint8_t from, const peer_said *said, uint64_t now)
{
    n->now = now;
    /* Whoever is new may well be suspected: it does not use what it is said to own. */
    bool counts = (said->verb != PEER_BOOT || said->boot_check.state != BOOT_NEW) &&
                  (n->boot_check.outdated >> from & 1) == 0;
    if ((counts || !node_takes_part(n)) && detector_heard(&n->detector, from, now))
        node_locks_suspicion(n);
    note_deafness(n, from, said);
    if (join_receive(n, from, said))
        return;
    wme_message m = said->message;
    if (said->verb == PEER_MESSAGE)
        hear_message(n, from, said->words, &m, &said->snapshot);
    for (uint32_t i = 0; said->verb == PEER_SYNCS && i < said->syncs.names; i++) {
        m = peer_syncs_at(&said->syncs, i);
        hear_message(n, from, said->syncs.name[i], &m, &said->snapshot);
    }
}

void node_reached(cluster_node *n, uint8_t peer, bool reached)
{
    n->reached[peer] = reached;
    resp_free(&n->to_peer[peer]);
    resp_free(&n->early[peer]);
    n->to_peer[peer] = n->early[peer] = (resp_out){.max = n->max_output};
    n->missed[peer] = false;
    if (!reached) {
        resting_lost(n);
        return;
    }
    join_tick(n);
    resting_tell(n, peer);
    due_link(n, peer); /* to find out who has missed something */
}

void node_drops(cluster_node *n, uint8_t to)
{
    n->counts.dropped++;
    n->missed[to] = n->reached[to];
}

/* ---- consensus outside ---- */

void node_lock_ask(cluster_node *n, node_lock *p)
{
    if (p->asks || n->now < p->ask_after)
        return; /* it comes again with the next tick */
    p->asks = true;
    list_push_back(&n->asking, &p->in_asking);
}

node_lock *node_lock_next_asking(cluster_node *n)
{
    return OWNER_OF(list_pop(&n->asking), node_lock, in_asking);
}

wme_refusal node_lock_decided(cluster_node *n, node_lock *p, const wme_record *decision)
{
    wme_refusal why = replica_decided(&p->replica, &n->wme, decision, &n->out);
    node_lock_carry_out(n, p);
    return why;
}

/* ---- time ---- */

void node_tick(cluster_node *n, uint64_t now)
{
    n->now = now;
    n->revoked = 0;
    join_tick(n);
    detector_news news = detector_time(&n->detector, now);
    if (news.changed)
        node_locks_suspicion(n);
    roles_time(n);
    if (!node_takes_part(n))
        return;
    for (uint8_t i = 0; i < n->wme.nodes && news.beat; i++)
        if (n->reached[i])
            peer_say_heartbeat(&n->to_peer[i], join_turn(n));
    detached_time(n);
    due_tick(n);
    resting_tick(n);
}

bool node_turn_ends(cluster_node *n)
{
    /* What only the resource has changed waits for the next time; what has failed must not. */
    bool kept = n->writes ? store_commit(n->store) : store_works(n->store);
    n->counts.turns++;
    n->writes = false;
    return kept;
}

bool node_may_wait(const cluster_node *n, uint8_t peer)
{
    return n->to_peer[peer].bytes == n->patient[peer];
}

/* ---- for those who look ---- */

/* Whoever looks at a lock that nobody has used must not make it one that costs something. */
static bool is_known(cluster_node *n, byte_string name)
{
    store_lock kept;
    replica_durable durable;
    if (node_lock_find(n, (const char *)name.at, name.bytes) != NULL)
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
    node_lock *p = node_lock_get(n, (const char *)name.at, name.bytes);
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
