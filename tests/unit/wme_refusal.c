/*
 * What cannot be is refused: nothing changes, nothing is said, and it is counted. The scene is one
 * in which everything is possible: node 0 is inside, node 1 has the last operation open, and all
 * the messages below are said to node 1.
 */
#include "wme_tests.h"

#include <string.h>

static const uint64_t slot_beyond = 1ULL << WME_ENTRY_BITS;

static scene *open_scene(void)
{
    scene *w = scene_open(3, false);
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_settle(w);
    scene_issue(w, 0, 0);
    scene_deliver(w, WME_INVOKE, 0, 1);
    scene_drop(w, ANY, ANY, ANY);
    assert_int_equal(scene_stub(w, 1)->now.ops, 2);
    assert_int_equal(scene_stub(w, 1)->executed, 1);
    return w;
}

static void expect_refused(scene *w, uint8_t from, const wme_message *m, wme_refusal why)
{
    scene_node *n = &w->node[1];
    wme_stub before = n->replica.stub;
    uint64_t refused = n->wme.refused[why];
    scene_forge(w, from, 1, m);
    assert_int_equal(n->wme.refused[why], refused + 1);
    assert_memory_equal(&n->replica.stub, &before, sizeof before);
    assert_int_equal(w->count, 0);
}

/* ---- senders and numbers, in every kind ---- */

/* A message of that kind that is refused for no reason of its own. */
static wme_message sane(scene *w, wme_kind kind)
{
    const wme_record *now = &scene_stub(w, 1)->now;
    wme_message m = {.kind = kind, .epoch = 1, .sn = 2, .request = 1, .ballot = 3};
    m.op = now->last;
    m.record = *now;
    m.accepted = 1;
    m.executed = 1;
    return m;
}

static void test_senders(void **state)
{
    scene *w = open_scene();
    (void)state;
    for (int kind = 0; kind < WME_KINDS; kind++) {
        wme_message m = sane(w, (wme_kind)kind);
        expect_refused(w, 1, &m, WME_UNKNOWN_SENDER);
        expect_refused(w, 3, &m, WME_UNKNOWN_SENDER);
        expect_refused(w, 255, &m, WME_UNKNOWN_SENDER);
    }
    scene_close(w);
}

static void test_numbers(void **state)
{
    scene *w = open_scene();
    (void)state;
    for (int kind = 0; kind < WME_KINDS; kind++) {
        wme_message m = sane(w, (wme_kind)kind);
        m.epoch = m.record.epoch = 0;
        if (kind != WME_WHERE) /* who says it may not know any */
            expect_refused(w, 0, &m, WME_ABSURD_EPOCH);
        m.epoch = m.record.epoch = WME_MAX_EPOCH + 1;
        expect_refused(w, 0, &m, WME_ABSURD_EPOCH);
        m = sane(w, (wme_kind)kind);
        m.sn = slot_beyond;
        expect_refused(w, 0, &m, WME_MALFORMED);
        m = sane(w, (wme_kind)kind);
        m.entry = slot_beyond;
        expect_refused(w, 0, &m, WME_MALFORMED);
        m = sane(w, (wme_kind)kind);
        m.to = 3;
        expect_refused(w, 0, &m, WME_MALFORMED);
        m = sane(w, (wme_kind)kind);
        m.executed = UINT64_MAX;
        expect_refused(w, 0, &m, WME_MALFORMED);
        m = sane(w, (wme_kind)kind);
        m.request = UINT64_MAX;
        expect_refused(w, 0, &m, WME_MALFORMED);
    }
    wme_message m = sane(w, WME_KINDS);
    expect_refused(w, 0, &m, WME_MALFORMED);
    m = sane(w, (wme_kind)200);
    expect_refused(w, 0, &m, WME_MALFORMED);
    scene_close(w);
}

/* ---- records, in every kind that has one ---- */

static void no_such_owner(wme_record *r)
{
    r->owner = 3;
}

static void another_epoch(wme_record *r)
{
    r->epoch++;
}

static void queue_too_long(wme_record *r)
{
    r->queued = 4;
}

static void twice_in_queue(wme_record *r)
{
    r->queued = 2;
    r->queue[0] = r->queue[1] = 2;
}

static void nobody_in_queue(wme_record *r)
{
    r->queued = 1;
    r->queue[0] = 3;
}

static void slot_not_made_yet(wme_record *r)
{
    r->op_sn = r->sn + 1;
}

static void too_many_slots(wme_record *r)
{
    r->sn = r->op_sn = slot_beyond;
}

static void too_many_entries(wme_record *r)
{
    r->entry = slot_beyond;
}

static void no_last(wme_record *r)
{
    r->last = NULL;
}

static void no_operations(wme_record *r)
{
    r->ops = 0;
}

static void absurd_operations(wme_record *r)
{
    r->ops = UINT64_MAX;
}

static void absurd_grant(wme_record *r)
{
    r->granted[1] = UINT64_MAX;
}

static void absurd_grant_to_the_first(wme_record *r)
{
    r->granted[0] = UINT64_MAX / 2 + 1;
}

static void absurd_request_of_the_first(wme_record *r)
{
    r->asked[0] = UINT64_MAX / 2 + 1;
}

static void first_twice_in_queue(wme_record *r)
{
    r->queued = 3;
    r->queue[0] = r->queue[2] = 0;
    r->queue[1] = 1;
}

static void nobody_last_in_queue(wme_record *r)
{
    r->queued = 2;
    r->queue[0] = 0;
    r->queue[1] = 3;
}

static void absurd_request(wme_record *r)
{
    r->queued = 1;
    r->queue[0] = 2;
    r->asked[2] = UINT64_MAX;
}

static void test_records(void **state)
{
    static const wme_kind kinds[] = {WME_NEWEP, WME_STATE, WME_PROMISE, WME_ACCEPT, WME_DECIDED};
    static void (*const damage[])(wme_record * r) = {
        no_such_owner,
        another_epoch,
        queue_too_long,
        twice_in_queue,
        nobody_in_queue,
        slot_not_made_yet,
        too_many_slots,
        no_last,
        no_operations,
        too_many_entries,
        absurd_operations,
        absurd_grant,
        absurd_request,
        absurd_grant_to_the_first,
        absurd_request_of_the_first,
        first_twice_in_queue,
        nobody_last_in_queue,
    };
    scene *w = open_scene();
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t d = 0; d < sizeof damage / sizeof *damage; d++) {
            wme_message m = sane(w, kinds[k]);
            damage[d](&m.record);
            expect_refused(w, 0, &m, WME_MALFORMED);
        }
        wme_message m = sane(w, kinds[k]);
        m.record.last->bytes = WME_MAX_OP + 1;
        expect_refused(w, 0, &m, WME_OVERSIZED);
        m.record.last->bytes = sizeof(uint64_t);
        m.record.last->origin = 3;
        expect_refused(w, 0, &m, WME_MALFORMED);
        m.record.last->origin = 0;
    }
    scene_close(w);
}

/* ---- operations ---- */

static void test_operations(void **state)
{
    scene *w = open_scene();
    wme_message m = sane(w, WME_INVOKE);
    (void)state;
    m.sn = 3;
    m.op = NULL;
    expect_refused(w, 0, &m, WME_MALFORMED);
    m.op = scene_op(w, 9);
    m.op->bytes = WME_MAX_OP + 1;
    expect_refused(w, 0, &m, WME_OVERSIZED);
    m.op->bytes = WME_MAX_OP;
    m.op->origin = 3; /* a node that is not there */
    expect_refused(w, 0, &m, WME_MALFORMED);
    wme_op_drop(m.op);
    scene_close(w);
}

/* ---- STATE ---- */

/* Node 0 is at slot 3, and node 1 has two operations to catch up with. */
static wme_message sane_state(scene *w, wme_op *op)
{
    wme_message m = sane(w, WME_STATE);
    m.record.sn = m.record.op_sn = 3;
    m.record.ops = m.executed = 3;
    m.record.last = op;
    m.count = 2;
    m.ops[0] = scene_stub(w, 1)->now.last;
    m.ops[1] = op;
    return m;
}

static void test_states(void **state)
{
    scene *w = open_scene();
    wme_op *op = scene_op(w, 3);
    wme_message m = sane_state(w, op);
    (void)state;
    m.count = WME_MAX_LOG + 1;
    expect_refused(w, 0, &m, WME_MALFORMED);
    m = sane_state(w, op);
    m.count = 4; /* more than were ever executed */
    expect_refused(w, 0, &m, WME_MALFORMED);
    m = sane_state(w, op);
    m.record.ops = 2; /* fewer than were executed */
    expect_refused(w, 0, &m, WME_MALFORMED);
    m.record.ops = 5; /* two of them open */
    expect_refused(w, 0, &m, WME_MALFORMED);
    m.record.ops = 4; /* one open, but not in the last slot */
    m.record.sn = 4;
    expect_refused(w, 0, &m, WME_MALFORMED);
    m = sane_state(w, op);
    m.record.ops = 4; /* open, and not there */
    m.record.op_sn = 0;
    m.record.last = NULL;
    expect_refused(w, 0, &m, WME_MALFORMED);
    m = sane_state(w, op);
    m.ops[1] = NULL;
    expect_refused(w, 0, &m, WME_MALFORMED);
    m = sane_state(w, op);
    op->bytes = WME_MAX_OP + 1;
    m.record.last = NULL;
    m.record.op_sn = 0;
    expect_refused(w, 0, &m, WME_OVERSIZED);
    op->bytes = sizeof(uint64_t);
    op->origin = 3;
    expect_refused(w, 0, &m, WME_MALFORMED);
    op->origin = 0;
    m = sane_state(w, op);
    m.snapshot = true; /* and no resource */
    expect_refused(w, 0, &m, WME_MALFORMED);
    m = sane_state(w, op);
    m.record.ops = 4; /* an open operation by node 1 itself, which knows of none */
    m.record.owner = 1;
    expect_refused(w, 0, &m, WME_MALFORMED);
    m = sane_state(w, op); /* and as it should be, it is taken */
    scene_forge(w, 0, 1, &m);
    EXPECT_EXECUTED(w, 1, 1, 2, 3);
    wme_op_drop(op);
    scene_close(w);
}

/* ---- who may say what ---- */

static void test_not_the_owner(void **state)
{
    scene *w = open_scene();
    wme_message m = {.kind = WME_GRANTED, .epoch = 1, .sn = 3, .to = 2, .request = 1};
    (void)state;
    expect_refused(w, 2, &m, WME_NOT_THE_OWNER);
    m.to = 1;
    expect_refused(w, 2, &m, WME_NOT_THE_OWNER);
    m = sane(w, WME_INVOKE);
    m.sn = 3;
    expect_refused(w, 2, &m, WME_NOT_THE_OWNER);
    scene_try(w, 1, 0);
    scene_settle(w);
    scene_tick_all(w);
    scene_exit(w, 0, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    wme_op *op = scene_op(w, 3);
    m = sane_state(w, op); /* slots that another makes while node 1 has the token */
    m.record.sn = m.record.op_sn = 9;
    expect_refused(w, 2, &m, WME_NOT_THE_OWNER);
    m = (wme_message){.kind = WME_GRANTED, .epoch = 1, .sn = 4, .to = 2, .request = 1};
    expect_refused(w, 0, &m, WME_NOT_THE_OWNER);
    wme_op_drop(op);
    scene_close(w);
}

/* The fencing number never goes back. */
static void test_entry_goes_back(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    for (uint8_t u = 0; u < 3; u++) {
        scene_try(w, 0, u);
        scene_exit(w, 0, u);
    }
    scene_try(w, 2, 0);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 1)->now.entry, 3);
    wme_message m = {.kind = WME_GRANTED, .epoch = 1, .sn = 2, .to = 1, .request = 1, .entry = 2};
    expect_refused(w, 2, &m, WME_MALFORMED);
    scene_close(w);
}

/* A decision that takes back what was executed. */
static void test_decision_goes_back(void **state)
{
    scene *w = open_scene();
    (void)state;
    wme_message m = sane(w, WME_DECIDED);
    m.record.sn = m.record.op_sn = m.record.ops = 0;
    m.record.last = NULL;
    expect_refused(w, 0, &m, WME_MALFORMED);
    scene_close(w);
}

/* When all epochs are used up there is no further one, and so no fencing number that goes back. */
static void test_no_epoch_left(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    wme_message m = {.kind = WME_STATE, .epoch = WME_MAX_EPOCH};
    m.record.epoch = WME_MAX_EPOCH;
    for (uint8_t i = 0; i < 3; i++)
        scene_forge(w, (uint8_t)((i + 1) % 3), i, &m);
    scene_try(w, 0, 0);
    assert_string_equal(scene_told(w, 0, 0), "C"); /* the last one is as good as any */
    scene_suspect(w, 1, 0);
    scene_suspect(w, 2, 0);
    scene_settle(w);
    for (uint8_t i = 0; i < 3; i++) {
        assert_int_equal(scene_stub(w, i)->now.epoch, WME_MAX_EPOCH);
        assert_true(w->node[i].wme.refused[WME_ABSURD_EPOCH] > 0);
    }
    scene_close(w);
}

/* ---- everything once more ---- */

static void test_replay(void **state)
{
    scene *w = scene_open(3, *(const bool *)*state);
    w->keeps = true;
    scene_try(w, 0, 0);
    scene_try(w, 1, 0);
    scene_issue(w, 0, 0);
    scene_settle(w);
    scene_exit(w, 0, 0);
    scene_settle(w);
    scene_issue(w, 1, 0);
    scene_settle(w);
    scene_suspect(w, 0, 1);
    scene_suspect(w, 2, 1);
    scene_settle(w);
    scene_trust(w, 0, 1);
    scene_trust(w, 2, 1);
    scene_settle(w);
    wme_stub before[3];
    for (uint8_t i = 0; i < 3; i++)
        before[i] = *scene_stub(w, i);
    scene_replay(w);
    for (uint8_t i = 0; i < 3; i++) {
        const wme_stub *after = scene_stub(w, i);
        assert_memory_equal(&after->now, &before[i].now, sizeof after->now);
        assert_int_equal(after->executed, before[i].executed);
        assert_int_equal(after->state, before[i].state);
        assert_int_equal(after->blocked, before[i].blocked);
        EXPECT_EXECUTED(w, i, 1, 2);
    }
    assert_string_equal(scene_told(w, 0, 0), "COR");
    assert_string_equal(scene_told(w, 1, 0), "COE");
    scene_close(w);
}

void wme_refusal_tests(suite *s)
{
    static const bool no = false, yes = true;
    suite_add(s, test_senders, NULL, "refused: senders that are not there, or are oneself");
    suite_add(s, test_numbers, NULL, "refused: numbers that cannot be");
    suite_add(s, test_records, NULL, "refused: records that cannot be");
    suite_add(s, test_operations, NULL, "refused: operations that cannot be");
    suite_add(s, test_states, NULL, "refused: states that cannot be");
    suite_add(s, test_not_the_owner, NULL, "refused: slots of who has no token");
    suite_add(s, test_entry_goes_back, NULL, "refused: a fencing number that goes back");
    suite_add(s, test_decision_goes_back, NULL, "refused: a decision that goes back");
    suite_add(s, test_no_epoch_left, NULL, "refused: an epoch beyond the last");
    suite_add(s, test_replay, &no, "everything once more, WME-2");
    suite_add(s, test_replay, &yes, "everything once more, WME-1");
}
