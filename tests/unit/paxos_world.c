#include "paxos_world.h"

#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static uint64_t alive; /* operations */

static void free_op(wme_op *op)
{
    alive--;
    free(op);
}

wme_record plain_record(uint64_t value)
{
    return (wme_record){.epoch = EPOCH, .ops = value};
}

/* With an operation, whose only holder is the record. */
static wme_record make_record(uint64_t value)
{
    wme_record record = plain_record(value);
    record.last = calloc(1, sizeof *record.last);
    assert_non_null(record.last);
    record.last->free = free_op;
    record.last->holders = 1;
    record.last->id = value;
    record.op_sn = 1;
    alive++;
    return record;
}

/* ---- the world ---- */

uint64_t draw(world *w, uint64_t below)
{
    w->chance = w->chance * 6364136223846793005U + 1442695040888963407U;
    return (w->chance >> 33) % below;
}

void world_open(world *w, uint8_t nodes, uint8_t first, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    alive = 0;
    w->seed = seed;
    w->chance = seed * 0x9e3779b97f4a7c15U + 1;
    w->nodes = nodes;
    w->first = first;
    for (uint8_t i = 0; i < nodes; i++) {
        w->node[i] = (wme_node){.me = i, .nodes = nodes};
        w->up[i] = true;
        paxos_start(&w->p[i], EPOCH, first, draw(w, UINT32_MAX));
        w->saved[i].epoch = EPOCH;
    }
}

void world_close(world *w)
{
    for (uint8_t i = 0; i < w->nodes; i++) {
        if (w->up[i])
            paxos_end(&w->p[i]);
        wme_op_drop(w->saved[i].value.last);
    }
    lose_all(w);
    CHECK(w, alive == 0);
}

void lose_all(world *w)
{
    while (w->flying > 0)
        wme_op_drop(w->air[--w->flying].message.record.last);
}

void crash(world *w, uint8_t i)
{
    w->up[i] = false;
    w->told[i] = 0;
    paxos_end(&w->p[i]);
}

void restart(world *w, uint8_t i)
{
    w->up[i] = true;
    w->life[i]++;
    paxos_restart(&w->p[i], &w->saved[i], w->first, draw(w, UINT32_MAX));
}

/* ---- what leaves a node ---- */

/* What a message says must be safe by now, and must not contradict what was said before. */
static void look_at(world *w, uint8_t i, const wme_message *m)
{
    const paxos_durable *saved = &w->saved[i];
    CHECK(w, m->epoch == EPOCH);
    CHECK(w, m->ballot < MAX_ROUNDS * WME_MAX_NODES);
    ballot_use *use = &w->use[m->ballot];
    switch (m->kind) {
    case WME_PREPARE:
    case WME_ACCEPT:
        CHECK(w, (m->ballot - 1) % WME_MAX_NODES == i);
        if (use->life == 0)
            use->life = w->life[i] + 1;
        CHECK(w, use->life == w->life[i] + 1);
        CHECK(w, saved->promised >= m->ballot);
        if (m->kind == WME_PREPARE) {
            CHECK(w, m->ballot > WME_MAX_NODES);
            break;
        }
        CHECK(w, m->ballot > WME_MAX_NODES || i == w->first);
        CHECK(w, saved->accepted == m->ballot && saved->value.ops == m->record.ops);
        if (use->value == 0)
            use->value = m->record.ops;
        CHECK(w, use->value == m->record.ops);
        break;
    case WME_PROMISE:
        CHECK(w, saved->promised == m->ballot);
        CHECK(w, saved->accepted == m->accepted && saved->value.ops == m->record.ops);
        break;
    case WME_ACCEPTED:
        CHECK(w, saved->accepted == m->ballot && saved->value.ops == use->value);
        break;
    case WME_REFUSED:
        CHECK(w, m->accepted > m->ballot && saved->promised == m->accepted);
        break;
    case WME_DECIDED:
        CHECK(w, w->told[i] == m->record.ops);
        break;
    default:
        CHECK(w, !"a message of consensus");
    }
}

static void put_in_the_air(world *w, uint8_t from, uint8_t to, const wme_message *m)
{
    CHECK(w, w->flying < MAX_FLYING);
    w->air[w->flying++] = (flying){from, to, *m};
    wme_op_keep(m->record.last);
}

static void leave(world *w, uint8_t i, const wme_action *action)
{
    CHECK(w, !(action->to >> i & 1) && action->to >> w->nodes == 0);
    look_at(w, i, &action->message);
    for (uint8_t to = 0; to < w->nodes; to++) {
        if (!(action->to >> to & 1))
            continue;
        w->sent++;
        if (draw(w, 1000) >= w->loss)
            put_in_the_air(w, i, to, &action->message);
        if (draw(w, 1000) < w->twice)
            put_in_the_air(w, i, to, &action->message);
    }
}

static void be_told(world *w, uint8_t i, const wme_record *decision)
{
    CHECK(w, w->told[i] == 0); /* once in a life */
    CHECK(w, decision->ops >= 1 && decision->ops <= w->values);
    CHECK(w, w->decided == 0 || w->decided == decision->ops);
    CHECK(w, decision->last == NULL || decision->last->id == decision->ops);
    w->told[i] = w->decided = decision->ops;
}

/* Does what is to be done, unless the node crashes between two actions. */
static void act(world *w, uint8_t i)
{
    for (uint32_t k = 0; k < w->out.count && w->up[i]; k++) {
        const wme_action *action = &w->out.actions[k];
        if (draw(w, 1000) < w->crash) {
            crash(w, i);
        } else if (action->verb == WME_SEND) {
            leave(w, i, action);
        } else if (action->verb == WME_DECISION) {
            be_told(w, i, &action->message.record);
        } else {
            CHECK(w, action->verb == WME_PERSIST);
            wme_op_keep(w->p[i].durable.value.last);
            wme_op_drop(w->saved[i].value.last);
            w->saved[i] = w->p[i].durable;
            w->persisted++;
        }
    }
    wme_out_clear(&w->out);
}

/* ---- events ---- */

void propose(world *w, uint8_t i)
{
    wme_record value = make_record(++w->values);
    CHECK(w, w->values < MAX_VALUES);
    paxos_propose(&w->p[i], &w->node[i], &value, &w->out);
    wme_op_drop(value.last);
    act(w, i);
}

void tick(world *w, uint8_t i)
{
    paxos_tick(&w->p[i], &w->node[i], &w->out);
    act(w, i);
}

void say(world *w, uint8_t from, uint8_t to, wme_message m)
{
    m.epoch = EPOCH;
    paxos_receive(&w->p[to], &w->node[to], from, &m, &w->out);
    act(w, to);
}

void deliver(world *w, uint32_t k)
{
    flying f = w->air[k];
    w->flying--;
    memmove(&w->air[k], &w->air[k + 1], (w->flying - k) * sizeof f);
    if (w->up[f.to])
        say(w, f.from, f.to, f.message);
    wme_op_drop(f.message.record.last);
}

void deliver_all(world *w)
{
    while (w->flying > 0)
        deliver(w, 0);
}
