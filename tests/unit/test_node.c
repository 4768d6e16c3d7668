/* What a node does between its replicas and its disk: what leaves when, and what a crash leaves. */
#include "log.h"
#include "node_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t commits(world *w, uint8_t node)
{
    return store_used(w->store[node]).commits;
}

/* ---- what leaves when ---- */

static void test_invoke_is_early(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    assert_true(world_says(&w->node[owner].early[1], "INVOKE"));
    assert_false(world_says(&w->node[owner].to_peer[1], "INVOKE"));
    world_send_early(w, owner);
    assert_true(world_deliver(w, owner, 1));
    assert_false(world_says(&w->node[1].early[owner], "ACK")); /* it has not written it yet */
    assert_true(world_says(&w->node[1].to_peer[owner], "ACK"));
    world_settle(w);
    assert_string_equal(w->visitor[owner].result, ":1\r\n");
}

/* An epoch that begins in this turn is not durable, so what is done in it must wait. */
static void test_not_early_in_a_new_epoch(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    world_crash(w, 2);
    world_start(w, 2);
    world_lock(w, 2); /* it comes back through an epoch change */
    world_end_turn(w, 2);
    while (world_deliver(w, 2, 1) || world_deliver(w, 2, owner))
        continue;
    while (world_stub(w, owner)->now.epoch == 1) {
        world_end_turn(w, owner);
        for (uint8_t i = 1; i < WORLD_NODES; i++)
            world_end_turn(w, i);
        for (uint8_t to = 0; to < WORLD_NODES; to++)
            for (uint8_t from = 0; from < WORLD_NODES; from++)
                while (world_stub(w, owner)->now.epoch == 1 && world_deliver(w, from, to))
                    continue;
    }
    assert_int_equal(w->visitor[owner].place, VISITOR_INSIDE); /* a change does not eject it */
    assert_true(world_issue(w, owner));
    assert_false(world_says(&w->node[owner].early[1], "INVOKE"));
    assert_true(world_says(&w->node[owner].to_peer[1], "INVOKE"));
    world_settle(w);
    assert_string_equal(w->visitor[owner].result, ":1\r\n");
}

/* ---- what is written when ---- */

static void test_written_once(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    assert_true(world_issue(w, owner));
    world_settle(w);
    uint64_t before[] = {commits(w, 0), commits(w, 1), commits(w, 2)};
    for (int i = 0; i < 10; i++) {
        assert_true(world_issue(w, owner));
        world_settle(w);
    }
    assert_string_equal(w->visitor[owner].result, ":11\r\n");
    for (uint8_t i = 0; i < WORLD_NODES; i++) {
        assert_int_equal(world_value(w, i), 11);
        assert_int_equal(commits(w, i) - before[i], 10); /* one for each, though it is read */
    }
}

static void test_entering_writes_nothing(void **state)
{
    world *w = *state;
    uint64_t before[] = {commits(w, 0), commits(w, 1), commits(w, 2)};
    for (uint8_t i = 0; i < WORLD_NODES; i++) {
        world_lock(w, i);
        world_settle(w);
        assert_int_equal(w->visitor[i].place, VISITOR_INSIDE);
        world_exit(w, i);
        world_settle(w);
    }
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_int_equal(commits(w, i), before[i]);
}

/* What was answered was executed nowhere for good: it is found again in what was accepted. */
static void test_power_off(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    for (int i = 0; i < 5; i++) {
        assert_true(world_issue(w, owner));
        world_settle(w);
    }
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        world_crash(w, i);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        world_start(w, i);
    world_lock(w, 1);
    world_pass(w, 2000);
    assert_int_equal(w->visitor[1].place, VISITOR_INSIDE);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_int_equal(world_value(w, i), 5);
}

/* ---- locks at rest ---- */

static void test_rests(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    uint64_t token = w->visitor[owner].token;
    assert_true(world_issue(w, owner));
    world_settle(w);
    world_pass(w, 2 * NODE_REST_AFTER);
    assert_int_equal(w->node[owner].loaded.count, 1); /* somebody is inside */
    world_exit(w, owner);
    world_rest(w);
    uint64_t sent = w->node[owner].counts.sent;
    world_lock(w, owner);
    assert_int_equal(w->visitor[owner].place, VISITOR_INSIDE); /* the token is where it was */
    assert_int_equal(w->node[owner].counts.sent, sent);
    assert_true(w->visitor[owner].token > token);
    assert_true(world_issue(w, owner));
    world_settle(w);
    assert_string_equal(w->visitor[owner].result, ":2\r\n");
    world_exit(w, owner);
    world_rest(w);
    world_lock(w, 2);
    world_settle(w);
    assert_true(world_issue(w, 2));
    world_settle(w);
    assert_string_equal(w->visitor[2].result, ":3\r\n");
    assert_int_equal(world_stub(w, 1)->now.epoch, 1); /* nobody had to be suspected */
}

/* The one lock of a node that has no other does not; and there is no other. */
static void test_only(void **state)
{
    world *w = *state;
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        w->node[i].only = "lock";
    world_lock(w, 0);
    world_settle(w);
    world_exit(w, 0);
    world_pass(w, 1000);
    uint64_t before[] = {commits(w, 0), commits(w, 1), commits(w, 2)};
    world_pass(w, 3 * NODE_REST_AFTER);
    for (uint8_t i = 0; i < WORLD_NODES; i++) {
        assert_int_equal(commits(w, i), before[i]); /* nor has it rested meanwhile */
        assert_non_null(node_lock_find(&w->node[i], "lock", 4));
        assert_null(node_lock_get(&w->node[i], "look", 4));
        assert_null(node_lock_get(&w->node[i], "locks", 5));
    }
}

/* What was said to rest in an earlier run of the node may have been woken in that, and be old. */
static void test_rests_and_crashes(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    world_exit(w, owner);
    world_rest(w);
    world_lock(w, 1); /* the token moves, and only memory knows */
    world_settle(w);
    world_exit(w, 1);
    world_settle(w);
    world_crash(w, owner);
    world_start(w, owner);
    world_lock(w, owner);
    assert_int_equal(w->visitor[owner].place, VISITOR_WAITS);
    assert_true(world_stub(w, owner)->blocked);
    world_pass(w, 2000);
    assert_int_equal(w->visitor[owner].place, VISITOR_INSIDE);
}

/* A token at rest may have been taken away, and nobody may say so any more. */
static void test_rests_and_is_cut_off(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    world_exit(w, owner);
    world_rest(w);
    world_cut(w, owner, true);
    world_pass(w, 5000);
    world_lock(w, 1);
    world_pass(w, 5000);
    assert_int_equal(w->visitor[1].place, VISITOR_INSIDE);
    uint64_t token = w->visitor[1].token;
    world_exit(w, 1);
    world_pass(w, 3 * NODE_REST_AFTER);
    assert_int_equal(w->node[1].loaded.count, 0);
    world_cut(w, owner, false);
    world_lock(w, owner);
    assert_int_equal(w->visitor[owner].place, VISITOR_WAITS);
    world_pass(w, 2000);
    assert_int_equal(w->visitor[owner].place, VISITOR_INSIDE);
    assert_true(w->visitor[owner].token > token);
}

/* Who comes back gets what it has missed of locks that nobody uses any more. */
static void test_rests_and_one_was_away(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    world_crash(w, 2);
    assert_true(world_issue(w, owner));
    world_pass(w, 5000);
    world_exit(w, owner);
    world_pass(w, 3 * NODE_REST_AFTER);
    assert_int_equal(w->node[owner].loaded.count + w->node[1].loaded.count, 0);
    world_start(w, 2);
    world_pass(w, 5000);
    assert_int_equal(world_value(w, 2), 1);
}

/* Nor does a connection that comes and goes keep locks in memory that nobody uses. */
static void test_rests_over_a_connection(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    world_exit(w, owner);
    world_rest(w);
    world_cut(w, 2, true);
    world_cut(w, 2, false);
    world_pass(w, 1000);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_int_equal(w->node[i].loaded.count, 0);
}

static void test_token_at_rest_is_handed_over(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    world_exit(w, owner);
    world_rest(w);
    node_hand_over(&w->node[owner]);
    world_settle(w);
    assert_int_not_equal(world_stub(w, 1)->now.owner, owner);
    assert_true(node_hand_over(&w->node[owner]));
}

/* ---- consensus outside ---- */

static void test_asks_outside(void **state)
{
    world *w = *state;
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        w->node[i].wme.outside = true;
    uint8_t owner = world_enter(w);
    uint8_t heir = (uint8_t)((owner + 1) % WORLD_NODES);
    uint8_t third = (uint8_t)((owner + 2) % WORLD_NODES);
    cluster_node *n = &w->node[heir];
    assert_true(world_issue(w, owner));
    world_settle(w);
    world_crash(w, owner);
    world_lock(w, heir);
    for (int i = 0; i < 3; i++) { /* nobody answers: the same is asked again */
        world_pass(w, 3000);
        assert_int_equal(w->visitor[heir].place, VISITOR_WAITS);
        node_lock *p = node_lock_next_asking(n);
        assert_non_null(p);
        assert_null(node_lock_next_asking(n)); /* once, however many ticks there were */
        world_pass(w, 3000);
        assert_null(node_lock_next_asking(n)); /* and not while it is under way */
        p->asks = false;
        p->ask_after = w->now + 1000;
        world_pass(w, 500);
        assert_null(node_lock_next_asking(n));
    }
    node_lock *p = node_lock_find(n, "lock", 4);
    wme_record decision = *p->replica.stub.best;
    wme_op_keep(decision.last);
    assert_int_equal(decision.epoch, 1);
    assert_int_equal(node_lock_decided(n, p, &decision), WME_FINE);
    wme_op_drop(decision.last);
    world_pass(w, 1000);
    assert_int_equal(w->visitor[heir].place, VISITOR_INSIDE);
    assert_int_equal(world_value(w, heir), 1);
    assert_int_equal(world_stub(w, third)->now.epoch, 2); /* it was sent the state */
    assert_int_equal(w->node[third].wme.refused[WME_OUTSIDE], 0);
}

/* etcd may be away for long, and the epoch end meanwhile without it. */
static void test_who_asks_does_not_rest(void **state)
{
    world *w = *state;
    uint8_t owner = world_enter(w);
    world_exit(w, owner);
    world_settle(w);
    node_lock *p = node_lock_find(&w->node[owner], "lock", 4);
    node_lock_ask(&w->node[owner], p);
    for (int i = 0; i < 40; i++)
        world_pass(w, NODE_REST_AFTER / 10);
    assert_int_equal(w->node[owner].loaded.count, 1);
    assert_ptr_equal(node_lock_next_asking(&w->node[owner]), p);
    p->asks = false;
    world_rest(w);
}

/* ---- by chance ---- */

typedef struct play {
    world *w;
    uint64_t seed;
    uint8_t seen[4096]; /* results that were told */
    uint64_t max;
    uint32_t told[WORLD_NODES]; /* results of each visitor that were looked at */
    uint32_t crashes, emptied;
} play;

static uint32_t chance(play *p, uint32_t of)
{
    p->seed = p->seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(p->seed >> 33) % of;
}

/* No result is told twice. */
static void look(play *p)
{
    for (uint8_t i = 0; i < WORLD_NODES; i++) {
        const visitor *v = &p->w->visitor[i];
        if (!p->w->up[i] || v->results == p->told[i])
            continue;
        uint64_t result = strtoull(v->result + 1, NULL, 10);
        assert_true(result > 0 && result < sizeof p->seen);
        assert_int_equal(p->seen[result]++, 0);
        p->max = result > p->max ? result : p->max;
        p->told[i] = v->results;
    }
}

static void act(play *p, uint8_t node)
{
    switch (p->w->visitor[node].place) {
    case VISITOR_OUT:
        if (join_refuses(&p->w->node[node]) == NULL)
            world_lock(p->w, node);
        break;
    case VISITOR_INSIDE:
        if (chance(p, 4) == 0)
            world_exit(p->w, node);
        else
            world_issue(p->w, node);
        break;
    default:
        break;
    }
}

static void crash(play *p, uint8_t node)
{
    if (chance(p, 2) == 0)
        world_send_early(p->w, node);
    world_crash(p->w, node);
    p->told[node] = 0;
    p->crashes++;
}

/* While the two others know what they knew. */
static void empty(play *p, uint8_t node)
{
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        if (i != node && world_boot_state(p->w, i) != BOOT_SETTLED)
            return;
    world_empty(p->w, node);
    p->emptied++;
}

static void happen(play *p)
{
    world *w = p->w;
    uint8_t node = (uint8_t)chance(p, WORLD_NODES);
    uint32_t what = chance(p, 100);
    if (chance(p, 200) == 0) {
        w->now += NODE_TICK;
        for (uint8_t i = 0; i < WORLD_NODES; i++)
            if (w->up[i])
                node_tick(&w->node[i], w->now);
    } else if (!w->up[node]) {
        if (chance(p, 200) != 0)
            return;
        if (chance(p, 3) == 0)
            empty(p, node);
        world_start(w, node);
    } else if (chance(p, 2000) == 0) {
        crash(p, node);
    } else if (what < 15) {
        act(p, node);
    } else if (what < 40) {
        world_end_turn(w, node);
    } else {
        world_deliver(w, node, (uint8_t)chance(p, WORLD_NODES));
    }
    look(p);
}

static void test_by_chance(void **state)
{
    play p = {.w = *state, .seed = 20261116};
    for (int i = 0; i < 200000; i++)
        happen(&p);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        if (!p.w->up[i])
            world_start(p.w, i);
    world_pass(p.w, 10000);
    look(&p);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_true(world_value(p.w, i) >= p.max); /* nothing that was told is lost */
    assert_int_equal(world_value(p.w, 0), world_value(p.w, 1));
    assert_int_equal(world_value(p.w, 0), world_value(p.w, 2));
    print_message("# %llu operations, %u crashes, %u disks lost\n", (unsigned long long)p.max,
                  p.crashes, p.emptied);
    assert_true(p.max > 100 && p.crashes > 20 && p.emptied > 5);
}

static const struct CMUnitTest tests[] = {
    {"an operation leaves before it is written, its acknowledgement does not", test_invoke_is_early,
     world_open, world_close, NULL},
    {"but not in an epoch that is not written", test_not_early_in_a_new_epoch, world_open,
     world_close, NULL},
    {"an operation is written once", test_written_once, world_open, world_close, NULL},
    {"who only enters writes nothing", test_entering_writes_nothing, world_open, world_close, NULL},
    {"power off at all nodes", test_power_off, world_open, world_close, NULL},
    {"a lock that nobody uses rests", test_rests, world_open, world_close, NULL},
    {"the only lock does not, and is the only one", test_only, world_open, world_close, NULL},
    {"and a crash ends that", test_rests_and_crashes, world_open, world_close, NULL},
    {"so does the loss of a connection", test_rests_and_is_cut_off, world_open, world_close, NULL},
    {"who was away gets what it has missed", test_rests_and_one_was_away, world_open, world_close,
     NULL},
    {"a connection does not wake it", test_rests_over_a_connection, world_open, world_close, NULL},
    {"its token is handed over", test_token_at_rest_is_handed_over, world_open, world_close, NULL},
    {"what is decided outside is asked, once at a time", test_asks_outside, world_open, world_close,
     NULL},
    {"who asks does not rest", test_who_asks_does_not_rest, world_open, world_close, NULL},
    {"a lock that is held costs no message", test_held_costs_nothing, world_open, world_close,
     NULL},
    {"nor anything elsewhere", test_held_is_heard_of_by_nobody, world_open, world_close, NULL},
    {"what was dropped for want of room is made good", test_dropped_is_made_good, world_open,
     world_close, NULL},
    {"what was lost with a link is made good", test_link_begins, world_open, world_close, NULL},
    {"so is what a new node ignored", test_who_was_new_is_told, world_open, world_close, NULL},
    {"and what nobody knows of, in time", test_patrol, world_open, world_close, NULL},
    {"who waits for long asks less often", test_waits_without_end, world_open, world_close, NULL},
    {"who waits hears of a suspicion, others in time", test_suspicion_of_many, world_open,
     world_close, NULL},
    {"a session has many roles", test_many_roles, world_open, world_close, NULL},
    {"the holder of very many goes", test_holder_of_many_goes, world_open, world_close, NULL},
    {"the lease of very many ends", test_lease_of_many_ends, world_open, world_close, NULL},
    {"very many are handed over", test_many_are_handed_over, world_open, world_close, NULL},
    {"a holder is waited for", test_holder_is_waited_for, world_open, world_close, NULL},
    {"holders hear at once", test_holders_hear_at_once, world_open, world_close, NULL},
    {"comes before the news", test_comes_before_the_news, world_open, world_close, NULL},
    {"begins without a majority", test_begins_without_a_majority, world_open, world_close, NULL},
    {"rests after a suspicion", test_rests_after_a_suspicion, world_open, world_close, NULL},
    {"trusted again", test_trusted_again, world_open, world_close, NULL},
    {"suspicion is told once", test_suspicion_is_told_once, world_open, world_close, NULL},
    {"news in slices", test_news_in_slices, world_open, world_close, NULL},
    {"orphans wait for room", test_orphans_wait_for_room, world_open, world_close, NULL},
    {"link concerns one", test_link_concerns_one, world_open, world_close, NULL},
    {"wish is repeated at once", test_wish_is_repeated_at_once, world_open, world_close, NULL},
    {"dropped comparison", test_dropped_comparison, world_open, world_close, NULL},
    {"comparisons wait for room", test_comparisons_wait_for_room, world_open, world_close, NULL},
    {"absent are not compared with", test_absent_are_not_compared_with, world_open, world_close,
     NULL},
    {"outdated compares nothing", test_outdated_compares_nothing, world_open, world_close, NULL},
    {"in a hurry", test_in_a_hurry, world_open, world_close, NULL},
    {"patrol does not repeat", test_patrol_does_not_repeat, world_open, world_close, NULL},
    {"patrol rate", test_patrol_rate, world_open, world_close, NULL},
    {"compared before it rests", test_compared_before_it_rests, world_open, world_close, NULL},
    {"nothing rests before all is said", test_nothing_rests_before_all_is_said, world_open,
     world_close, NULL},
    {"absent keep nothing from rest", test_absent_keep_nothing_from_rest, world_open, world_close,
     NULL},
    {"one stays others rest", test_one_stays_others_rest, world_open, world_close, NULL},
    {"who was new is told what rests", test_new_is_told_what_rests, world_open, world_close, NULL},
    {"new over a link", test_new_over_a_link, world_open, world_close, NULL},
    {"told when there is room", test_told_when_there_is_room, world_open, world_close, NULL},
    {"told again", test_told_again, world_open, world_close, NULL},
    {"wakes before it is told", test_wakes_before_it_is_told, world_open, world_close, NULL},
    {"the longest queue is known", test_longest_queue, world_open, world_close, NULL},
    {"emptied, one after the other", test_emptied, world_open, world_close, NULL},
    {"emptied before anything was written", test_emptied_before_anything_was_written, world_open,
     world_close, NULL},
    {"emptied of many locks", test_emptied_of_many, world_open, world_close, NULL},
    {"emptied, and only one knew the lock", test_emptied_and_only_one_knew, world_open, world_close,
     NULL},
    {"emptied, it answers nothing before it knows", test_new_answers_nothing, world_open,
     world_close, NULL},
    {"emptied while another is down", test_emptied_while_another_is_down, world_open, world_close,
     NULL},
    {"a majority is emptied", test_majority_emptied, world_open, world_close, NULL},
    {"a restarted node says what it has executed", test_restarted_says_what_it_executed, world_open,
     world_close, NULL},
    {"nobody sleeps on an open operation", test_open_operation_is_not_slept_on, world_open,
     world_close, NULL},
    {"the lease of a session without a connection ends", test_lease_of_the_absent_ends, world_open,
     world_close, NULL},
    {"there is no room for a session without a connection", test_no_room_for_the_absent, world_open,
     world_close, NULL},
    {"the lease of a silent session ends", test_lease_of_the_silent_ends, world_open, world_close,
     NULL},
    {"who quits is not revoked", test_quit_is_an_exit, world_open, world_close, NULL},
    {"a session without a name is not revoked", test_stranger_is_not_revoked, world_open,
     world_close, NULL},
    {"who dies in the turn in which it has all back has all back", test_settled_has_all_back,
     world_open, world_close, NULL},
    {"a directory comes back when another was used since", test_old_directory_returns, world_open,
     world_close, NULL},
    {"a copy is restored that was made while the node ran", test_copy_is_restored, world_open,
     world_close, NULL},
    {"how far a node was is known after a restart of all", test_heard_turns_are_kept, world_open,
     world_close, NULL},
    {"who is refused is silent, whoever looks at it", test_refused_is_silent, world_open,
     world_close, NULL},
    {"and lists no locks", test_refused_lists_nothing, world_open, world_close, NULL},
    {"a copy does not catch up by being started", test_copy_starts_alone, world_open, world_close,
     NULL},
    {"a copy of a node that rejoined knows nothing", test_copy_of_who_rejoins, world_open,
     world_close, NULL},
    {"nodes that are idle write nothing", test_idle_nodes_write_nothing, world_open, world_close,
     NULL},
    {"commands of a node: how many words, and who may say them", test_node_commands_have_rules,
     world_open, world_close, NULL},
    {"operations of a session", test_operations_of_a_session, world_open, world_close, NULL},
    {"ids of sessions", test_ids_of_sessions, world_open, world_close, NULL},
    {"a session goes on over another connection", test_goes_on_over_another_connection, world_open,
     world_close, NULL},
    {"what is held without a connection", test_lingers, world_open, world_close, NULL},
    {"a session goes on at another node", test_goes_on_elsewhere, world_open, world_close, NULL},
    {"the patience of a TRY", test_patience_of_a_try, world_open, world_close, NULL},
    {"a wait ends after its time", test_wait_ends, world_open, world_close, NULL},
    {"a section is taken away, also while it issues", test_taken_away, world_open, world_close,
     NULL},
    {"ejected while it issues", test_ejected_while_it_issues, world_open, world_close, NULL},
    {"holders hear that there is no majority", test_suspended_and_resumed, world_open, world_close,
     NULL},
    {"a node that is about to end lets nobody in", test_draining, world_open, world_close, NULL},
    {"nor does one that is new", test_new_node_lets_nobody_in, world_open, world_close, NULL},
    {"STATUS: every figure", test_status, world_open, world_close, NULL},
    {"STATUS: what a lock does", test_states_of_a_lock, world_open, world_close, NULL},
    {"LOCKS", test_locks_of_a_node, world_open, world_close, NULL},
    {"a damaged snapshot is refused", test_damaged_snapshot_is_refused, world_open, world_close,
     NULL},
    {"so is one of another state", test_snapshot_of_another_state_is_refused, world_open,
     world_close, NULL},
    {"a snapshot that cannot be taken is not sent", test_snapshot_that_cannot_be_taken, world_open,
     world_close, NULL},
    {"a lock is not sent as a whole again and again", test_whole_is_not_repeated, world_open,
     world_close, NULL},
    {"what is listed is written", test_listed_is_written, world_open, world_close, NULL},
    {"all are told again", test_all_are_told_again, world_open, world_close, NULL},
    {"STATUS has an end", test_status_has_an_end, world_open, world_close, NULL},
    {"the longest name", test_longest_name, world_open, world_close, NULL},
    {"and is written down at the end", test_heard_turns_are_kept_at_the_end, world_open,
     world_close, NULL},
    {"crashes by chance, and disks lost", test_by_chance, world_open, world_close, NULL},
};

int main(void)
{
    log_set_level(LOG_ERROR);
    return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
