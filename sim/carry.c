/*
 * Carries out what the shipped code wants done, as a node does: first what may leave early, then
 * what changes the resource, then the disk if it is to change, then all else that others see, one
 * action after another. A crash may come before any of them. Tells the histories.
 */
#include "cluster.h"

#include <stdlib.h>
#include <string.h>

/* ---- operations ---- */

enum { MAX_UNUSED = 1024 };

/* Those nobody has any more are used again: a run makes and drops thousands. */
static wme_op *unused[MAX_UNUSED];
static uint32_t unused_count;
static uint64_t alive;

static void op_free(wme_op *op)
{
    alive--;
    if (unused_count < MAX_UNUSED)
        unused[unused_count++] = op;
    else
        free(op);
}

wme_op *cluster_op_new(uint64_t key)
{
    wme_op *op;
    if (unused_count > 0) {
        op = unused[--unused_count];
    } else if ((op = malloc(sizeof *op + sizeof key)) == NULL) {
        fputs("baton-sim: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    alive++;
    op->free = op_free;
    op->holders = 1;
    op->bytes = sizeof key;
    op->id = 0;
    op->origin = 0;
    memcpy(op->data, &key, sizeof key);
    return op;
}

static uint64_t op_key(const wme_op *op)
{
    uint64_t key;
    memcpy(&key, op->data, sizeof key);
    return key;
}

uint64_t ops_alive(void)
{
    return alive;
}

/* ---- digests ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t z = (a ^ b * 0x9e3779b97f4a7c15ULL) + 0x632be59bd9b4e019ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static uint64_t record_digest(const cluster *c, const wme_record *r)
{
    uint64_t d = mix(mix(mix(r->epoch, r->sn), mix(r->ops, r->op_sn)), mix(r->owner, r->entry));
    d = mix(d, r->last != NULL ? op_key(r->last) : 0);
    for (uint8_t i = 0; i < c->settings.nodes; i++)
        d = mix(d, r->granted[i]);
    for (uint8_t i = 0; i < r->queued; i++)
        d = mix(d, mix(r->queue[i], r->asked[r->queue[i]]));
    return d;
}

/* ---- one action ---- */

static void tell_slot(cluster *c, uint8_t node, uint8_t lock, const wme_message *m)
{
    history *h = c->histories[lock];
    if (h == NULL)
        return;
    if (m->kind == WME_INVOKE)
        history_slot(h, node, m->epoch, m->sn, mix(1, op_key(m->op)), c->now);
    else if (m->kind == WME_GRANTED)
        history_slot(h, node, m->epoch, m->sn, mix(mix(2, m->to), m->request), c->now);
}

static void send(cluster *c, uint8_t node, uint8_t lock, const wme_action *a)
{
    tell_slot(c, node, lock, &a->message);
    network_post(c, node, a->to, lock, &a->message);
}

static void persist(cluster *c, lock_copy *at)
{
    replica_durable newer = {0};
    replica_save(&at->replica, &newer);
    if (at->saved)
        replica_durable_end(&at->durable);
    at->durable = newer;
    at->durable_resource = at->resource;
    at->saved = true;
    c->tally.persists++;
}

/* Returns the result. */
static uint64_t execute(cluster *c, uint8_t node, uint8_t lock, const wme_action *a)
{
    resource *r = &c->machines[node].locks[lock].resource;
    uint64_t key = op_key(a->op);
    if (a->number != r->count + 1)
        cluster_wrong(c, "order", "node %u runs operation %llu after %llu", node,
                      (unsigned long long)a->number, (unsigned long long)r->count);
    uint64_t before = r->digest;
    r->count = a->number;
    r->digest = mix(r->digest, key);
    cluster_tell(c, (note){.kind = NOTE_EXECUTED,
                           .node = node,
                           .lock = lock,
                           .value = key,
                           .until = r->digest,
                           .before = before});
    r->answered[a->op->origin] = a->op->id;
    r->result[a->op->origin] = r->digest;
    if (c->histories[lock] != NULL) {
        history_execute(c->histories[lock], node, a->number, key, r->digest, c->now);
        history_state(c->histories[lock], node, r->count, r->digest, c->now);
    }
    return r->digest;
}

static void install(cluster *c, uint8_t node, uint8_t lock)
{
    resource *r = &c->machines[node].locks[lock].resource;
    if (c->received == NULL || c->received->message.resource == NULL) {
        cluster_wrong(c, "install", "node %u installs a resource that did not come", node);
        return;
    }
    *r = c->received->resource;
    if (c->histories[lock] != NULL)
        history_install(c->histories[lock], node, r->count, r->digest, c->now);
}

static void recall(cluster *c, uint8_t node, uint8_t lock, const wme_action *a)
{
    const resource *r = &c->machines[node].locks[lock].resource;
    if (r->answered[a->op->origin] != a->op->id)
        cluster_wrong(c, "recall", "node %u does not remember operation %llx of node %u", node,
                      (unsigned long long)a->op->id, a->op->origin);
    else if (a->user != NULL)
        person_outcome(c, (person *)a->user, op_key(a->op), r->result[a->op->origin]);
}

static bool changes_resource(const wme_action *a)
{
    return a->verb == WME_EXECUTE || a->verb == WME_INSTALL;
}

static void tell_action(cluster *c, uint8_t node, uint8_t lock, const wme_action *a)
{
    c->tally.actions++;
    if (a->verb != WME_SEND)
        cluster_tell(c, (note){.kind = NOTE_ACTION,
                               .node = node,
                               .lock = lock,
                               .person = a->user != NULL ? ((person *)a->user)->number : 0,
                               .action = a});
}

/* What others see: a message, or a word to a user. */
static void show_one(cluster *c, uint8_t node, uint8_t lock, const wme_action *a)
{
    tell_action(c, node, lock, a);
    switch (a->verb) {
    case WME_SEND:
        send(c, node, lock, a);
        break;
    case WME_RECALL:
        recall(c, node, lock, a);
        break;
    case WME_CRIT:
    case WME_KEPT:
    case WME_REM:
    case WME_EJECTED:
        person_told(c, (person *)a->user, a);
        break;
    case WME_PROPOSE:
        if (c->settings.outside)
            outside_ask(c, node, lock, &a->message.record);
        break;
    case WME_SUSPENDED:
        c->tally.suspended++;
        break;
    case WME_DECISION:
        if (c->histories[lock] != NULL)
            history_epoch(c->histories[lock], node, a->message.record.epoch + 1,
                          record_digest(c, &a->message.record), c->now);
        break;
    default: /* WME_RESUMED; and what was done inside the replica, or by change() */
        break;
    }
}

/* ---- all of them ---- */

static void tell_state(cluster *c, uint8_t node, uint8_t lock)
{
    lock_copy *at = &c->machines[node].locks[lock];
    const wme_stub *s = &at->replica.stub;
    if (s->state == at->told_state && s->blocked == at->told_blocked &&
        s->now.epoch == at->told_epoch)
        return;
    at->told_state = s->state;
    at->told_blocked = s->blocked;
    at->told_epoch = s->now.epoch;
    cluster_tell(c, (note){.kind = NOTE_STATE, .node = node, .lock = lock, .stub = s});
}

static void look_for_trouble(cluster *c, uint8_t node, uint8_t lock)
{
    const wme_stub *s = &c->machines[node].locks[lock].replica.stub;
    if (c->settings.fail_epoch != 0 && s->now.epoch >= c->settings.fail_epoch)
        cluster_wrong(c, "epoch", "node %u has reached epoch %llu of lock %u", node,
                      (unsigned long long)s->now.epoch, lock);
    if (c->histories[lock] == NULL)
        return;
    const history_verdict *v = history_wrong(c->histories[lock]);
    if (v->broken != HISTORY_FINE)
        cluster_wrong(c, history_property_name(v->broken), "lock %u: %s", lock, v->what);
}

static bool is_of_epoch_change(const lock_copy *at, const wme_action *a)
{
    return at->replica.stub.blocked || a->verb == WME_DECISION ||
           (a->verb == WME_SEND && a->message.kind >= WME_PREPARE);
}

/* False if the node crashes before it gets to that. */
static bool survives(cluster *c, uint8_t node, uint8_t lock, const wme_action *a)
{
    machine *m = &c->machines[node];
    bool counts = m->armed && (!m->ambush || is_of_epoch_change(&m->locks[lock], a));
    if (counts && m->actions-- <= 0)
        machine_crash(c, node);
    return m->runs;
}

/* What the step changes here: all of it, or nothing if the node crashes. */
static void change(cluster *c, uint8_t node, uint8_t lock, uint64_t results[WME_MAX_ACTIONS])
{
    const wme_action *write_all = NULL;
    if (c->out.count == 0 || !survives(c, node, lock, &c->out.actions[0]))
        return;
    for (uint32_t i = 0; i < c->out.count; i++) {
        const wme_action *a = &c->out.actions[i];
        if (a->verb == WME_PERSIST)
            write_all = a;
        if (!changes_resource(a))
            continue;
        tell_action(c, node, lock, a);
        if (a->verb == WME_INSTALL)
            install(c, node, lock);
        else
            results[i] = execute(c, node, lock, a);
    }
    if (write_all == NULL)
        return;
    tell_action(c, node, lock, write_all);
    persist(c, &c->machines[node].locks[lock]);
}

static void send_early(cluster *c, uint8_t node, uint8_t lock)
{
    for (uint32_t i = 0; i < c->out.count; i++)
        if (c->out.actions[i].early && survives(c, node, lock, &c->out.actions[i]))
            show_one(c, node, lock, &c->out.actions[i]);
}

/* What others see of it: as much as is done before the node crashes. */
static void show(cluster *c, uint8_t node, uint8_t lock, const uint64_t results[WME_MAX_ACTIONS])
{
    for (uint32_t i = 0; i < c->out.count && c->machines[node].runs; i++) {
        const wme_action *a = &c->out.actions[i];
        bool outcome = a->verb == WME_EXECUTE && a->user != NULL;
        if (a->verb == WME_PERSIST || (changes_resource(a) && !outcome) || a->early ||
            !survives(c, node, lock, a))
            continue;
        if (outcome)
            person_outcome(c, (person *)a->user, op_key(a->op), results[i]);
        else
            show_one(c, node, lock, a);
    }
}

void carry_out(cluster *c, uint8_t node, uint8_t lock)
{
    machine *m = &c->machines[node];
    uint64_t results[WME_MAX_ACTIONS] = {0};
    send_early(c, node, lock);
    change(c, node, lock, results);
    show(c, node, lock, results);
    wme_out_clear(&c->out);
    if (!m->runs)
        return;
    if (c->teller != NULL)
        tell_state(c, node, lock);
    look_for_trouble(c, node, lock);
}
