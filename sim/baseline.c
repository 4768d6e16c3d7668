/*
 * The earlier algorithm, as far as it costs anything: whoever wants to enter, to exit or to run an
 * operation broadcasts that, and an instance of consensus decides that it comes next. Messages take
 * one step each, so the network is a list of what arrives in the next one.
 */
#include "count.h"
#include "paxos.h"

#include <assert.h>
#include <string.h>

enum { ISSUER = 1, LEADER = 0, MAX_MAIL = 256 };

/* PROPOSAL is the broadcast that comes first. The record stays empty: what matters is the count. */
enum { PROPOSAL = WME_KINDS };

typedef struct mail {
    uint8_t from, to;
    int kind;
    wme_message message;
} mail;

typedef struct post {
    uint8_t nodes;
    uint32_t step;
    uint64_t sent;
    uint32_t count;
    mail next[MAX_MAIL];
} post;

static void post_to(post *p, uint8_t from, uint16_t to, int kind, const wme_message *m)
{
    for (uint8_t n = 0; n < p->nodes; n++) {
        if (!(to >> n & 1) || n == from)
            continue;
        assert(p->count < MAX_MAIL);
        p->next[p->count++] = (mail){.from = from, .to = n, .kind = kind, .message = *m};
        p->sent++;
    }
}

/* What a variant does with a message, and whether the node has now decided. */
typedef struct variant {
    void (*propose)(post *p, uint8_t node);
    bool (*receive)(post *p, const mail *m);
} variant;

/* One event from its wish until everybody has decided. */
static cost decide(post *p, const variant *v)
{
    static mail arriving[MAX_MAIL];
    cost spent = {0};
    bool decided[WME_MAX_NODES] = {false};
    uint8_t left = p->nodes;
    uint64_t sent = p->sent;
    post_to(p, ISSUER, UINT16_MAX, PROPOSAL, &(wme_message){0});
    v->propose(p, ISSUER);
    for (p->step = 1; p->count > 0; p->step++) {
        uint32_t count = p->count;
        memcpy(arriving, p->next, count * sizeof arriving[0]);
        p->count = 0;
        for (uint32_t i = 0; i < count; i++) {
            uint8_t at = arriving[i].to;
            if (arriving[i].kind == PROPOSAL)
                v->propose(p, at);
            else if (v->receive(p, &arriving[i]) && !decided[at]) {
                decided[at] = true;
                left--;
                spent.steps_all = p->step;
                if (at == ISSUER)
                    spent.steps = p->step;
            }
        }
    }
    assert(left == 0);
    spent.messages = p->sent - sent;
    return spent;
}

/* Entering and leaving cost the same wherever the token would be: there is none. */
static costs count_events(post *p, const variant *v, void (*next_instance)(post *p))
{
    costs all;
    cost *const events[] = {&all.enter_elsewhere, &all.operation, &all.exit_alone, &all.enter_here,
                            &all.exit_handing};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        next_instance(p);
        *events[i] = decide(p, v);
    }
    return all;
}

/* ---- with the shipped Paxos ---- */

static paxos instances[WME_MAX_NODES];
static uint64_t instance;
static wme_out out;

static void next_paxos(post *p)
{
    instance++;
    for (uint8_t n = 0; n < p->nodes; n++)
        paxos_start(&instances[n], instance, LEADER, n);
}

static wme_node node_of(const post *p, uint8_t node)
{
    return (wme_node){.me = node, .nodes = p->nodes};
}

static bool carry(post *p, uint8_t node)
{
    bool decided = false;
    for (uint32_t i = 0; i < out.count; i++) {
        const wme_action *a = &out.actions[i];
        if (a->verb == WME_SEND)
            post_to(p, node, a->to, (int)a->message.kind, &a->message);
        decided |= a->verb == WME_DECISION;
    }
    wme_out_clear(&out);
    return decided;
}

static void propose_paxos(post *p, uint8_t node)
{
    wme_node self = node_of(p, node);
    paxos_propose(&instances[node], &self, &(wme_record){.epoch = instance}, &out);
    carry(p, node);
}

static bool receive_paxos(post *p, const mail *m)
{
    wme_node self = node_of(p, m->to);
    paxos_receive(&instances[m->to], &self, m->from, &m->message, &out);
    return carry(p, m->to);
}

costs count_baseline_linear(uint8_t nodes)
{
    static post p;
    p = (post){.nodes = nodes};
    return count_events(&p, &(variant){propose_paxos, receive_paxos}, next_paxos);
}

/* ---- with acceptances to everybody ---- */

static uint16_t accepted[WME_MAX_NODES]; /* by whom, as each node knows */

static void next_round(post *p)
{
    (void)p;
    memset(accepted, 0, sizeof accepted);
}

static bool has_majority(const post *p, uint8_t node)
{
    return __builtin_popcount(accepted[node]) > p->nodes / 2;
}

/* The leader's proposal is also its acceptance. */
static void propose_all_to_all(post *p, uint8_t node)
{
    if (node != LEADER)
        return;
    accepted[node] |= 1 << LEADER;
    post_to(p, node, UINT16_MAX, WME_ACCEPT, &(wme_message){0});
}

static bool receive_all_to_all(post *p, const mail *m)
{
    accepted[m->to] |= (uint16_t)(1 << m->from);
    if (m->kind == WME_ACCEPT) {
        accepted[m->to] |= (uint16_t)(1 << m->to);
        post_to(p, m->to, UINT16_MAX, WME_ACCEPTED, &(wme_message){0});
    }
    return m->kind == WME_ACCEPTED && has_majority(p, m->to);
}

costs count_baseline_all_to_all(uint8_t nodes)
{
    static post p;
    p = (post){.nodes = nodes};
    return count_events(&p, &(variant){propose_all_to_all, receive_all_to_all}, next_round);
}
