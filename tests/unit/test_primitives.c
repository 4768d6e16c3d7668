/*
 * The strong primitives of lecture-10, section 10.1: load-link and store-conditional notice what
 * compare-and-swap cannot, and what consensus can be built from which primitive. All outcomes of
 * small programs, under both memory models.
 */
#define BATON_REG_SHORT_NAMES
#include "outcomes.h"
#include "unit.h"

#include <stdio.h>

enum { MAX = 4 };

typedef struct table {
    baton_reg plain;
    baton_linked linked;
    baton_reg go, over;      /* who may move in the ABA run */
    baton_reg proposal[MAX]; /* of each process */
    baton_reg decision;
    baton_word decided; /* each process's own */
    baton_word stored;
} table;

static void init(void *memory, uint32_t processes, baton_waiting waiting)
{
    table *at = memory;
    (void)processes, (void)waiting;
    reg_init(&at->plain, 0);
    reg_init(&at->linked.word, 0);
    reg_init(&at->go, 0);
    reg_init(&at->over, 0);
    for (int i = 0; i < MAX; i++)
        reg_init(&at->proposal[i], 0);
    reg_init(&at->decision, 0);
}

/*
 * ---- ABA: process 1 changes the value and changes it back while process 0 is about to store ----
 */

/* Process 0 has read; lets process 1 do its work. */
static void let_other_work(table *at)
{
    reg_write(&at->go, 1, release);
    reg_await(BATON_SPIN, NULL, reg_read(&at->over, acquire) == 1);
}

static void aba_by_cas(void *memory, uint32_t lock, uint32_t p)
{
    table *at = memory;
    (void)lock;
    if (p == 0) {
        baton_word seen = reg_read(&at->plain, relaxed);
        let_other_work(at);
        at->stored = reg_cas(&at->plain, seen, 7, acq_rel);
    } else {
        reg_await(BATON_SPIN, NULL, reg_read(&at->go, acquire) == 1);
        reg_cas(&at->plain, 0, 5, acq_rel);
        reg_cas(&at->plain, 5, 0, acq_rel);
        reg_write(&at->over, 1, release);
    }
}

static void aba_by_link(void *memory, uint32_t lock, uint32_t p)
{
    table *at = memory;
    (void)lock;
    if (p == 0) {
        baton_link seen = baton_load_link(&at->linked, relaxed);
        let_other_work(at);
        at->stored = baton_store_conditional(&at->linked, seen, 7, acq_rel);
    } else {
        reg_await(BATON_SPIN, NULL, reg_read(&at->go, acquire) == 1);
        baton_link link = baton_load_link(&at->linked, relaxed);
        baton_store_conditional(&at->linked, link, 5, acq_rel);
        link = baton_load_link(&at->linked, relaxed);
        baton_store_conditional(&at->linked, link, 0, acq_rel);
        reg_write(&at->over, 1, release);
    }
}

static void alone_by_link(void *memory, uint32_t lock, uint32_t p)
{
    table *at = memory;
    (void)lock, (void)p;
    baton_link seen = baton_load_link(&at->linked, relaxed);
    at->stored = baton_store_conditional(&at->linked, seen, 7, acq_rel);
    at->decided = baton_link_value(baton_load_link(&at->linked, relaxed));
}

typedef struct tally {
    uint32_t processes;
    uint32_t outcomes;
    uint32_t stored;    /* outcomes in which process 0 has stored */
    uint32_t disagreed; /* in which two decided differently */
    uint32_t invalid;   /* in which somebody decided what nobody proposed */
} tally;

static const table *own(const baton_check_outcome *end, uint32_t p)
{
    return end->own[p];
}

static void count(const baton_check_outcome *end, void *context)
{
    tally *t = context;
    baton_word first = own(end, 0)->decided;
    bool disagreed = false;
    bool invalid = false;
    for (uint32_t p = 0; p < t->processes; p++) {
        baton_word decided = own(end, p)->decided;
        disagreed = disagreed || decided != first;
        invalid = invalid || decided < 1 || decided > t->processes;
    }
    t->outcomes++;
    t->stored += own(end, 0)->stored != 0;
    t->disagreed += disagreed;
    t->invalid += invalid;
}

static tally run(body *program, uint32_t processes, bool c11, uint32_t *steps)
{
    tally t = {.processes = processes};
    *steps = each_outcome(sizeof(table), init, program, processes, c11, count, &t);
    assert_true(t.outcomes > 0);
    return t;
}

static void test_aba(void **state)
{
    uint32_t steps;
    (void)state;
    for (int c11 = 0; c11 < 2; c11++) {
        tally cas = run(aba_by_cas, 2, c11 != 0, &steps);
        assert_int_equal(cas.stored, cas.outcomes); /* fooled, every time */
        assert_int_equal(run(aba_by_link, 2, c11 != 0, &steps).stored, 0);
        tally alone = run(alone_by_link, 1, c11 != 0, &steps);
        assert_int_equal(alone.stored, alone.outcomes); /* and without cause it does not fail */
    }
}

static void test_link(void **state)
{
    (void)state;
    baton_link link = 0;
    for (baton_word i = 1; i <= 1000; i++) {
        baton_link next = baton_link_next(link, i % 3);
        assert_int_equal(baton_link_value(next), i % 3);
        assert_true(next != link);
        link = next;
    }
    assert_int_equal(baton_link_value(baton_link_next(~(baton_link)0, 9)), 9); /* wraps around */
}

/* ---- consensus: process p proposes p + 1 ---- */

/* Who wins the test-and-set decides; who loses takes the proposal of the other. */
static void consensus_by_tas(void *memory, uint32_t lock, uint32_t p)
{
    table *at = memory;
    (void)lock;
    reg_write(&at->proposal[p], p + 1, relaxed);
    if (!baton_reg_test_and_set(&at->decision, acq_rel))
        at->decided = p + 1;
    else
        at->decided = reg_read(&at->proposal[1 - p], relaxed);
}

/* The same for three: who loses cannot tell which of the others has won, and takes who is there. */
static void consensus_by_tas_for_three(void *memory, uint32_t lock, uint32_t p)
{
    table *at = memory;
    (void)lock;
    reg_write(&at->proposal[p], p + 1, relaxed);
    if (!baton_reg_test_and_set(&at->decision, acq_rel)) {
        at->decided = p + 1;
        return;
    }
    at->decided = reg_read(&at->proposal[(p + 1) % 3], relaxed);
    if (at->decided == 0)
        at->decided = reg_read(&at->proposal[(p + 2) % 3], relaxed);
}

static void consensus_by_cas(void *memory, uint32_t lock, uint32_t p)
{
    table *at = memory;
    (void)lock;
    reg_cas(&at->decision, 0, p + 1, acq_rel);
    at->decided = reg_read(&at->decision, relaxed);
}

static void test_consensus_by_tas(void **state)
{
    (void)state;
    for (int c11 = 0; c11 < 2; c11++) {
        uint32_t steps;
        tally t = run(consensus_by_tas, 2, c11 != 0, &steps);
        assert_int_equal(t.disagreed, 0);
        assert_int_equal(t.invalid, 0);
        assert_int_equal(steps, 3); /* wait-free: three accesses at most, no await */
    }
}

static void test_tas_fails_for_three(void **state)
{
    (void)state;
    for (int c11 = 0; c11 < 2; c11++) {
        uint32_t steps;
        tally t = run(consensus_by_tas_for_three, 3, c11 != 0, &steps);
        assert_true(t.disagreed > 0);
        assert_true(t.disagreed < t.outcomes); /* it does not fail always */
    }
}

static void test_consensus_by_cas(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MAX; n++) {
        for (int c11 = 0; c11 < 2; c11++) {
            uint32_t steps;
            tally t = run(consensus_by_cas, n, c11 != 0, &steps);
            assert_int_equal(t.disagreed, 0);
            assert_int_equal(t.invalid, 0);
            assert_int_equal(steps, 2);
        }
    }
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_link, NULL, "a link has a value and a number");
    suite_add(&s, test_aba, NULL, "ABA: compare-and-swap is fooled, store-conditional is not");
    suite_add(&s, test_consensus_by_tas, NULL, "consensus for two from test-and-set");
    suite_add(&s, test_tas_fails_for_three, NULL, "the same breaks for three");
    suite_add(&s, test_consensus_by_cas, NULL, "consensus for up to four from compare-and-swap");
    return suite_run(&s, "primitives");
}
