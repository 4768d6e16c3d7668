/*
 * Single-decree Paxos. Every node is acceptor, and proposer once it has a proposal. What an
 * acceptor promises or accepts it persists before it says so, and a proposer is the first to
 * promise to, and to accept from, itself: so no ballot is used twice, not even after a restart.
 *
 *   RESTS ──PREPARE──► PREPARES ──majority of PROMISE: ACCEPT──► ACCEPTS ──majority──► DECIDED
 *     └───────────────round 0: ACCEPT at once───────────────────────▲
 *
 * Only a higher ballot ends an attempt: while nobody has one, to repeat is as good as to begin anew
 * and needs no disk. Then the proposer rests for a while that doubles with the rounds, which are
 * everybody's failed attempts.
 */
#include "paxos.h"

#include "out.h"

#include <assert.h>

enum {
    LEAST_BACK_OFF = 2, /* ticks; as many again by chance, and doubled for each round */
    MAX_DOUBLINGS = 5,
};
/* Beyond it a message is damaged: no cluster comes so far. */
#define MAX_BALLOT (UINT64_MAX / 2)

/* ---- ballots, and chance ---- */

static uint64_t round_of(uint64_t ballot)
{
    return ballot == 0 ? 0 : (ballot - 1) / WME_MAX_NODES;
}

static uint64_t ballot_of(uint64_t round, uint8_t node)
{
    return round * WME_MAX_NODES + node + 1;
}

static bool is_of(uint64_t ballot, uint8_t node)
{
    return ballot != 0 && (ballot - 1) % WME_MAX_NODES == node;
}

static void see(paxos *p, uint64_t ballot)
{
    if (ballot > p->highest)
        p->highest = ballot;
}

/* splitmix64 */
static uint64_t random_number(paxos *p)
{
    uint64_t z = (p->chance += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static void back_off(paxos *p)
{
    uint64_t round = round_of(p->highest);
    uint64_t max = LEAST_BACK_OFF << (round < MAX_DOUBLINGS ? round : MAX_DOUBLINGS);
    p->phase = PAXOS_RESTS;
    p->from = 0;
    p->wait = (uint32_t)(LEAST_BACK_OFF + random_number(p) % max);
}

/* ---- beginning and end ---- */

void paxos_start(paxos *p, uint64_t epoch, uint8_t first, uint64_t chance)
{
    assert(first < WME_MAX_NODES);
    *p = (paxos){.durable.epoch = epoch, .first = first, .chance = chance};
}

void paxos_restart(paxos *p, const paxos_durable *durable, uint8_t first, uint64_t chance)
{
    assert(durable->accepted <= durable->promised && durable->promised <= MAX_BALLOT);
    paxos_start(p, durable->epoch, first, chance);
    p->durable = *durable;
    wme_op_keep(p->durable.value.last);
    p->highest = durable->promised;
}

void paxos_end(paxos *p)
{
    wme_op_drop(p->durable.value.last);
    wme_op_drop(p->proposal.last);
    *p = (paxos){0};
}

/* ---- the decision ---- */

static wme_message message(const paxos *p, wme_kind kind, uint64_t ballot)
{
    return (wme_message){.kind = kind, .epoch = p->durable.epoch, .ballot = ballot};
}

/* Once there is one: `proposal` is it then. */
static wme_message decision(const paxos *p)
{
    return (wme_message){.kind = WME_DECIDED, .epoch = p->durable.epoch, .record = p->proposal};
}

static void learn(paxos *p, const wme_record *value, wme_out *out)
{
    assert(!p->decided);
    wme_record_set(&p->proposal, value);
    p->decided = true;
    p->phase = PAXOS_RESTS;
    wme_out_append(out, &(wme_action){.verb = WME_DECISION, .message = decision(p)});
}

/* ---- the proposer ---- */

static bool has_majority(const paxos *p, const wme_node *node)
{
    return __builtin_popcount(p->from) >= wme_majority(node);
}

/* A value that may be decided in that ballot takes the place of the own, and of those before. */
static void adopt(paxos *p, uint64_t ballot, const wme_record *value)
{
    if (ballot <= p->best)
        return;
    p->best = ballot;
    wme_record_set(&p->proposal, value);
}

/* Those who have not answered yet; the first time that is everybody else. */
static void ask(const paxos *p, const wme_node *node, wme_out *out)
{
    wme_message m = message(p, p->phase == PAXOS_PREPARES ? WME_PREPARE : WME_ACCEPT, p->ballot);
    if (p->phase == PAXOS_ACCEPTS)
        m.record = p->proposal;
    wme_out_send(out, wme_others(node) & (uint16_t)~p->from, &m);
}

static void count_acceptances(paxos *p, const wme_node *node, wme_out *out)
{
    if (!has_majority(p, node))
        return;
    learn(p, &p->proposal, out);
    wme_message m = decision(p);
    wme_out_send(out, wme_others(node), &m);
}

static void begin_to_accept(paxos *p, const wme_node *node, wme_out *out)
{
    assert(p->durable.promised <= p->ballot && p->durable.accepted < p->ballot);
    p->phase = PAXOS_ACCEPTS;
    p->from = wme_bit(node->me);
    p->durable.promised = p->ballot;
    p->durable.accepted = p->ballot;
    wme_record_set(&p->durable.value, &p->proposal);
    wme_out_persist(out);
    ask(p, node, out);
    count_acceptances(p, node, out);
}

static void count_promises(paxos *p, const wme_node *node, wme_out *out)
{
    if (has_majority(p, node))
        begin_to_accept(p, node, out);
}

static void begin_to_prepare(paxos *p, const wme_node *node, wme_out *out)
{
    p->ballot = ballot_of(round_of(p->highest) + 1, node->me);
    assert(p->ballot > p->durable.promised);
    see(p, p->ballot);
    p->phase = PAXOS_PREPARES;
    p->from = wme_bit(node->me);
    p->durable.promised = p->ballot;
    adopt(p, p->durable.accepted, &p->durable.value);
    wme_out_persist(out);
    ask(p, node, out);
    count_promises(p, node, out);
}

static void begin(paxos *p, const wme_node *node, wme_out *out)
{
    if (node->me == p->first && p->durable.promised == 0) {
        p->ballot = ballot_of(0, node->me); /* below all others: nothing can be decided yet */
        see(p, p->ballot);
        begin_to_accept(p, node, out);
    } else {
        begin_to_prepare(p, node, out);
    }
}

/* Whether it is up to this node to begin, as far as it knows. */
static bool leads(const paxos *p, const wme_node *node)
{
    uint8_t leader = 0;
    if (!(node->suspected & wme_bit(p->first)) || node->me == p->first)
        return node->me == p->first;
    while (leader != node->me && node->suspected & wme_bit(leader))
        leader++;
    return leader == node->me;
}

void paxos_propose(paxos *p, const wme_node *node, const wme_record *value, wme_out *out)
{
    assert(node->me < node->nodes && node->nodes <= WME_MAX_NODES && p->first < node->nodes);
    assert(value->epoch == p->durable.epoch);
    if (p->wants || p->decided)
        return;
    p->wants = true;
    wme_record_set(&p->proposal, value);
    if (leads(p, node))
        begin(p, node, out);
    else
        back_off(p);
}

void paxos_tick(paxos *p, const wme_node *node, wme_out *out)
{
    if (!p->wants || p->decided)
        return;
    if (p->phase != PAXOS_RESTS) {
        ask(p, node, out);
        return;
    }
    assert(p->wait > 0);
    p->wait--;
    if (p->wait == 0 || (p->ballot == 0 && leads(p, node))) /* `first` may be suspected by now */
        begin(p, node, out);
}

/* ---- the acceptor ---- */

static void refuse(const paxos *p, uint8_t to, const wme_message *asked, wme_out *out)
{
    wme_message m = message(p, WME_REFUSED, asked->ballot);
    m.accepted = p->durable.promised;
    wme_out_send(out, wme_bit(to), &m);
}

/* Another node's ballot is above the own, if there is one, and must have time to succeed. */
static void give_way(paxos *p, uint64_t ballot)
{
    assert(ballot > p->durable.promised);
    p->durable.promised = ballot;
    if (p->wants)
        back_off(p);
}

static void promise(paxos *p, uint8_t from, const wme_message *m, wme_out *out)
{
    wme_message answer = message(p, WME_PROMISE, m->ballot);
    if (m->ballot > p->durable.promised) {
        give_way(p, m->ballot);
        wme_out_persist(out);
    }
    answer.accepted = p->durable.accepted;
    answer.record = p->durable.value;
    wme_out_send(out, wme_bit(from), &answer);
}

static void accept(paxos *p, uint8_t from, const wme_message *m, wme_out *out)
{
    wme_message answer = message(p, WME_ACCEPTED, m->ballot);
    if (m->ballot > p->durable.promised)
        give_way(p, m->ballot);
    if (m->ballot > p->durable.accepted) { /* else it has come twice */
        p->durable.accepted = m->ballot;
        wme_record_set(&p->durable.value, &m->record);
        wme_out_persist(out);
    }
    wme_out_send(out, wme_bit(from), &answer);
}

static void respond(paxos *p, uint8_t from, const wme_message *m, wme_out *out)
{
    if (!is_of(m->ballot, from) || (round_of(m->ballot) == 0 && from != p->first))
        return;
    if (p->decided) {
        wme_message news = decision(p);
        wme_out_send(out, wme_bit(from), &news);
    } else if (m->ballot < p->durable.promised) {
        refuse(p, from, m, out);
    } else if (m->kind == WME_PREPARE) {
        promise(p, from, m, out);
    } else {
        accept(p, from, m, out);
    }
}

/* ---- messages ---- */

/* An answer to what this node asks at the moment. */
static bool is_current(const paxos *p, const wme_message *m, paxos_phase phase)
{
    return p->phase == phase && m->ballot == p->ballot;
}

void paxos_receive(paxos *p, const wme_node *node, uint8_t from, const wme_message *m, wme_out *out)
{
    assert(m->epoch == p->durable.epoch && from < node->nodes && from != node->me);
    if (m->ballot > MAX_BALLOT || m->accepted > MAX_BALLOT)
        return;
    see(p, m->ballot);
    switch (m->kind) {
    case WME_PREPARE:
    case WME_ACCEPT:
        respond(p, from, m, out);
        break;
    case WME_PROMISE:
        if (!is_current(p, m, PAXOS_PREPARES) || m->accepted >= p->ballot)
            break;
        p->from |= wme_bit(from);
        adopt(p, m->accepted, &m->record);
        count_promises(p, node, out);
        break;
    case WME_ACCEPTED:
        if (!is_current(p, m, PAXOS_ACCEPTS))
            break;
        p->from |= wme_bit(from);
        count_acceptances(p, node, out);
        break;
    case WME_REFUSED:
        see(p, m->accepted);
        if (p->phase != PAXOS_RESTS && m->ballot == p->ballot)
            back_off(p);
        break;
    case WME_DECIDED:
        if (!p->decided)
            learn(p, &m->record, out);
        break;
    default:
        assert(!"a message of consensus");
    }
}
