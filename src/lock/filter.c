/*
 * The n-process algorithm of Peterson and its two speed-ups, from reads and writes alone.
 * lockout-free-speedup, section 3: n-processME, n-processFME1, n-processFME2.
 *
 * n-1 levels; at most n-k processes win level k, so one process is left after the last.
 *
 *   flag(i)   0 in the remainder, else the level at which process i competes or which it has won
 *   turn(k)   who came last to level k: that one waits
 *
 * In the entry, the writes and the looks at flags are seq_cst and the look at turn acquires, for
 * the same reason as in peterson.c, level by level. FME1 and FME2 differ from the original in one
 * line each: FME1 in what it waits for, FME2 in what it does on exit. (The paper's listings have no
 * line numbers.)
 */
#include "internal.h"

static baton_reg *flag(baton_filter *lock, uint32_t i)
{
    return &lock->registers[i];
}

static baton_reg *turn(baton_filter *lock, uint32_t k)
{
    return &lock->registers[lock->processes - 1 + k];
}

void baton_filter_init(baton_filter *lock, uint32_t n, baton_waiting waiting)
{
    lock->processes = n;
    lock->waiting = waiting;
    place_init(&lock->place);
    for (uint32_t i = 0; i < n; i++) {
        reg_init(flag(lock, i), 0);
        reg_home(flag(lock, i), i + 1);
    }
    for (uint32_t k = 1; k < n; k++)
        reg_init(turn(lock, k), 0);
}

/* [for all j != i: flag(j) < k], one register after the other. */
static bool all_below(baton_filter *lock, uint32_t i, uint32_t k)
{
    for (uint32_t j = 0; j < lock->processes; j++)
        if (j != i && reg_read(flag(lock, j), seq_cst) >= k)
            return false;
    return true;
}

/* [for all j != i: flag(j) not in {k, k+1}], one register after the other. */
static bool none_near(baton_filter *lock, uint32_t i, uint32_t k)
{
    for (uint32_t j = 0; j < lock->processes; j++) {
        if (j == i)
            continue;
        baton_word level = reg_read(flag(lock, j), seq_cst);
        if (level == k || level == k + 1)
            return false;
    }
    return true;
}

/* flag(i) := k; turn(k) := i. Either write may be what somebody waits for. */
static void come_to_level(baton_filter *lock, uint32_t i, uint32_t k)
{
    reg_write(flag(lock, i), k, seq_cst);
    reg_write(turn(lock, k), i, seq_cst);
    wake_all(lock->waiting, &lock->place);
}

/* flag(i) := 0. */
static void leave_levels(baton_filter *lock, uint32_t i)
{
    reg_write(flag(lock, i), 0, release); /* release: my section before the next */
    wake_all(lock->waiting, &lock->place);
}

static void expect_winner(baton_filter *lock, uint32_t i)
{
    (void)lock;
    (void)i;
    expect(reg_read(flag(lock, i), relaxed) == lock->processes - 1,
           "filter: exit by one who did not enter");
}

/* ---- n-processME ---- */

void baton_filter_enter(baton_filter *lock, uint32_t i)
{
    for (uint32_t k = 1; k < lock->processes; k++) {
        come_to_level(lock, i, k);
        reg_await(lock->waiting, &lock->place,
                  reg_read(turn(lock, k), acquire) != i || all_below(lock, i, k));
        wins(k);
    }
}

void baton_filter_exit(baton_filter *lock, uint32_t i)
{
    expect_winner(lock, i);
    leave_levels(lock, i);
}

/* ---- n-processFME1: who has gone two levels further is no longer waited for ---- */

void baton_filter_fme1_enter(baton_filter *lock, uint32_t i)
{
    for (uint32_t k = 1; k < lock->processes; k++) {
        come_to_level(lock, i, k);
        reg_await(lock->waiting, &lock->place,
                  reg_read(turn(lock, k), acquire) != i || none_near(lock, i, k));
        wins(k);
    }
}

void baton_filter_fme1_exit(baton_filter *lock, uint32_t i)
{
    expect_winner(lock, i);
    leave_levels(lock, i);
}

/* ---- n-processFME2: who leaves pushes the waiting one on at every level ---- */

void baton_filter_fme2_enter(baton_filter *lock, uint32_t i)
{
    baton_filter_enter(lock, i);
}

void baton_filter_fme2_exit(baton_filter *lock, uint32_t i)
{
    expect_winner(lock, i);
    for (uint32_t k = lock->processes - 1; k >= 1; k--) { /* downwards: erratum 2 */
        reg_write(turn(lock, k), i, seq_cst);             /* who waited at level k goes on */
        loses(k);
    }
    leave_levels(lock, i);
}
