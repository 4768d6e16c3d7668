/* Crashes and restarts: what is on a disk is all that comes back. */
#include "wme_tests.h"

static void crash_all(scene *w)
{
    for (uint8_t i = 0; i < w->nodes; i++)
        scene_crash(w, i);
    scene_drop(w, ANY, ANY, ANY);
}

static void restart_all(scene *w)
{
    for (uint8_t i = 0; i < w->nodes; i++)
        scene_restart(w, i);
    for (int i = 0; i < 3; i++)
        scene_tick_all(w);
    for (uint8_t i = 0; i < w->nodes; i++)
        assert_false(scene_stub(w, i)->blocked);
}

/* Everybody has executed these, and can execute more. */
static void expect_all(scene *w, uint32_t count)
{
    for (uint8_t i = 0; i < w->nodes; i++) {
        assert_int_equal(w->node[i].resource.count, count);
        for (uint32_t k = 0; k < count; k++)
            assert_int_equal(w->node[i].resource.keys[k], k + 1);
    }
    w->next_key = count;
    scene_try(w, 1, 9);
    for (int i = 0; i < 3; i++)
        scene_tick_all(w);
    assert_string_equal(scene_told(w, 1, 9), "C");
    scene_issue(w, 1, 9);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 9), "CO");
    for (uint8_t i = 0; i < w->nodes; i++)
        assert_int_equal(w->node[i].resource.count, count + 1);
}

static void test_restarted(void **state)
{
    const uint32_t *missed = *state;
    scene *w = scene_open(3, false);
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_settle(w);
    scene_crash(w, 2);
    for (uint32_t i = 0; i < *missed; i++) {
        scene_issue(w, 0, 0);
        scene_settle(w);
        scene_user_at(w, 0, 0)->told[1] = 0;
    }
    scene_restart(w, 2); /* its news of operation 1 came after it had written that */
    assert_true(scene_stub(w, 2)->blocked);
    scene_settle(w);
    for (int i = 0; i < 3; i++)
        scene_tick_all(w);
    assert_int_equal(scene_stub(w, 2)->now.epoch, 2);
    assert_int_equal(scene_stub(w, 0)->now.owner, 0); /* which was never suspected, */
    assert_string_equal(scene_told(w, 0, 0), *missed > 0 ? "C" : "CO"); /* so its user stays */
    scene_exit(w, 0, 0);
    expect_all(w, 1 + *missed);
    scene_close(w);
}

static void test_owner_restarted(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_settle(w);
    scene_issue(w, 0, 0); /* this is on its disk alone */
    scene_drop(w, ANY, ANY, ANY);
    scene_crash(w, 0);
    scene_restart(w, 0);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 0)->state, WME_TOKEN_HELD);
    expect_all(w, 2);
    scene_close(w);
}

/* It comes back when others have decided without it. */
static void test_owner_restarted_late(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_drop(w, ANY, ANY, ANY); /* nobody else knows: it may be lost, for it was not answered */
    scene_crash(w, 0);
    scene_depose_0(w);
    scene_restart(w, 0);
    scene_trust(w, 1, 0);
    scene_trust(w, 2, 0);
    scene_settle(w);
    w->next_key = 0;
    expect_all(w, 0);
    scene_close(w);
}

/* The owner does not know after a restart that it gave the token away, and must not act on that. */
static void test_grant_forgotten(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 1, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    scene_crash(w, 0);
    assert_false(w->node[0].disk.written);
    scene_restart(w, 0);
    scene_try(w, 0, 0);
    assert_string_equal(scene_told(w, 0, 0), "");
    scene_settle(w);
    for (int i = 0; i < 3; i++)
        scene_tick_all(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    assert_string_equal(scene_told(w, 0, 0), "");
    scene_exit(w, 1, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 0, 0), "C");
    assert_true(scene_user_at(w, 0, 0)->token > scene_user_at(w, 1, 0)->token);
    scene_close(w);
}

/* A node that runs for the first time starts at once; the same one again does not. */
static void test_first_boot(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    assert_false(scene_stub(w, 0)->blocked);
    scene_crash(w, 0);
    scene_restart(w, 0);
    assert_true(scene_stub(w, 0)->blocked);
    assert_int_equal(scene_in_flight(w, WME_NEWEP, 0, ANY), 2);
    scene_settle(w);
    expect_all(w, 0);
    scene_close(w);
}

static void test_power_off(void **state)
{
    const uint8_t *acknowledged = *state; /* by how many of the others */
    scene *w = scene_open(5, false);
    scene_try(w, 0, 0);
    for (int i = 0; i < 3; i++) {
        scene_issue(w, 0, 0);
        scene_settle(w);
    }
    scene_issue(w, 0, 0);
    for (uint8_t i = 1; i <= *acknowledged; i++) {
        scene_deliver(w, WME_INVOKE, 0, i);
        scene_deliver(w, WME_ACK, i, 0);
    }
    bool answered = scene_user_at(w, 0, 0)->outcome == 4;
    assert_int_equal(answered, *acknowledged >= 2);
    crash_all(w);
    restart_all(w);
    expect_all(w, (uint32_t)w->node[0].resource.count);
    if (answered) /* then it is not lost */
        assert_int_equal(w->node[0].resource.count, 5);
    scene_close(w);
}

static void test_power_off_unwritten(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 2, 0);
    scene_settle(w);
    crash_all(w);
    restart_all(w);
    expect_all(w, 0);
    scene_close(w);
}

/* The epoch was written down before anybody was let in: the fencing number does not come twice. */
static void test_power_off_token(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_depose_0(w);
    scene_try(w, 1, 0);
    assert_string_equal(scene_told(w, 1, 0), "C");
    uint64_t before = scene_user_at(w, 1, 0)->token;
    crash_all(w);
    restart_all(w);
    scene_try(w, 1, 0);
    for (int i = 0; i < 3; i++)
        scene_tick_all(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    assert_true(scene_user_at(w, 1, 0)->token > before);
    scene_close(w);
}

/* In the middle of consensus. */
static void test_power_off_deciding(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_deliver(w, WME_INVOKE, 0, 2);
    scene_drop(w, ANY, ANY, ANY);
    scene_suspect(w, 1, 0);
    scene_suspect(w, 2, 0);
    scene_deliver(w, WME_NEWEP, 2, 1);
    scene_deliver(w, WME_ACCEPT, 1, 2);
    crash_all(w);
    restart_all(w);
    expect_all(w, 1);
    scene_close(w);
}

/* ---- in the middle of a step ---- */

/* Two slots in one step: what is written is what was executed. */
static void test_dies_in_two_slots(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    for (int i = 0; i < 2; i++) {
        scene_issue(w, 0, 0);
        scene_deliver(w, WME_INVOKE, 0, 1);
        scene_deliver(w, WME_ACK, 1, 0);
        scene_drop(w, WME_DOINVOKE, ANY, ANY);
    }
    assert_int_equal(w->count, 2); /* INVOKE 1 and 2, in the wrong order now */
    scene_letter *first = w->flight[0];
    w->flight[0] = w->flight[1];
    w->flight[1] = first;
    scene_deliver(w, WME_INVOKE, 0, 2);
    w->node[2].dies = true;
    scene_deliver(w, WME_INVOKE, 0, 2);
    assert_false(w->node[2].up);
    EXPECT_EXECUTED(w, 2, 1);
    scene_restart(w, 2);
    scene_settle(w);
    for (int i = 0; i < 3; i++)
        scene_tick_all(w);
    scene_exit(w, 0, 0);
    expect_all(w, 2);
    scene_close(w);
}

/* The owner crashes before it has written an operation that others have got. */
static void test_dies_unwritten(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    w->node[0].dies_unwritten = true;
    scene_issue(w, 0, 0);
    assert_int_equal(scene_in_flight(w, WME_INVOKE, 0, ANY), 2);
    assert_false(w->node[0].disk.written);
    scene_restart(w, 0);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 0)->now.epoch, 2);
    expect_all(w, 1);
    scene_close(w);
}

/* In WME-1 others would take its INVOKE for its word that it has written it. */
static void test_not_early_to_all(void **state)
{
    scene *w = scene_open(3, true);
    (void)state;
    scene_try(w, 0, 0);
    w->node[0].dies_unwritten = true;
    scene_issue(w, 0, 0);
    assert_int_equal(w->count, 0);
    scene_close(w);
}

/* An owner that has not written of its epoch may forget that, and make the slot again. */
static void test_not_early_in_a_new_epoch(void **state)
{
    bool died = true;
    (void)state;
    for (uint32_t at = 0; died; at++) {
        scene *w = scene_open(3, false);
        scene_try(w, 0, 0);
        scene_crash(w, 2);
        scene_restart(w, 2);
        scene_deliver(w, WME_NEWEP, 2, 0);
        scene_issue(w, 0, 0); /* it waits for the end of the change, in which 0 stays the owner */
        for (uint32_t i = 0; w->count > 0 && w->node[0].up; i++) {
            w->node[0].dies_unwritten = i >= at;
            scene_deliver(w, ANY, ANY, ANY);
        }
        died = !w->node[0].up;
        if (died && w->node[0].disk.lock.now.epoch < 2)
            assert_int_equal(scene_in_flight(w, WME_INVOKE, 0, ANY), 0);
        assert_true(died || scene_stub(w, 0)->now.epoch == 2);
        scene_close(w);
    }
}

/* At each step of an epoch change, each node in turn: the others go on, and it comes back. */
static void test_dies_in_a_change(void **state)
{
    bool any = true;
    (void)state;
    for (uint32_t at = 0; any; at++) {
        any = false;
        for (uint8_t victim = 0; victim < 3; victim++) {
            scene *w = scene_open(3, false);
            scene_try(w, 0, 0);
            scene_issue(w, 0, 0);
            scene_deliver(w, WME_INVOKE, 0, 2);
            scene_suspect(w, 1, 0);
            scene_suspect(w, 2, 0);
            for (uint32_t i = 0; w->count > 0 && w->node[victim].up; i++) {
                w->node[victim].dies = i >= at;
                scene_deliver(w, ANY, ANY, ANY);
            }
            w->node[victim].dies = false;
            if (!w->node[victim].up) {
                any = true;
                scene_restart(w, victim);
            }
            scene_trust(w, 1, 0);
            scene_trust(w, 2, 0);
            for (int i = 0; i < 20; i++)
                scene_tick_all(w);
            scene_leave(w, 0, 0);
            expect_all(w, 1);
            scene_close(w);
        }
    }
}

void wme_crash_tests(suite *s)
{
    static const uint32_t none = 0, few = 5, many = WME_MAX_LOG + 4;
    static const uint8_t acknowledged[] = {0, 1, 2, 3};
    suite_add(s, test_restarted, &none, "restarted, and missed nothing");
    suite_add(s, test_restarted, &few, "restarted, and caught up by operations");
    suite_add(s, test_restarted, &many, "restarted, and caught up by a snapshot");
    suite_add(s, test_owner_restarted, NULL, "the owner restarted");
    suite_add(s, test_owner_restarted_late, NULL, "the owner restarted, too late");
    suite_add(s, test_grant_forgotten, NULL, "the owner restarted, and does not know who has it");
    suite_add(s, test_first_boot, NULL, "the first time, and the second");
    for (size_t i = 0; i < sizeof acknowledged; i++)
        suite_add(s, test_power_off, &acknowledged[i],
                  "power off at all nodes, an operation at %zu of 5", i + 1);
    suite_add(s, test_power_off_unwritten, NULL, "power off before anything was written");
    suite_add(s, test_power_off_token, NULL, "power off, and the fencing number goes on");
    suite_add(s, test_power_off_deciding, NULL, "power off in the middle of consensus");
    suite_add(s, test_dies_in_two_slots, NULL, "a crash within a step that takes two slots");
    suite_add(s, test_dies_unwritten, NULL, "a crash before an operation is written");
    suite_add(s, test_not_early_to_all, NULL, "WME-1: nothing leaves before it is written");
    suite_add(s, test_not_early_in_a_new_epoch, NULL, "nor in an epoch not yet written");
    suite_add(s, test_dies_in_a_change, NULL, "a crash within each step of an epoch change");
}
