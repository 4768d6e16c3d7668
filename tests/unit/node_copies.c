/* Directories that are older than what others have heard of them: what they must not do. */
#include "node_world.h"

#include <string.h>

enum { OWNER = 0, OTHER = 1, COPIED = 2 };

/* Acknowledged by the owner and the one that is copied; the other hears nothing of it. */
static void issue_without_the_other(world *w)
{
    world_cut(w, OTHER, true);
    assert_true(world_issue(w, OWNER));
    world_pass(w, 500);
    assert_string_equal(w->visitor[OWNER].result, ":2\r\n");
}

/* It is copied with one operation, then acknowledges another, and comes back as it was before. */
static void restore_one_behind(world *w)
{
    assert_int_equal(world_enter(w), OWNER);
    assert_true(world_issue(w, OWNER));
    world_settle(w);
    world_copy(w, COPIED);
    issue_without_the_other(w);
    world_crash(w, COPIED);
    world_set_aside(w, COPIED, true);
    world_start(w, COPIED);
    world_pass(w, 200);
    assert_false(node_takes_part(&w->node[COPIED]));
}

/* Who looks at an old directory has its lock loaded: nobody hears of that, whoever has started. */
void test_refused_is_silent(void **state)
{
    world *w = *state;
    restore_one_behind(w);
    world_crash(w, OWNER);
    world_crash(w, OTHER);
    world_cut(w, OTHER, false);
    world_start(w, OTHER); /* it has never heard that those data are old */
    assert_non_null(node_lock_get(&w->node[COPIED], "lock", 4));
    assert_non_null(node_lock_get(&w->node[OTHER], "lock", 4));
    world_pass(w, 10000);
    assert_int_equal(world_stub(w, OTHER)->now.epoch, 1); /* nothing is decided by these two */
    world_start(w, OWNER);
    world_pass(w, 5000);
    assert_int_equal(world_value(w, OTHER), 2);
}

/* Nor does it tell who has forgotten which locks there are. */
void test_refused_lists_nothing(void **state)
{
    world *w = *state;
    restore_one_behind(w);
    peer_said said = {.verb = PEER_LIST, .list = {.nonce = 1}};
    node_receive(&w->node[COPIED], OWNER, &said, w->now);
    world_end_turn(w, COPIED);
    assert_false(world_says(&w->wire[COPIED][OWNER], "LISTED"));
}

/* A copy that nobody told that it is one, however often it was started. */
void test_copy_starts_alone(void **state)
{
    world *w = *state;
    assert_int_equal(world_enter(w), OWNER);
    world_copy(w, COPIED);
    assert_true(world_issue(w, OWNER));
    world_pass(w, 500);
    world_crash(w, COPIED);
    world_set_aside(w, COPIED, true);
    world_cut(w, COPIED, true);
    for (int i = 0; i < 20; i++) {
        world_start(w, COPIED);
        world_pass(w, 200);
        assert_true(node_takes_part(&w->node[COPIED]));
        world_crash(w, COPIED);
    }
    world_start(w, COPIED);
    world_cut(w, COPIED, false);
    world_pass(w, 200);
    assert_false(node_takes_part(&w->node[COPIED]));
}

/* Ticks and messages until that node has all locks back, all on its disk; it is not settled yet. */
static void rejoin_almost(world *w, uint8_t node)
{
    const cluster_node *n = &w->node[node];
    for (int round = 0; n->loaded.count == 0 || n->away > 0; round++) {
        assert_true(round < 1000);
        w->now += NODE_TICK;
        for (uint8_t i = 0; i < WORLD_NODES; i++)
            node_tick(&w->node[i], w->now);
        world_settle(w);
    }
    assert_int_equal(world_boot_state(w, node), BOOT_FORGETFUL);
}

/*
 * A copy that was made while the node rejoined. It says itself that it has forgotten; so nobody
 * asks how old it is, and what it has must not count.
 */
void test_copy_of_who_rejoins(void **state)
{
    world *w = *state;
    assert_int_equal(world_enter(w), OWNER);
    assert_true(world_issue(w, OWNER));
    world_settle(w);
    world_crash(w, COPIED);
    world_empty(w, COPIED);
    world_start(w, COPIED);
    rejoin_almost(w, COPIED);
    world_copy(w, COPIED);
    world_pass(w, 500);
    assert_int_equal(world_boot_state(w, COPIED), BOOT_SETTLED);
    issue_without_the_other(w);
    world_crash(w, COPIED);
    world_set_aside(w, COPIED, true);
    world_start(w, COPIED);
    world_end_turn(w, COPIED);
    while (world_deliver(w, COPIED, OWNER))
        continue;
    world_crash(w, OWNER);
    world_cut(w, OTHER, false);
    assert_non_null(node_lock_get(&w->node[COPIED], "lock", 4));
    world_pass(w, 10000);
    world_start(w, OWNER);
    world_pass(w, 10000);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_int_equal(world_value(w, i), 2);
}

/* What is only heard of others is no news to them: else they would write for ever. */
void test_idle_nodes_write_nothing(void **state)
{
    world *w = *state;
    uint64_t turn[WORLD_NODES];
    assert_int_equal(world_enter(w), OWNER);
    assert_true(world_issue(w, OWNER));
    world_settle(w);
    world_exit(w, OWNER);
    world_rest(w);
    world_pass(w, 60000);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        turn[i] = join_turn(&w->node[i]);
    world_pass(w, 60000);
    for (uint8_t i = 0; i < WORLD_NODES; i++) {
        assert_int_equal(join_turn(&w->node[i]), turn[i]);
        assert_false(w->node[i].boot_check.unsaved);
    }
}
