/* Nodes that missed something, and messages that come late, early or twice. */
#include "wme_tests.h"

/* One operation by the user inside. */
static void operate(scene *w, uint8_t node, uint8_t user)
{
    assert_int_equal(scene_issue(w, node, user), WME_FINE);
    scene_settle(w);
    scene_user_at(w, node, user)->told[1] = 0; /* the outcomes are not looked at here */
}

static void operate_many(scene *w, uint8_t node, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        operate(w, node, 0);
}

static void expect_same(const scene *w, uint64_t executed)
{
    for (uint8_t i = 0; i < w->nodes; i++) {
        const scene_resource *r = &w->node[i].resource;
        assert_int_equal(r->count, executed);
        assert_memory_equal(r->keys, w->node[0].resource.keys, executed * sizeof *r->keys);
    }
}

/* ---- who is behind, in one epoch ---- */

static void test_lag(void **state)
{
    const uint32_t *missed = *state;
    scene *w = scene_open(3, false);
    scene_try(w, 0, 0);
    operate_many(w, 0, 2);
    scene_cut(w, 2, true);
    operate_many(w, 0, *missed);
    scene_cut(w, 2, false);
    EXPECT_EXECUTED(w, 2, 1, 2);
    scene_tick(w, 2); /* SYNC */
    scene_deliver_every(w, WME_SYNC, 2, ANY);
    assert_int_equal(scene_look(w, WME_STATE, 1, 2)->snapshot, *missed > WME_MAX_LOG);
    scene_settle(w);
    expect_same(w, 2 + *missed);
    assert_int_equal(scene_stub(w, 2)->now.sn, scene_stub(w, 0)->now.sn);
    operate(w, 0, 0);
    expect_same(w, 3 + *missed);
    scene_close(w);
}

/* The one ahead says so first. */
static void test_lag_told(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_cut(w, 2, true);
    operate_many(w, 0, 3);
    scene_cut(w, 2, false);
    scene_tick(w, 1);
    scene_settle(w);
    expect_same(w, 3);
    scene_close(w);
}

/* It missed that it has the token. */
static void test_lagging_owner(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_try(w, 2, 0);
    scene_settle(w);
    scene_cut(w, 2, true);
    operate_many(w, 0, 3);
    scene_exit(w, 0, 0);
    scene_settle(w);
    scene_cut(w, 2, false);
    assert_string_equal(scene_told(w, 2, 0), "");
    scene_tick_all(w);
    assert_string_equal(scene_told(w, 2, 0), "C");
    assert_true(scene_user_at(w, 2, 0)->token > scene_user_at(w, 0, 0)->token);
    expect_same(w, 3);
    operate(w, 2, 0);
    expect_same(w, 4);
    scene_close(w);
}

/* It gets the open operation by STATE, acknowledges it, and its acknowledgement counts. */
static void test_lag_open(void **state)
{
    scene *w = scene_open(3, *(const bool *)*state);
    scene_try(w, 0, 0);
    scene_cut(w, 2, true);
    operate_many(w, 0, 2);
    scene_cut(w, 1, true);
    scene_cut(w, 2, false);
    scene_issue(w, 0, 0);
    scene_drop(w, WME_INVOKE, ANY, ANY);
    scene_tick(w, 2);
    scene_deliver(w, WME_SYNC, 2, 0);
    scene_deliver(w, WME_STATE, 0, 2);
    scene_deliver(w, WME_ACK, 2, 0);
    assert_string_equal(scene_told(w, 0, 0), "CO");
    scene_settle(w);
    scene_tick_all(w);
    EXPECT_EXECUTED(w, 2, 1, 2, 3);
    scene_close(w);
}

/* Every message may be lost, if it is repeated often enough. */
static void test_loss(void **state)
{
    const bool *ack_all = *state;
    scene *w = scene_open(3, *ack_all);
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_drop(w, ANY, ANY, ANY); /* INVOKE */
    scene_tick(w, 1);
    scene_tick(w, 2);
    scene_deliver_every(w, WME_SYNC, ANY, 0);
    scene_deliver_every(w, WME_STATE, 0, ANY);
    scene_drop(w, ANY, ANY, ANY); /* ACK */
    scene_tick(w, 1);
    scene_deliver(w, WME_ACK, 1, 0);
    assert_string_equal(scene_told(w, 0, 0), "CO");
    scene_drop(w, ANY, ANY, ANY); /* DOINVOKE */
    scene_tick(w, 1);
    scene_deliver(w, WME_ACK, 1, 0);
    scene_deliver(w, WME_DOINVOKE, 0, 1);
    scene_tick(w, 2);
    scene_deliver(w, WME_SYNC, 2, 1);
    scene_deliver(w, WME_DOINVOKE, 1, 2);
    scene_drop(w, ANY, ANY, ANY);
    for (uint8_t i = 0; i < 3; i++)
        EXPECT_EXECUTED(w, i, 1);
    scene_exit(w, 0, 0);
    scene_try(w, 1, 0);
    scene_drop(w, ANY, ANY, ANY); /* REQUEST */
    scene_tick(w, 1);
    scene_deliver(w, WME_REQUEST, 1, 0);
    scene_drop(w, ANY, ANY, ANY); /* GRANTED */
    scene_tick_all(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    scene_close(w);
}

/* Under WME-1 the others may have executed it before the owner has heard one of them. */
static void test_executed_elsewhere(void **state)
{
    (void)state;
    scene *w = scene_open(3, true);
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_deliver_every(w, WME_INVOKE, 0, ANY);
    scene_drop(w, ANY, ANY, ANY); /* ACK */
    EXPECT_EXECUTED(w, 1, 1);
    scene_tick(w, 1);
    scene_deliver(w, WME_SYNC, 1, 0);
    assert_string_equal(scene_told(w, 0, 0), "CO");
    scene_close(w);
}

/* ---- who is epochs behind ---- */

static void test_epochs_behind(void **state)
{
    const uint32_t *missed = *state;
    scene *w = scene_open(3, false);
    scene_try(w, 0, 0);
    operate_many(w, 0, 1);
    scene_cut(w, 2, true);
    scene_suspect(w, 1, 0);
    scene_settle(w);
    scene_trust(w, 1, 0);
    for (int i = 0; i < 5; i++)
        scene_tick_all(w);
    assert_true(scene_stub(w, 1)->now.epoch >= 2);
    scene_try(w, 1, 0);
    scene_tick_all(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    operate_many(w, 1, *missed);
    scene_cut(w, 2, false);
    scene_try(w, 2, 0);
    scene_tick_all(w);
    expect_same(w, 1 + *missed);
    scene_tick_all(w);
    scene_exit(w, 1, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_close(w);
}

/*
 * A user inside whose node missed an epoch change: others may have been inside in between, so it is
 * ejected, even if the node finds itself named the owner.
 */
static void test_ejected_though_owner(void **state)
{
    const bool *issues = *state;
    scene *w = scene_open(3, false);
    scene_try(w, 0, 0);
    scene_crash(w,
                2); /* and comes back; nobody suspects 0, which speaks: 1 proposes that it stays */
    scene_restart(w, 2);
    scene_deliver(w, WME_NEWEP, 2, 0);
    scene_deliver(w, WME_NEWEP, 0, 1);
    if (*issues)
        scene_issue(w, 0, 0);
    scene_cut(w, 0, true);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 1)->now.epoch, 2);
    assert_int_equal(scene_stub(w, 1)->now.owner, 0);
    scene_cut(w, 0, false);
    scene_try(w, 0, 1);
    scene_tick(w, 1);
    scene_deliver(w, WME_SYNC, 1, 0);
    scene_deliver(w, WME_SYNC, 0, 1);
    scene_deliver(w, WME_STATE, 1, 0);
    assert_string_equal(scene_told(w, 0, 0), "CE");
    assert_string_equal(scene_told(w, 0, 1), "C");
    assert_true(scene_user_at(w, 0, 1)->token > scene_user_at(w, 0, 0)->token);
    scene_settle(w);
    expect_same(w, 0);
    scene_close(w);
}

/* The outcome of what was issued is found in a snapshot that comes epochs later. */
static void test_recall(void **state)
{
    const uint32_t *more = *state;
    scene *w = scene_open(3, false);
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_deliver_every(w, WME_INVOKE, 0, ANY);
    scene_cut(w, 0, true);
    scene_suspect(w, 1, 0);
    scene_suspect(w, 2, 0);
    scene_settle(w);
    EXPECT_EXECUTED(w, 1, 1);
    scene_try(w, 1, 0);
    operate_many(w, 1, *more);
    scene_cut(w, 0, false);
    scene_tick(w, 1);
    scene_settle(w);
    assert_string_equal(scene_told(w, 0, 0), *more > WME_MAX_LOG ? "CAE" : "COE");
    assert_int_equal(scene_user_at(w, 0, 0)->outcome, 1);
    expect_same(w, 1 + *more);
    scene_close(w);
}

/* And if the user has gone, nobody is told. */
static void test_recall_for_nobody(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_deliver_every(w, WME_INVOKE, 0, ANY);
    scene_cut(w, 0, true);
    scene_leave(w, 0, 0);
    scene_suspect(w, 1, 0);
    scene_suspect(w, 2, 0);
    scene_settle(w);
    scene_try(w, 1, 0);
    operate_many(w, 1, WME_MAX_LOG + 4);
    scene_cut(w, 0, false);
    scene_tick(w, 1);
    scene_settle(w);
    expect_same(w, WME_MAX_LOG + 5);
    assert_int_equal(scene_stub(w, 0)->state, WME_IDLE);
    scene_close(w);
}

/* A decision about operations that a node never saw: it waits for who has them. */
static void test_decision_too_far(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_cut(w, 1, true);
    operate_many(w, 0, 3);
    scene_cut(w, 1, false);
    scene_suspect(w, 2, 0);
    scene_settle(w); /* 1 proposes what 2 knows */
    scene_tick_all(w);
    scene_trust(w, 2, 0);
    scene_tick_all(w);
    expect_same(w, 3);
    for (uint8_t i = 0; i < 3; i++)
        assert_false(scene_stub(w, i)->blocked);
    scene_close(w);
}

/* ---- late, early, twice ---- */

static void test_duplicates(void **state)
{
    scene *w = scene_open(3, *(const bool *)*state);
    scene_try(w, 0, 0);
    scene_try(w, 1, 0);
    for (int i = 0; i < 400 && w->count > 0; i++) {
        scene_deliver_copy(w, ANY, ANY, ANY);
        scene_deliver(w, ANY, ANY, ANY);
    }
    scene_issue(w, 0, 0);
    for (int i = 0; i < 400 && w->count > 0; i++) {
        scene_deliver_copy(w, ANY, ANY, ANY);
        scene_deliver(w, ANY, ANY, ANY);
    }
    scene_exit(w, 0, 0);
    for (int i = 0; i < 400 && w->count > 0; i++) {
        scene_deliver_copy(w, ANY, ANY, ANY);
        scene_deliver(w, ANY, ANY, ANY);
    }
    assert_int_equal(w->count, 0);
    assert_string_equal(scene_told(w, 0, 0), "COR");
    assert_string_equal(scene_told(w, 1, 0), "C");
    expect_same(w, 1);
    for (uint8_t i = 0; i < 3; i++)
        for (int why = 0; why < WME_REFUSALS; why++)
            assert_int_equal(w->node[i].wme.refused[why], 0);
    scene_close(w);
}

/* More early messages than are kept: the rest is found out by SYNC. */
static void test_many_early(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    for (int i = 0; i < WME_MAX_EARLY + 3; i++) {
        scene_issue(w, 0, 0);
        scene_deliver(w, WME_INVOKE, 0, 1);
        scene_deliver(w, WME_ACK, 1, 0);
        scene_deliver(w, WME_DOINVOKE, 0, 1);
    }
    scene_drop(w, WME_DOINVOKE, 0, 2);
    scene_letter *first = w->flight[0]; /* INVOKE 1 comes last */
    for (uint32_t i = 0; i + 1 < w->count; i++)
        w->flight[i] = w->flight[i + 1];
    w->flight[w->count - 1] = first;
    scene_settle(w);
    scene_tick_all(w);
    scene_tick_all(w);
    expect_same(w, WME_MAX_EARLY + 3);
    scene_close(w);
}

/* A grant that was overtaken by the next one to the same node, and one of an epoch long gone. */
static void test_stale_grants(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 1, 0);
    scene_deliver_every(w, WME_REQUEST, ANY, ANY);
    wme_message stale = *scene_look(w, WME_GRANTED, 0, 1);
    scene_settle(w);
    scene_exit(w, 1, 0);
    scene_try(w, 2, 0);
    scene_settle(w);
    scene_forge(w, 0, 1, &stale);
    assert_string_equal(scene_told(w, 1, 0), "CR");
    assert_int_equal(scene_stub(w, 1)->now.owner, 2);
    scene_exit(w, 2, 0);
    for (uint8_t i = 0; i < 2; i++)
        scene_suspect(w, i, 2);
    scene_settle(w);
    scene_try(w, 1, 0);
    scene_forge(w, 0, 1, &stale);
    assert_int_equal(scene_stub(w, 1)->now.epoch, 2);
    assert_int_equal(scene_in_flight(w, WME_STATE, 1, 0), 1); /* who says that is behind */
    scene_close(w);
}

/* A request of a node that was granted a later one already. */
static void test_stale_request(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 1, 0);
    wme_message stale = *scene_look(w, WME_REQUEST, 1, 0);
    scene_settle(w);
    scene_exit(w, 1, 0);
    scene_try(w, 0, 0);
    scene_settle(w);
    scene_exit(w, 0, 0);
    scene_forge(w, 1, 0, &stale);
    scene_forge(w, 1, 2, &stale);
    assert_int_equal(scene_stub(w, 0)->state, WME_TOKEN_HELD);
    assert_int_equal(scene_stub(w, 2)->now.queued, 0);
    scene_close(w);
}

void wme_catchup_tests(suite *s)
{
    static const uint32_t few = 5, full = WME_MAX_LOG, many = WME_MAX_LOG + 4;
    static const bool no = false, yes = true;
    suite_add(s, test_lag, &few, "behind: by operations");
    suite_add(s, test_lag, &full, "behind: by as many operations as are kept");
    suite_add(s, test_lag, &many, "behind: by a snapshot");
    suite_add(s, test_lag_told, NULL, "behind: told by who is ahead");
    suite_add(s, test_lagging_owner, NULL, "behind: and has the token");
    suite_add(s, test_lag_open, &no, "behind: an open operation, WME-2");
    suite_add(s, test_lag_open, &yes, "behind: an open operation, WME-1");
    suite_add(s, test_loss, &no, "everything lost once, WME-2");
    suite_add(s, test_loss, &yes, "everything lost once, WME-1");
    suite_add(s, test_executed_elsewhere, NULL, "executed everywhere but at the owner");
    suite_add(s, test_epochs_behind, &few, "epochs behind: by operations");
    suite_add(s, test_epochs_behind, &many, "epochs behind: by a snapshot");
    suite_add(s, test_ejected_though_owner, &no, "ejected, though named the owner");
    suite_add(s, test_ejected_though_owner, &yes, "ejected with an operation, though the owner");
    suite_add(s, test_recall, &few, "an outcome that comes with operations");
    suite_add(s, test_recall, &many, "an outcome out of a snapshot");
    suite_add(s, test_recall_for_nobody, NULL, "an outcome out of a snapshot, for nobody");
    suite_add(s, test_decision_too_far, NULL, "a decision beyond what is known here");
    suite_add(s, test_duplicates, &no, "every message twice, WME-2");
    suite_add(s, test_duplicates, &yes, "every message twice, WME-1");
    suite_add(s, test_many_early, NULL, "more early messages than are kept");
    suite_add(s, test_stale_grants, NULL, "stale grants");
    suite_add(s, test_stale_request, NULL, "a stale request");
}
