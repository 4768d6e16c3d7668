/* Locks of a node: found, loaded from the disk, and what their replicas want done. */
#include "node_lock.h"
#include "out.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(STORE_MAX_SNAPSHOT <= PEER_MAX_SNAPSHOT, "whatever a lock has can be sent");

static bool is_called(const name_entry *e, const char *name, size_t bytes)
{
    const node_lock *p = OWNER_OF(e, node_lock, entry);
    return p->name_bytes == bytes && memcmp(p->name, name, bytes) == 0;
}

static node_lock *find(const cluster_node *n, uint64_t hash, const char *name, size_t bytes)
{
    return OWNER_OF(name_table_find(&n->loaded, name, bytes, hash, is_called), node_lock, entry);
}

node_lock *node_lock_find(const cluster_node *n, const char *name, size_t bytes)
{
    return find(n, name_hash(name, bytes), name, bytes);
}

/* As it was on the disk; or if there is nothing, as it is before anybody has used it. */
static bool begin(cluster_node *n, node_lock *p)
{
    uint8_t first_owner = (uint8_t)(p->entry.hash % n->wme.nodes);
    replica_durable durable;
    byte_string name = {(const uint8_t *)p->name, p->name_bytes};
    store_found found = store_load(n->store, name, &p->kept, &durable);
    if (found == STORE_FAILED)
        return false;
    n->chance += p->entry.hash | 1;
    if (found == STORE_FOUND && durable.rests == n->run) {
        replica_wake(&p->replica, &n->wme, &durable, p->kept.executed, n->chance);
        replica_durable_end(&durable);
        p->last_write = n->counts.turns; /* when it was laid to rest may be in this turn */
        n->resting--;
        if (resting_is_told(n))
            due_compare(n, p);
        return true;
    }
    if (found == STORE_UNKNOWN && n->boot_check.durable.state != BOOT_SETTLED) {
        p->away = true; /* while it is new: until it is known that it is */
        n->away++;
        replica_rejoin(&p->replica, &n->wme, n->chance >> 1 | 1, n->chance, &n->out);
        node_lock_carry_out(n, p);
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
    node_lock_carry_out(n, p);
    return true;
}

/* Who waits already waits again. */
void node_lock_is_new(cluster_node *n, node_lock *p)
{
    replica_end(&p->replica);
    n->away -= p->away;
    p->away = false;
    if (!begin(n, p))
        return; /* the store has failed, and with it the turn */
    due_begins(n, p);
    LIST_EACH (at, &p->roles) {
        role *s = OWNER_OF(at, role, in_lock);
        s->user = (wme_user){0};
        replica_try(&p->replica, &n->wme, &s->user, &n->out);
        node_lock_carry_out(n, p);
    }
}

node_lock *node_lock_get(cluster_node *n, const char *name, size_t bytes)
{
    uint64_t hash = name_hash(name, bytes);
    node_lock *p = find(n, hash, name, bytes);
    if (p != NULL)
        return p;
    if (n->only != NULL && (strlen(n->only) != bytes || memcmp(n->only, name, bytes) != 0))
        return NULL;
    p = calloc(1, sizeof *p + bytes);
    if (p == NULL)
        return NULL;
    list_start(&p->roles);
    due_add(n, p);
    p->name_bytes = bytes;
    memcpy(p->name, name, bytes);
    name_table_add(&n->loaded, &p->entry, hash);
    if (begin(n, p)) {
        due_begins(n, p);
        return p;
    }
    name_table_remove(&n->loaded, &p->entry);
    due_remove(p);
    free(p);
    return NULL;
}

void node_lock_free(cluster_node *n, node_lock *p)
{
    LIST_EACH (at, &p->roles)
        free(OWNER_OF(at, role, in_lock));
    replica_end(&p->replica);
    name_table_remove(&n->loaded, &p->entry);
    due_remove(p);
    free(p->whole_after);
    free(p);
}

/* ---- what a step wants done ---- */

/*
 * The resource, and then the disk. What fails here fails for good: node_turn_ends says so. True if
 * earlier steps of this lock are durable.
 */
static bool change(cluster_node *n, node_lock *p)
{
    bool persists = false;
    if (p->away && p->replica.stub.away == 0) {
        p->away = false;
        n->away--;
        due_compare(n, p); /* it was deaf to what came before */
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
 * The lock as a whole, for those who have not just been sent it: whoever has not heard it all yet
 * may ask again, and to answer each time would keep all from anything else. False: for nobody.
 */
static bool take_whole(cluster_node *n, node_lock *p, wme_action *a, store_snapshot *taken)
{
    enum { BYTES_PER_MILLISECOND = 8192 };
    if (p->whole_after == NULL)
        p->whole_after = calloc(n->wme.nodes, sizeof *p->whole_after);
    if (p->whole_after == NULL)
        return false;
    for (uint8_t to = 0; to < n->wme.nodes; to++) {
        if ((a->to & wme_bit(to)) == 0 || (n->reached[to] && n->now >= p->whole_after[to]))
            continue;
        a->to &= (uint16_t)~wme_bit(to);
        if (n->reached[to])
            due_compare(n, p); /* so it asks again if it must */
    }
    if (a->to == 0 || !store_take_snapshot(n->store, &p->kept, taken))
        return false;
    for (uint8_t to = 0; to < n->wme.nodes; to++)
        if ((a->to & wme_bit(to)) != 0)
            p->whole_after[to] = n->now + taken->bytes / BYTES_PER_MILLISECOND;
    return true;
}

/*
 * What cannot be sent is lost, as any message may be. Of data that are older than what others have
 * heard nothing is sent: who has started since does not know that, and would count it.
 */
static void send_message(cluster_node *n, node_lock *p, wme_action *a)
{
    resp_word name = {p->name, p->name_bytes};
    store_snapshot taken = {0};
    peer_snapshot snapshot = {0};
    if (n->boot_check.durable.outdated)
        return;
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
        size_t before = n->to_peer[to].bytes;
        if (n->reached[to] && peer_say(&say[to], n->wme.nodes, name, &a->message) == NULL)
            n->counts.sent++;
        else
            node_drops(n, to);
        bool is_first = before == 0 || before == n->patient[to];
        if (a->message.kind == WME_DOINVOKE && is_first) /* it has happened already */
            n->patient[to] = n->to_peer[to].bytes;
    }
    a->message.resource = NULL;
    free(taken.at);
}

static void show(cluster_node *n, node_lock *p, wme_action *a, const resp_out *result)
{
    role *s = (role *)(void *)a->user;
    resp_out recalled = {0};
    switch (a->verb) {
    case WME_SEND:
        send_message(n, p, a);
        break;
    case WME_EXECUTE:
        if (s != NULL)
            role_outcome(n, s, result);
        break;
    case WME_RECALL:
        store_recall(n->store, &p->kept, a->op, &recalled);
        role_outcome(n, s, &recalled);
        resp_free(&recalled);
        break;
    case WME_CRIT:
    case WME_KEPT:
    case WME_EJECTED:
        role_told(n, s, a);
        break;
    case WME_PROPOSE:
        if (n->wme.outside)
            node_lock_ask(n, p);
        break;
    case WME_SUSPENDED:
    case WME_RESUMED:
        roles_push(p, a->verb == WME_SUSPENDED ? "suspended" : "resumed");
        break;
    default: /* within the replica, or done already; nobody hears WME_REM: who exits is gone */
        break;
    }
}

/*
 * What is told may lead to another step, of this lock too: so the list is taken away first. Who was
 * only to hear that the lock is free leaves afterwards, one after the other.
 */
void node_lock_carry_out(cluster_node *n, node_lock *p)
{
    wme_out done;
    resp_out results[WME_MAX_ACTIONS];
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
    due_sort(n, p);
    roles_dismiss(n);
}
