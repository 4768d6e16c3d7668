/* A scene for each erratum 17 to 31 in which the paper as printed goes wrong. */
#include "wme_tests.h"

void scene_depose_0(scene *w)
{
    for (uint8_t i = 1; i < w->nodes; i++)
        scene_suspect(w, i, 0);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 1)->now.epoch, 2);
    assert_int_equal(scene_stub(w, 1)->now.owner, 1);
}

/* ---- safety ---- */

/* An operation accepted but not executed is executed by the decision. */
static void erratum_17(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_deliver_every(w, WME_INVOKE, 0, ANY);
    scene_drop(w, WME_ACK, ANY, ANY);
    scene_depose_0(w);
    for (uint8_t i = 0; i < 3; i++)
        EXPECT_EXECUTED(w, i, 1);
    assert_string_equal(scene_told(w, 0, 0), "COE"); /* the outcome first */
    scene_close(w);
}

/* And one that the decision does not know is executed nowhere. */
static void erratum_17_unknown(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_drop(w, WME_INVOKE, ANY, ANY);
    scene_suspect(w, 1, 0);
    scene_suspect(w, 2, 0);
    scene_drop(w, WME_NEWEP, 0, ANY);
    scene_deliver(w, WME_NEWEP, 2, 1);
    scene_deliver_every(w, WME_ACCEPT, ANY, 2);
    scene_deliver_every(w, WME_ACCEPTED, ANY, ANY);
    scene_settle(w);
    assert_string_equal(scene_told(w, 0, 0), "CE");
    scene_try(w, 2, 0);
    scene_settle(w);
    scene_issue(w, 2, 0);
    scene_settle(w);
    for (uint8_t i = 0; i < 3; i++)
        EXPECT_EXECUTED(w, i, 2);
    scene_close(w);
}

/* A slot that overtakes the news that the one before was acknowledged. */
static void erratum_18(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 1, 0);
    scene_settle(w);
    scene_issue(w, 1, 0);
    scene_deliver_every(w, WME_INVOKE, ANY, ANY);
    scene_deliver_every(w, WME_ACK, ANY, ANY);
    scene_issue(w, 1, 0);
    scene_deliver(w, WME_INVOKE, 1, 2);
    EXPECT_EXECUTED(w, 2, 1);
    scene_deliver(w, WME_ACK, 2, 1);
    scene_try(w, 0, 0);
    scene_deliver(w, WME_REQUEST, 0, 1);
    scene_exit(w, 1, 0);
    scene_deliver(w, WME_GRANTED, 1, 2);
    EXPECT_EXECUTED(w, 2, 1, 2);
    scene_settle(w); /* the late news change nothing */
    for (uint8_t i = 0; i < 3; i++)
        EXPECT_EXECUTED(w, i, 1, 2);
    scene_close(w);
}

/* Who held the token when another was elected does not hold it any more. */
static void erratum_19(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_depose_0(w);
    assert_int_equal(scene_stub(w, 0)->state, WME_IDLE);
    scene_try(w, 1, 0);
    scene_try(w, 0, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    assert_string_equal(scene_told(w, 0, 0), "");
    scene_close(w);
}

/* The token is given away when GRANTED is sent, not when the own copy comes round. */
static void erratum_20(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_try(w, 1, 0);
    scene_deliver_every(w, WME_REQUEST, ANY, ANY);
    scene_exit(w, 0, 0); /* GRANTED is on its way */
    assert_int_equal(scene_stub(w, 0)->now.sn, 1);
    assert_int_equal(scene_stub(w, 0)->now.owner, 1);
    scene_suspect(w, 2, 0);
    scene_deliver(w, WME_NEWEP, 2, 0); /* a majority without 1, and without a copy of GRANTED */
    scene_drop(w, WME_GRANTED, ANY, ANY);
    scene_settle(w);
    scene_tick_all(w);
    assert_int_equal(scene_stub(w, 0)->now.granted[1], 1);
    assert_int_equal(scene_stub(w, 2)->now.owner, 1);
    assert_string_equal(scene_told(w, 1, 0), "C");
    scene_close(w);
}

/* What one node takes for decided is decided, even if that node dies of it. */
static void erratum_21(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 1, 0);
    scene_drop(w, WME_REQUEST, ANY, ANY);
    scene_suspect(w, 1, 0);
    scene_suspect(w, 2, 0);
    scene_deliver(w, WME_NEWEP, 2, 1); /* it proposes, and nobody knows */
    assert_int_equal(scene_in_flight(w, WME_ACCEPT, 1, ANY), 2);
    assert_int_equal(scene_stub(w, 1)->now.epoch, 1);
    assert_string_equal(scene_told(w, 1, 0), "");
    scene_crash(w, 1);
    scene_drop(w, ANY, 1, ANY);
    scene_trust(w, 2, 0);
    scene_suspect(w, 2, 1);
    for (int i = 0; i < 20; i++)
        scene_tick_all(w);
    assert_int_equal(scene_stub(w, 2)->now.epoch, 2);
    assert_int_not_equal(scene_stub(w, 2)->now.owner, 1);
    scene_close(w);
}

/* ---- liveness and form ---- */

/* A request that was granted to who could not take it is made again, under a number of its own. */
static void erratum_22(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 2, 0);
    scene_deliver(w, WME_REQUEST, 2, 0);
    scene_deliver(w, WME_GRANTED, 0, 1);
    scene_drop(w, ANY, ANY, ANY); /* 2 does not hear that it has the token */
    scene_suspect(w, 1, 2);
    scene_trust(w, 1, 2);
    scene_deliver(w, WME_NEWEP, 1, 0);
    scene_deliver(w, WME_NEWEP, 0, 1);
    scene_settle(w);
    for (int i = 0; i < 3; i++)
        scene_tick_all(w);
    assert_int_equal(scene_stub(w, 1)->now.epoch, 2);
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_close(w);
}

/* Who was elected while it asked was granted what it asked for, in everybody's eyes. */
static void erratum_23(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_try(w, 1, 0);
    scene_try(w, 2, 0);
    scene_settle(w);
    scene_crash(w, 0);
    scene_depose_0(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    scene_exit(w, 1, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_exit(w, 2, 0);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 2)->state, WME_TOKEN_HELD); /* not back to 1 */
    assert_int_equal(scene_stub(w, 1)->now.owner, 2);
    scene_close(w);
}

/* A grant that nobody waits for any more goes on to who does. */
static void erratum_24(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_try(w, 1, 0);
    scene_settle(w);
    scene_try(w, 2, 0);
    scene_settle(w);
    scene_leave(w, 1, 0);
    scene_exit(w, 0, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_exit(w, 2, 0);
    scene_try(w, 1, 0);
    scene_deliver(w, WME_REQUEST, 1, 2);
    scene_leave(w, 1, 0);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 1)->state, WME_TOKEN_HELD); /* or stays, ready for all */
    scene_try(w, 0, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 0, 0), "CRC");
    scene_close(w);
}

/* Who keeps the token over a change of epoch sees who has asked for it. */
static void erratum_25(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 2, 0);
    scene_deliver(w, WME_REQUEST, 2, 1);
    scene_drop(w, WME_REQUEST, 2, 0);
    scene_suspect(w, 2, 0);
    scene_trust(w, 2, 0);
    scene_deliver(w, WME_NEWEP, 2, 1); /* who does not suspect 0, proposes it */
    scene_settle(w);
    assert_int_equal(scene_stub(w, 0)->now.epoch, 2);
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_close(w);
}

/* Slots that come in the wrong order. */
static void erratum_26(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_try(w, 1, 0);
    scene_deliver_every(w, WME_REQUEST, ANY, ANY);
    scene_issue(w, 0, 0);
    scene_deliver(w, WME_INVOKE, 0, 1);
    scene_deliver(w, WME_ACK, 1, 0);
    scene_exit(w, 0, 0);
    scene_deliver(w, WME_DOINVOKE, 0, 2);
    scene_deliver(w, WME_GRANTED, 0, 2); /* both before their INVOKE */
    assert_int_equal(scene_stub(w, 2)->now.sn, 0);
    scene_deliver(w, WME_INVOKE, 0, 2);
    assert_int_equal(scene_stub(w, 2)->now.sn, 2);
    EXPECT_EXECUTED(w, 2, 1);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    scene_close(w);
}

/* An acknowledgement that comes before what it is for. */
static void erratum_26_ack(void **state)
{
    scene *w = scene_open(5, true);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_deliver(w, WME_INVOKE, 0, 1);
    scene_deliver(w, WME_ACK, 1, 4);
    scene_deliver(w, WME_INVOKE, 0, 4); /* 0, 1 and itself */
    EXPECT_EXECUTED(w, 4, 1);
    scene_close(w);
}

/* A message of the next epoch. */
static void erratum_26_epoch(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_suspect(w, 1, 0);
    scene_suspect(w, 2, 0);
    scene_deliver(w, WME_NEWEP, 2, 1);
    scene_deliver(w, WME_ACCEPT, 1, 2);
    scene_deliver(w, WME_ACCEPTED, 2, 1); /* 1 is the owner in epoch 2 */
    scene_deliver(w, WME_DECIDED, 1, 2);
    scene_try(w, 2, 0);
    scene_deliver(w, WME_REQUEST, 2, 1);
    scene_deliver(w, WME_REQUEST, 2, 0);
    scene_deliver(w, WME_GRANTED, 1, 0);
    scene_drop(w, WME_SYNC, 0, ANY);
    scene_deliver(w, WME_DECIDED, 1, 0);
    assert_int_equal(scene_stub(w, 0)->now.epoch, 2);
    assert_int_equal(scene_stub(w, 0)->now.owner, 2);
    assert_int_equal(scene_stub(w, 0)->now.sn, 1);
    scene_close(w);
}

/* Two equal records of two nodes are two; two of one are one. */
static void erratum_27(void **state)
{
    scene *w = scene_open(5, false);
    (void)state;
    scene_suspect(w, 2, 0);
    scene_deliver(w, WME_NEWEP, 2, 1);
    scene_tick(w, 2);
    scene_deliver(w, WME_NEWEP, 2, 1);
    assert_false(scene_stub(w, 1)->proposed);
    scene_deliver(w, WME_NEWEP, 2, 0);
    scene_deliver(w, WME_NEWEP, 0, 1); /* says what 1 says: 0 is the owner, nothing happened */
    assert_true(scene_stub(w, 1)->proposed);
    scene_close(w);
}

/* The elected owner was suspected before it was elected. */
static void erratum_28(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 2, 0);
    scene_drop(w, WME_REQUEST, ANY, ANY);
    scene_crash(w, 2);
    scene_restart(w, 2);
    scene_try(w, 2, 0);
    scene_deliver(w, WME_NEWEP, 2, 0);
    scene_deliver(w, WME_NEWEP, 0, 1); /* 1 proposes that 0 stays */
    assert_true(scene_stub(w, 1)->proposed);
    scene_crash(w, 0);
    scene_suspect(w, 1, 0);
    scene_suspect(w, 2, 0);
    scene_settle(w);
    assert_true(scene_stub(w, 1)->now.epoch > 2);
    assert_int_not_equal(scene_stub(w, 1)->now.owner, 0);
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_close(w);
}

/* Who wished to go has gone. */
static void erratum_29(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_suspect(w, 1, 0);
    scene_suspect(w, 2, 0);
    scene_deliver(w, WME_NEWEP, 1, 0);
    scene_exit(w, 0, 0);
    assert_string_equal(scene_told(w, 0, 0), "C"); /* it waits for the decision */
    scene_settle(w);
    assert_int_equal(scene_stub(w, 0)->now.owner, 1);
    assert_string_equal(scene_told(w, 0, 0), "CR");
    scene_close(w);
}

/* A node that suspects nobody follows another's suspicion, and counts the message that says it. */
static void erratum_30(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_suspect(w, 2, 0);
    assert_int_equal(scene_in_flight(w, WME_NEWEP, 2, ANY), 2); /* by suspicion alone */
    scene_deliver(w, WME_NEWEP, 2, 1);
    assert_int_equal(scene_in_flight(w, WME_NEWEP, 1, ANY), 2);
    assert_int_equal(scene_stub(w, 1)->gathered, 1 << 1 | 1 << 2);
    scene_suspect(w, 1, 0);
    assert_int_equal(scene_in_flight(w, WME_ACCEPT, 1, ANY), 2);
    scene_close(w);
}

/* The proposal is one node's record as a whole, not one's slots with another's requests. */
static void erratum_31(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 2, 0);
    scene_deliver_every(w, WME_REQUEST, ANY, ANY);
    scene_deliver(w, WME_GRANTED, 0, 2); /* 1 thinks that 2 still asks */
    scene_drop(w, WME_GRANTED, 0, 1);
    scene_suspect(w, 1, 0);
    scene_deliver(w, WME_NEWEP, 1, 2);
    scene_deliver(w, WME_NEWEP, 2, 1);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 1)->now.epoch, 2);
    for (uint8_t i = 0; i < 3; i++) {
        assert_int_equal(scene_stub(w, i)->now.owner, 2);
        assert_int_equal(scene_stub(w, i)->now.granted[2], 1);
        assert_int_equal(scene_stub(w, i)->now.queued, 0);
    }
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_close(w);
}

/* The epoch comes first in what numbers the stays. */
static void erratum_31_token(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    for (uint8_t u = 0; u < 5; u++)
        scene_try(w, 0, u);
    for (uint8_t u = 0; u < 4; u++)
        scene_exit(w, 0, u);
    scene_depose_0(w);
    scene_try(w, 1, 0);
    assert_string_equal(scene_told(w, 0, 4), "CE");
    assert_string_equal(scene_told(w, 1, 0), "C");
    assert_true(scene_user_at(w, 1, 0)->token > scene_user_at(w, 0, 4)->token);
    scene_close(w);
}

void wme_errata_tests(suite *s)
{
    static const struct {
        CMUnitTestFunction run;
        const char *name;
    } errata[] = {
        {erratum_17, "17: accepted is not executed"},
        {erratum_17_unknown, "17: what the decision does not know is executed nowhere"},
        {erratum_18, "18: a slot overtakes"},
        {erratum_19, "19: the token is not held by two"},
        {erratum_20, "20: the local effect comes at once"},
        {erratum_21, "21: agreement is uniform"},
        {erratum_22, "22: asked again"},
        {erratum_23, "23: elected while asking"},
        {erratum_24, "24: a stale grant goes on"},
        {erratum_25, "25: the queue is served"},
        {erratum_26, "26: early slots"},
        {erratum_26_ack, "26: an early acknowledgement"},
        {erratum_26_epoch, "26: messages of the next epoch"},
        {erratum_27, "27: records are counted by sender"},
        {erratum_28, "28: suspicion is a level"},
        {erratum_29, "29: an exit that waits"},
        {erratum_30, "30: what triggers"},
        {erratum_31, "31: the proposal is one record"},
        {erratum_31_token, "31: the epoch comes first"},
    };
    for (size_t i = 0; i < sizeof errata / sizeof *errata; i++)
        suite_add(s, errata[i].run, NULL, "erratum %s", errata[i].name);
}
