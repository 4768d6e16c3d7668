/*
 * The end of a run: all nodes are up, and nothing goes wrong any more. Somebody at each node enters
 * every lock and counts; then what each node has is read, and compared.
 */
#include "node_fleet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROGRESS = 40000 * MILLISECOND, /* until all have been everywhere */
    EQUALITY = 20000 * MILLISECOND, /* until all nodes have the same */
    AGAIN = 400 * MILLISECOND,
    PLACE = 3, /* numbers that say where a lock is: epoch, sn, operations */
};

static uint8_t home_of(uint8_t who)
{
    return (uint8_t)(who - FLEET_CLIENTS);
}

/* ---- entering ---- */

static void enter(fleet *f, uint8_t who)
{
    client_says(f, who, ASK_ENTER, "LOCK l%u", f->clients[who].lock);
}

void looker_acts(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    if (f->rests)
        return;
    if (c->line == NULL) {
        if (client_connects(f, who, home_of(who))) {
            client_says(f, who, ASK_HELLO, "HELLO 3");
            if (!c->finished)
                enter(f, who);
        }
    } else if (c->answered == c->expects && !c->finished) {
        enter(f, who);
    }
    client_next(f, who, 100, 300);
}

static void has_entered(fleet *f, uint8_t who, const resp_reply *r)
{
    client *c = &f->clients[who];
    if (r->value.kind != REPLY_INTEGER)
        return; /* not yet: it asks again */
    c->token = (uint64_t)r->value.number;
    keeper_entered(
        f, &(judged_entry){.lock = c->lock, .client = who, .token = c->token, .at = f->now});
    judged_op o = {.lock = c->lock, .client = who, .token = c->token, .begun = f->now};
    c->operation = judge_begins(&f->judge, &o) + 1;
    client_says(f, who, ASK_OPERATION, "ISSUE l%u %" PRIu64 " INCR u%u", c->lock, c->token,
                c->operation - 1);
}

static void has_counted(fleet *f, uint8_t who, const resp_reply *r)
{
    client *c = &f->clients[who];
    bool done = r->value.kind == REPLY_INTEGER;
    judge_ends(&f->judge, c->operation - 1, done ? FATE_DONE : FATE_NOWHERE,
               (uint64_t)r->value.number, f->now);
    if (!done)
        return;
    client_says(f, who, ASK_LEAVE, "EXIT l%u %" PRIu64, c->lock, c->token);
    c->lock++;
    c->finished = c->lock == f->settings.locks;
    if (!c->finished)
        enter(f, who);
}

/* ---- reading ---- */

static uint64_t *value_at(fleet *f, uint8_t node, uint32_t key)
{
    return &f->values[(size_t)node * (f->keys + PLACE * FLEET_LOCKS) + key];
}

/* Keys 0 to ops - 1 are of operations, the others what each lock has counted. */
static void ask(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    uint32_t key = c->keys_read;
    if (key == f->keys)
        return;
    if (key < f->judge.ops)
        client_says(f, who, ASK_LOOK, "READ l%u u%u", f->judge.op[key].lock, key);
    else
        client_says(f, who, ASK_LOOK, "READ l%u n", key - f->judge.ops);
}

static void has_read(fleet *f, uint8_t who, const resp_reply *r)
{
    client *c = &f->clients[who];
    uint32_t key = c->keys_read++;
    uint64_t value = 0;
    if (r->value.kind != REPLY_ARRAY || r->elements != 4) {
        judge_wrong(&f->judge, "answer", f->now, "node %u cannot be read", home_of(who));
        return;
    }
    if (r->element[0].kind == REPLY_BULK && !resp_number(r->element[0].text, 1, UINT64_MAX, &value))
        judge_wrong(&f->judge, "answer", f->now, "node %u counts to nonsense", home_of(who));
    *value_at(f, home_of(who), key) = value;
    uint32_t lock = key < f->judge.ops ? f->judge.op[key].lock : key - f->judge.ops;
    for (uint32_t i = 0; i < PLACE; i++)
        *value_at(f, home_of(who), f->keys + PLACE * lock + i) = (uint64_t)r->element[1 + i].number;
    ask(f, who);
}

void looker_answered(fleet *f, uint8_t who, client_ask what, const resp_reply *r)
{
    if (what == ASK_ENTER)
        has_entered(f, who, r);
    else if (what == ASK_OPERATION)
        has_counted(f, who, r);
    else if (what == ASK_LOOK)
        has_read(f, who, r);
}

static void begin_to_read(fleet *f)
{
    f->keys = f->judge.ops + f->settings.locks;
    free(f->values);
    f->values =
        calloc((size_t)f->settings.nodes * (f->keys + PLACE * FLEET_LOCKS), sizeof *f->values);
    if (f->values == NULL)
        fleet_out_of_order("out of memory");
    for (uint8_t i = 0; i < f->settings.nodes; i++) {
        f->clients[FLEET_CLIENTS + i].keys_read = 0;
        ask(f, (uint8_t)(FLEET_CLIENTS + i));
    }
}

/* ---- is all as it should be? ---- */

static uint8_t count_finished(const fleet *f)
{
    uint8_t count = 0;
    for (uint8_t i = 0; i < f->settings.nodes; i++)
        count += f->clients[FLEET_CLIENTS + i].finished;
    return count;
}

/* All have been everywhere, and no node will end, as one does whose data others refuse. */
static bool all_are_there(const fleet *f)
{
    for (uint8_t i = 0; i < f->settings.nodes; i++) {
        const boot_check *its = &f->machines[i].node.boot_check;
        if (f->clients[FLEET_CLIENTS + i].line == NULL ||
            __builtin_popcount(its->answered) + 1 < f->settings.nodes)
            return false;
    }
    return count_finished(f) == f->settings.nodes;
}

static bool all_have_read(const fleet *f)
{
    for (uint8_t i = 0; i < f->settings.nodes; i++)
        if (f->clients[FLEET_CLIENTS + i].keys_read < f->keys)
            return false;
    return true;
}

/* The first number in which a node differs from the first; NULL if there is none. */
static bool differ(fleet *f, uint8_t *node, uint32_t *key)
{
    for (*node = 1; *node < f->settings.nodes; ++*node)
        for (*key = 0; *key < f->keys + PLACE * f->settings.locks; ++*key)
            if (*value_at(f, *node, *key) != *value_at(f, 0, *key))
                return true;
    return false;
}

static void compare(fleet *f)
{
    uint8_t node;
    uint32_t key;
    if (differ(f, &node, &key)) {
        if (f->now < f->deadline)
            begin_to_read(f);
        else
            judge_wrong(&f->judge, "replicas", f->now,
                        "nodes 0 and %u have %" PRIu64 " and %" PRIu64 " as number %u of %u", node,
                        *value_at(f, 0, key), *value_at(f, node, key), key, f->keys);
        return;
    }
    for (uint32_t i = 0; i < f->judge.ops; i++)
        if (!f->judge.op[i].counts)
            judge_read(&f->judge, i, *value_at(f, 0, i), f->now);
    for (uint8_t l = 0; l < f->settings.locks; l++)
        judge_total(&f->judge, l, *value_at(f, 0, f->judge.ops + l), f->now);
    f->ends = true;
}

void fleet_look(fleet *f)
{
    fleet_put(f, f->now + AGAIN, FLEET_LOOKS, 0, 0, 0, 0);
    if (!f->over) {
        fleet_say(f, "", "ALL IS CALM");
        fleet_calm(f);
        f->deadline = f->now + PROGRESS;
        for (uint8_t i = 0; i < f->settings.nodes; i++)
            client_next(f, (uint8_t)(FLEET_CLIENTS + i), 0, 200);
    } else if (!f->rests && all_are_there(f)) {
        fleet_say(f, "", "ALL HAVE BEEN EVERYWHERE");
        f->rests = true;
        f->deadline = f->now + EQUALITY;
        begin_to_read(f);
    } else if (!f->rests && f->now > f->deadline) {
        judge_wrong(&f->judge, "progress", f->now,
                    "%u of %u clients have not entered everywhere, %u s after the last mishap",
                    f->settings.nodes - count_finished(f), f->settings.nodes,
                    (uint32_t)((f->now - f->over_at) / 1000 / MILLISECOND));
    } else if (f->rests && all_have_read(f)) {
        compare(f);
    } else if (f->rests && f->now > f->deadline) {
        judge_wrong(&f->judge, "progress", f->now, "a node does not answer a READ");
    }
}
