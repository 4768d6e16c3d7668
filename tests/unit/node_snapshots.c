/* Locks that are sent as a whole: what a node takes for one, and what it sends. */
#include "node_world.h"

#include <string.h>

enum { MANY_OPS = 2 * WME_MAX_LOG };

static node_lock *lock_at(world *w, uint8_t node)
{
    return node_lock_find(&w->node[node], "lock", 4);
}

/* Node 2 was away for longer than the others remember each operation, and says how far it is. */
static void fall_behind(world *w)
{
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    world_settle(w);
    world_cut(w, 2, true);
    for (int i = 1; i < MANY_OPS; i++) {
        assert_true(world_issue(w, owner));
        world_settle(w);
    }
    world_cut(w, 2, false);
}

/* The lock as a whole is under way to node 2, and nothing else. */
static void expect_state(world *w)
{
    for (int round = 0; round < 100; round++) {
        for (uint8_t i = 0; i < WORLD_NODES; i++)
            world_end_turn(w, i);
        if (world_says(&w->wire[0][2], "STATE"))
            break;
        w->now += NODE_TICK;
        for (uint8_t to = 0; to < WORLD_NODES; to++) {
            node_tick(&w->node[to], w->now);
            for (uint8_t from = 0; from < WORLD_NODES; from++)
                while (to != 2 && world_deliver(w, from, to))
                    continue;
        }
        while (!world_says(&w->wire[0][2], "STATE") && world_deliver(w, 0, 2))
            continue;
        w->wire[1][2].bytes = 0;
    }
    resp_out *wire = &w->wire[0][2];
    const char *state = memmem(wire->at, wire->bytes, "STATE", 5);
    assert_non_null(state);
    while (state[0] != '*') /* the begin of the command */
        state--;
    wire->bytes -= (size_t)(state - wire->at);
    memmove(wire->at, state, wire->bytes);
}

static uint64_t malformed(const world *w)
{
    return w->node[2].wme.refused[WME_MALFORMED];
}

/* One bit of it is wrong: nothing of it is taken, and the node goes on and asks again. */
void test_damaged_snapshot_is_refused(void **state)
{
    world *w = *state;
    fall_behind(w);
    expect_state(w);
    resp_out *wire = &w->wire[0][2];
    peer_said said;
    resp_parsed p = peer_read(wire->at, wire->bytes, WORLD_NODES, &said);
    assert_int_equal(p.verdict, RESP_COMPLETE);
    assert_true(said.message.snapshot);
    ((uint8_t *)(uintptr_t)said.snapshot.at)[said.snapshot.bytes / 2] ^= 1;
    peer_said_drop(&said);
    uint64_t before = malformed(w);
    assert_true(world_deliver(w, 0, 2));
    assert_int_equal(malformed(w), before + 1);
    assert_int_equal(world_stub(w, 2)->executed, 1);
    world_end_turn(w, 2); /* its store works */
    world_pass(w, 5000);
    assert_int_equal(world_value(w, 2), MANY_OPS);
}

/* It is not of as many operations as the message says. */
void test_snapshot_of_another_state_is_refused(void **state)
{
    world *w = *state;
    static peer_said said;
    fall_behind(w);
    expect_state(w);
    resp_out *wire = &w->wire[0][2];
    assert_int_equal(peer_read(wire->at, wire->bytes, WORLD_NODES, &said).verdict, RESP_COMPLETE);
    said.message.executed--;
    uint64_t before = malformed(w);
    node_receive(&w->node[2], 0, &said, w->now);
    assert_int_equal(malformed(w), before + 1);
    assert_int_equal(world_stub(w, 2)->executed, 1);
    said.message.executed++;
    node_receive(&w->node[2], 0, &said, w->now);
    assert_int_equal(malformed(w), before + 1);
    assert_int_equal(world_stub(w, 2)->executed, MANY_OPS);
    assert_int_equal(lock_at(w, 2)->kept.executed, MANY_OPS);
    peer_said_drop(&said);
}

/* One that cannot be taken is not sent, and is the end of the node: its store is damaged. */
void test_snapshot_that_cannot_be_taken(void **state)
{
    world *w = *state;
    fall_behind(w);
    lock_at(w, 0)->kept.keys++; /* more than there are */
    for (uint8_t i = 1; i < WORLD_NODES; i++)
        world_end_turn(w, i);
    bool works = true;
    for (int round = 0; round < 100 && works; round++) {
        w->now += NODE_TICK;
        node_tick(&w->node[2], w->now);
        world_end_turn(w, 2);
        while (world_deliver(w, 2, 0))
            continue;
        assert_false(world_says(&w->node[0].to_peer[2], "STATE"));
        works = node_turn_ends(&w->node[0]);
        w->node[0].to_peer[2].bytes = w->node[0].early[2].bytes = 0;
    }
    assert_false(works);
    assert_non_null(strstr(store_why(w->store[0]), "not as many keys as it should"));
}

/* Whoever has just been sent it is not sent it again, though it asks; another is. */
void test_whole_is_not_repeated(void **state)
{
    world *w = *state;
    fall_behind(w);
    expect_state(w);
    node_lock *p = lock_at(w, 0);
    uint64_t after = w->now + 1000; /* as if it were large */
    assert_int_equal(p->whole_after[1], 0);
    assert_true(p->whole_after[2] > 0);
    p->whole_after[2] = after;
    w->wire[0][2].bytes = w->wire[1][2].bytes = 0; /* it is lost */
    w->node[1].reached[2] = false;
    while (w->now + NODE_TICK < after) {
        world_pass(w, NODE_TICK);
        assert_int_equal(world_stub(w, 2)->executed, 1);
    }
    world_pass(w, 5000);
    assert_int_equal(world_value(w, 2), MANY_OPS);
    w->node[1].reached[2] = true;
}

/* What a node lists for one that has lost all, it has on its disk before it says so. */
void test_listed_is_written(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    cluster_node *n = &w->node[owner];
    world_crash(w, 2);
    world_empty(w, 2);
    world_start(w, 2);
    assert_int_equal(lock_at(w, owner)->kept.number, 0); /* nothing was to be remembered yet */
    for (int round = 0; !world_says(&n->to_peer[2], "LISTED"); round++) {
        assert_true(round < 100);
        for (uint8_t i = 0; i < WORLD_NODES; i++)
            world_end_turn(w, i);
        w->now += NODE_TICK;
        for (uint8_t to = 0; to < WORLD_NODES; to++) {
            node_tick(&w->node[to], w->now);
            for (uint8_t from = 0; from < WORLD_NODES; from++)
                while (!world_says(&n->to_peer[2], "LISTED") && world_deliver(w, from, to))
                    continue;
        }
    }
    assert_int_not_equal(lock_at(w, owner)->kept.number, 0);
    assert_true(n->writes);
    world_end_turn(w, owner);
    world_crash(w, owner);
    world_start(w, owner);
    store_lock kept;
    replica_durable durable;
    byte_string name = {(const uint8_t *)"lock", 4};
    assert_int_equal(store_load(w->store[owner], name, &kept, &durable), STORE_FOUND);
    replica_durable_end(&durable);
}
