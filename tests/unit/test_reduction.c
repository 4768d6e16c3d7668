/*
 * Reductions lose nothing: every shipped lock is explored with and without them at small bounds.
 * What is found, how long the shortest run to it is, how many runs there are and every figure must
 * be the same. On a broken lock it must be so, too: `scripts/mutants --room lock --by
 * test_reduction` must catch nothing.
 */
#define BATON_REG_SHORT_NAMES
#include "explore.h"
#include "shipped.h"
#include "unit.h"

#include <math.h>
#include <string.h>

/* Which locks at which bounds; NULL for all that take so many processes. */
typedef struct bound {
    const char *names;
    uint32_t processes, passages, resting;
    bool c11, park;
} bound;

static const bound bounds[] = {
    {NULL, 2, 2, 0, .c11 = false},
    {NULL, 2, 3, 0, .c11 = false},
    {NULL, 3, 1, 0, .c11 = false},
    {"tas mcs filter filter-fme1 filter-fme2 tournament-fme", 3, 2, 0, .c11 = false},
    {"tas mcs dt1 dt2 tournament", 4, 1, 1, .c11 = false},
    {"tas mcs tournament tournament-fme", 4, 1, 0, .c11 = false},
    {NULL, 2, 2, 0, .c11 = true},
    {"tas peterson mcs dt1 filter filter-fme1 filter-fme2", 2, 3, 0, .c11 = true},
    {"tas mcs dt1 dt2 filter filter-fme1 filter-fme2 mcs-try", 3, 1, 0, .c11 = true},
    {NULL, 2, 2, 0, .park = true},
    {"tas mcs dt1 dt2 filter filter-fme1 filter-fme2", 3, 1, 0, .park = true},
};

static const bound endless_bounds[] = {
    {"tas peterson mcs dt2 filter filter-fme1 filter-fme2 tournament tournament-fme", 2, 0, 0,
     .c11 = false},
    {"tas mcs filter filter-fme1 filter-fme2 tournament tournament-fme", 3, 0, 0, .c11 = false},
};

typedef struct twice {
    baton_check_subject subject;
    bound at;
} twice;

static scope plan_of(const twice *t, bool reduce)
{
    return (scope){.subject = &t->subject,
                   .processes = t->at.processes,
                   .passages = t->at.passages,
                   .start = t->at.resting,
                   .c11 = t->at.c11,
                   .park = t->at.park,
                   .reduce = reduce};
}

static void assert_same_figures(const figures *a, const figures *b)
{
    assert_int_equal(a->entry_steps, b->entry_steps);
    assert_int_equal(a->exit_steps, b->exit_steps);
    assert_int_equal(a->exit_waits, b->exit_waits);
    assert_int_equal(a->registers, b->registers);
    assert_int_equal(a->acts, b->acts);
    assert_memory_equal(a->winners, b->winners, sizeof a->winners);
    assert_memory_equal(a->holders, b->holders, sizeof a->holders);
}

static void test_same(void **state)
{
    const twice *t = *state;
    scope whole = plan_of(t, false);
    scope less = plan_of(t, true);
    result all = explore(&whole, DEFAULT_LIMIT, NULL);
    result part = explore(&less, DEFAULT_LIMIT, NULL);
    assert_int_equal(part.ending, all.ending);
    assert_int_equal(part.run_length, all.run_length);
    assert_true(part.states <= all.states);
    if (all.property != NULL)
        assert_string_equal(part.property, all.property);
    if (all.ending == EXHAUSTED) {
        assert_true(fabs(part.executions - all.executions) <= 1e-9 * all.executions);
        assert_same_figures(&part.figures, &all.figures);
    }
    result_free(&all);
    result_free(&part);
    processes_end();
}

static void test_same_endless(void **state)
{
    const twice *t = *state;
    scope whole = plan_of(t, false);
    scope less = plan_of(t, true);
    endless all = explore_endless(&whole, DEFAULT_LIMIT, NULL);
    endless part = explore_endless(&less, DEFAULT_LIMIT, NULL);
    assert_int_equal(part.ending, all.ending);
    assert_int_equal(part.victim, all.victim);
    assert_int_equal(part.worst_wait, all.worst_wait);
    assert_true(part.states <= all.states);
    processes_end();
}

static bool is_word_of(const char *word, const char *list)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

enum { MAX_CASES = 256 };

static void add_cases(suite *s, const bound *list, size_t count, void (*test)(void **state))
{
    static twice cases[MAX_CASES];
    static size_t made;
    baton_check_subject subjects[MAX_SHIPPED];
    size_t locks = shipped_subjects(subjects);
    for (size_t b = 0; b < count; b++) {
        for (size_t i = 0; i < locks && made < MAX_CASES; i++) {
            const baton_check_subject *of = &subjects[i];
            if ((list[b].names != NULL && !is_word_of(of->name, list[b].names)) ||
                (of->max_processes != 0 && of->max_processes < list[b].processes))
                continue;
            cases[made] = (twice){*of, list[b]};
            suite_add(s, test, &cases[made++], "%s %ux%u%s%s", of->name, list[b].processes,
                      list[b].passages, list[b].c11 ? " c11" : "", list[b].park ? " park" : "");
        }
    }
}

/* ---- what reductions are there for ---- */

/*
 * Whether three processes have so many tenths as many configurations without reductions. A broken
 * lock, which is not explored to the end, passes.
 */
static bool is_reduced(const char *name, bool c11, uint32_t tenths)
{
    baton_check_subject subjects[MAX_SHIPPED];
    size_t locks = shipped_subjects(subjects);
    size_t i = 0;
    while (i < locks && strcmp(subjects[i].name, name) != 0)
        i++;
    assert_true(i < locks);
    twice t = {subjects[i], {NULL, 3, 1, 0, .c11 = c11}};
    scope whole = plan_of(&t, false);
    scope less = plan_of(&t, true);
    result all = explore(&whole, DEFAULT_LIMIT, NULL);
    result part = explore(&less, DEFAULT_LIMIT, NULL);
    result_free(&all);
    result_free(&part);
    processes_end();
    return all.ending != EXHAUSTED || part.states * tenths < all.states * 10;
}

static void test_alike_processes_are_few(void **state)
{
    (void)state;
    assert_true(is_reduced("dt1", false, 50));
}

static void test_ordered_registers_are_small(void **state)
{
    (void)state;
    assert_true(is_reduced("filter-fme2", true, 20));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* no stack of their own */
static void test_alike_points_are_merged(void **state)
{
    (void)state;
    assert_true(is_reduced("filter", false, 13));
}
#endif

/* ---- what a process keeps to itself ---- */

typedef struct yard {
    baton_reg reg[4];
    baton_word own;
} yard;

static void init(void *memory, uint32_t processes, baton_waiting waiting)
{
    yard *at = memory;
    (void)processes, (void)waiting;
    for (int i = 0; i < 4; i++)
        reg_init(&at->reg[i], 0);
}

static void take_turns(yard *at)
{
    while (reg_swap(&at->reg[3], 1, acquire) != 0)
        reg_await(BATON_SPIN, NULL, reg_read(&at->reg[3], relaxed) == 0);
}

static void leave(void *memory, uint32_t lock, uint32_t i)
{
    (void)lock, (void)i;
    reg_write(&((yard *)memory)->reg[3], 0, release);
}

/*
 * Process 1 reads 0 or 1, and writes it down in its own memory. At its next access nothing else
 * tells the two apart; later only who has read 1 takes no turn.
 */
static void write_down(void *memory, uint32_t lock, uint32_t i)
{
    yard *at = memory;
    (void)lock;
    if (i == 0) {
        reg_write(&at->reg[0], 1, seq_cst);
    } else {
        at->own = reg_read(&at->reg[0], seq_cst);
        reg_write(&at->reg[1], 1, seq_cst);
        if (at->own == 1)
            return;
    }
    take_turns(at);
}

static void must_find(void (*enter)(void *memory, uint32_t lock, uint32_t i), bool c11)
{
    baton_check_subject subject = {
        .name = "odd", .bytes = sizeof(yard), .init = init, .enter = enter, .exit = leave};
    scope plan = {.subject = &subject, .processes = 2, .passages = 1, .c11 = c11, .reduce = true};
    result r = explore(&plan, DEFAULT_LIMIT, NULL);
    assert_int_equal(r.ending, VIOLATION);
    assert_string_equal(r.property, "mutual exclusion");
    result_free(&r);
    processes_end();
}

static void test_own_memory(void **state)
{
    (void)state;
    must_find(write_down, false);
}

/* ---- a register that seems to be used in order ---- */

enum { ROUNDS = 6 };

/*
 * Process 0 writes register 1 and then, relaxed, register 2. Who sees 2 written may still see 1 as
 * it was; but process 1 looks, other than by seq_cst, only if the two have alternated step by step,
 * which no random run is likely to do.
 */
static void rare_in(void *memory, uint32_t lock, uint32_t i)
{
    yard *at = memory;
    (void)lock;
    if (i == 0) {
        for (baton_word round = 1; round <= ROUNDS; round++)
            reg_write(&at->reg[0], round, seq_cst);
        reg_write(&at->reg[1], 1, seq_cst);
        reg_write(&at->reg[2], 1, relaxed);
    } else {
        baton_word round = 1;
        while (round <= ROUNDS && reg_read(&at->reg[0], seq_cst) == round)
            round++;
        if (round > ROUNDS && reg_read(&at->reg[2], relaxed) == 1 &&
            reg_read(&at->reg[1], relaxed) == 0)
            return; /* without the lock */
    }
    take_turns(at);
}

static void test_rare_use(void **state)
{
    (void)state;
    must_find(rare_in, true);
}

int main(void)
{
    suite s = {0};
    add_cases(&s, bounds, sizeof bounds / sizeof bounds[0], test_same);
    add_cases(&s, endless_bounds, sizeof endless_bounds / sizeof endless_bounds[0],
              test_same_endless);
    suite_add(&s, test_alike_processes_are_few, NULL, "alike processes: few configurations");
    suite_add(&s, test_ordered_registers_are_small, NULL, "registers in order: few messages");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    suite_add(&s, test_alike_points_are_merged, NULL, "alike points: few configurations");
#endif
    suite_add(&s, test_own_memory, NULL, "own memory keeps points apart");
    suite_add(&s, test_rare_use, NULL, "a register that seems to be used in order");
    return suite_run(&s, "reduction");
}
