/* Nodes whose disk is lost, and what becomes of their locks. */
#include "node_world.h"

#include <stdio.h>
#include <string.h>

static void forget(world *w, uint8_t node)
{
    world_crash(w, node);
    world_empty(w, node);
    world_start(w, node);
}

/* It is told that it was there before, and all comes back, whether somebody asks or not. */
void test_emptied(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    for (int i = 0; i < 3; i++) {
        assert_true(world_issue(w, owner));
        world_settle(w);
    }
    world_exit(w, owner);
    for (uint8_t node = 0; node < WORLD_NODES; node++) {
        if (node == 1)
            world_rest(w);
        forget(w, node);
        assert_int_equal(world_boot_state(w, node), BOOT_NEW);
        assert_false(node_takes_part(&w->node[node]));
        world_pass(w, 2000);
        assert_int_equal(world_boot_state(w, node), BOOT_SETTLED);
        assert_int_equal(w->node[node].away, 0);
        assert_int_equal(world_value(w, node), 3);
    }
    world_lock(w, 2);
    world_pass(w, 500);
    assert_true(world_issue(w, 2));
    world_settle(w);
    assert_string_equal(w->visitor[2].result, ":4\r\n");
}

/* A lock that was entered, and about which nothing was ever written. */
void test_emptied_before_anything_was_written(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    uint64_t token = w->visitor[owner].token;
    assert_int_equal(node_lock_find(&w->node[owner], "lock", 4)->kept.number, 0);
    forget(w, 2);
    world_end_turn(w, owner);
    assert_true(world_says(&w->wire[owner][2], "SYNC"));
    while (world_deliver(w, owner, 2))
        continue;
    assert_null(node_lock_find(&w->node[2], "lock", 4)); /* it does not know yet who it is */
    assert_int_equal(world_boot_state(w, 2), BOOT_NEW);
    world_settle(w);
    assert_int_equal(world_boot_state(w, 2), BOOT_FORGETFUL);
    node_tick(&w->node[2], w->now);
    world_settle(w); /* nobody else has said anything about the lock: it was listed */
    assert_non_null(node_lock_find(&w->node[2], "lock", 4));
    assert_int_not_equal(node_lock_find(&w->node[owner], "lock", 4)->kept.number, 0);
    world_pass(w, 2000);
    assert_int_equal(world_boot_state(w, 2), BOOT_SETTLED);
    assert_int_equal(world_stub(w, 2)->now.epoch, 3);
    assert_int_equal(w->visitor[owner].place, VISITOR_INSIDE);
    assert_int_equal(w->visitor[owner].token, token);
}

/* More locks than one list has. */
void test_emptied_of_many(void **state)
{
    enum { LOCKS = 3 * PEER_MAX_LISTED + 1 };
    world *w = *state;
    char name[32];
    for (int i = 0; i < LOCKS; i++) {
        snprintf(name, sizeof name, "many/%d", i);
        assert_non_null(node_lock_get(&w->node[0], name, strlen(name)));
    }
    forget(w, 2);
    world_settle(w);
    node_tick(&w->node[2], w->now);
    world_settle(w); /* by now it knows them, and nobody else has said anything about them */
    for (int i = 0; i < LOCKS; i++) {
        snprintf(name, sizeof name, "many/%d", i);
        assert_non_null(node_lock_find(&w->node[2], name, strlen(name)));
    }
    world_pass(w, 5000);
    assert_int_equal(world_boot_state(w, 2), BOOT_SETTLED);
}

/* A lock that nobody else has ever heard of: its tokens must not come again. */
void test_emptied_and_only_one_knew(void **state)
{
    world *w = *state;
    world_lock(w, 0);
    assert_int_equal(w->visitor[0].place, VISITOR_INSIDE);
    uint64_t token = w->visitor[0].token;
    assert_null(node_lock_find(&w->node[1], "lock", 4));
    forget(w, 0);
    world_pass(w, 2000);
    assert_int_equal(world_boot_state(w, 0), BOOT_SETTLED);
    world_lock(w, 0);
    world_pass(w, 2000);
    assert_int_equal(w->visitor[0].place, VISITOR_INSIDE);
    assert_true(w->visitor[0].token > token);
}

/* Who does not know yet whether it has forgotten has no part in any lock. */
void test_new_answers_nothing(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    world_crash(w, 2);
    world_empty(w, 2);
    world_start(w, 2);
    assert_true(world_issue(w, owner));
    world_end_turn(w, owner);
    assert_true(world_says(&w->wire[owner][2], "INVOKE"));
    while (world_deliver(w, owner, 2))
        continue;
    assert_int_equal(world_boot_state(w, 2), BOOT_NEW);
    world_end_turn(w, 2);
    assert_false(world_says(&w->wire[2][owner], "ACK"));
    assert_null(node_lock_find(&w->node[2], "lock", 4));
}

void test_emptied_while_another_is_down(void **state)
{
    world *w = *state;
    char why[NODE_WHY];
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    world_settle(w);
    world_exit(w, owner);
    world_crash(w, 1);
    forget(w, 2);
    world_pass(w, 2000);
    assert_int_equal(world_boot_state(w, 2), BOOT_FORGETFUL);
    assert_string_equal(join_why(&w->node[2], why),
                        "this node has lost what it knew, and has not heard from b yet");
    world_lock(w, 2);
    world_pass(w, 5000);
    assert_int_equal(w->visitor[2].place, VISITOR_WAITS); /* nobody else knows enough */
    world_start(w, 1);
    world_pass(w, 5000);
    assert_int_equal(w->visitor[2].place, VISITOR_INSIDE);
    assert_int_equal(world_value(w, 2), 1);
    assert_null(join_why(&w->node[2], why));
}

void test_majority_emptied(void **state)
{
    world *w = *state;
    char why[NODE_WHY];
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    world_settle(w);
    world_exit(w, owner);
    forget(w, 1);
    forget(w, 2);
    world_pass(w, 5000);
    for (uint8_t i = 0; i < WORLD_NODES; i++) {
        wdme_message m = {.kind = WDME_LOCK};
        assert_non_null(strstr(join_why(&w->node[i], why), "a majority of the nodes has lost"));
        assert_int_equal(w->node[i].locks.backend->tell(&w->node[i].locks, &w->visitor[i].who,
                                                        "lock", 4, m, w->now),
                         LOCK_NOT_READY);
        assert_string_equal(w->node[i].locks.why_not, why);
    }
    assert_int_equal(world_value(w, owner), 1);
}
