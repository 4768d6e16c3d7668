/* What a node does between its replicas and its disk: what leaves when, and what a crash leaves. */
#include "../../src/net/log.h"
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
    assert_int_equal(w->node[owner].sites, 1); /* somebody is inside */
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
    world_pass(w, 2 * NODE_REST_AFTER);
    for (uint8_t i = 0; i < WORLD_NODES; i++) {
        assert_non_null(site_find(&w->node[i], "lock", 4));
        assert_null(site_get(&w->node[i], "look", 4));
        assert_null(site_get(&w->node[i], "locks", 5));
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
    assert_int_equal(w->node[1].sites, 0);
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
    assert_int_equal(w->node[owner].sites + w->node[1].sites, 0);
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
        assert_int_equal(w->node[i].sites, 0);
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
        site *p = site_next_asking(n);
        assert_non_null(p);
        assert_null(site_next_asking(n)); /* once, however many ticks there were */
        world_pass(w, 3000);
        assert_null(site_next_asking(n)); /* and not while it is under way */
        p->asks = false;
        p->ask_after = w->now + 1000;
        world_pass(w, 500);
        assert_null(site_next_asking(n));
    }
    site *p = site_find(n, "lock", 4);
    wme_record decision = p->replica.stub.best;
    wme_op_keep(decision.last);
    assert_int_equal(decision.epoch, 1);
    assert_int_equal(site_decided(n, p, &decision), WME_FINE);
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
    site *p = site_find(&w->node[owner], "lock", 4);
    site_ask(&w->node[owner], p);
    for (int i = 0; i < 40; i++)
        world_pass(w, NODE_REST_AFTER / 10);
    assert_int_equal(w->node[owner].sites, 1);
    assert_ptr_equal(site_next_asking(&w->node[owner]), p);
    p->asks = false;
    world_rest(w);
}

/* ---- by chance ---- */

typedef struct play {
    world *w;
    uint64_t seed;
    uint8_t seen[4096]; /* results that were told */
    uint64_t most;
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
        p->most = result > p->most ? result : p->most;
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
        if (i != node && world_muster(p->w, i) != MUSTER_SETTLED)
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
        assert_true(world_value(p.w, i) >= p.most); /* nothing that was told is lost */
    assert_int_equal(world_value(p.w, 0), world_value(p.w, 1));
    assert_int_equal(world_value(p.w, 0), world_value(p.w, 2));
    print_message("%llu operations, %u crashes, %u disks lost\n", (unsigned long long)p.most,
                  p.crashes, p.emptied);
    assert_true(p.most > 100 && p.crashes > 20 && p.emptied > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"an operation leaves before it is written, its acknowledgement does not",
         test_invoke_is_early, world_open, world_close, NULL},
        {"but not in an epoch that is not written", test_not_early_in_a_new_epoch, world_open,
         world_close, NULL},
        {"an operation is written once", test_written_once, world_open, world_close, NULL},
        {"who only enters writes nothing", test_entering_writes_nothing, world_open, world_close,
         NULL},
        {"power off at all nodes", test_power_off, world_open, world_close, NULL},
        {"a lock that nobody uses rests", test_rests, world_open, world_close, NULL},
        {"the only lock does not, and is the only one", test_only, world_open, world_close, NULL},
        {"and a crash ends that", test_rests_and_crashes, world_open, world_close, NULL},
        {"so does the loss of a connection", test_rests_and_is_cut_off, world_open, world_close,
         NULL},
        {"who was away gets what it has missed", test_rests_and_one_was_away, world_open,
         world_close, NULL},
        {"a connection does not wake it", test_rests_over_a_connection, world_open, world_close,
         NULL},
        {"its token is handed over", test_token_at_rest_is_handed_over, world_open, world_close,
         NULL},
        {"what is decided outside is asked, once at a time", test_asks_outside, world_open,
         world_close, NULL},
        {"who asks does not rest", test_who_asks_does_not_rest, world_open, world_close, NULL},
        {"emptied, one after the other", test_emptied, world_open, world_close, NULL},
        {"emptied before anything was written", test_emptied_before_anything_was_written,
         world_open, world_close, NULL},
        {"emptied of many locks", test_emptied_of_many, world_open, world_close, NULL},
        {"emptied, and only one knew the lock", test_emptied_and_only_one_knew, world_open,
         world_close, NULL},
        {"emptied while another is down", test_emptied_while_another_is_down, world_open,
         world_close, NULL},
        {"a majority is emptied", test_majority_emptied, world_open, world_close, NULL},
        {"crashes by chance, and disks lost", test_by_chance, world_open, world_close, NULL},
    };
    log_set_level(LOG_ERROR);
    return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
