/* Scenes that baton-sim node has found: each breaks a promise if the node forgets why. */
#include "node_world.h"

#include <stdlib.h>
#include <string.h>

/* How far that node says it is, in the first SYNC that is under way. */
static uint64_t told_executed(world *w, uint8_t from, uint8_t to)
{
    static peer_said said;
    resp_out *wire = &w->wire[from][to];
    uint64_t executed = UINT64_MAX;
    for (size_t at = 0; at < wire->bytes && executed == UINT64_MAX;) {
        resp_parsed p = peer_read(wire->at + at, wire->bytes - at, WORLD_NODES, &said);
        assert_int_equal(p.verdict, RESP_COMPLETE);
        if (said.verb == PEER_SYNCS)
            executed = peer_syncs_at(&said.syncs, 0).executed;
        peer_said_drop(&said);
        at += p.used;
    }
    return executed;
}

/*
 * A node that has accepted an operation starts again, and says how far it is: to have executed it
 * would mean to others that a majority has acknowledged it.
 */
void test_restarted_says_what_it_executed(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    world_end_turn(w, owner);
    while (world_deliver(w, owner, 1))
        continue;
    assert_int_equal(world_stub(w, 1)->now.ops, 1);
    world_end_turn(w, 1);
    world_crash(w, 1);
    w->wire[1][owner].bytes = 0; /* its acknowledgement is lost */
    world_start(w, 1);
    node_tick(&w->node[1], w->now);
    world_end_turn(w, 1);
    assert_null(node_lock_find(&w->node[1], "lock", 4));
    assert_int_equal(told_executed(w, 1, owner), 0);
}

/* And who asks it for news of that operation does not find it asleep: it waits for an answer. */
void test_open_operation_is_not_slept_on(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    world_end_turn(w, owner);
    while (world_deliver(w, owner, 1))
        continue;
    world_end_turn(w, 1);
    world_crash(w, 1);
    w->wire[1][owner].bytes = 0;
    world_start(w, 1);
    const wme_stub *s = world_stub(w, owner);
    wme_message sync = {
        .kind = WME_SYNC, .epoch = s->now.epoch, .sn = s->now.sn, .executed = s->executed};
    assert_false(node_lock_knows(&w->node[1], (resp_word){"lock", 4}, &sync));
    world_pass(w, 2000);
    assert_string_equal(w->visitor[owner].result, ":1\r\n");
}

/* ---- sections that end without their session's wish ---- */

static void name_visitor(world *w, uint8_t node)
{
    kept_of(&w->visitor[node].who)->id = strdup("somebody");
}

static void hang_up(world *w, uint8_t node, uint64_t lease_until)
{
    locks *all = &w->node[node].locks;
    all->backend->leave(all, &w->visitor[node].who, lease_until, false, w->now);
    w->visitor[node].place = VISITOR_OUT;
}

/* Whoever is inside now, it is in a later epoch: the section cannot go on elsewhere. */
static void expect_revoked(world *w, uint8_t owner)
{
    world_lock(w, owner);
    world_pass(w, 500);
    assert_int_equal(w->visitor[owner].place, VISITOR_INSIDE);
    assert_int_equal(world_stub(w, owner)->now.epoch, 2);
}

void test_lease_of_the_absent_ends(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    name_visitor(w, owner);
    hang_up(w, owner, w->now + 300);
    world_pass(w, 200);
    assert_int_equal(w->node[owner].detached_count, 1);
    assert_int_equal(world_stub(w, owner)->now.epoch, 1);
    world_pass(w, 500);
    assert_int_equal(w->node[owner].detached_count, 0);
    expect_revoked(w, owner);
}

void test_no_room_for_the_absent(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    w->node[owner].max_detached = 0;
    name_visitor(w, owner);
    hang_up(w, owner, w->now + 300);
    assert_int_equal(w->node[owner].detached_count, 0);
    expect_revoked(w, owner);
}

void test_lease_of_the_silent_ends(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    locks *all = &w->node[owner].locks;
    name_visitor(w, owner);
    assert_true(all->backend->lease_over(all, &w->visitor[owner].who, w->now));
    expect_revoked(w, owner);
    free(kept_of(&w->visitor[owner].who)->id);
}

/* Who says that it quits has left what it held: nobody goes on with that, and no epoch ends. */
void test_quit_is_an_exit(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    locks *all = &w->node[owner].locks;
    name_visitor(w, owner);
    lock_session *who = &w->visitor[owner].who;
    assert_int_equal(all->backend->leave(all, who, w->now + 300, true, w->now), 1);
    w->visitor[owner].place = VISITOR_OUT;
    world_lock(w, 1);
    world_settle(w);
    assert_int_equal(w->visitor[1].place, VISITOR_INSIDE);
    assert_int_equal(world_stub(w, owner)->now.epoch, 1);
}

/* It has never said who it is, so nobody can go on with its section: no need for an epoch. */
void test_stranger_is_not_revoked(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    hang_up(w, owner, w->now + 300);
    world_lock(w, owner);
    world_settle(w);
    assert_int_equal(w->visitor[owner].place, VISITOR_INSIDE);
    assert_int_equal(world_stub(w, owner)->now.epoch, 1);
}

/* ---- a disk that was lost ---- */

/* Messages to node 2 until, with the last lock, it has all back; its turn has not ended then. */
static bool settles_within_a_turn(world *w)
{
    cluster_node *n = &w->node[2];
    for (uint8_t from = 0; from < 2; from++)
        while (world_deliver(w, from, 2)) {
            if (n->away > 0 || world_boot_state(w, 2) != BOOT_FORGETFUL)
                continue;
            node_tick(n, w->now);
            if (world_boot_state(w, 2) == BOOT_SETTLED)
                return true;
        }
    return false;
}

/* It dies in the turn in which it has all back: what it has written that it has, it has. */
void test_settled_has_all_back(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    world_settle(w);
    world_exit(w, owner);
    world_crash(w, 2);
    world_empty(w, 2);
    world_start(w, 2);
    for (int round = 0; !settles_within_a_turn(w); round++) {
        assert_true(round < 1000);
        w->now += NODE_TICK;
        for (uint8_t i = 0; i < WORLD_NODES; i++) {
            node_tick(&w->node[i], w->now);
            world_end_turn(w, i);
        }
        for (uint8_t i = 0; i < 2; i++)
            while (world_deliver(w, 2, i) || world_deliver(w, (uint8_t)(1 - i), i))
                continue;
        world_end_turn(w, 0);
        world_end_turn(w, 1);
    }
    world_crash(w, 2);
    world_start(w, 2);
    assert_int_equal(world_boot_state(w, 2), BOOT_SETTLED);
    assert_non_null(node_lock_get(&w->node[2], "lock", 4));
    assert_true(world_stub(w, 2)->now.epoch >= 3);
    assert_int_equal(world_value(w, 2), 1);
}

/* A directory is not there at one start, and the node rejoins; at the next it is there again. */
void test_old_directory_returns(void **state)
{
    world *w = *state;
    char why[NODE_WHY];
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    world_settle(w);
    world_crash(w, 2);
    world_set_aside(w, 2, false);
    world_start(w, 2);
    world_pass(w, 2000);
    assert_int_equal(world_boot_state(w, 2), BOOT_SETTLED);
    assert_true(node_takes_part(&w->node[2]));
    world_crash(w, 2);
    world_set_aside(w, 2, true);
    for (int i = 0; i < 3; i++) { /* however often it starts */
        world_start(w, 2);
        uint64_t refused = world_stub(w, owner)->now.epoch;
        uint64_t received = w->node[owner].counts.received;
        assert_non_null(node_lock_get(&w->node[2], "lock", 4)); /* it wants to take part */
        world_end_turn(w, 2);
        assert_int_equal(world_says(&w->wire[2][owner], "NEWEP"), i == 0); /* and is not told yet */
        while (world_deliver(w, 2, owner))
            continue;
        assert_int_equal(w->node[owner].counts.received, received);
        world_pass(w, 2000);
        assert_false(node_takes_part(&w->node[2]));
        assert_non_null(
            strstr(join_why(&w->node[2], why), "are older than what others have heard"));
        assert_int_equal(world_stub(w, owner)->now.epoch, refused); /* nobody has listened to it */
        assert_true(w->node[owner].wme.suspected >> 2 & 1);
        world_crash(w, 2);
    }
    world_empty(w, 2);
    world_start(w, 2);
    world_pass(w, 2000);
    assert_true(node_takes_part(&w->node[2]));
    assert_int_equal(world_boot_state(w, 2), BOOT_SETTLED);
    assert_int_equal(world_value(w, 2), 1);
}

/* A copy that was made in the same life of the node, before something was acknowledged. */
void test_copy_is_restored(void **state)
{
    world *w = *state;
    char why[NODE_WHY];
    uint8_t owner = world_enter(w);
    uint8_t copied = (uint8_t)((owner + 1) % WORLD_NODES);
    uint8_t other = (uint8_t)((owner + 2) % WORLD_NODES);
    assert_true(world_issue(w, owner));
    world_settle(w);
    world_copy(w, copied);
    world_cut(w, other, true);
    assert_true(world_issue(w, owner)); /* by those two alone */
    world_settle(w);
    assert_int_equal(w->visitor[owner].results, 2);
    world_pass(w, 200); /* heartbeats: how far it is */
    world_crash(w, copied);
    world_set_aside(w, copied, true);
    for (int i = 0; i < 3; i++) { /* however often it starts */
        world_start(w, copied);
        world_pass(w, 200);
        assert_false(node_takes_part(&w->node[copied]));
        assert_non_null(strstr(join_why(&w->node[copied], why), "a copy was restored"));
        world_crash(w, copied);
    }
    world_crash(w, owner); /* who knows better is not there: it stays refused */
    world_cut(w, other, false);
    world_start(w, copied);
    world_pass(w, 10000);
    assert_false(node_takes_part(&w->node[copied]));
    assert_int_equal(world_stub(w, other)->now.epoch, 1); /* and decides nothing with the other */
    world_start(w, owner);
    world_crash(w, copied);
    world_empty(w, copied);
    world_start(w, copied);
    world_pass(w, 5000);
    assert_int_equal(world_boot_state(w, copied), BOOT_SETTLED);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_int_equal(world_value(w, i), 2);
}

/* Who has heard how far a node was still knows it after a restart of its own. */
void test_heard_turns_are_kept(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    uint8_t copied = (uint8_t)((owner + 1) % WORLD_NODES);
    world_copy(w, copied);
    assert_true(world_issue(w, owner));
    world_pass(w, 15000); /* more than the time after which that is written down */
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        world_crash(w, i);
    world_set_aside(w, copied, true);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        world_start(w, i);
    world_pass(w, 200);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_int_equal(node_takes_part(&w->node[i]), i != copied);
}

/* A node that is about to end writes it down before, however short a time ago it heard of it. */
void test_heard_turns_are_kept_at_the_end(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    uint8_t copied = (uint8_t)((owner + 1) % WORLD_NODES);
    world_pass(w, 200);
    world_copy(w, copied);
    assert_true(world_issue(w, owner));
    world_pass(w, 200);
    for (uint8_t i = 0; i < WORLD_NODES; i++) {
        node_hand_over(&w->node[i]);
        assert_int_equal(w->node[i].boot_check.unsaved, false);
        world_crash(w, i);
    }
    world_set_aside(w, copied, true);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        world_start(w, i);
    world_pass(w, 200);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_int_equal(node_takes_part(&w->node[i]), i != copied);
}
