/* A replica's own part: numbers that come to their end, and what it saves. */
#include "out.h"
#include "wme_tests.h"

#include <string.h>

static const uint64_t last_number = (1ULL << WME_ENTRY_BITS) - 1;

/* ---- the last number of an epoch begins another; here the whole cluster is one node ---- */

static void test_last_entry_then_try(void **state)
{
    scene *w = scene_open(1, false);
    (void)state;
    scene_stub(w, 0)->now.entry = last_number;
    scene_try(w, 0, 0);
    assert_string_equal(scene_told(w, 0, 0), "C");
    assert_int_equal(scene_user_at(w, 0, 0)->token, (2ULL << WME_ENTRY_BITS) + 1);
    scene_close(w);
}

/* Whoever wants to resume finds the epoch over in which it could have. */
static void test_last_slot_then_resume(void **state)
{
    scene *w = scene_open(1, false);
    (void)state;
    scene_try(w, 0, 0);
    uint64_t token = scene_user_at(w, 0, 0)->token;
    scene_crash(w, 0);
    scene_restart(w, 0);
    assert_int_equal(scene_stub(w, 0)->now.epoch, 2);
    scene_stub(w, 0)->now.sn = last_number;
    scene_resume(w, 0, 1, token);
    assert_int_equal(scene_stub(w, 0)->now.epoch, 3);
    assert_string_equal(scene_told(w, 0, 1), "E");
    scene_close(w);
}

static void leave_by_exit(scene *w)
{
    scene_exit(w, 0, 0);
}

static void leave_for_good(scene *w)
{
    scene_leave(w, 0, 0);
}

static void leave_by_force(scene *w)
{
    scene_revoke(w, 0, 0);
}

static void leave_without_a_number(scene *w)
{
    scene_stub(w, 0)->now.entry = last_number;
    scene_leave(w, 0, 0);
}

static void exit_without_a_number(scene *w)
{
    scene_stub(w, 0)->now.entry = last_number;
    scene_exit(w, 0, 0);
}

/* Whoever waits comes in, in that epoch. */
static void expect_next(void (*leave)(scene *w), uint64_t epoch)
{
    scene *w = scene_open(1, false);
    scene_try(w, 0, 0);
    scene_try(w, 0, 1);
    leave(w);
    assert_string_equal(scene_told(w, 0, 1), "C");
    assert_int_equal(scene_user_at(w, 0, 1)->token >> WME_ENTRY_BITS, epoch);
    assert_false(scene_stub(w, 0)->blocked);
    scene_close(w);
}

static void test_next_user(void **state)
{
    (void)state;
    expect_next(leave_by_exit, 1);
    expect_next(leave_for_good, 1);
    expect_next(leave_by_force, 2);
    expect_next(leave_without_a_number, 2);
    expect_next(exit_without_a_number, 2);
}

/* An operation for which there is no number is executed in the next epoch, as the first. */
static void test_last_slot_then_issue(void **state)
{
    (void)state;
    for (uint8_t nodes = 1; nodes <= 3; nodes += 2) {
        scene *w = scene_open(nodes, false);
        scene_try(w, 0, 0);
        for (uint8_t i = 0; i < nodes; i++)
            scene_stub(w, i)->now.sn = last_number;
        scene_issue(w, 0, 0);
        scene_settle(w);
        assert_string_equal(scene_told(w, 0, 0), "CO");
        assert_int_equal(scene_stub(w, 0)->now.epoch, 2);
        assert_int_equal(scene_stub(w, 0)->now.sn, 1);
        for (uint8_t i = 0; i < nodes; i++)
            EXPECT_EXECUTED(w, i, 1);
        scene_close(w);
    }
}

/* Nor is the token given away by a slot for which there is no number. */
static void test_last_slot_is_not_yielded(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_stub(w, 0)->now.sn = last_number;
    assert_false(scene_yield(w, 0, 1));
    scene_stub(w, 0)->now.sn--;
    assert_true(scene_yield(w, 0, 1));
    scene_stub(w, 0)->now.sn = 0; /* the others are not that far */
    scene_drop(w, ANY, ANY, ANY);
    scene_close(w);
}

/* ---- what is saved ---- */

/* The least ballot that there is counts after a restart; where there was none, there is none. */
static void test_least_ballot_is_restored(void **state)
{
    wme_node node = {.me = 1, .nodes = 3};
    wme_out out = {.count = 0};
    replica_durable saved, again = {.rests = 7};
    replica r;
    (void)state;
    replica_unsaved(&saved, &node, 0);
    saved.now.epoch = 3; /* of which node 0 is the first proposer */
    replica_restart(&r, &node, &saved, 0, 1, &out);
    assert_null(r.consensus);
    replica_end(&r);
    saved.consensus = (paxos_durable){.epoch = 3, .promised = 1, .accepted = 1};
    saved.consensus.value = (wme_record){.epoch = 3, .owner = 2};
    wme_out_clear(&out);
    replica_restart(&r, &node, &saved, 0, 1, &out);
    replica_save(&r, &again);
    assert_int_equal(again.consensus.epoch, 3);
    assert_int_equal(again.consensus.promised, 1);
    assert_int_equal(again.consensus.accepted, 1);
    assert_int_equal(again.consensus.value.owner, 2);
    assert_int_equal(again.rests, 0); /* it is awake */
    replica_durable_end(&again);
    assert_memory_equal(&again, &(replica_durable){0}, sizeof again); /* to be used again */
    wme_out_clear(&out);
    replica_end(&r);
}

/* Whatever was in its memory before. */
static void test_starts_anew(void **state)
{
    wme_node node = {.me = 1, .nodes = 3};
    replica r;
    (void)state;
    memset(&r, 0xff, sizeof r);
    replica_start(&r, &node, 2, 7);
    assert_null(r.consensus);
    assert_int_equal(r.chance, 7);
    assert_int_equal(r.decisions, 0);
    replica_end(&r);
}

/* One of two nodes votes for the other that has lost what it knew, and for nobody else. */
static void test_stands_in_for_no_stranger(void **state)
{
    wme_node node = {.me = 0, .nodes = 2};
    wme_out out = {.count = 0};
    wme_message prepare = {.kind = WME_PREPARE, .epoch = 1, .ballot = WME_MAX_NODES + 2};
    wme_message where = {.kind = WME_WHERE, .epoch = 5, .request = 1};
    replica r;
    (void)state;
    replica_start(&r, &node, 0, 7);
    replica_receive(&r, &node, 1, &prepare, &out);
    assert_non_null(r.consensus);
    wme_out_clear(&out);
    replica_receive(&r, &node, 0, &where, &out); /* it itself, */
    replica_receive(&r, &node, 2, &where, &out); /* and a third */
    assert_int_equal(out.count, 0);
    assert_int_equal(node.refused[WME_UNKNOWN_SENDER], 2);
    replica_end(&r);
}

void wme_replica_tests(suite *s)
{
    suite_add(s, test_last_entry_then_try, NULL, "replica: the last entry, and TRY");
    suite_add(s, test_last_slot_then_resume, NULL, "replica: the last slot, and RESUME");
    suite_add(s, test_next_user, NULL, "replica: whoever is next comes in, however one leaves");
    suite_add(s, test_last_slot_then_issue, NULL, "replica: the last slot, and an operation");
    suite_add(s, test_last_slot_is_not_yielded, NULL, "replica: the last slot is not yielded");
    suite_add(s, test_starts_anew, NULL, "replica: starts anew");
    suite_add(s, test_stands_in_for_no_stranger, NULL, "replica: stands in for no stranger");
    suite_add(s, test_least_ballot_is_restored, NULL, "replica: the least ballot is restored");
}
