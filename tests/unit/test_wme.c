/* Replicas one message at a time: what happens while nobody is suspected, and what it costs. */
#include "wme_tests.h"

#include <stdio.h>

static const uint8_t sizes[] = {2, 3, 5};

/* ---- in and out ---- */

static void test_enter_here(void **state)
{
    const uint8_t *nodes = *state;
    scene *w = scene_open(*nodes, false);
    assert_int_equal(scene_try(w, 0, 0), WME_FINE);
    assert_string_equal(scene_told(w, 0, 0), "C");
    assert_int_equal(scene_exit(w, 0, 0), WME_FINE);
    assert_string_equal(scene_told(w, 0, 0), "CR");
    scene_try(w, 0, 0);
    assert_string_equal(scene_told(w, 0, 0), "CRC");
    assert_int_equal(scene_sent(w), 0);
    scene_close(w);
}

static void test_enter_elsewhere(void **state)
{
    const uint8_t *nodes = *state;
    scene *w = scene_open(*nodes, false);
    scene_try(w, 1, 0);
    assert_string_equal(scene_told(w, 1, 0), "");
    scene_deliver(w, WME_REQUEST, 1, 0);
    scene_deliver(w, WME_GRANTED, 0, 1); /* two steps */
    assert_string_equal(scene_told(w, 1, 0), "C");
    scene_settle(w);
    assert_int_equal(w->sent[WME_REQUEST], *nodes - 1);
    assert_int_equal(w->sent[WME_GRANTED], *nodes - 1);
    assert_int_equal(scene_sent(w), 2 * (*nodes - 1));
    scene_forget_counts(w);
    scene_exit(w, 1, 0); /* nobody wants it: it stays here */
    assert_string_equal(scene_told(w, 1, 0), "CR");
    scene_try(w, 1, 0);
    assert_string_equal(scene_told(w, 1, 0), "CRC");
    assert_int_equal(scene_sent(w), 0);
    scene_close(w);
}

static void test_exit_passes_on(void **state)
{
    const uint8_t *nodes = *state;
    scene *w = scene_open(*nodes, false);
    scene_try(w, 0, 0);
    scene_try(w, 1, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 0), "");
    scene_forget_counts(w);
    scene_exit(w, 0, 0);
    assert_string_equal(scene_told(w, 0, 0), "CR"); /* at once */
    assert_int_equal(scene_stub(w, 0)->state, WME_IDLE);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    assert_true(scene_user_at(w, 1, 0)->token > scene_user_at(w, 0, 0)->token);
    assert_int_equal(scene_sent(w), *nodes - 1);
    scene_close(w);
}

static void test_fifo(void **state)
{
    scene *w = scene_open(5, false);
    static const uint8_t order[] = {3, 1, 4, 2};
    uint64_t before;
    (void)state;
    scene_try(w, 0, 0);
    before = scene_user_at(w, 0, 0)->token;
    for (int i = 0; i < 4; i++) {
        scene_try(w, order[i], 0);
        scene_settle(w);
    }
    scene_exit(w, 0, 0);
    for (int i = 0; i < 4; i++) {
        scene_settle(w);
        for (int j = 0; j < 4; j++)
            assert_string_equal(scene_told(w, order[j], 0), j < i ? "CR" : j == i ? "C" : "");
        assert_true(scene_user_at(w, order[i], 0)->token > before);
        before = scene_user_at(w, order[i], 0)->token;
        scene_exit(w, order[i], 0);
    }
    scene_close(w);
}

/* ---- many users at one node ---- */

static void test_local_users(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    for (uint8_t u = 0; u < SCENE_USERS; u++)
        scene_try(w, 0, u);
    for (uint8_t u = 0; u < SCENE_USERS; u++) {
        assert_string_equal(scene_told(w, 0, u), "C");
        if (u > 0)
            assert_true(scene_user_at(w, 0, u)->token > scene_user_at(w, 0, u - 1)->token);
        scene_exit(w, 0, u);
    }
    assert_int_equal(scene_sent(w), 0);
    scene_close(w);
}

static void test_overtaking(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    for (uint8_t u = 0; u < SCENE_USERS; u++)
        scene_try(w, 0, u);
    scene_try(w, 2, 0);
    scene_settle(w);
    for (uint8_t u = 0; u <= WME_MAX_OVERTAKING; u++) {
        assert_string_equal(scene_told(w, 0, u), "C");
        assert_string_equal(scene_told(w, 2, 0), "");
        scene_exit(w, 0, u);
        scene_settle(w);
    }
    assert_string_equal(scene_told(w, 0, WME_MAX_OVERTAKING + 1), "");
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_exit(w, 2, 0);
    scene_settle(w); /* those who were left behind have asked */
    assert_string_equal(scene_told(w, 0, WME_MAX_OVERTAKING + 1), "C");
    scene_close(w);
}

/* ---- operations ---- */

static void test_operation(void **state)
{
    const uint8_t *nodes = *state;
    scene *w = scene_open(*nodes, false);
    scene_try(w, 0, 0);
    assert_int_equal(scene_issue(w, 0, 0), WME_FINE);
    assert_int_equal(w->node[0].persists, 1); /* before INVOKE leaves */
    assert_string_equal(scene_told(w, 0, 0), "C");
    scene_settle(w);
    assert_string_equal(scene_told(w, 0, 0), "CO");
    assert_int_equal(scene_sent(w), 3 * (*nodes - 1));
    assert_int_equal(w->sent[WME_DOINVOKE], *nodes - 1);
    scene_issue(w, 0, 0);
    scene_settle(w);
    for (uint8_t i = 0; i < *nodes; i++)
        EXPECT_EXECUTED(w, i, 1, 2);
    scene_close(w);
}

static void test_operation_ack_all(void **state)
{
    const uint8_t *nodes = *state;
    scene *w = scene_open(*nodes, true);
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_deliver_every(w, WME_INVOKE, ANY, ANY); /* step 1 */
    assert_string_equal(scene_told(w, 0, 0), "C");
    scene_deliver_every(w, WME_ACK, ANY, ANY); /* step 2 */
    assert_string_equal(scene_told(w, 0, 0), "CO");
    for (uint8_t i = 0; i < *nodes; i++)
        EXPECT_EXECUTED(w, i, 1);
    assert_int_equal(scene_in_flight(w, ANY, ANY, ANY), 0);
    assert_int_equal(scene_sent(w), *nodes * (*nodes - 1));
    scene_close(w);
}

static void test_majority_is_needed(void **state)
{
    scene *w = scene_open(5, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_deliver_every(w, WME_INVOKE, 0, ANY);
    scene_deliver_copy(w, WME_ACK, 1, 0);
    scene_deliver(w, WME_ACK, 1, 0); /* the same one twice is one */
    assert_string_equal(scene_told(w, 0, 0), "C");
    scene_deliver(w, WME_ACK, 4, 0);
    assert_string_equal(scene_told(w, 0, 0), "CO");
    scene_close(w);
}

static void test_log_is_cut(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    for (uint8_t i = 0; i < 3 * WME_MAX_LOG; i++) {
        scene_issue(w, 0, 0);
        scene_settle(w);
        scene_user_at(w, 0, 0)->told[1] = 0;
    }
    scene_tick_all(w);
    for (uint8_t i = 0; i < 3; i++) {
        assert_int_equal(w->node[i].resource.count, 3 * WME_MAX_LOG);
        assert_true(scene_stub(w, i)->log_from > 3 * WME_MAX_LOG - 2); /* all have them */
    }
    assert_true(w->live_ops <= 2);
    scene_close(w);
}

/* ---- leaving, in every state ---- */

static void test_leave(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_leave(w, 0, 5); /* outside */
    scene_try(w, 0, 0);
    scene_try(w, 0, 1);
    scene_try(w, 0, 2);
    scene_try(w, 0, 3);
    scene_leave(w, 0, 2); /* between others */
    scene_leave(w, 0, 1); /* first of them */
    scene_leave(w, 0, 3); /* last of them */
    scene_try(w, 0, 4);
    scene_leave(w, 0, 0); /* inside: the next comes in */
    assert_string_equal(scene_told(w, 0, 4), "C");
    scene_issue(w, 0, 4);
    scene_leave(w, 0, 4); /* what it has issued goes its way first */
    scene_try(w, 0, 5);
    assert_string_equal(scene_told(w, 0, 5), "");
    scene_settle(w);
    assert_string_equal(scene_told(w, 0, 5), "C");
    EXPECT_EXECUTED(w, 2, 1);
    scene_exit(w, 0, 5);
    assert_int_equal(scene_stub(w, 0)->state, WME_TOKEN_HELD);
    scene_close(w);
}

static void test_leave_while_blocked(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_drop(w, ANY, ANY, ANY); /* known to node 0 alone */
    scene_suspect(w, 2, 0);
    scene_deliver(w, WME_NEWEP, 2, 0);
    scene_leave(w, 0, 0);
    scene_try(w, 0, 1);
    scene_trust(w, 2, 0);
    scene_settle(w);
    scene_tick_all(w);
    scene_tick_all(w);
    assert_int_equal(scene_stub(w, 0)->blocked, false);
    assert_string_equal(scene_told(w, 0, 1), "C");
    for (uint8_t i = 0; i < 3; i++)
        EXPECT_EXECUTED(w, i, 1);
    scene_close(w);
}

/* ---- misuse ---- */

static void test_misuse(void **state)
{
    scene *w = scene_open(3, false);
    const uint64_t *refused = w->node[0].wme.refused;
    (void)state;
    assert_int_equal(scene_exit(w, 0, 0), WME_NOT_INSIDE);
    assert_int_equal(scene_issue(w, 0, 0), WME_NOT_INSIDE);
    scene_try(w, 0, 0);
    assert_int_equal(scene_try(w, 0, 0), WME_TWICE);
    scene_try(w, 0, 1);
    assert_int_equal(scene_try(w, 0, 1), WME_TWICE);
    assert_int_equal(scene_issue(w, 0, 1), WME_NOT_INSIDE); /* it waits */
    assert_int_equal(scene_exit(w, 0, 1), WME_NOT_INSIDE);
    scene_issue(w, 0, 0);
    assert_int_equal(scene_issue(w, 0, 0), WME_NOT_INSIDE); /* one at a time */
    assert_int_equal(scene_exit(w, 0, 0), WME_NOT_INSIDE);
    scene_settle(w);
    assert_int_equal(scene_exit(w, 0, 0), WME_FINE);
    assert_int_equal(scene_exit(w, 0, 0), WME_NOT_INSIDE);
    assert_int_equal(refused[WME_TWICE], 2);
    assert_int_equal(refused[WME_NOT_INSIDE], 7);
    assert_string_equal(scene_told(w, 0, 0), "COR");
    scene_close(w);
}

static void test_misuse_while_blocked(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_suspect(w, 2, 0);
    scene_deliver(w, WME_NEWEP, 2, 0);
    assert_int_equal(scene_exit(w, 0, 0), WME_FINE);
    assert_int_equal(scene_exit(w, 0, 0), WME_NOT_INSIDE);
    assert_int_equal(scene_issue(w, 0, 0), WME_NOT_INSIDE);
    assert_int_equal(scene_try(w, 0, 0), WME_TWICE);
    scene_close(w);
}

static void test_oversized(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    wme_op *op = scene_op(w, 1);
    op->bytes = WME_MAX_OP + 1;
    assert_int_equal(replica_issue(&w->node[0].replica, &w->node[0].wme,
                                   &scene_user_at(w, 0, 0)->wme, op, &w->out),
                     WME_OVERSIZED);
    assert_int_equal(w->out.count, 0);
    assert_int_equal(op->holders, 1);
    wme_op_drop(op);
    scene_close(w);
}

/* ---- alone, and with a minority ---- */

static void test_single_node(void **state)
{
    scene *w = scene_open(1, *(const bool *)*state);
    scene_try(w, 0, 0);
    scene_try(w, 0, 1);
    scene_issue(w, 0, 0);
    assert_string_equal(scene_told(w, 0, 0), "CO");
    scene_exit(w, 0, 0);
    assert_string_equal(scene_told(w, 0, 1), "C");
    scene_issue(w, 0, 1);
    scene_tick(w, 0);
    scene_crash(w, 0);
    scene_restart(w, 0);
    assert_int_equal(scene_stub(w, 0)->blocked, false);
    assert_int_equal(scene_stub(w, 0)->now.epoch, 2);
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    EXPECT_EXECUTED(w, 0, 1, 2, 3);
    assert_int_equal(scene_sent(w), 0);
    scene_close(w);
}

static void test_suspended(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_suspect(w, 0, 1);
    assert_false(w->node[0].suspended);
    scene_suspect(w, 0, 2);
    assert_true(w->node[0].suspended);
    scene_try(w, 0, 0); /* nobody is let in, since nothing it did would count */
    assert_string_equal(scene_told(w, 0, 0), "");
    scene_trust(w, 0, 2);
    assert_false(w->node[0].suspended);
    assert_string_equal(scene_told(w, 0, 0), "C");
    scene_close(w);
}

/* Who is suspected would be ejected; it has its turn when it is trusted again. */
static void test_no_token_for_the_suspected(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_try(w, 1, 0);
    scene_try(w, 2, 0);
    scene_deliver_every(w, WME_REQUEST, ANY, 0);
    scene_suspect(w, 0, 1);
    scene_exit(w, 0, 0);
    scene_deliver_every(w, ANY, ANY, ANY);
    assert_string_equal(scene_told(w, 1, 0), "");
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_trust(w, 0, 1);
    scene_exit(w, 2, 0);
    scene_deliver_every(w, ANY, ANY, ANY);
    assert_string_equal(scene_told(w, 1, 0), "C");
    scene_exit(w, 1, 0);
    scene_suspect(w, 1, 2);
    scene_try(w, 2, 0);
    scene_deliver_every(w, ANY, ANY, ANY);
    assert_string_equal(scene_told(w, 2, 0), "CR");
    scene_trust(w, 1, 2);
    scene_deliver_every(w, ANY, ANY, ANY);
    assert_string_equal(scene_told(w, 2, 0), "CRC");
    scene_close(w);
}

/* Whoever hears that the owner is suspected, and does not suspect it, waits for either. */
static void test_owner_is_waited_for(void **state)
{
    (void)state;
    for (int speaks = 0; speaks < 2; speaks++) {
        scene *w = scene_open(5, false);
        scene_suspect(w, 2, 0);
        scene_deliver(w, WME_NEWEP, 2, 1);
        scene_deliver(w, WME_NEWEP, 2, 3);
        scene_deliver(w, WME_NEWEP, 3, 1);
        scene_tick(w, 1);
        assert_false(scene_stub(w, 1)->proposed);
        if (speaks) {
            scene_deliver(w, WME_NEWEP, 2, 0);
            scene_deliver(w, WME_NEWEP, 0, 1);
        } else {
            scene_suspect(w, 1, 0);
        }
        assert_true(scene_stub(w, 1)->proposed);
        assert_int_equal(scene_stub(w, 1)->best->owner == 0, speaks);
        scene_close(w);
    }
}

/* The same if nobody suspects it: a change that began for another reason. */
static void test_silent_owner_is_waited_for(void **state)
{
    scene *w = scene_open(5, false);
    (void)state;
    scene_crash(w, 0);
    scene_crash(w, 2);
    scene_restart(w, 2);
    scene_deliver(w, WME_NEWEP, 2, 1);
    scene_deliver(w, WME_NEWEP, 2, 3);
    scene_deliver(w, WME_NEWEP, 3, 1);
    scene_tick(w, 1);
    assert_false(scene_stub(w, 1)->proposed);
    scene_suspect(w, 1, 0);
    assert_true(scene_stub(w, 1)->proposed);
    assert_int_not_equal(scene_stub(w, 1)->best->owner, 0);
    scene_close(w);
}

/* The farthest record names an owner that this node suspects, and that does not speak. */
static void test_suspected_owner_of_the_farthest(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_deliver(w, WME_INVOKE, 0, 2);
    scene_crash(w, 0);
    scene_suspect(w, 1, 0);
    scene_deliver(w, WME_NEWEP, 1, 2);
    scene_deliver(w, WME_NEWEP, 2, 1);
    assert_true(scene_stub(w, 1)->proposed);
    assert_int_equal(scene_stub(w, 1)->best->ops, 1);
    assert_int_equal(scene_stub(w, 1)->best->owner, 1);
    scene_close(w);
}

/* Then an epoch change makes room, also in a cluster of one. */
static void test_entries_used_up(void **state)
{
    for (uint8_t nodes = 1; nodes <= 3; nodes = (uint8_t)(nodes + 2)) {
        scene *w = scene_open(nodes, false);
        (void)state;
        w->node[0].replica.stub.now.entry = (1ULL << WME_ENTRY_BITS) - 2;
        scene_try(w, 0, 0);
        uint64_t last = w->node[0].user[0].wme.token;
        scene_exit(w, 0, 0);
        scene_try(w, 0, 0);
        scene_tick_all(w);
        assert_string_equal(scene_told(w, 0, 0), "CRC");
        assert_true(w->node[0].user[0].wme.token > last);
        assert_int_equal(w->node[0].replica.stub.now.epoch, 2);
        scene_close(w);
    }
}

/* The same for slots: those of operations, and those of the token. */
static void test_slots_used_up(void **state)
{
    (void)state;
    for (uint8_t nodes = 1; nodes <= 3; nodes = (uint8_t)(nodes + 2)) {
        scene *w = scene_open(nodes, false);
        for (uint8_t i = 0; i < nodes; i++)
            scene_stub(w, i)->now.sn = (1ULL << WME_ENTRY_BITS) - 2;
        scene_try(w, 0, 0);
        for (int i = 0; i < 3; i++) {
            scene_issue(w, 0, 0);
            scene_tick_all(w);
        }
        assert_string_equal(scene_told(w, 0, 0), "COOO");
        assert_int_equal(scene_stub(w, 0)->now.epoch, 2);
        assert_int_equal(scene_stub(w, 0)->now.sn, 2);
        scene_close(w);
    }
    scene *w = scene_open(3, false);
    for (uint8_t i = 0; i < 3; i++)
        scene_stub(w, i)->now.sn = (1ULL << WME_ENTRY_BITS) - 2;
    assert_true(scene_yield(w, 0, 1)); /* the last one */
    scene_tick_all(w);
    scene_try(w, 2, 0);
    scene_tick_all(w);
    assert_string_equal(scene_told(w, 2, 0), "C");
    assert_int_equal(scene_stub(w, 2)->now.epoch, 2);
    scene_close(w);
}

/* A slot beyond the last is not made, whoever wants the token. */
static void test_no_slot_to_yield(void **state)
{
    (void)state;
    scene *w = scene_open(3, false);
    for (uint8_t i = 0; i < 3; i++)
        scene_stub(w, i)->now.sn = (1ULL << WME_ENTRY_BITS) - 1;
    assert_false(scene_yield(w, 0, 1));
    scene_close(w);
}

static void test_sizes(void **state)
{
    (void)state;
    print_message("# sizeof wme_stub %zu, paxos %zu, replica %zu, wme_message %zu, wme_out %zu\n",
                  sizeof(wme_stub), sizeof(paxos), sizeof(replica), sizeof(wme_message),
                  sizeof(wme_out));
    assert_true(sizeof(replica) <= 4096); /* of each lock; a node has many */
}

int main(void)
{
    static const bool acks[] = {false, true};
    suite s = {0};
    for (size_t i = 0; i < sizeof sizes; i++) {
        unsigned n = sizes[i];
        suite_add(&s, test_enter_here, &sizes[i], "%u nodes: in without a message", n);
        suite_add(&s, test_enter_elsewhere, &sizes[i], "%u nodes: in with 2(N-1) messages", n);
        suite_add(&s, test_exit_passes_on, &sizes[i], "%u nodes: out, and the token on", n);
        suite_add(&s, test_operation, &sizes[i], "%u nodes: an operation, WME-2", n);
        suite_add(&s, test_operation_ack_all, &sizes[i], "%u nodes: an operation, WME-1", n);
    }
    suite_add(&s, test_fifo, NULL, "nodes: first come first served");
    suite_add(&s, test_local_users, NULL, "users of one node, without a message");
    suite_add(&s, test_overtaking, NULL, "users of one node overtake another's, but not for ever");
    suite_add(&s, test_majority_is_needed, NULL, "an operation needs a majority");
    suite_add(&s, test_log_is_cut, NULL, "the log holds what some node may miss, and no more");
    suite_add(&s, test_leave, NULL, "leave: anywhere");
    suite_add(&s, test_leave_while_blocked, NULL, "leave: in an epoch change");
    suite_add(&s, test_misuse, NULL, "misuse is refused");
    suite_add(&s, test_misuse_while_blocked, NULL, "misuse in an epoch change is refused");
    suite_add(&s, test_oversized, NULL, "an operation that is too large is refused");
    suite_add(&s, test_single_node, &acks[0], "a cluster of one, WME-2");
    suite_add(&s, test_single_node, &acks[1], "a cluster of one, WME-1");
    suite_add(&s, test_no_token_for_the_suspected, NULL, "no token for who is suspected");
    suite_add(&s, test_entries_used_up, NULL, "an epoch whose entries are used up");
    suite_add(&s, test_owner_is_waited_for, NULL, "who does not suspect the owner waits for it");
    suite_add(&s, test_silent_owner_is_waited_for, NULL, "nor is one proposed that is silent");
    suite_add(&s, test_suspected_owner_of_the_farthest, NULL,
              "the farthest record names an owner that is suspected");
    suite_add(&s, test_slots_used_up, NULL, "an epoch whose slots are used up");
    suite_add(&s, test_no_slot_to_yield, NULL, "no token is given in a slot that cannot be");
    suite_add(&s, test_suspended, NULL, "in a minority nobody is let in");
    suite_add(&s, test_sizes, NULL, "sizes");
    wme_errata_tests(&s);
    wme_catchup_tests(&s);
    wme_crash_tests(&s);
    wme_refusal_tests(&s);
    wme_yield_tests(&s);
    wme_resume_tests(&s);
    wme_rejoin_tests(&s);
    wme_outside_tests(&s);
    wme_rest_tests(&s);
    wme_replica_tests(&s);
    wme_random_tests(&s);
    return suite_run(&s, "wme");
}
