/* A replica: routes messages to the stub or to consensus, and each one's wishes to the other. */
#include "replica.h"

#include "out.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * Round 0 of consensus on an epoch belongs to one node, the same in everybody's eyes. Not the first
 * owner of the epoch: the one who dies is most often an owner.
 */
static uint8_t first_proposer(uint64_t epoch, const wme_node *node)
{
    return (uint8_t)(epoch % node->nodes);
}

/* It is there from when somebody has something to say about how the epoch ends until it does. */
static paxos *consensus_of(replica *r, const wme_node *node)
{
    uint64_t epoch = r->stub.now.epoch;
    if (r->consensus != NULL)
        return r->consensus;
    r->consensus = malloc(sizeof *r->consensus);
    if (r->consensus == NULL)
        abort(); /* others have what was acknowledged */
    paxos_start(r->consensus, epoch, first_proposer(epoch, node), r->chance);
    return r->consensus;
}

static void forget_consensus(replica *r)
{
    if (r->consensus == NULL)
        return;
    r->chance = r->consensus->chance;
    paxos_end(r->consensus);
    free(r->consensus);
    r->consensus = NULL;
}

/* A new epoch has a new instance of consensus. */
static void follow_epoch(replica *r)
{
    if (r->consensus != NULL && r->consensus->durable.epoch != r->stub.now.epoch)
        forget_consensus(r);
}

/*
 * Carries out what is between the two, from action `at` on. Each may end an epoch, and what comes
 * next is about the one that it begins.
 */
static void connect(replica *r, wme_node *node, uint32_t at, wme_out *out)
{
    follow_epoch(r);
    for (; at < out->count; at++) {
        wme_record record = out->actions[at].message.record;
        if (out->actions[at].verb == WME_PROPOSE && !node->outside) {
            paxos_propose(consensus_of(r, node), node, &record, out);
        } else if (out->actions[at].verb == WME_DECISION) {
            uint64_t epoch = r->stub.now.epoch;
            wme_decided(&r->stub, node, &record, out);
            r->decisions += r->stub.now.epoch != epoch;
        }
        follow_epoch(r);
    }
}

void replica_start(replica *r, const wme_node *node, uint8_t first_owner, uint64_t chance)
{
    *r = (replica){.chance = chance};
    wme_start(&r->stub, node, first_owner);
}

/* Where nothing was promised, nothing was said; and what was, was in the epoch that was saved. */
static void restart_consensus(replica *r, const wme_node *node, const replica_durable *durable)
{
    const paxos_durable *d = &durable->consensus;
    if (d->promised == 0)
        return;
    assert(d->epoch == durable->now.epoch);
    paxos_restart(consensus_of(r, node), d, first_proposer(d->epoch, node), r->chance);
}

void replica_restart(replica *r, wme_node *node, const replica_durable *durable, uint64_t executed,
                     uint64_t chance, wme_out *out)
{
    uint32_t at = out->count;
    *r = (replica){.chance = chance};
    restart_consensus(r, node, durable);
    wme_restart(&r->stub, node, &durable->now, executed, out);
    connect(r, node, at, out);
}

/* Consensus has no epoch to be about until the stub has one. */
void replica_rejoin(replica *r, wme_node *node, uint64_t nonce, uint64_t chance, wme_out *out)
{
    *r = (replica){.chance = chance};
    wme_rejoin(&r->stub, node, nonce, out);
}

/* Consensus that waits has a proposal, so the stub is blocked. */
bool replica_waits(const replica *r)
{
    return wme_waits(&r->stub);
}

/* Consensus without a proposal has nothing but its durable part: see paxos_restart. */
bool replica_may_rest(const replica *r, const wme_node *node)
{
    return wme_may_rest(&r->stub, node) && (r->consensus == NULL || !r->consensus->wants);
}

void replica_wake(replica *r, const wme_node *node, const replica_durable *saved, uint64_t executed,
                  uint64_t chance)
{
    *r = (replica){.chance = chance};
    restart_consensus(r, node, saved);
    wme_wake(&r->stub, node, &saved->now, executed);
}

void replica_end(replica *r)
{
    wme_end(&r->stub);
    forget_consensus(r);
}

void replica_save(const replica *r, replica_durable *to)
{
    wme_record_set(&to->now, &r->stub.now);
    paxos_durable none = {.epoch = r->stub.now.epoch};
    const paxos_durable *d = r->consensus != NULL ? &r->consensus->durable : &none;
    to->consensus.epoch = d->epoch;
    to->consensus.promised = d->promised;
    to->consensus.accepted = d->accepted;
    wme_record_set(&to->consensus.value, &d->value);
    to->rests = 0;
}

void replica_durable_end(replica_durable *d)
{
    wme_op_drop(d->now.last);
    wme_op_drop(d->consensus.value.last);
    memset(d, 0, sizeof *d);
}

void replica_unsaved(replica_durable *d, const wme_node *node, uint8_t first_owner)
{
    wme_stub as_new;
    memset(d, 0, sizeof *d);
    wme_start(&as_new, node, first_owner);
    d->now = as_new.now;
}

/* ---- events ---- */

wme_refusal replica_try(replica *r, wme_node *node, wme_user *user, wme_out *out)
{
    uint32_t at = out->count;
    wme_refusal why = wme_try(&r->stub, node, user, out);
    connect(r, node, at, out);
    return why;
}

wme_refusal replica_resume(replica *r, wme_node *node, wme_user *user, uint64_t token, wme_out *out)
{
    uint32_t at = out->count;
    wme_refusal why = wme_resume(&r->stub, node, user, token, out);
    connect(r, node, at, out);
    return why;
}

wme_refusal replica_issue(replica *r, wme_node *node, wme_user *user, wme_op *op, wme_out *out)
{
    uint32_t at = out->count;
    wme_refusal why = wme_issue(&r->stub, node, user, op, out);
    connect(r, node, at, out);
    return why;
}

wme_refusal replica_exit(replica *r, wme_node *node, wme_user *user, wme_out *out)
{
    uint32_t at = out->count;
    wme_refusal why = wme_exit(&r->stub, node, user, out);
    connect(r, node, at, out);
    return why;
}

void replica_leave(replica *r, wme_node *node, wme_user *user, wme_out *out)
{
    uint32_t at = out->count;
    wme_leave(&r->stub, node, user, out);
    connect(r, node, at, out);
}

void replica_revoke(replica *r, wme_node *node, wme_user *user, wme_out *out)
{
    uint32_t at = out->count;
    wme_revoke(&r->stub, node, user, out);
    connect(r, node, at, out);
}

bool replica_yield(replica *r, wme_node *node, uint8_t to, wme_out *out)
{
    return wme_yield(&r->stub, node, to, out); /* no epoch ends with that */
}

static void receive_consensus(replica *r, wme_node *node, uint8_t from, const wme_message *m,
                              wme_out *out)
{
    wme_refusal why = node->outside ? WME_OUTSIDE : wme_check(node, from, m);
    if (why != WME_FINE)
        node->refused[why]++;
    else if (m->epoch == r->stub.now.epoch)
        paxos_receive(consensus_of(r, node), node, from, m, out);
    else
        wme_other_epoch(&r->stub, node, from, m->epoch, out);
}

/* With the other's promise, and its acceptance. */
static void stand_in(replica *r, const wme_node *node, uint8_t other, wme_out *out)
{
    wme_message vote = {.epoch = r->stub.now.epoch, .ballot = r->consensus->ballot};
    vote.kind = WME_PROMISE;
    paxos_receive(r->consensus, node, other, &vote, out);
    vote.kind = WME_ACCEPTED;
    paxos_receive(r->consensus, node, other, &vote, out);
}

void replica_receive(replica *r, wme_node *node, uint8_t from, const wme_message *m, wme_out *out)
{
    uint32_t at = out->count;
    if (m->kind > WME_HERE)
        receive_consensus(r, node, from, m, out);
    else
        wme_receive(&r->stub, node, from, m, out);
    connect(r, node, at, out);
    /* Whoever is away has no consensus, nor has anybody if it is outside. */
    if (r->consensus == NULL || wme_check(node, from, m) != WME_FINE ||
        !wme_stands_in(&r->stub, node, m))
        return;
    at = out->count;
    stand_in(r, node, from, out);
    connect(r, node, at, out);
}

wme_refusal replica_decided(replica *r, wme_node *node, const wme_record *decision, wme_out *out)
{
    uint32_t at = out->count;
    wme_action a = {.verb = WME_DECISION, .message = {.record = *decision}};
    wme_refusal why = wme_check_record(node, decision);
    if (why == WME_FINE)
        wme_out_append(out, &a);
    else
        node->refused[why]++;
    connect(r, node, at, out);
    return why;
}

void replica_suspicion(replica *r, wme_node *node, wme_out *out)
{
    uint32_t at = out->count;
    wme_suspicion(&r->stub, node, out);
    connect(r, node, at, out);
}

void replica_tick(replica *r, wme_node *node, wme_out *out)
{
    uint32_t at = out->count;
    wme_tick(&r->stub, node, out);
    connect(r, node, at, out);
    at = out->count;
    if (!node->outside && r->consensus != NULL)
        paxos_tick(r->consensus, node, out);
    else if (node->outside && r->stub.proposed)
        wme_out_append(out,
                       &(wme_action){.verb = WME_PROPOSE, .message = {.record = *r->stub.best}});
    connect(r, node, at, out);
}
