/* Locks that rest: what must have been said before, and who hears of them afterwards. */
#include "node_world.h"

#include <string.h>

static const char name[] = "lock";

static bool is_loaded(const world *w, uint8_t node)
{
    return node_lock_find(&w->node[node], name, strlen(name)) != NULL;
}

/* What is lost no patrol finds. At node 0 locks rest soon, but only if it is told the time. */
static void begin(world *w)
{
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        w->node[i].patrols = false;
    world_pass(w, 500);
    w->node[0].rest_after = NODE_TICK;
}

/* In no time: else it would suspect those whom it does not hear. */
static void tick(world *w, uint8_t node, int times)
{
    for (int i = 0; i < times; i++)
        node_tick(&w->node[node], w->now);
}

/* Two nodes speak; what they say to the third is lost, and it says nothing. */
static void settle_without(world *w, uint8_t absent)
{
    for (int round = 0; round < 6; round++)
        for (uint8_t i = 0; i < WORLD_NODES; i++) {
            if (i == absent)
                continue;
            world_end_turn(w, i);
            w->wire[i][absent].bytes = 0;
            for (uint8_t from = 0; from < WORLD_NODES; from++)
                while (world_deliver(w, from, i))
                    continue;
        }
}

/* As if something had been lost that cannot be. */
static uint8_t enter_and_issue_without(world *w, uint8_t absent)
{
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    settle_without(w, absent);
    assert_string_equal(w->visitor[owner].result, ":1\r\n");
    assert_int_equal(world_value(w, absent), 0);
    world_exit(w, owner);
    settle_without(w, absent);
    return owner;
}

/* No patrol comes to what rests: so it is compared once more. */
void test_compared_before_it_rests(void **state)
{
    world *w = *state;
    begin(w);
    uint8_t owner = enter_and_issue_without(w, 2);
    tick(w, owner, 20);
    assert_false(is_loaded(w, owner));
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_int_equal(w->node[owner].syncs[i].names, 0); /* they would name what is gone */
    world_settle(w);
    assert_int_equal(world_value(w, 2), 1);
}

/* What found no room is said again about locks in memory only. */
void test_nothing_rests_before_all_is_said(void **state)
{
    world *w = *state;
    begin(w);
    uint8_t owner = world_enter(w);
    cluster_node *n = &w->node[owner];
    n->to_peer[2].max = n->early[2].max = 1;
    assert_true(world_issue(w, owner));
    settle_without(w, 2);
    world_exit(w, owner);
    settle_without(w, 2);
    assert_true(n->missed[2]);
    tick(w, owner, 40);
    assert_true(is_loaded(w, owner));
    n->to_peer[2].max = n->early[2].max = NODE_MAX_PEER_OUTPUT;
    tick(w, owner, 40);
    assert_false(is_loaded(w, owner));
    world_settle(w);
    assert_int_equal(world_value(w, 2), 1);
}

/* But who is not there any more keeps none from rest: a link that begins is told of all. */
void test_absent_keep_nothing_from_rest(void **state)
{
    world *w = *state;
    begin(w);
    uint8_t owner = world_enter(w);
    cluster_node *n = &w->node[owner];
    n->to_peer[2].max = n->early[2].max = 1;
    assert_true(world_issue(w, owner));
    settle_without(w, 2);
    world_exit(w, owner);
    settle_without(w, 2);
    assert_true(n->missed[2]);
    node_reached(n, 2, false);
    tick(w, owner, 40);
    assert_false(is_loaded(w, owner));
}

/* One that must stay is no hindrance for those behind it. */
void test_one_stays_others_rest(void **state)
{
    world *w = *state;
    cluster_node *n = &w->node[0];
    char its[32];
    begin(w);
    world_exit(w, world_enter(w));
    assert_non_null(node_lock_get(n, its, many_name(1, its)));
    node_lock_find(n, name, strlen(name))->asks = true;
    tick(w, 0, 20);
    assert_null(many_find(w, 0, 1));
    assert_true(is_loaded(w, 0));
    node_lock_find(n, name, strlen(name))->asks = false;
}

/* ---- what others are told of them ---- */

/* The owner has one that rests; the third node has not heard of it, and nobody else speaks. */
static uint8_t rest_without(world *w, uint8_t absent)
{
    uint8_t owner = enter_and_issue_without(w, absent);
    tick(w, owner, 20);
    assert_false(is_loaded(w, owner));
    settle_without(w, absent);
    return owner;
}

/* A node that was new has ignored that, too. */
void test_new_is_told_what_rests(void **state)
{
    world *w = *state;
    static peer_said said;
    begin(w);
    said = (peer_said){.verb = PEER_BOOT};
    said.boot_check = (boot_message){
        .asks = true, .boot = w->node[2].boot_check.durable.boot, .state = BOOT_NEW, .life = 1};
    node_receive(&w->node[0], 2, &said, w->now);
    uint8_t owner = rest_without(w, 2);
    said = (peer_said){.verb = PEER_HEARTBEAT};
    node_receive(&w->node[owner], 2, &said, w->now);
    tick(w, owner, 1);
    world_settle(w);
    assert_int_equal(world_value(w, 2), 1);
}

/* And it may be new before and after a link to it begins. */
void test_new_over_a_link(void **state)
{
    world *w = *state;
    static peer_said said;
    begin(w);
    uint8_t owner = world_enter(w);
    said = (peer_said){.verb = PEER_BOOT};
    said.boot_check = (boot_message){
        .asks = true, .boot = w->node[2].boot_check.durable.boot, .state = BOOT_NEW, .life = 1};
    node_receive(&w->node[owner], 2, &said, w->now);
    assert_true(world_issue(w, owner));
    settle_without(w, 2);
    node_reached(&w->node[owner], 2, false);
    node_reached(&w->node[owner], 2, true); /* it hears all this, and ignores it */
    settle_without(w, 2);
    said = (peer_said){.verb = PEER_HEARTBEAT};
    node_receive(&w->node[owner], 2, &said, w->now);
    world_settle(w);
    assert_int_equal(world_value(w, 2), 1);
}

/* It is told as far as there is room, and of the rest when there is. */
void test_told_when_there_is_room(void **state)
{
    static const char junk[NODE_ENOUGH_OUTPUT + 1];
    world *w = *state;
    begin(w);
    uint8_t owner = rest_without(w, 2);
    cluster_node *n = &w->node[owner];
    node_reached(n, 2, false);
    node_reached(n, 2, true);
    size_t before = n->to_peer[2].bytes;
    resp_raw(&n->to_peer[2], junk, sizeof junk);
    tick(w, owner, 1);
    assert_true(n->tells[2]);
    n->to_peer[2].bytes = before;
    tick(w, owner, 1);
    world_settle(w);
    assert_int_equal(world_value(w, 2), 1);
}

/* What found no room is told again, though only names are known of it. */
void test_told_again(void **state)
{
    world *w = *state;
    begin(w);
    uint8_t owner = rest_without(w, 2);
    cluster_node *n = &w->node[owner];
    node_reached(n, 2, false);
    node_reached(n, 2, true);
    n->to_peer[2].max = n->early[2].max = 1;
    tick(w, owner, 2);
    assert_true(n->counts.dropped > 0);
    n->to_peer[2].max = n->early[2].max = NODE_MAX_PEER_OUTPUT;
    tick(w, owner, 3);
    world_settle(w);
    assert_int_equal(world_value(w, 2), 1);
}

/* One that wakes before it was its turn to be told is not forgotten for that. */
void test_wakes_before_it_is_told(void **state)
{
    world *w = *state;
    begin(w);
    world_crash(w, 2);
    world_crash(w, 0);
    world_start(w, 0); /* so the link to 2 is the first in this run */
    begin(w);
    world_lock(w, 0);
    world_pass(w, 3000);
    assert_int_equal(w->visitor[0].place, VISITOR_INSIDE);
    assert_true(world_issue(w, 0));
    world_settle(w);
    world_exit(w, 0);
    world_settle(w);
    tick(w, 0, 20);
    assert_false(is_loaded(w, 0));
    world_settle(w);
    world_start(w, 2);
    w->node[2].patrols = false;
    node_reached(&w->node[1], 2, false); /* nobody else tells it */
    w->node[0].rest_after = NODE_REST_AFTER;
    assert_int_equal(world_value(w, 0), 1);
    assert_true(is_loaded(w, 0));
    for (int i = 0; i < 40; i++) {
        tick(w, 0, 1);
        world_settle(w);
        w->now += NODE_TICK;
        node_tick(&w->node[2], w->now);
        world_settle(w);
    }
    assert_int_equal(world_value(w, 2), 1);
}

/* Each link begins with the first of all names, wherever the last one was. */
void test_all_are_told_again(void **state)
{
    world *w = *state;
    cluster_node *n = &w->node[0];
    begin(w);
    world_exit(w, world_enter(w));
    world_settle(w);
    w->visitor[0].place = VISITOR_WAITS;
    assert_int_equal(many_tell(w, 0, 0, WDME_LOCK, 0), LOCK_DONE); /* behind the other */
    world_settle(w);
    many_tell(w, 0, 0, WDME_EXIT, w->visitor[0].token);
    for (int i = 0; i < 100 && n->loaded.count > 0; i++)
        world_pass(w, NODE_TICK);
    assert_int_equal(n->resting, 2);
    for (int i = 0; i < 3; i++) {
        node_reached(n, 1, false);
        node_reached(n, 1, true);
        tick(w, 0, 2);
        assert_true(world_says(&n->to_peer[1], "$4\r\nlock\r\n"));
        assert_false(resting_is_told(n)); /* all of them */
    }
}
