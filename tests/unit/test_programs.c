/*
 * What the explorer does with programs: every outcome is judged, every choice made, every place to
 * break off tried, every lie about registers found, and a bad outcome can be shown and replayed.
 */
#define BATON_REG_SHORT_NAMES
#include "trace.h"
#include "unit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Registers for any purpose, and what a process keeps for itself. */
typedef struct yard {
    baton_reg reg[4];
    baton_futex futex[2];
    baton_word own[2];
} yard;

static void init(void *memory, uint32_t processes, baton_waiting waiting)
{
    yard *at = memory;
    (void)processes, (void)waiting;
    for (int i = 0; i < 4; i++)
        reg_init(&at->reg[i], 0);
    for (int i = 0; i < 2; i++)
        futex_init(&at->futex[i], 0);
}

/* A program: what process `i` does in the yard `at`. */
#define PROGRAM(name)                                         \
    static void name##_(yard *at, uint32_t i);                \
    static void name(void *memory, uint32_t lock, uint32_t i) \
    {                                                         \
        (void)lock;                                           \
        name##_(memory, i);                                   \
    }                                                         \
    static void name##_(yard *at, uint32_t i)

/* ---- outcomes: each is a bit that the judge has seen ---- */

static uint64_t seen;

static baton_word own_of(const baton_check_outcome *o, uint32_t p)
{
    return ((const yard *)o->own[p])->own[0];
}

static baton_word end_of(const baton_check_outcome *o, int reg)
{
    return reg_read(&((yard *)o->memory)->reg[reg], relaxed);
}

static const char *note_both(const baton_check_outcome *o)
{
    seen |= (uint64_t)1 << (own_of(o, 0) * 8 + own_of(o, 1));
    return o->processes == 2 ? NULL : "not two";
}

PROGRAM(draws)
{
    (void)i;
    at->own[0] = reg_fetch_add(&at->reg[0], 1, relaxed);
}

static const char *note_draws(const baton_check_outcome *o)
{
    return end_of(o, 0) == 2 ? note_both(o) : "not what the registers hold";
}

PROGRAM(chooses)
{
    at->own[0] = baton_check_choose(i == 0 ? 3 : 2);
    reg_write(&at->reg[i], at->own[0], relaxed);
}

/* Three accesses and a fence, broken off after so many. */
static void three_writes(void *context)
{
    yard *at = context;
    reg_write(&at->reg[0], 1, relaxed);
    reg_write(&at->reg[1], 1, relaxed);
    reg_fence(seq_cst);
    reg_write(&at->reg[2], 1, relaxed);
}

PROGRAM(dies)
{
    (void)i;
    baton_word after = baton_check_choose(5);
    bool broken = baton_check_break_off((uint32_t)after, three_writes, at);
    at->own[0] = after * 2 + broken;
    reg_write(&at->reg[3], 1, relaxed);
}

static const char *judge_death(const baton_check_outcome *o)
{
    baton_word after = own_of(o, 0) / 2;
    baton_word made = end_of(o, 0) + end_of(o, 1) + end_of(o, 2);
    seen |= (uint64_t)1 << after;
    if (made != (after < 3 ? after : 3) || own_of(o, 0) % 2 != (after < 3))
        return "broken off elsewhere";
    return end_of(o, 3) == 1 ? NULL : "does not go on";
}

static void waits_for_ever(void *context)
{
    yard *at = context;
    reg_await(BATON_SPIN, NULL, reg_read(&at->reg[0], acquire) == 1);
}

PROGRAM(dies_waiting)
{
    (void)i;
    baton_check_break_off(0, waits_for_ever, at);
    reg_write(&at->reg[1], 1, relaxed);
}

/* Counts what it does: two accesses, the fence is none. */
PROGRAM(counts)
{
    uint32_t before = baton_check_steps();
    reg_write(&at->reg[i], 1, relaxed);
    reg_fence(seq_cst);
    (void)reg_read(&at->reg[0], relaxed);
    at->own[0] = baton_check_steps() - before;
}

static const char *note_figures(const baton_check_outcome *o)
{
    baton_check_figure("steps", (uint32_t)own_of(o, 0));
    baton_check_figure("less", 7);
    baton_check_figure("less", 5);
    return NULL;
}

/* Message passing through register 1 between fences. */
PROGRAM(passes)
{
    if (i == 0) {
        reg_write(&at->reg[0], 1, relaxed);
        reg_fence(release);
        reg_fetch_add(&at->reg[1], 1, relaxed);
        return;
    }
    at->own[0] = reg_fetch_add(&at->reg[1], 1, relaxed);
    reg_fence(acquire);
    at->own[0] = at->own[0] * 2 + reg_read(&at->reg[0], relaxed);
}

static const char *judge_passing(const baton_check_outcome *o)
{
    return own_of(o, 1) == 2 ? "the message is late" : NULL;
}

static void init_clock(void *memory, uint32_t processes, baton_waiting waiting)
{
    yard *at = memory;
    init(memory, processes, waiting);
    baton_check_clock(&at->reg[1]);
}

/* ---- registers that are said to be unshared ---- */

static void init_unshared(void *memory, uint32_t processes, baton_waiting waiting)
{
    yard *at = memory;
    init(memory, processes, waiting);
    baton_check_unshared(&at->reg[0]);
    baton_check_unshared(&at->reg[1]);
}

static void init_no_register(void *memory, uint32_t processes, baton_waiting waiting)
{
    yard *at = memory;
    init(memory, processes, waiting);
    baton_check_unshared((baton_reg *)&at->own[0]);
}

PROGRAM(keeps_to_itself)
{
    reg_write(&at->reg[i], 1, relaxed);
    at->own[0] = reg_read(&at->reg[i], relaxed);
    reg_fetch_add(&at->reg[2], 1, relaxed);
}

PROGRAM(reads_the_other)
{
    reg_write(&at->reg[i], 1, relaxed);
    at->own[0] = reg_read(&at->reg[1 - i], relaxed);
}

PROGRAM(swaps_with_the_other)
{
    if (i == 0)
        reg_write(&at->reg[0], 1, relaxed);
    else
        at->own[0] = reg_cas(&at->reg[0], 0, 2, relaxed);
}

PROGRAM(awaits_the_other)
{
    if (i == 0)
        reg_write(&at->reg[0], 1, relaxed);
    else
        reg_await(BATON_SPIN, NULL, reg_read(&at->reg[0], relaxed) == 1);
}

/* ---- futexes: process 0 wakes, the others sleep ---- */

PROGRAM(sleeps_unwoken)
{
    if (i > 0)
        futex_wait(&at->futex[0], 0);
}

PROGRAM(sees_another_value)
{
    (void)i;
    futex_wait(&at->futex[0], 1);
}

PROGRAM(wakes_only)
{
    if (i > 0)
        futex_wait(&at->futex[0], 0);
    else
        futex_wake(&at->futex[0], INT32_MAX);
}

PROGRAM(changes_then_wakes_all)
{
    if (i > 0) {
        futex_wait(&at->futex[0], 0);
        return;
    }
    futex_fetch_add(&at->futex[0], 1, relaxed);
    futex_wake(&at->futex[0], INT32_MAX);
}

PROGRAM(wakes_then_changes)
{
    if (i > 0) {
        futex_wait(&at->futex[0], 0);
        return;
    }
    futex_wake(&at->futex[0], INT32_MAX);
    futex_fetch_add(&at->futex[0], 1, relaxed);
}

PROGRAM(changes_then_wakes_one)
{
    if (i > 0) {
        futex_wait(&at->futex[0], 0);
        return;
    }
    futex_fetch_add(&at->futex[0], 1, relaxed);
    futex_wake(&at->futex[0], 1);
}

PROGRAM(changes_then_wakes_elsewhere)
{
    if (i > 0) {
        futex_wait(&at->futex[0], 0);
        return;
    }
    futex_fetch_add(&at->futex[0], 1, relaxed);
    futex_wake(&at->futex[1], INT32_MAX);
}

/* What is there when the sleep is over: the change, unless it ends without cause. */
PROGRAM(looks_after_its_sleep)
{
    if (i == 0) {
        changes_then_wakes_all_(at, i);
        return;
    }
    futex_wait(&at->futex[0], 0);
    at->own[0] = futex_read(&at->futex[0], relaxed);
}

/* One is woken, and wakes the next. All orders of the two are possible. */
PROGRAM(wakes_in_turn)
{
    if (i > 0)
        futex_wait(&at->futex[0], 0);
    at->own[0] = reg_fetch_add(&at->reg[0], 1, relaxed);
    futex_fetch_add(&at->futex[0], 1, relaxed);
    futex_wake(&at->futex[0], 1);
}

static const char *note_order(const baton_check_outcome *o)
{
    seen |= (uint64_t)1 << (own_of(o, 1) * 8 + own_of(o, 2));
    return NULL;
}

/* 32 bits, next to others that stay as they are. */
PROGRAM(counts_around)
{
    (void)i;
    futex_fetch_add(&at->futex[0], UINT32_MAX, relaxed);
    at->own[0] = futex_fetch_add(&at->futex[0], 2, relaxed);
}

static const char *judge_round(const baton_check_outcome *o)
{
    yard *end = o->memory;
    return own_of(o, 0) == UINT32_MAX && futex_read(&end->futex[0], relaxed) == 1 &&
                   futex_read(&end->futex[1], relaxed) == 0
               ? NULL
               : "not as 32 bits count";
}

PROGRAM(takes_a_futex_for_a_register)
{
    (void)i;
    reg_write((baton_reg *)(void *)&at->futex[0], 1, relaxed);
}

PROGRAM(sleeps_in_a_condition)
{
    (void)i;
    reg_await(BATON_SPIN, NULL, (futex_wait(&at->futex[0], 1), true));
}

/* ---- what goes wrong ---- */

PROGRAM(wait_for_each_other)
{
    reg_await(BATON_SPIN, NULL, reg_read(&at->reg[1 - i], acquire) == 1);
    reg_write(&at->reg[i], 1, release);
}

PROGRAM(one_waits_in_vain)
{
    reg_write(&at->reg[i], 1, release);
    if (i == 0)
        reg_await(BATON_SPIN, NULL, reg_read(&at->reg[3], acquire) == 1);
}

PROGRAM(asserts)
{
    (void)i;
    baton_word others = reg_fetch_add(&at->reg[0], 1, relaxed);
    assert(others == 0);
}

PROGRAM(chooses_nothing)
{
    (void)i;
    reg_write(&at->reg[0], 1, relaxed);
    (void)baton_check_choose(0);
}

PROGRAM(chooses_too_much)
{
    (void)i;
    reg_write(&at->reg[0], 1, relaxed);
    (void)baton_check_choose(256);
}

PROGRAM(writes_into_nothing)
{
    (void)i;
    reg_write(&at->reg[0], 1, relaxed);
    reg_write((baton_reg *)&at->own[0], 1, relaxed);
}

static const char *all_right(const baton_check_outcome *o)
{
    (void)o;
    return NULL;
}

/* ---- what is expected of whom ---- */

typedef struct expectation {
    const char *name;
    void (*init)(void *, uint32_t, baton_waiting);
    void (*program)(void *, uint32_t, uint32_t);
    const char *(*judge)(const baton_check_outcome *);
    uint32_t processes;
    bool c11;
    ending ending;
    const char *property;
    uint64_t outcomes; /* all that the judge must see */
} expectation;

static const expectation expectations[] = {
    {"every outcome is judged, and no other", init, draws, note_draws, 2, .ending = EXHAUSTED,
     .outcomes = 1U << 1 | 1U << 8},
    {"the same in c11", init, draws, note_draws, 2, .c11 = true, .ending = EXHAUSTED,
     .outcomes = 1U << 1 | 1U << 8},
    {"every choice of both is made", init, chooses, note_both, 2, .ending = EXHAUSTED,
     .outcomes = 3 | 3U << 8 | 3U << 16},
    {"broken off at every access", init, dies, judge_death, 1, .ending = EXHAUSTED, .outcomes = 31},
    {"the same in c11", init, dies, judge_death, 1, .c11 = true, .ending = EXHAUSTED,
     .outcomes = 31},
    {"broken off while waiting", init, dies_waiting, all_right, 2, .ending = EXHAUSTED},
    {"fences carry a message through a register", init, passes, judge_passing, 2, .c11 = true,
     .ending = EXHAUSTED},
    {"a clock orders no memory", init_clock, passes, judge_passing, 2, .c11 = true,
     .ending = VIOLATION, .property = "outcome"},
    {"unshared, and it is true", init_unshared, keeps_to_itself, all_right, 2, .ending = EXHAUSTED},
    {"unshared, but another reads it", init_unshared, reads_the_other, all_right, 2,
     .ending = VIOLATION, .property = "unshared registers"},
    {"the same in c11", init_unshared, reads_the_other, all_right, 2, .c11 = true,
     .ending = VIOLATION, .property = "unshared registers"},
    {"unshared, but another swaps it", init_unshared, swaps_with_the_other, all_right, 2,
     .ending = VIOLATION, .property = "unshared registers"},
    {"unshared, but another awaits it", init_unshared, awaits_the_other, all_right, 2,
     .ending = VIOLATION, .property = "unshared registers"},
    {"unshared, and no register", init_no_register, draws, all_right, 2, .ending = IMPOSSIBLE},
    {"asleep, and nobody wakes", init, sleeps_unwoken, all_right, 2, .ending = VIOLATION,
     .property = "deadlock freedom"},
    {"no sleep at another value", init, sees_another_value, all_right, 2, .ending = EXHAUSTED},
    {"a wake-up that finds nobody is lost", init, wakes_only, all_right, 2, .ending = VIOLATION,
     .property = "deadlock freedom"},
    {"looking and falling asleep are one step", init, changes_then_wakes_all, all_right, 3,
     .ending = EXHAUSTED},
    {"the same in c11: woken later, or sees the change", init, changes_then_wakes_all, all_right, 3,
     .c11 = true, .ending = EXHAUSTED},
    {"woken too early", init, wakes_then_changes, all_right, 2, .ending = VIOLATION,
     .property = "deadlock freedom"},
    {"one of two is woken", init, changes_then_wakes_one, all_right, 3, .ending = VIOLATION,
     .property = "deadlock freedom"},
    {"woken at another futex", init, changes_then_wakes_elsewhere, all_right, 2,
     .ending = VIOLATION, .property = "deadlock freedom"},
    {"a sleep may end without cause", init, looks_after_its_sleep, note_both, 2,
     .ending = EXHAUSTED, .outcomes = 1U << 0 | 1U << 1},
    {"whoever sleeps may be the one who is woken", init, wakes_in_turn, note_order, 3,
     .ending = EXHAUSTED, .outcomes = 1U << 1 | 1U << 2 | 1U << 8 | 1U << 10 | 1U << 16 | 1U << 17},
    {"a futex has 32 bits", init, counts_around, judge_round, 1, .ending = EXHAUSTED},
    {"a futex is no other register", init, takes_a_futex_for_a_register, all_right, 1,
     .ending = VIOLATION, .property = "memory safety"},
    {"no sleep in a condition", init, sleeps_in_a_condition, all_right, 1, .ending = VIOLATION,
     .property = "memory safety"},
    {"both wait from the beginning", init, wait_for_each_other, all_right, 2, .ending = VIOLATION,
     .property = "deadlock freedom"},
    {"one waits, the other has finished", init, one_waits_in_vain, all_right, 2,
     .ending = VIOLATION, .property = "deadlock freedom"},
    {"an assertion that holds", init, asserts, all_right, 1, .ending = EXHAUSTED},
    {"an assertion that fails", init, asserts, all_right, 2, .ending = VIOLATION,
     .property = "memory safety"},
    {"a choice among nothing", init, chooses_nothing, all_right, 1, .ending = VIOLATION,
     .property = "memory safety"},
    {"a choice among too much", init, chooses_too_much, all_right, 1, .ending = VIOLATION,
     .property = "memory safety"},
    {"what is no register", init, writes_into_nothing, all_right, 1, .ending = VIOLATION,
     .property = "memory safety"},
};

static scope plan_of(const expectation *e, baton_check_subject *subject)
{
    *subject = (baton_check_subject){.name = "program",
                                     .bytes = sizeof(yard),
                                     .init = e->init,
                                     .enter = e->program,
                                     .judge = e->judge};
    return (scope){.subject = subject, .processes = e->processes, .passages = 1, .c11 = e->c11};
}

static void test_expectation(void **state)
{
    const expectation *e = *state;
    baton_check_subject subject;
    scope plan = plan_of(e, &subject);
    seen = 0;
    result r = explore(&plan, DEFAULT_LIMIT, NULL);
    assert_int_equal(r.ending, e->ending);
    if (e->property == NULL)
        assert_null(r.property);
    else
        assert_string_equal(r.property, e->property);
    if (e->ending == EXHAUSTED)
        assert_int_equal(seen, e->outcomes);
    result_free(&r);
    processes_end();
}

static void test_figures(void **state)
{
    (void)state;
    static const expectation e = {.init = init, counts, note_figures, 2};
    baton_check_subject subject;
    scope plan = plan_of(&e, &subject);
    result r = explore(&plan, DEFAULT_LIMIT, NULL);
    assert_int_equal(r.figures.entry_steps, 2);
    assert_string_equal(r.figures.noted[0].name, "steps");
    assert_int_equal(r.figures.noted[0].max, 2);
    assert_string_equal(r.figures.noted[1].name, "less");
    assert_int_equal(r.figures.noted[1].max, 7);
    assert_null(r.figures.noted[2].name);
    result_free(&r);
    processes_end();
}

/* What is not interleaved is not counted: that is what a register is said to be unshared for. */
static void test_unshared_saves(void **state)
{
    (void)state;
    uint64_t states[2];
    for (int said = 0; said < 2; said++) {
        expectation e = {.init = said ? init_unshared : init, keeps_to_itself, all_right, 2};
        baton_check_subject subject;
        scope plan = plan_of(&e, &subject);
        result r = explore(&plan, DEFAULT_LIMIT, NULL);
        states[said] = r.states;
        result_free(&r);
    }
    assert_int_equal(states[1], 4); /* each has added or not */
    assert_true(states[0] > states[1]);
    processes_end();
}

/* ---- a bad outcome, shown and replayed ---- */

/* Loses an addition, if both chose to. */
PROGRAM(adds_in_two_steps)
{
    (void)i;
    baton_word more = baton_check_choose(2);
    baton_word old = reg_read(&at->reg[0], relaxed);
    reg_write(&at->reg[0], old + more, relaxed);
    at->own[0] = more;
}

static const char *judge_sum(const baton_check_outcome *o)
{
    return end_of(o, 0) == own_of(o, 0) + own_of(o, 1) ? NULL : "an addition is lost";
}

static void test_replay(void **state)
{
    const expectation *e = *state;
    baton_check_subject subject;
    scope plan = plan_of(e, &subject);
    result r = explore(&plan, DEFAULT_LIMIT, NULL);
    assert_int_equal(r.ending, VIOLATION);
    assert_string_equal(r.property, "outcome");
    assert_string_equal(r.detail, "an addition is lost");
    assert_int_equal(r.run_length, 6);

    trace found = {.plan = plan,
                   .run = r.run,
                   .length = r.run_length,
                   .property = r.property,
                   .detail = r.detail};
    FILE *file = tmpfile();
    assert_null(trace_save(&found, file));
    rewind(file);
    trace loaded;
    assert_null(trace_load(&loaded, file, &subject, 1));
    fclose(file);
    assert_null(trace_judge(&loaded));
    assert_string_equal(loaded.property, "outcome");
    assert_string_equal(loaded.detail, "an addition is lost");

    char *text;
    size_t length;
    file = open_memstream(&text, &length);
    assert_null(trace_print(&loaded, file));
    fclose(file);
    assert_non_null(strstr(text, "chooses 1 of 2"));
    assert_non_null(strstr(text, "!! an addition is lost"));
    free(text);
    free(loaded.run);
    result_free(&r);
    processes_end();
}

static const char *judge_sleep(const baton_check_outcome *o)
{
    return own_of(o, 1) == 1 ? NULL : "awake too early";
}

static void test_sleep_is_shown(void **state)
{
    (void)state;
    static const expectation e = {.init = init, looks_after_its_sleep, judge_sleep, 2};
    baton_check_subject subject;
    scope plan = plan_of(&e, &subject);
    result r = explore(&plan, DEFAULT_LIMIT, NULL);
    assert_int_equal(r.ending, VIOLATION);
    trace found = {.plan = plan,
                   .run = r.run,
                   .length = r.run_length,
                   .property = r.property,
                   .detail = r.detail};
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    assert_null(trace_print(&found, file));
    fclose(file);
    assert_non_null(strstr(text, "at->futex[0] = 0: sleeps"));
    assert_non_null(strstr(text, "wakes up without cause"));
    assert_non_null(strstr(text, "!! awake too early"));
    free(text);
    result_free(&r);
    processes_end();
}

int main(void)
{
    suite s = {0};
    static const expectation lost = {.init = init, adds_in_two_steps, judge_sum, 2};
    static const expectation lost_c11 = {.init = init, adds_in_two_steps, judge_sum, 2, true};
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++)
        suite_add(&s, test_expectation, &expectations[i], "%s", expectations[i].name);
    suite_add(&s, test_figures, NULL, "figures: the largest of each name, and steps");
    suite_add(&s, test_unshared_saves, NULL, "unshared registers are not interleaved");
    suite_add(&s, test_replay, &lost, "a bad outcome is shown and replayed");
    suite_add(&s, test_replay, &lost_c11, "the same in c11");
    suite_add(&s, test_sleep_is_shown, NULL, "a sleep and its end are shown");
    return suite_run(&s, "programs");
}
