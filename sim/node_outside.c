/*
 * Consensus outside of a cluster of whole nodes: carries what their locks ask to the register of
 * errand.h and back, as src/node/engine.c does with etcd. An answer finds its lock, whatever has
 * become of the question since; one that does not come in time is not waited for any longer.
 */
#include "node_fleet.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_PATIENCE = 1000 * MILLISECOND };

/* A question on its way, then its answer. */
struct errand {
    uint8_t node, lock;
    uint32_t start; /* of the node that asks */
    uint64_t epoch;
    outside_verdict verdict;
    wme_record record; /* proposal, then decision */
};

static uint32_t errand_new(fleet *f, const errand *e)
{
    errand *all = realloc(f->errands, (f->errand_count + 1) * sizeof *all);
    if (all == NULL)
        fleet_out_of_order("out of memory");
    f->errands = all;
    all[f->errand_count] = *e;
    wme_op_keep(e->record.last);
    return f->errand_count++;
}

/* Once, twice, or never. */
static void carry(fleet *f, fleet_event kind, uint32_t number)
{
    const errand *e = &f->errands[number];
    bool twice = errand_comes_twice(&f->chance);
    f->counts.asked_twice += twice;
    for (int i = 0; i <= (int)twice; i++) {
        if (errand_is_lost(&f->chance)) {
            f->counts.asked_lost++;
            continue;
        }
        uint64_t late = errand_is_late(&f->chance);
        f->counts.asked_late += late > 0;
        fleet_put(f, f->now + fleet_delay(f) + late, kind, 0, e->node, e->start, number);
    }
}

static void say(const fleet *f, const errand *e, const char *what)
{
    char who[16];
    snprintf(who, sizeof who, "node %u", e->node);
    fleet_say(f, who, "%s l%u epoch %llu", what, e->lock, (unsigned long long)e->epoch);
}

void outside_asks(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    while (!list_is_empty(&m->node.asking)) {
        node_lock *p = node_lock_next_asking(&m->node);
        p->asks = p->replica.stub.proposed;
        if (!p->asks)
            continue;
        errand e = {.node = node,
                    .lock = (uint8_t)(p->name[1] - '0'),
                    .start = m->start,
                    .epoch = p->replica.stub.best->epoch,
                    .record = *p->replica.stub.best};
        uint32_t number = errand_new(f, &e);
        m->asked[e.lock] = number;
        m->node.counts.asked++;
        f->counts.asked++;
        say(f, &e, "asks outside:");
        carry(f, FLEET_ASKED, number);
        fleet_put(f, f->now + ANSWER_PATIENCE, FLEET_UNANSWERED, 0, node, m->start, number);
    }
}

void outside_hears(fleet *f, uint32_t number)
{
    errand answer = f->errands[number];
    outside_register *at = &f->registers[answer.lock];
    answer.verdict = register_hears(at, &answer.record);
    answer.record = at->value;
    if (answer.verdict == OUTSIDE_FORGOTTEN)
        judge_wrong(&f->judge, "register", f->now,
                    "epoch %llu of lock %u is to be ended after %llu were",
                    (unsigned long long)answer.epoch, answer.lock, (unsigned long long)at->values);
    carry(f, FLEET_DECIDED, errand_new(f, &answer));
}

static node_lock *lock_of(fleet *f, const errand *e)
{
    char name[8];
    int length = snprintf(name, sizeof name, "l%u", e->lock);
    return node_lock_find(&f->machines[e->node].node, name, (size_t)length);
}

void outside_answers(fleet *f, uint32_t number)
{
    errand *e = &f->errands[number];
    machine *m = &f->machines[e->node];
    node_lock *p = lock_of(f, e);
    if (p == NULL)
        return;
    say(f, e, e->verdict == OUTSIDE_LATER ? "is told that it is over:" : "is told the end of");
    if (f->errands[m->asked[e->lock]].epoch == e->epoch)
        p->asks = false;
    m->node.now = host_clock(f, e->node);
    if (e->verdict != OUTSIDE_LATER && node_lock_decided(&m->node, p, &e->record) != WME_FINE)
        judge_wrong(&f->judge, "register", f->now, "node %u refuses the end of epoch %llu", e->node,
                    (unsigned long long)e->epoch);
    host_touched(f, e->node);
}

void outside_does_not(fleet *f, uint32_t number)
{
    const errand *e = &f->errands[number];
    machine *m = &f->machines[e->node];
    node_lock *p = lock_of(f, e);
    if (p == NULL || m->asked[e->lock] != number || !p->asks)
        return;
    p->asks = false;
    m->node.counts.unanswered++;
}

void outside_free(fleet *f)
{
    for (uint32_t i = 0; i < f->errand_count; i++)
        if (f->errands[i].record.last != NULL)
            wme_op_drop(f->errands[i].record.last);
    free(f->errands);
    for (int i = 0; i < FLEET_LOCKS; i++)
        register_free(&f->registers[i]);
}
