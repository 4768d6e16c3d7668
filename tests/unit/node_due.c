/* What locks cost that nobody does anything with, and how what was lost is found all the same. */
#include "node_world.h"

#include <string.h>

static uint64_t all_sent(const world *w)
{
    uint64_t sent = 0;
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        sent += w->node[i].counts.sent;
    return sent;
}

static void stop_patrols(world *w)
{
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        w->node[i].patrols = false;
}

/* ---- what they cost ---- */

void test_held_costs_nothing(void **state)
{
    world *w = *state;
    stop_patrols(w);
    many_hold(w, MANY);
    world_pass(w, 1000);
    uint64_t before = all_sent(w);
    world_pass(w, 10000);
    assert_int_equal(all_sent(w), before);
    assert_int_equal(w->node[0].counts.held, MANY);
}

/* A token that never left its node is no concern of others, however often all are compared. */
void test_held_is_heard_of_by_nobody(void **state)
{
    world *w = *state;
    uint32_t here = 0;
    many_hold(w, MANY);
    world_cut(w, 0, true);
    world_cut(w, 0, false);
    world_pass(w, 10000);
    for (uint32_t i = 0; i < MANY; i++)
        if (many_find(w, 0, i)->replica.stub.now.sn == 0) {
            here++;
            assert_null(many_find(w, 1, i));
            assert_null(many_find(w, 2, i));
        }
    assert_true(here > MANY / 5 && here < MANY / 2);
}

/* ---- what was lost ---- */

static void set_room(cluster_node *n, size_t bytes)
{
    n->max_output = bytes;
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        n->to_peer[i].max = n->early[i].max = bytes;
}

void test_dropped_is_made_good(void **state)
{
    world *w = *state;
    stop_patrols(w);
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    world_settle(w);
    assert_true(world_issue(w, owner)); /* which all are told; */
    set_room(&w->node[owner], 1);
    world_settle(w); /* but not that it is executed */
    assert_string_equal(w->visitor[owner].result, ":2\r\n");
    assert_int_equal(world_stub(w, 2)->executed, 1);
    assert_true(w->node[owner].counts.dropped > 0);
    assert_true(w->node[owner].missed[2]);
    world_exit(w, owner);
    set_room(&w->node[owner], NODE_MAX_PEER_OUTPUT);
    node_tick(&w->node[owner], w->now += NODE_TICK); /* nobody else asks */
    world_settle(w);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_int_equal(world_value(w, i), 2);
    assert_false(w->node[owner].missed[2]);
}

/* Only the one who speaks learns that a link is lost. */
void test_link_begins(void **state)
{
    world *w = *state;
    stop_patrols(w);
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    world_settle(w);
    node_reached(&w->node[owner], 2, false);
    assert_true(world_issue(w, owner));
    world_settle(w);
    assert_int_equal(world_value(w, 2), 1);
    node_reached(&w->node[owner], 2, true);
    world_settle(w);
    assert_int_equal(world_value(w, 2), 2);
}

/* One node does not hear of the next operation, which has its outcome all the same. */
static void issue_past(world *w, uint8_t owner, uint8_t past)
{
    uint8_t other = (uint8_t)(WORLD_NODES - owner - past);
    assert_true(world_issue(w, owner));
    world_end_turn(w, owner);
    while (world_deliver(w, owner, other))
        continue;
    world_end_turn(w, other);
    while (world_deliver(w, other, owner))
        continue;
    world_end_turn(w, owner);
    w->wire[owner][past].bytes = w->wire[other][past].bytes = 0;
    world_settle(w);
    assert_true(world_value(w, past) < world_value(w, owner));
}

/* It does not know yet who it is, and so ignores what it is told about a lock. */
void test_who_was_new_is_told(void **state)
{
    world *w = *state;
    static peer_said said;
    stop_patrols(w);
    world_pass(w, 500); /* they were new themselves */
    uint8_t owner = world_enter(w);
    said = (peer_said){.verb = PEER_BOOT};
    said.boot_check = (boot_message){
        .asks = true, .boot = w->node[2].boot_check.durable.boot, .state = BOOT_NEW, .life = 1};
    node_receive(&w->node[owner], 2, &said, w->now);
    issue_past(w, owner, 2);
    world_pass(w, 500); /* and when it speaks of other things, it does know */
    assert_int_equal(world_value(w, 2), 1);
}

/* Something was lost that could not be: as if one node had heard nothing of an operation. */
void test_patrol(void **state)
{
    world *w = *state;
    world_pass(w, 500); /* they were new */
    uint8_t owner = world_enter(w);
    issue_past(w, owner, 2);
    world_pass(w, 1000);
    assert_int_equal(world_value(w, 2), 1);
}

/* ---- what time does ---- */

/* Somebody waits for a lock that another holds for ever. */
void test_waits_without_end(void **state)
{
    world *w = *state;
    stop_patrols(w);
    world_enter(w);
    world_lock(w, 1);
    world_pass(w, 20000);
    uint64_t before = w->node[1].counts.sent;
    world_pass(w, 10000);
    uint64_t sent = w->node[1].counts.sent - before;
    assert_true(sent > 0 && sent < 40); /* REQUEST and SYNC to two, in every 64th tick */
    assert_int_equal(w->visitor[1].place, VISITOR_WAITS);
    world_exit(w, 0);
    world_settle(w);
    assert_int_equal(w->visitor[1].place, VISITOR_INSIDE);
}

static uint32_t count_in_epoch(world *w, uint8_t node, uint64_t epoch)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MANY; i++)
        count +=
            many_find(w, node, i) != NULL && many_find(w, node, i)->replica.stub.now.epoch == epoch;
    return count;
}

/* The holder of many is dead: who wants one of them comes first, and the others follow slowly. */
void test_suspicion_of_many(void **state)
{
    world *w = *state;
    many_hold(w, MANY);
    uint32_t wanted = MANY - 1;
    while (many_find(w, 1, wanted) == NULL)
        wanted--;
    uint32_t known = count_in_epoch(w, 1, 1);
    assert_true(known > MANY / 3);
    assert_int_equal(many_tell(w, 1, wanted, WDME_LOCK, 0), LOCK_DONE);
    world_settle(w);
    assert_int_equal(w->visitor[1].place, VISITOR_WAITS);
    world_crash(w, 0);
    while (w->visitor[1].place == VISITOR_WAITS)
        world_pass(w, NODE_TICK);
    assert_int_equal(many_find(w, 1, wanted)->replica.stub.now.epoch, 2);
    assert_true(count_in_epoch(w, 1, 1) > known / 3);
    world_pass(w, 2000);
    assert_int_equal(count_in_epoch(w, 1, 1), 0);
    assert_int_equal(count_in_epoch(w, 1, 2), known);
}
