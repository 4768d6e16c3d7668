/* The rules of due.c, and of what rests, one by one; what is lost here, no patrol finds. */
#include "node_world.h"

#include <string.h>

/* ---- what it is made of ---- */

static const char name[] = "lock";

static node_lock *lock_at(world *w, uint8_t node)
{
    return node_lock_find(&w->node[node], name, strlen(name));
}

static void stop_patrols(world *w)
{
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        w->node[i].patrols = false;
}

/* Nobody has anything to say any more about how they began. */
static void begin(world *w)
{
    stop_patrols(w);
    world_pass(w, 500);
}

/* So many locks in the memory of node 0, a third of them with their tokens. */
static void load(world *w, uint32_t count)
{
    char its[32];
    for (uint32_t i = 0; i < count; i++)
        assert_non_null(node_lock_get(&w->node[0], its, many_name(i, its)));
}

/* What a node says to another has so much room. */
static void set_room(cluster_node *n, uint8_t to, size_t bytes)
{
    n->to_peer[to].max = n->early[to].max = bytes;
}

static void say_nothing_more(cluster_node *n)
{
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        n->to_peer[i].bytes = n->early[i].bytes = 0;
}

/* Another does not take what it is sent. */
static void stuff(cluster_node *n, uint8_t to)
{
    static const char junk[NODE_ENOUGH_OUTPUT + 1];
    resp_raw(&n->to_peer[to], junk, sizeof junk);
}

static void tick(world *w, uint8_t node)
{
    w->now += NODE_TICK;
    node_tick(&w->node[node], w->now);
}

/* All but one, to which nothing comes; it says nothing, and its links last. */
static void pass_without(world *w, uint8_t absent, uint32_t ms)
{
    for (uint32_t gone = 0; gone < ms; gone += NODE_TICK) {
        w->now += NODE_TICK;
        for (uint8_t i = 0; i < WORLD_NODES; i++)
            if (i != absent)
                node_tick(&w->node[i], w->now);
        for (int round = 0; round < 4; round++)
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
}

static void suspect(cluster_node *n, uint16_t those)
{
    n->detector.suspected = those;
    node_locks_suspicion(n);
}

/* ---- who hears of suspicions, and when ---- */

/* All who are inside hear at once that there is no majority, however many they are. */
void test_holders_hear_at_once(void **state)
{
    world *w = *state;
    begin(w);
    many_hold(w, MANY);
    suspect(&w->node[0], 6);
    for (uint32_t i = 0; i < MANY; i++)
        assert_true(many_find(w, 0, i)->replica.stub.suspended);
    suspect(&w->node[0], 0);
    for (uint32_t i = 0; i < MANY; i++)
        assert_false(many_find(w, 0, i)->replica.stub.suspended);
}

/* Who comes for a lock that has not heard of it yet is not let in. */
void test_comes_before_the_news(void **state)
{
    world *w = *state;
    uint32_t one = 0;
    begin(w);
    load(w, MANY);
    suspect(&w->node[0], 6);
    while (many_find(w, 0, one)->suspects != 0 || many_find(w, 0, one)->replica.stub.now.owner != 0)
        one++;
    assert_int_equal(many_tell(w, 0, one, WDME_LOCK, 0), LOCK_DONE);
    assert_int_equal(w->visitor[0].place, VISITOR_WAITS);
    suspect(&w->node[0], 0);
    assert_int_equal(w->visitor[0].place, VISITOR_INSIDE);
}

/* The same with one that comes into memory meanwhile. */
void test_begins_without_a_majority(void **state)
{
    world *w = *state;
    uint32_t one = 0;
    char its[32];
    begin(w);
    while (name_hash(its, many_name(one, its)) % WORLD_NODES != 0)
        one++;
    suspect(&w->node[0], 6);
    assert_int_equal(many_tell(w, 0, one, WDME_LOCK, 0), LOCK_DONE);
    assert_int_equal(w->visitor[0].place, VISITOR_WAITS);
    suspect(&w->node[0], 0);
    assert_int_equal(w->visitor[0].place, VISITOR_INSIDE);
}

/* Whoever was told that there is no majority, and is used by nobody, can rest when there is one. */
void test_rests_after_a_suspicion(void **state)
{
    world *w = *state;
    begin(w);
    world_exit(w, world_enter(w));
    suspect(&w->node[0], 6);
    tick(w, 0);
    assert_true(world_stub(w, 0)->suspended);
    suspect(&w->node[0], 0);
    assert_false(world_stub(w, 0)->suspended);
}

/* Who waits elsewhere, and was not there, gets the token as soon as it is heard. */
void test_trusted_again(void **state)
{
    world *w = *state;
    begin(w);
    uint8_t owner = world_enter(w);
    world_lock(w, 1);
    world_pass(w, 20000); /* it repeats its wish every three seconds */
    for (int i = 0; i < 100 && lock_at(w, 1)->due < w->node[1].ticks + 30; i++)
        world_pass(w, NODE_TICK);
    pass_without(w, 1, 1000);
    assert_int_equal(w->node[owner].wme.suspected, 2);
    world_exit(w, owner);
    pass_without(w, 1, 100);
    assert_int_equal(w->visitor[1].place, VISITOR_WAITS);
    tick(w, 1);
    world_settle(w);
    assert_int_equal(w->visitor[1].place, VISITOR_INSIDE);
}

/* What is known already makes nobody speak. */
void test_suspicion_is_told_once(void **state)
{
    world *w = *state;
    cluster_node *n = &w->node[1];
    begin(w);
    world_enter(w);
    world_lock(w, 1);
    world_settle(w);
    suspect(n, 1);
    assert_true(world_says(&n->to_peer[2], "NEWEP"));
    say_nothing_more(n);
    suspect(n, 1);
    assert_false(world_says(&n->to_peer[2], "NEWEP"));
}

/* Not all at once: a million would keep the node from its peers. None looks when all is well. */
void test_news_in_slices(void **state)
{
    enum { LOCKS = 60000 };
    world *w = *state;
    cluster_node *n = &w->node[0];
    begin(w);
    load(w, LOCKS);
    suspect(n, 2);
    assert_false(list_is_empty(&n->unseen));
    for (int ticks = 0; !list_is_empty(&n->unseen); ticks++) {
        assert_true(ticks < 10);
        tick(w, 0);
        say_nothing_more(n);
    }
    suspect(n, 0);
    for (int ticks = 0; ticks < 10 && !list_is_empty(&n->unseen); ticks++)
        tick(w, 0);
    const list_link *first = n->calm.next;
    tick(w, 0);
    assert_ptr_equal(n->calm.next, first);
}

/* Those that nobody uses wait if another does not take what it is sent. */
void test_orphans_wait_for_room(void **state)
{
    world *w = *state;
    cluster_node *n = &w->node[0];
    uint32_t told = 0;
    begin(w);
    load(w, MANY);
    suspect(n, 2);
    assert_true(list_is_empty(&n->unseen));
    stuff(n, 2);
    tick(w, 0);
    for (uint32_t i = 0; i < MANY; i++)
        told += many_find(w, 0, i)->suspects == 2;
    assert_true(told < 5);
}

/* ---- what is compared, with whom ---- */

/* A link that begins concerns nobody else. */
void test_link_concerns_one(void **state)
{
    world *w = *state;
    cluster_node *n = &w->node[0];
    begin(w);
    world_enter(w);
    world_settle(w);
    node_reached(n, 1, false);
    node_reached(n, 1, true);
    assert_true(world_says(&n->to_peer[1], "SYNC"));
    assert_false(world_says(&n->to_peer[2], "SYNC"));
}

/* What a lock that waits has said is lost with the link: all of that is said again, and at once. */
void test_wish_is_repeated_at_once(void **state)
{
    world *w = *state;
    cluster_node *n = &w->node[1];
    begin(w);
    uint8_t owner = world_enter(w);
    node_reached(n, owner, false);
    world_lock(w, 1);
    world_settle(w);
    world_pass(w, 5000);
    node_reached(n, owner, true);
    assert_true(world_says(&n->to_peer[owner], "REQUEST"));
    assert_false(world_says(&n->to_peer[2], "REQUEST"));
    world_settle(w);
    world_exit(w, owner);
    world_settle(w);
    assert_int_equal(w->visitor[1].place, VISITOR_INSIDE);
}

/* Comparisons that find no room are made good, like anything else. */
void test_dropped_comparison(void **state)
{
    world *w = *state;
    cluster_node *n = &w->node[0];
    begin(w);
    uint8_t owner = world_enter(w);
    node_reached(n, 2, false);
    assert_true(world_issue(w, owner));
    world_settle(w);
    n->max_output = 1;
    node_reached(n, 2, true);
    assert_true(n->missed[2]);
    world_settle(w);
    assert_int_equal(world_value(w, 2), 0);
    set_room(n, 2, NODE_MAX_PEER_OUTPUT);
    tick(w, 0);
    world_settle(w);
    assert_int_equal(world_value(w, 2), 1);
}

/* As long as another does not take what it is sent, nothing is compared with it in vain. */
void test_comparisons_wait_for_room(void **state)
{
    world *w = *state;
    cluster_node *n = &w->node[0];
    begin(w);
    load(w, 10);
    stuff(n, 2);
    size_t before = n->to_peer[2].bytes;
    node_drops(n, 2);
    uint64_t news = n->news;
    tick(w, 0);
    assert_int_equal(n->news, news);
    due_link(n, 2);
    assert_false(list_is_empty(&n->unseen));
    assert_false(memmem(n->to_peer[2].at + before, n->to_peer[2].bytes - before, "SYNC", 4));
    n->to_peer[2].bytes = 0;
    tick(w, 0);
    assert_true(list_is_empty(&n->unseen));
    assert_false(n->missed[2]);
    assert_true(world_says(&n->to_peer[2], "SYNC"));
}

/* What cannot be said to who is not there is nothing that was lost. */
void test_absent_are_not_compared_with(void **state)
{
    world *w = *state;
    cluster_node *n = &w->node[0];
    begin(w);
    world_enter(w);
    world_crash(w, 2);
    n->patrols = true;
    uint64_t before = n->counts.dropped;
    for (int i = 0; i < 20; i++) {
        tick(w, 0);
        say_nothing_more(n);
    }
    assert_int_equal(n->counts.dropped, before);
}

/* Nor does a node say anything that is not to count, whatever has begun. */
void test_outdated_compares_nothing(void **state)
{
    world *w = *state;
    cluster_node *n = &w->node[0];
    begin(w);
    world_enter(w);
    world_settle(w);
    n->boot_check.durable.outdated = true;
    node_reached(n, 1, false);
    node_reached(n, 1, true);
    assert_false(world_says(&n->to_peer[1], "SYNC"));
}

/* ---- who repeats, how often ---- */

/* While an epoch ends nobody gets in: the pause ends, however long it was, and stays short. */
void test_in_a_hurry(void **state)
{
    world *w = *state;
    cluster_node *n = &w->node[1];
    begin(w);
    world_enter(w);
    world_lock(w, 1);
    world_pass(w, 20000);
    assert_true(lock_at(w, 1)->pause > 3);
    world_crash(w, 2);
    world_crash(w, 0);
    for (int i = 0; i < 200 && !world_stub(w, 1)->blocked; i++)
        world_pass(w, NODE_TICK);
    uint64_t before = n->counts.dropped;
    world_pass(w, 20 * NODE_TICK);
    assert_true(n->counts.dropped - before >= 40); /* to two, at each tick */
}

/* A patrol leaves those alone who say it themselves. */
void test_patrol_does_not_repeat(void **state)
{
    world *w = *state;
    begin(w);
    world_enter(w);
    world_lock(w, 1);
    world_pass(w, 20000);
    w->node[1].patrols = true;
    uint64_t before = w->node[1].counts.sent;
    world_pass(w, 10000);
    assert_true(w->node[1].counts.sent - before < 40);
}

/* Few locks are not compared all the time, and very many not more often than it takes. */
void test_patrol_rate(void **state)
{
    enum { SECONDS = 5, MOST = 5 * 96 / PEER_MAX_LISTED * 2 }; /* messages per second, to two */
    world *w = *state;
    cluster_node *n = &w->node[0];
    begin(w);
    load(w, 1);
    n->patrols = true;
    uint64_t before = n->counts.sent;
    world_pass(w, SECONDS * 1000);
    assert_in_range(n->counts.sent - before, 1, SECONDS * 5 * 2);
    load(w, 60000);
    before = n->counts.sent;
    world_pass(w, SECONDS * 1000);
    assert_in_range(n->counts.sent - before, 1, SECONDS * MOST);
}
