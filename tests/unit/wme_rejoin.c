/* A node that has lost what it knew: it counts for nothing before it has rejoined. */
#include "wme_tests.h"

typedef struct layout {
    uint8_t nodes;
    bool ack_all;
    uint32_t ops; /* before it forgets */
} layout;

/* The last node comes back with nothing; user 0 of node 0 is inside, and has issued that much. */
static scene *open_scene(const layout *l)
{
    scene *w = scene_open(l->nodes, l->ack_all);
    scene_try(w, 0, 0);
    for (uint32_t i = 0; i < l->ops; i++) {
        scene_issue(w, 0, 0);
        scene_settle(w);
        scene_user_at(w, 0, 0)->told[1] = 0;
    }
    scene_forget(w, l->nodes - 1);
    scene_drop(w, ANY, ANY, ANY);
    scene_restart(w, l->nodes - 1);
    return w;
}

static void tick_often(scene *w)
{
    for (int i = 0; i < 30; i++) /* consensus may have to wait for its turn */
        scene_tick_all(w);
}

static void test_rejoins(void **state)
{
    const layout *l = *state;
    uint8_t last = l->nodes - 1;
    scene *w = open_scene(l);
    assert_int_equal(scene_in_flight(w, WME_WHERE, last, ANY), last);
    assert_int_equal(w->count, last);
    tick_often(w);
    assert_int_equal(scene_stub(w, last)->away, 0);
    assert_true(w->node[last].disk.written);
    for (uint8_t i = 0; i < l->nodes; i++) {
        assert_int_equal(scene_stub(w, i)->now.epoch, 3);
        assert_int_equal(scene_stub(w, i)->now.owner, 0);
        assert_int_equal(w->node[i].resource.count, l->ops);
    }
    assert_string_equal(scene_told(w, 0, 0), "C"); /* and its user was not disturbed */
    scene_issue(w, 0, 0);
    for (uint8_t i = 1; i < l->nodes - wme_majority(&w->node[0].wme); i++)
        scene_cut(w, i, true); /* so the one that is back is needed */
    scene_settle(w);
    assert_string_equal(scene_told(w, 0, 0), "CO");
    scene_close(w);
}

/* ---- from when on it counts ---- */

static void test_enough_answers(void **state)
{
    const layout *l = *state;
    uint8_t last = l->nodes - 1;
    uint8_t enough = (uint8_t)(l->nodes - wme_majority(&(wme_node){.nodes = l->nodes}) + 1);
    scene *w = open_scene(l);
    for (uint8_t i = 0; i < enough; i++) {
        assert_int_equal(scene_stub(w, last)->counts_from, 0);
        scene_deliver(w, WME_WHERE, last, i);
        if (i + 1 < enough)
            scene_deliver_copy(w, WME_HERE, i, last);
        scene_deliver(w, WME_HERE, i, last);
    }
    assert_int_equal(scene_stub(w, last)->counts_from, 3);
    scene_close(w);
}

/* The largest of the epochs counts, whoever says it first. */
static void test_largest_epoch(void **state)
{
    (void)state;
    for (uint8_t first = 0; first < 2; first++) {
        scene *w = scene_open(3, false);
        scene_forget(w, 2);
        scene_restart(w, 2);
        scene_drop(w, ANY, ANY, ANY);
        for (uint8_t i = 0; i < 2; i++) {
            uint8_t from = i ^ first;
            wme_message m = {.kind = WME_HERE, .epoch = from ? 7 : 4, .request = w->next_nonce};
            scene_forge(w, from, 2, &m);
        }
        assert_int_equal(scene_stub(w, 2)->counts_from, 9);
        assert_int_equal(scene_look(w, WME_WHERE, 2, 0)->epoch, 9);
        scene_close(w);
    }
}

static void test_answer_to_an_earlier_asking(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_forget(w, 2);
    scene_restart(w, 2);
    scene_deliver(w, WME_WHERE, 2, 0);
    scene_deliver(w, WME_WHERE, 2, 1);
    scene_forget(w, 2);
    scene_restart(w, 2);
    scene_deliver_every(w, WME_HERE, ANY, 2);
    assert_int_equal(scene_stub(w, 2)->gathered, 0);
    assert_int_equal(scene_stub(w, 2)->counts_from, 0);
    scene_close(w);
}

/* A STATE that leads into an epoch in which the old self may have been. */
static void test_early_state(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_forget(w, 2);
    scene_restart(w, 2);
    wme_message m = {.kind = WME_STATE, .epoch = 5, .record.epoch = 5};
    scene_forge(w, 0, 2, &m); /* it knows of no epoch yet */
    assert_int_equal(scene_stub(w, 2)->now.epoch, 0);
    for (uint8_t i = 0; i < 2; i++)
        scene_forge(w, i, 2,
                    &(wme_message){.kind = WME_HERE, .epoch = 4, .request = w->next_nonce});
    scene_forge(w, 0, 2, &m); /* E + 1 */
    assert_int_equal(scene_stub(w, 2)->now.epoch, 0);
    m.epoch = m.record.epoch = 6;
    scene_forge(w, 0, 2, &m);
    assert_int_equal(scene_stub(w, 2)->now.epoch, 6);
    assert_int_equal(scene_stub(w, 2)->away, 0);
    scene_close(w);
}

/* ---- while it is away ---- */

static void test_says_nothing(void **state)
{
    scene *w = open_scene(&(layout){3, true, 2});
    wme_op *op = scene_op(w, 99);
    (void)state;
    scene_drop(w, ANY, ANY, ANY);
    op->id = wme_op_id(1, 3);
    for (int kind = 0; kind < WME_KINDS; kind++)
        for (uint64_t epoch = 1; epoch < 4; epoch++) {
            wme_message m = {.kind = (wme_kind)kind, .epoch = epoch, .sn = 3, .request = 77};
            m.op = op;
            m.ballot = 2; /* of node 1 */
            m.record = (wme_record){.epoch = epoch, .sn = 1};
            uint32_t persists = w->node[2].persists;
            scene_forge(w, 1, 2, &m);
            assert_int_equal(w->count, 0);
            assert_int_equal(w->node[2].persists, persists);
            assert_int_equal(scene_stub(w, 2)->now.epoch, 0);
            assert_int_not_equal(scene_stub(w, 2)->away, 0);
        }
    scene_suspect(w, 2, 0);
    assert_int_equal(w->count, 0);
    scene_tick(w, 2);
    assert_int_equal(w->count, 2);
    assert_int_equal(scene_in_flight(w, WME_WHERE, 2, ANY), 2);
    wme_op_drop(op);
    scene_close(w);
}

static void test_users_wait(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_forget(w, 1);
    scene_restart(w, 1);
    assert_int_equal(scene_try(w, 1, 0), WME_FINE);
    assert_int_equal(scene_try(w, 1, 1), WME_FINE);
    scene_leave(w, 1, 1);
    assert_string_equal(scene_told(w, 1, 0), "");
    tick_often(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    scene_close(w);
}

/* Nothing was written meanwhile: it begins anew. */
static void test_crash_while_away(void **state)
{
    scene *w = open_scene(&(layout){3, false, 3});
    (void)state;
    scene_deliver(w, WME_WHERE, 2, 0);
    scene_deliver(w, WME_WHERE, 2, 1);
    scene_deliver_every(w, WME_HERE, ANY, 2);
    assert_int_equal(scene_stub(w, 2)->counts_from, 3);
    scene_crash(w, 2);
    assert_false(w->node[2].disk.written);
    scene_restart(w, 2);
    assert_int_equal(scene_stub(w, 2)->counts_from, 0);
    tick_often(w);
    assert_int_equal(scene_stub(w, 2)->away, 0);
    assert_int_equal(w->node[2].resource.count, 3);
    scene_crash(w, 2); /* what it has now it has */
    scene_restart(w, 2);
    assert_int_equal(scene_stub(w, 2)->away, 0);
    assert_int_equal(w->node[2].resource.count, 3);
    scene_close(w);
}

/* ---- the others ---- */

/* It had the token: another gets that, though nobody suspects it and it hears nothing. */
static void test_owner_forgets(void **state)
{
    const layout *l = *state;
    scene *w = scene_open(l->nodes, l->ack_all);
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_settle(w);
    uint64_t before = scene_user_at(w, 0, 0)->token;
    scene_forget(w, 0);
    scene_restart(w, 0);
    scene_try(w, 1, 0);
    for (int i = 0; i < 30; i++) {
        for (uint8_t n = 0; n < l->nodes; n++)
            scene_tick(w, n);
        for (; scene_in_flight(w, ANY, ANY, ANY) > 0; scene_drop(w, ANY, ANY, 0))
            if (scene_in_flight(w, ANY, ANY, 0) == 0)
                scene_deliver(w, ANY, ANY, ANY);
    }
    assert_string_equal(scene_told(w, 1, 0), "C");
    assert_true(scene_user_at(w, 1, 0)->token > before);
    assert_int_not_equal(scene_stub(w, 0)->away, 0);
    tick_often(w);
    assert_int_equal(scene_stub(w, 0)->away, 0);
    EXPECT_EXECUTED(w, 0, 1);
    assert_string_equal(scene_told(w, 1, 0), "C");
    scene_close(w);
}

/* An old WHERE says nothing about who counts again. */
static void test_old_where(void **state)
{
    scene *w = open_scene(&(layout){3, false, 1});
    (void)state;
    tick_often(w);
    scene_exit(w, 0, 0);
    scene_try(w, 2, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 2, 0), "C");
    wme_message m = {.kind = WME_WHERE, .epoch = 3, .request = w->next_nonce};
    scene_forge(w, 2, 0, &m);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 0)->now.epoch, 3);
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_close(w);
}

/* The others do not know enough: nothing is agreed on, and nothing invented. */
static void test_majority_forgets(void **state)
{
    const layout *l = *state;
    scene *w = scene_open(l->nodes, l->ack_all);
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_settle(w);
    for (uint8_t i = l->nodes / 2; i < l->nodes; i++) {
        scene_forget(w, i);
        scene_restart(w, i);
        scene_try(w, i, 0);
    }
    tick_often(w);
    for (uint8_t i = l->nodes / 2; i < l->nodes; i++) {
        assert_int_not_equal(scene_stub(w, i)->away, 0);
        assert_string_equal(scene_told(w, i, 0), "");
    }
    assert_int_equal(w->node[0].resource.count, 1);
    scene_close(w);
}

/*
 * What the old self has acknowledged is still under way when the new self asks. It makes a majority
 * with the owner, and must not be undone by another that has the new self in it.
 */
static void test_old_acknowledgement(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_deliver(w, WME_INVOKE, 0, 2);
    scene_drop(w, WME_INVOKE, 0, 1);
    scene_forget(w, 2);
    scene_restart(w, 2);
    scene_deliver(w, WME_ACK, 2, 0);
    assert_string_equal(scene_told(w, 0, 0), "CO");
    scene_drop(w, WME_DOINVOKE, ANY, ANY);
    scene_suspect(w, 1, 0);
    scene_suspect(w, 2, 0);
    scene_cut(w, 0, true);
    for (int i = 0; i < 30; i++)
        scene_tick_all(w);
    assert_int_equal(scene_stub(w, 1)->now.epoch, 1); /* alone it decides nothing */
    scene_cut(w, 0, false);
    scene_trust(w, 1, 0);
    scene_trust(w, 2, 0);
    tick_often(w);
    for (uint8_t i = 0; i < 3; i++)
        EXPECT_EXECUTED(w, i, 1);
    scene_close(w);
}

/* One after another, each when the one before is back: all have been emptied, and all is there. */
static void test_all_in_turn(void **state)
{
    const layout *l = *state;
    scene *w = open_scene(l);
    scene_exit(w, 0, 0);
    tick_often(w);
    for (uint8_t i = 0; i + 1 < l->nodes; i++) {
        scene_forget(w, i);
        scene_restart(w, i);
        tick_often(w);
    }
    for (uint8_t i = 0; i < l->nodes; i++) {
        assert_int_equal(scene_stub(w, i)->away, 0);
        assert_int_equal(w->node[i].resource.count, l->ops);
    }
    scene_close(w);
}

void wme_rejoin_tests(suite *s)
{
    static const layout layouts[] = {
        {3, false, 0}, {3, true, 3},  {3, false, WME_MAX_LOG + 4},
        {5, false, 3}, {5, true, 20}, {4, false, 2},
        {2, false, 3}, {2, true, 0},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const layout *l = &layouts[i];
        unsigned n = l->nodes;
        suite_add(s, test_rejoins, l, "%u nodes: one rejoins after %u operations", n, l->ops);
        suite_add(s, test_enough_answers, l, "%u nodes: how many answers are enough (%zu)", n, i);
        suite_add(s, test_all_in_turn, l, "%u nodes: each forgets in its turn (%zu)", n, i);
        if (n == 2)
            continue; /* one is not too many, and without the owner there is nobody to elect */
        suite_add(s, test_majority_forgets, l, "%u nodes: too many forget (%zu)", n, i);
        suite_add(s, test_owner_forgets, l, "%u nodes: the owner forgets (%zu)", n, i);
    }
    suite_add(s, test_largest_epoch, NULL, "it counts two epochs after the largest heard of");
    suite_add(s, test_answer_to_an_earlier_asking, NULL, "answers to an earlier asking");
    suite_add(s, test_early_state, NULL, "a state of an epoch that is too early");
    suite_add(s, test_says_nothing, NULL, "away: it answers nothing, and writes nothing");
    suite_add(s, test_users_wait, NULL, "away: users wait");
    suite_add(s, test_crash_while_away, NULL, "away: a crash");
    suite_add(s, test_old_where, NULL, "a WHERE that comes late");
    suite_add(s, test_old_acknowledgement, NULL, "an acknowledgement of the old self");
}
