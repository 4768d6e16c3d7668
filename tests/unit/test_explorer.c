/*
 * The explorer on small locks of every kind of wrongness, and on odd but right ones: what it must
 * find, and what it must not. Each was once judged falsely, or could be.
 */
#define BATON_REG_SHORT_NAMES
#include "explore.h"
#include "unit.h"

#include <string.h>

/* Registers for any purpose, and what a process keeps for itself. */
typedef struct yard {
    baton_place place; /* at the very start, where its number could be mistaken for none */
    baton_reg reg[8];
    baton_word own[8];
    baton_waiting waiting;
} yard;

static void init(void *memory, uint32_t processes, baton_waiting waiting)
{
    yard *at = memory;
    (void)processes;
    place_init(&at->place);
    at->waiting = waiting;
    for (int i = 0; i < 8; i++)
        reg_init(&at->reg[i], 0);
}

static void init_first_is_1(void *memory, uint32_t processes, baton_waiting waiting)
{
    yard *at = memory;
    init(memory, processes, waiting);
    reg_init(&at->reg[0], 1);
}

/* A function of a subject: what it does to the yard `at` as process `i`. */
#define DO(name)                                              \
    static void name##_(yard *at, uint32_t i);                \
    static void name(void *memory, uint32_t lock, uint32_t i) \
    {                                                         \
        (void)lock;                                           \
        name##_(memory, i);                                   \
    }                                                         \
    static void name##_(yard *at, uint32_t i)

#define UNUSED (void)at, (void)i

DO(nothing)
{
    UNUSED;
}

/* Peterson's lock in registers 3 to 5, for locks that need one inside. */
static void peterson_in(yard *at, uint32_t i)
{
    reg_write(&at->reg[3 + i], 1, seq_cst);
    reg_write(&at->reg[5], 1 - i, seq_cst);
    reg_await(BATON_SPIN, NULL,
              reg_read(&at->reg[5], acquire) == i || reg_read(&at->reg[4 - i], seq_cst) == 0);
}

static void peterson_out(yard *at, uint32_t i)
{
    reg_write(&at->reg[3 + i], 0, release);
}

/* Test-and-set in register 0. */
DO(tas_in)
{
    UNUSED;
    while (reg_swap(&at->reg[0], 1, acquire) != 0) {
        reg_await(at->waiting, &at->place, reg_read(&at->reg[0], relaxed) == 0);
        again();
    }
}

DO(tas_out) /* and wakes nobody */
{
    UNUSED;
    reg_write(&at->reg[0], 0, release);
}

/* Strict alternation: who comes alone waits for one who need not come. */
DO(alternate_in)
{
    reg_write(&at->reg[1], i, relaxed);
    reg_await(BATON_SPIN, NULL, reg_read(&at->reg[0], acquire) == i);
}

DO(alternate_out)
{
    reg_write(&at->reg[0], 1 - i, release);
}

/* Takes it and never gives it back. */
DO(keep_in)
{
    UNUSED;
    reg_write(&at->reg[1], 1, relaxed);
    if (reg_swap(&at->reg[0], 1, acquire) != 0)
        reg_await(BATON_SPIN, NULL, reg_read(&at->reg[0], acquire) == 0);
}

/* A ticket lock whose first comer does not look. */
DO(ticket_in)
{
    UNUSED;
    baton_word mine = reg_fetch_add(&at->reg[0], 1, acq_rel);
    reg_await(BATON_SPIN, NULL, mine == 0 || reg_read(&at->reg[1], acquire) == mine);
}

/* The same with an await in front that never needs to look. */
DO(two_awaits_in)
{
    UNUSED;
    baton_word mine = reg_fetch_add(&at->reg[0], 1, acq_rel);
    reg_await(BATON_SPIN, NULL, mine < 100);
    reg_await(BATON_SPIN, NULL, reg_read(&at->reg[1], acquire) == mine);
}

DO(ticket_out)
{
    UNUSED;
    reg_write(&at->reg[1], reg_read(&at->reg[1], relaxed) + 1, release);
}

DO(hopeless_in)
{
    UNUSED;
    reg_await(BATON_SPIN, NULL, at->own[0] == 1);
}

DO(cas_in_condition)
{
    UNUSED;
    reg_await(BATON_SPIN, NULL, reg_cas(&at->reg[0], 0, 1, acquire));
}

/*
 * One of two registers is always 1, but process 1 flips them: process 0 may look in vain for ever.
 */
DO(torn_in)
{
    if (i == 0) {
        reg_write(&at->reg[2], 1, relaxed);
        reg_await(BATON_SPIN, NULL,
                  reg_read(&at->reg[0], acquire) == 1 || reg_read(&at->reg[1], acquire) == 1);
    }
    peterson_in(at, i);
}

DO(torn_out)
{
    peterson_out(at, i);
    if (i == 0)
        return;
    uint32_t up = at->own[1] == 0 ? 1 : 0;
    reg_write(&at->reg[up], 1, seq_cst);
    reg_write(&at->reg[1 - up], 0, seq_cst);
    at->own[1] ^= 1;
}

/* Process 0 waits at a gate before it does anything else; process 1 opens and shuts it. */
DO(gate_in)
{
    if (i == 0)
        reg_await(BATON_SPIN, NULL, reg_read(&at->reg[0], acquire) == 0);
    else
        reg_write(&at->reg[0], 1, seq_cst);
    peterson_in(at, i);
}

DO(gate_out)
{
    peterson_out(at, i);
    if (i == 1)
        reg_write(&at->reg[0], 0, seq_cst);
}

/* A try with a doorway; after many failures it enters by force. */
static bool forceful_try(void *memory, uint32_t lock, uint32_t i)
{
    yard *at = memory;
    (void)lock, (void)i;
    bool entered = reg_cas(&at->reg[0], 0, 1, acquire);
    doorway_ends();
    at->own[0] = entered ? 0 : at->own[0] + 1;
    return entered || at->own[0] == 17;
}

DO(initialise_in)
{
    UNUSED;
    reg_write(&at->reg[1], 1, relaxed);
    reg_init(&at->reg[2], 1);
}

DO(fickle_in)
{
    static unsigned calls; /* what no lock may have: a memory of its own outside of the memory */
    UNUSED;
    reg_write(&at->reg[1], ++calls, relaxed);
    tas_in_(at, i);
}

DO(retry_out)
{
    UNUSED;
    reg_write(&at->reg[0], 0, release);
    for (;;) {
        baton_word old = reg_read(&at->reg[1], relaxed);
        if (reg_cas(&at->reg[1], old, old ^ 1, relaxed))
            return;
        again();
    }
}

DO(again_first)
{
    UNUSED;
    again();
    reg_write(&at->reg[0], 1, relaxed);
}

DO(many_values_in)
{
    UNUSED;
    for (baton_word v = 1; v < 300; v++)
        reg_write(&at->reg[0], v, relaxed);
}

/* Two locks: test-and-set in register 0, and one that is none. */
static void second_is_none_in(void *memory, uint32_t lock, uint32_t i)
{
    if (lock == 0)
        tas_in(memory, lock, i);
}

static void second_is_none_out(void *memory, uint32_t lock, uint32_t i)
{
    if (lock == 0)
        tas_out(memory, lock, i);
}

/* Two locks, and both are right: test-and-set in the register of that number. */
static void either_in(void *memory, uint32_t lock, uint32_t i)
{
    yard *at = memory;
    (void)i;
    while (reg_swap(&at->reg[lock], 1, acquire) != 0) {
        reg_await(at->waiting, &at->place, reg_read(&at->reg[lock], relaxed) == 0);
        again();
    }
}

static void either_out(void *memory, uint32_t lock, uint32_t i)
{
    yard *at = memory;
    (void)i;
    reg_write(&at->reg[lock], 0, release);
}

/*
 * The order of two seq_cst fences is no synchronisation: if process 1 sees v = 1 it has learnt
 * nothing of what process 0 wrote in its section.
 */
DO(fences_in)
{
    if (i == 0)
        return;
    reg_write(&at->reg[0], 1, relaxed);
    reg_fence(seq_cst);
    reg_await(BATON_SPIN, NULL, reg_read(&at->reg[1], relaxed) != 0);
    if (reg_read(&at->reg[1], relaxed) == 2)
        reg_fence(acquire);
}

DO(fences_out)
{
    if (i == 1)
        return;
    reg_fence(seq_cst);
    reg_write(&at->reg[1], 1 + reg_read(&at->reg[0], relaxed), relaxed);
}

/* ---- what is expected of whom ---- */

typedef struct expectation {
    const char *name;
    void (*init)(void *, uint32_t, baton_waiting);
    void (*enter)(void *, uint32_t, uint32_t);
    void (*exit)(void *, uint32_t, uint32_t);
    bool (*try)(void *, uint32_t, uint32_t);
    uint32_t processes, passages, locks;
    bool c11, park, wait_free_exit;
    ending ending;
    const char *property;
} expectation;

static const expectation bounded[] = {
    {"strict alternation deadlocks", init, alternate_in, alternate_out, .processes = 2,
     .passages = 3, .ending = VIOLATION, .property = "deadlock freedom"},
    {"a lock that is never given back", init, keep_in, nothing, .processes = 2, .passages = 1,
     .ending = VIOLATION, .property = "deadlock freedom"},
    {"no lock at all", init, nothing, nothing, .processes = 2, .passages = 1, .ending = VIOLATION,
     .property = "mutual exclusion"},
    {"an await that need not look", init, ticket_in, ticket_out, .processes = 3, .passages = 2,
     .ending = EXHAUSTED},
    {"two awaits in a row", init, two_awaits_in, ticket_out, .processes = 3, .passages = 1,
     .ending = EXHAUSTED},
    {"an await that cannot hold", init, hopeless_in, nothing, .processes = 2, .passages = 1,
     .ending = VIOLATION, .property = "deadlock freedom"},
    {"a condition that writes is refused", init, cas_in_condition, tas_out, .processes = 2,
     .passages = 1, .ending = VIOLATION, .property = "memory safety"},
    {"a try after many failures", init, tas_in, tas_out, .try = forceful_try, .processes = 2,
     .passages = 20, .ending = VIOLATION, .property = "mutual exclusion"},
    {"nobody wakes, at a place at the start", init, tas_in, tas_out, .processes = 2, .passages = 1,
     .park = true, .ending = VIOLATION, .property = "deadlock freedom"},
    {"the same by spinning is right", init, tas_in, tas_out, .processes = 2, .passages = 2,
     .ending = EXHAUSTED},
    {"a register initialised in enter", init, initialise_in, nothing, .processes = 1, .passages = 1,
     .ending = VIOLATION, .property = "memory safety"},
    {"code that is not deterministic", init, fickle_in, tas_out, .processes = 2, .passages = 2,
     .ending = VIOLATION, .property = "memory safety"},
    {"an exit that may retry for ever", init, tas_in, retry_out, .processes = 2, .passages = 1,
     .wait_free_exit = true, .ending = VIOLATION, .property = "wait-free exit"},
    {"begins again without an access", init, again_first, nothing, .processes = 1, .passages = 1,
     .ending = VIOLATION, .property = "memory safety"},
    {"more values than are kept", init, many_values_in, nothing, .processes = 1, .passages = 1,
     .ending = IMPOSSIBLE},
    {"more locks than are kept", init, tas_in, tas_out, .processes = 2, .passages = 1, .locks = 200,
     .ending = IMPOSSIBLE},
    {"both may choose the lock that is none", init, second_is_none_in, second_is_none_out,
     .processes = 2, .passages = 1, .locks = 2, .ending = VIOLATION,
     .property = "mutual exclusion"},
    {"two may be inside of different locks", init, either_in, either_out, .processes = 3,
     .passages = 2, .locks = 2, .ending = EXHAUSTED},
    {"the same in c11", init, either_in, either_out, .processes = 2, .passages = 2, .locks = 2,
     .c11 = true, .ending = EXHAUSTED},
    {"fences in a row do not synchronise", init, fences_in, fences_out, .processes = 2,
     .passages = 1, .c11 = true, .ending = VIOLATION, .property = "mutual exclusion"},
};

static void expect(const expectation *e, bool reduce)
{
    baton_check_subject subject = {.name = e->name,
                                   .bytes = sizeof(yard),
                                   .locks = e->locks,
                                   .init = e->init,
                                   .enter = e->enter,
                                   .exit = e->exit,
                                   .try = e->try,
                                   .wait_free_exit = e->wait_free_exit};
    scope plan = {.subject = &subject,
                  .processes = e->processes,
                  .passages = e->passages,
                  .c11 = e->c11,
                  .park = e->park,
                  .reduce = reduce};
    result r = explore(&plan, DEFAULT_LIMIT, NULL);
    assert_int_equal(r.ending, e->ending);
    if (e->property == NULL)
        assert_null(r.property);
    else
        assert_string_equal(r.property, e->property);
    result_free(&r);
    processes_end();
}

static void test_bounded(void **state)
{
    expect(*state, false);
    expect(*state, true);
}

static const expectation forever[] = {
    {"looks that others spoil", init_first_is_1, torn_in, torn_out, .processes = 2,
     .ending = VIOLATION},
    {"a gate that is shut again and again", init, gate_in, gate_out, .processes = 2,
     .ending = VIOLATION},
    {"a deadlock is no endless run", init, keep_in, nothing, .processes = 2, .ending = IMPOSSIBLE},
    {"strict alternation", init, alternate_in, alternate_out, .processes = 2, .ending = IMPOSSIBLE},
    {"both for ever choose the lock that is none", init, second_is_none_in, second_is_none_out,
     .processes = 2, .locks = 2, .ending = IMPOSSIBLE},
};

static void test_endless(void **state)
{
    const expectation *e = *state;
    baton_check_subject subject = {.name = e->name,
                                   .bytes = sizeof(yard),
                                   .locks = e->locks,
                                   .init = e->init,
                                   .enter = e->enter,
                                   .exit = e->exit};
    scope plan = {.subject = &subject, .processes = e->processes};
    assert_int_equal(explore_endless(&plan, DEFAULT_LIMIT, NULL).ending, e->ending);
    plan.reduce = true;
    assert_int_equal(explore_endless(&plan, DEFAULT_LIMIT, NULL).ending, e->ending);
    processes_end();
}

static void test_timed_deadlock(void **state)
{
    (void)state;
    baton_check_subject subject = {
        .name = "kept", .bytes = sizeof(yard), .init = init, .enter = keep_in, .exit = nothing};
    scope plan = {.subject = &subject, .processes = MAX_PROCESSES};
    assert_non_null(explore_timed(&plan, 1, 10, NULL).trouble);
    processes_end();
}

/* One process, two passages, two locks: four ways to choose. */
static void test_choices(void **state)
{
    (void)state;
    baton_check_subject subject = {.name = "two",
                                   .bytes = sizeof(yard),
                                   .locks = 2,
                                   .init = init,
                                   .enter = either_in,
                                   .exit = either_out};
    scope plan = {.subject = &subject, .processes = 1, .passages = 2};
    result r = explore(&plan, DEFAULT_LIMIT, NULL);
    assert_int_equal((int)r.executions, 4);
    result_free(&r);
    processes_end();
}

/* Complete runs, counted by hand: two processes, each enters by one swap. */
static void test_executions(void **state)
{
    (void)state;
    baton_check_subject subject = {
        .name = "tas", .bytes = sizeof(yard), .init = init, .enter = tas_in, .exit = tas_out};
    scope plan = {.subject = &subject, .processes = 2, .passages = 1};
    result r = explore(&plan, DEFAULT_LIMIT, NULL);
    /*
     * Either goes first, and the other swaps after it is out (1 way), or loses its swap while the
     * first is inside or is leaving (2 ways), and then comes in once it is out.
     */
    assert_int_equal((int)r.executions, 2 * (1 + 2));
    result_free(&r);
    processes_end();
}

int main(void)
{
    suite s = {0};
    for (size_t i = 0; i < sizeof bounded / sizeof bounded[0]; i++)
        suite_add(&s, test_bounded, &bounded[i], "%s", bounded[i].name);
    for (size_t i = 0; i < sizeof forever / sizeof forever[0]; i++)
        suite_add(&s, test_endless, &forever[i], "endless: %s", forever[i].name);
    suite_add(&s, test_timed_deadlock, NULL, "in time: a deadlock ends the run");
    suite_add(&s, test_choices, NULL, "a lock is chosen at each passage");
    suite_add(&s, test_executions, NULL, "executions are counted right");
    return suite_run(&s, "explorer");
}
