/*
 * The explorer's memory model against the litmus tests of the literature: which outcomes it allows,
 * at which memory orders. docs/check.md has the same table for people.
 */
#define BATON_REG_SHORT_NAMES
#include "outcomes.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two registers, and what each process has read: that part is its own. */
typedef struct playground {
    baton_reg x, y;
    baton_word got[4][2];
} playground;

/* How the accesses of a test are ordered, and whether fences stand between them. */
typedef struct orders {
    memory_order write, read;
    memory_order fence; /* between the two accesses of each process; relaxed: none */
} orders;

typedef struct litmus litmus;
typedef void litmus_body(playground *at, uint32_t process, const orders *o);

struct litmus {
    const char *name;
    litmus_body *body;
    uint32_t processes;
    orders orders;
    const char *outcome; /* "p0 p0' | p1 p1' ... / x y", or a part of it */
    bool allowed;
};

static const litmus *current;

static void start(void *memory, uint32_t processes, baton_waiting waiting)
{
    playground *at = memory;
    (void)processes, (void)waiting;
    reg_init(&at->x, 0);
    reg_init(&at->y, 0);
}

static void run_body(void *memory, uint32_t lock, uint32_t process)
{
    (void)lock;
    current->body(memory, process, &current->orders);
}

static void fence(const orders *o)
{
    if (o->fence != memory_order_relaxed)
        reg_fence(o->fence);
}

/* ---- the tests ---- */

static void store_buffering(playground *at, uint32_t p, const orders *o)
{
    reg_write(p == 0 ? &at->x : &at->y, 1, o->write);
    fence(o);
    at->got[p][0] = reg_read(p == 0 ? &at->y : &at->x, o->read);
}

/* One side by a fence, the other by seq_cst accesses: the race in dt1. */
static void store_buffering_mixed(playground *at, uint32_t p, const orders *o)
{
    (void)o;
    if (p == 0) {
        reg_write(&at->x, 1, release);
        reg_fence(seq_cst);
        at->got[p][0] = reg_read(&at->y, relaxed);
    } else {
        reg_write(&at->y, 1, seq_cst);
        at->got[p][0] = reg_read(&at->x, seq_cst);
    }
}

static void message_passing(playground *at, uint32_t p, const orders *o)
{
    if (p == 0) {
        reg_write(&at->x, 1, relaxed);
        fence(o);
        reg_write(&at->y, 1, o->write);
    } else {
        at->got[p][0] = reg_read(&at->y, o->read);
        fence(o);
        at->got[p][1] = reg_read(&at->x, relaxed);
    }
}

/* A read-modify-write by a third process stands between: the release sequence goes on. */
static void message_passing_by_rmw(playground *at, uint32_t p, const orders *o)
{
    if (p == 0) {
        reg_write(&at->x, 1, relaxed);
        reg_write(&at->y, 1, o->write);
    } else if (p == 1) {
        reg_fetch_add(&at->y, 1, relaxed);
    } else {
        at->got[p][0] = reg_read(&at->y, o->read);
        at->got[p][1] = reg_read(&at->x, relaxed);
    }
}

/*
 * The reader writes the same register before its acquire fence: it must not see its own write
 * undone.
 */
static void write_before_fence(playground *at, uint32_t p, const orders *o)
{
    (void)o;
    if (p == 0) {
        reg_write(&at->x, 1, relaxed);
        reg_fence(release);
        reg_write(&at->y, 1, relaxed);
    } else {
        at->got[p][0] = reg_read(&at->y, relaxed);
        reg_write(&at->x, 2, relaxed);
        reg_fence(acquire);
        at->got[p][1] = reg_read(&at->x, relaxed);
    }
}

static void load_buffering(playground *at, uint32_t p, const orders *o)
{
    at->got[p][0] = reg_read(p == 0 ? &at->x : &at->y, o->read);
    reg_write(p == 0 ? &at->y : &at->x, 1, o->write);
}

static void independent_reads(playground *at, uint32_t p, const orders *o)
{
    if (p < 2) {
        reg_write(p == 0 ? &at->x : &at->y, 1, o->write);
        return;
    }
    at->got[p][0] = reg_read(p == 2 ? &at->x : &at->y, o->read);
    fence(o);
    at->got[p][1] = reg_read(p == 2 ? &at->y : &at->x, o->read);
}

static void read_read_coherence(playground *at, uint32_t p, const orders *o)
{
    if (p == 0) {
        reg_write(&at->x, 1, o->write);
        return;
    }
    at->got[p][0] = reg_read(&at->x, o->read);
    at->got[p][1] = reg_read(&at->x, o->read);
}

/* Two writers, two readers: do they agree on the order of the writes? */
static void agreed_order(playground *at, uint32_t p, const orders *o)
{
    if (p < 2) {
        reg_write(&at->x, p + 1, o->write);
        return;
    }
    at->got[p][0] = reg_read(&at->x, o->read);
    at->got[p][1] = reg_read(&at->x, o->read);
}

static void two_plus_two_writes(playground *at, uint32_t p, const orders *o)
{
    reg_write(p == 0 ? &at->x : &at->y, 1, o->write);
    fence(o);
    reg_write(p == 0 ? &at->y : &at->x, 2, o->write);
}

static void write_read_causality(playground *at, uint32_t p, const orders *o)
{
    if (p == 0) {
        reg_write(&at->x, 1, o->write);
    } else if (p == 1) {
        at->got[p][0] = reg_read(&at->x, o->read);
        reg_write(&at->y, 1, o->write);
    } else {
        at->got[p][0] = reg_read(&at->y, o->read);
        at->got[p][1] = reg_read(&at->x, relaxed);
    }
}

static void two_additions(playground *at, uint32_t p, const orders *o)
{
    at->got[p][0] = reg_fetch_add(&at->x, 1, o->write);
}

/*
 * The read-modify-write comes behind the write to y, and y's writer has written x before: it may be
 * placed before that write to x all the same, unless y brought the news of it.
 */
static void older_cas(playground *at, uint32_t p, const orders *o)
{
    if (p == 0) {
        reg_write(&at->x, 2, o->write);
        reg_write(&at->y, 1, o->write);
    } else {
        at->got[p][0] = reg_read(&at->y, o->read);
        at->got[p][1] = reg_cas(&at->x, 0, 1, o->read);
    }
}

static void older_swap(playground *at, uint32_t p, const orders *o)
{
    if (p == 0) {
        reg_write(&at->x, 2, o->write);
        reg_write(&at->y, 1, o->write);
    } else {
        at->got[p][0] = reg_read(&at->y, o->read);
        at->got[p][1] = reg_swap(&at->x, 1, o->read) + 1;
    }
}

/* Two that read the same older message: only one of them can be placed right behind it. */
static void two_older_additions(playground *at, uint32_t p, const orders *o)
{
    if (p == 0) {
        reg_write(&at->x, 8, o->write);
        reg_write(&at->y, 1, o->write);
    } else {
        at->got[p][0] = reg_read(&at->y, o->read);
        at->got[p][1] = reg_fetch_add(&at->x, 1, o->read);
    }
}

#define RLX memory_order_relaxed
#define ACQ memory_order_acquire
#define REL memory_order_release
#define SC  memory_order_seq_cst

static const litmus tests[] = {
    {"SB rlx", store_buffering, 2, {RLX, RLX, RLX}, "0 0 | 0 0", true},
    {"SB rel/acq", store_buffering, 2, {REL, ACQ, RLX}, "0 0 | 0 0", true},
    {"SB sc write, acq read", store_buffering, 2, {SC, ACQ, RLX}, "0 0 | 0 0", true},
    {"SB sc", store_buffering, 2, {SC, SC, RLX}, "0 0 | 0 0", false},
    {"SB rlx, acq_rel fence",
     store_buffering,
     2,
     {RLX, RLX, memory_order_acq_rel},
     "0 0 | 0 0",
     true},
    {"SB rlx, sc fence", store_buffering, 2, {RLX, RLX, SC}, "0 0 | 0 0", false},
    {"SB sc fence against sc accesses",
     store_buffering_mixed,
     2,
     {RLX, RLX, RLX},
     "0 0 | 0 0",
     false},
    {"MP rlx", message_passing, 2, {RLX, RLX, RLX}, "1 0", true},
    {"MP rel, rlx", message_passing, 2, {REL, RLX, RLX}, "1 0", true},
    {"MP rlx, acq", message_passing, 2, {RLX, ACQ, RLX}, "1 0", true},
    {"MP rel/acq", message_passing, 2, {REL, ACQ, RLX}, "1 0", false},
    {"MP sc", message_passing, 2, {SC, SC, RLX}, "1 0", false},
    {"MP rlx, acq_rel fences", message_passing, 2, {RLX, RLX, memory_order_acq_rel}, "1 0", false},
    {"MP by rmw, rel/acq", message_passing_by_rmw, 3, {REL, ACQ, RLX}, "2 0", false},
    {"MP by rmw, rlx/acq", message_passing_by_rmw, 3, {RLX, ACQ, RLX}, "2 0", true},
    {"CoWR behind an acquire fence", write_before_fence, 2, {RLX, RLX, RLX}, "| 1 2 / 1", false},
    {"LB rlx (C11 allows it; not modelled)",
     load_buffering,
     2,
     {RLX, RLX, RLX},
     "1 0 | 1 0",
     false},
    {"LB rel/acq", load_buffering, 2, {REL, ACQ, RLX}, "1 0 | 1 0", false},
    {"LB sc", load_buffering, 2, {SC, SC, RLX}, "1 0 | 1 0", false},
    {"IRIW rlx", independent_reads, 4, {RLX, RLX, RLX}, "| 1 0 | 1 0", true},
    {"IRIW rel/acq", independent_reads, 4, {REL, ACQ, RLX}, "| 1 0 | 1 0", true},
    {"IRIW sc", independent_reads, 4, {SC, SC, RLX}, "| 1 0 | 1 0", false},
    {"IRIW rlx, sc fences", independent_reads, 4, {RLX, RLX, SC}, "| 1 0 | 1 0", false},
    {"CoRR rlx", read_read_coherence, 2, {RLX, RLX, RLX}, "| 1 0", false},
    {"CoRR sc", read_read_coherence, 2, {SC, SC, RLX}, "| 1 0", false},
    {"CoRR two readers rlx", agreed_order, 4, {RLX, RLX, RLX}, "| 1 2 | 2 1", false},
    {"CoRR two readers, same order", agreed_order, 4, {RLX, RLX, RLX}, "| 1 2 | 1 2", true},
    {"2+2W rlx", two_plus_two_writes, 2, {RLX, RLX, RLX}, "/ 1 1", true},
    {"2+2W rel", two_plus_two_writes, 2, {REL, RLX, RLX}, "/ 1 1", true},
    {"2+2W sc", two_plus_two_writes, 2, {SC, SC, RLX}, "/ 1 1", false},
    {"2+2W rlx, sc fences", two_plus_two_writes, 2, {RLX, RLX, SC}, "/ 1 1", false},
    {"WRC rlx", write_read_causality, 3, {RLX, RLX, RLX}, "| 1 0 | 1 0", true},
    {"WRC rel/acq", write_read_causality, 3, {REL, ACQ, RLX}, "| 1 0 | 1 0", false},
    {"RMW atomicity rlx", two_additions, 2, {RLX, RLX, RLX}, "0 0 | 0 0", false},
    {"CAS of an older message rlx", older_cas, 2, {RLX, RLX, RLX}, "| 1 1 / 2", true},
    {"CAS of an older message, placed last", older_cas, 2, {RLX, RLX, RLX}, "| 1 1 / 1", false},
    {"CAS of an older message rel/acq", older_cas, 2, {REL, ACQ, RLX}, "| 1 1", false},
    {"CAS of an older message sc", older_cas, 2, {SC, SC, RLX}, "| 1 1", false},
    {"swap of an older message rlx", older_swap, 2, {RLX, RLX, RLX}, "| 1 1 / 2", true},
    {"swap of an older message rel/acq", older_swap, 2, {REL, ACQ, RLX}, "| 1 1", false},
    {"swap of an older message sc", older_swap, 2, {SC, SC, RLX}, "| 1 1", false},
    {"adding to an older message twice",
     two_older_additions,
     3,
     {RLX, RLX, RLX},
     "| 1 0 | 1 0",
     false},
    {"adding to an older message in turn",
     two_older_additions,
     3,
     {RLX, RLX, RLX},
     "| 1 0 | 1 1 / 8",
     true},
};

/* The outcome of a run that has come to its end. */
static void describe(const baton_check_outcome *end, char text[128])
{
    size_t length = 0;
    for (uint32_t p = 0; p < end->processes; p++) {
        const playground *own = end->own[p];
        length += (size_t)snprintf(text + length, 128 - length, "%s%u %u", p == 0 ? "" : " | ",
                                   (unsigned)own->got[p][0], (unsigned)own->got[p][1]);
    }
    const playground *last = end->memory;
    snprintf(text + length, 128 - length, " / %u %u", (unsigned)last->x.value,
             (unsigned)last->y.value);
}

typedef struct search_for {
    const litmus *test;
    bool reached;
} search_for;

static void compare(const baton_check_outcome *end, void *context)
{
    search_for *s = context;
    char outcome[128];
    describe(end, outcome);
    s->reached = s->reached || strstr(outcome, s->test->outcome) != NULL;
}

/* Whether some execution ends in the outcome. */
static bool is_reachable(const litmus *test, bool c11)
{
    search_for s = {test, false};
    current = test;
    each_outcome(sizeof(playground), start, run_body, test->processes, c11, compare, &s);
    return s.reached;
}

static void test_c11(void **state)
{
    const litmus *test = *state;
    assert_int_equal(is_reachable(test, true), test->allowed);
}

/* In sequential consistency only the harmless ones are left. */
static void test_sc(void **state)
{
    const litmus *test = *state;
    bool harmless = strcmp(test->name, "CoRR two readers, same order") == 0;
    assert_int_equal(is_reachable(test, false), harmless);
}

int main(void)
{
    suite s = {0};
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        suite_add(&s, test_c11, &tests[i], "c11: %s: %s %s", tests[i].name, tests[i].outcome,
                  tests[i].allowed ? "can happen" : "cannot happen");
        suite_add(&s, test_sc, &tests[i], "sc: %s", tests[i].name);
    }
    return suite_run(&s, "litmus");
}
