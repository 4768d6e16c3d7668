/* Locks of a node: found, loaded from the disk, and what their replicas want done. */
#include "site.h"
#include "../wme/out.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(STORE_MOST_SNAPSHOT <= PEER_MOST_SNAPSHOT, "whatever a lock has can be sent");

/* FNV-1a: the same on every node, since the first owner of a lock depends on it. */
static uint64_t hash_name(const char *name, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3ULL;
    return hash ^ hash >> 32;
}

static bool is_called(const site *p, uint64_t hash, const char *name, size_t bytes)
{
    return p->hash == hash && p->name_bytes == bytes && memcmp(p->name, name, bytes) == 0;
}

static site *find(const cluster_node *n, uint64_t hash, const char *name, size_t bytes)
{
    site *p = n->bucket[hash & (n->buckets - 1)];
    while (p != NULL && !is_called(p, hash, name, bytes))
        p = p->next;
    return p;
}

site *site_find(const cluster_node *n, const char *name, size_t bytes)
{
    return find(n, hash_name(name, bytes), name, bytes);
}

static void grow(cluster_node *n)
{
    size_t buckets = n->buckets * 2;
    site **bucket = calloc(buckets, sizeof(site *));
    if (bucket == NULL)
        return; /* longer chains, then */
    for (size_t i = 0; i < n->buckets; i++)
        for (site *p = n->bucket[i], *next; p != NULL; p = next) {
            next = p->next;
            p->next = bucket[p->hash & (buckets - 1)];
            bucket[p->hash & (buckets - 1)] = p;
        }
    free(n->bucket);
    n->bucket = bucket;
    n->buckets = buckets;
}

/* As it was on the disk; or if there is nothing, as it is before anybody has used it. */
static bool begin(cluster_node *n, site *p)
{
    uint8_t first_owner = (uint8_t)(p->hash % n->wme.nodes);
    replica_durable durable;
    byte_string name = {(const uint8_t *)p->name, p->name_bytes};
    store_found found = store_load(n->store, name, &p->kept, &durable);
    if (found == STORE_FAILED)
        return false;
    n->chance += p->hash | 1;
    if (found == STORE_FOUND && durable.rests == n->run) {
        replica_wake(&p->replica, &n->wme, &durable, p->kept.executed, n->chance);
        replica_durable_end(&durable);
        p->last_write = n->counts.turns; /* when it was laid to rest may be in this turn */
        n->resting--;
        return true;
    }
    if (found == STORE_UNKNOWN && n->muster.durable.state != MUSTER_SETTLED) {
        p->away = true; /* while it is new: until it is known that it is */
        n->away++;
        replica_rejoin(&p->replica, &n->wme, n->chance >> 1 | 1, n->chance, &n->out);
        site_carry_out(n, p);
        return true;
    }
    if (found == STORE_UNKNOWN && n->first_run) {
        replica_start(&p->replica, &n->wme, first_owner, n->chance);
        return true;
    }
    if (found == STORE_UNKNOWN)
        replica_unsaved(&durable, &n->wme, first_owner);
    replica_restart(&p->replica, &n->wme, &durable, p->kept.executed, n->chance, &n->out);
    replica_durable_end(&durable);
    site_carry_out(n, p);
    return true;
}

/* Who waits already waits again. */
void site_is_new(cluster_node *n, site *p)
{
    replica_end(&p->replica);
    n->away -= p->away;
    p->away = false;
    if (!begin(n, p))
        return; /* the store has failed, and with it the turn */
    replica_suspicion(&p->replica, &n->wme, &n->out);
    site_carry_out(n, p);
    for (seat *s = p->seats, *next; s != NULL; s = next) {
        next = s->next;
        s->user = (wme_user){0};
        replica_try(&p->replica, &n->wme, &s->user, &n->out);
        site_carry_out(n, p);
    }
}

site *site_get(cluster_node *n, const char *name, size_t bytes)
{
    uint64_t hash = hash_name(name, bytes);
    site *p = find(n, hash, name, bytes);
    if (p != NULL)
        return p;
    if (n->only != NULL && (strlen(n->only) != bytes || memcmp(n->only, name, bytes) != 0))
        return NULL;
    p = calloc(1, sizeof *p + bytes);
    if (p == NULL)
        return NULL;
    p->hash = hash;
    p->used_at = n->now;
    p->name_bytes = bytes;
    memcpy(p->name, name, bytes);
    if (n->sites >= n->buckets)
        grow(n);
    p->next = n->bucket[hash & (n->buckets - 1)];
    n->bucket[hash & (n->buckets - 1)] = p;
    n->sites++;
    if (begin(n, p)) {
        replica_suspicion(&p->replica, &n->wme, &n->out);
        site_carry_out(n, p);
        return p;
    }
    n->bucket[hash & (n->buckets - 1)] = p->next;
    n->sites--;
    free(p);
    return NULL;
}

void site_free(cluster_node *n, site *p)
{
    while (p->seats != NULL) {
        seat *s = p->seats;
        p->seats = s->next;
        free(s);
    }
    replica_end(&p->replica);
    n->sites--;
    free(p);
}

/* ---- what a step wants done ---- */

/*
 * The resource, and then the disk. What fails here fails for good: node_turn_ends says so. True if
 * earlier steps of this lock are durable.
 */
static bool change(cluster_node *n, site *p)
{
    bool persists = false;
    if (p->away && p->replica.stub.away == 0) {
        p->away = false;
        n->away--;
    }
    bool durable_before = p->last_write != n->counts.turns;
    n->counts.epochs += p->epoch != 0 && p->epoch != p->replica.stub.now.epoch;
    p->epoch = p->replica.stub.now.epoch;
    for (uint32_t i = 0; i < n->out.count; i++) {
        const wme_action *a = &n->out.actions[i];
        persists |= a->verb == WME_PERSIST;
        if (a->verb == WME_EXECUTE) {
            n->counts.operations++;
            n->results[i].bytes = 0;
            store_execute(n->store, &p->kept, a->op, a->number, &n->results[i]);
        } else if (a->verb == WME_INSTALL && n->snapshot != NULL) {
            byte_string bytes = {n->snapshot->at, n->snapshot->bytes};
            store_install(n->store, &p->kept, bytes);
        }
    }
    if (!persists)
        return durable_before;
    replica_durable durable = {0};
    replica_save(&p->replica, &durable);
    store_save(n->store, &p->kept, &durable);
    replica_durable_end(&durable);
    p->last_write = n->counts.turns;
    n->writes = true;
    return durable_before;
}

/*
 * The lock as a whole, for those who have not just been sent it: they ask again and again until
 * they have it, and to answer each time would keep all from anything else. False: for nobody.
 */
static bool take_whole(cluster_node *n, site *p, wme_action *a, store_snapshot *taken)
{
    enum { BYTES_PER_MILLISECOND = 8192 };
    for (uint8_t to = 0; to < n->wme.nodes; to++)
        if (n->now < p->whole_after[to] || !n->reached[to])
            a->to &= (uint16_t)~wme_bit(to);
    if (a->to == 0 || !store_take_snapshot(n->store, &p->kept, taken))
        return false;
    for (uint8_t to = 0; to < n->wme.nodes; to++)
        if ((a->to & wme_bit(to)) != 0)
            p->whole_after[to] = n->now + taken->bytes / BYTES_PER_MILLISECOND;
    return true;
}

/* What cannot be sent is lost, as any message may be. */
static void send_message(cluster_node *n, site *p, wme_action *a)
{
    resp_word name = {p->name, p->name_bytes};
    store_snapshot taken = {0};
    peer_snapshot snapshot = {0};
    if (a->message.kind == WME_STATE && a->message.snapshot) {
        if (!take_whole(n, p, a, &taken))
            return;
        snapshot = (peer_snapshot){taken.at, taken.bytes};
        a->message.resource = &snapshot;
        memcpy(a->message.answered, p->kept.answered, sizeof a->message.answered);
    }
    resp_out *say = a->early ? n->early : n->to_peer;
    for (uint8_t to = 0; to < n->wme.nodes; to++) {
        if ((a->to & wme_bit(to)) == 0)
            continue;
        if (n->reached[to] && peer_say(&say[to], n->wme.nodes, name, &a->message) == NULL)
            n->counts.sent++;
        else
            n->counts.dropped++;
    }
    a->message.resource = NULL;
    free(taken.at);
}

static void show(cluster_node *n, site *p, wme_action *a, const resp_out *result)
{
    seat *s = (seat *)(void *)a->user;
    resp_out recalled = {0};
    switch (a->verb) {
    case WME_SEND:
        send_message(n, p, a);
        break;
    case WME_EXECUTE:
        if (s != NULL)
            seat_outcome(n, s, result);
        break;
    case WME_RECALL:
        store_recall(n->store, &p->kept, a->op, &recalled);
        seat_outcome(n, s, &recalled);
        resp_free(&recalled);
        break;
    case WME_CRIT:
    case WME_KEPT:
    case WME_EJECTED:
        seat_told(n, s, a);
        break;
    case WME_PROPOSE:
        if (n->wme.outside)
            site_ask(n, p);
        break;
    case WME_SUSPENDED:
    case WME_RESUMED:
        seats_push(p, a->verb == WME_SUSPENDED ? "suspended" : "resumed");
        break;
    default: /* within the replica, or done already; nobody hears WME_REM: who exits is gone */
        break;
    }
}

/*
 * What is told may lead to another step, of this lock too: so the list is taken away first. Who was
 * only to hear that the lock is free leaves afterwards, one after the other.
 */
void site_carry_out(cluster_node *n, site *p)
{
    wme_out done;
    resp_out results[WME_MOST_ACTIONS];
    bool durable_before = change(n, p);
    done.count = n->out.count;
    memcpy(done.actions, n->out.actions, done.count * sizeof done.actions[0]);
    memcpy(results, n->results, done.count * sizeof results[0]);
    memset(n->results, 0, done.count * sizeof results[0]);
    n->out.count = 0;
    for (uint32_t i = 0; i < done.count; i++) {
        done.actions[i].early &= durable_before;
        show(n, p, &done.actions[i], &results[i]);
    }
    for (uint32_t i = 0; i < done.count; i++)
        resp_free(&results[i]);
    wme_out_clear(&done);
    seats_dismiss(n);
}
