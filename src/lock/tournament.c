/*
 * The tournament of Peterson and Fischer and its speed-up, from reads and writes alone.
 * lockout-free-speedup, section 4: n-tournamentME and n-tournamentFME (corrected, erratum 1).
 *
 * A binary tree with a leaf for each process. Its nodes are numbered as in a heap, which is the
 * paper's binary string with a 1 in front:
 *
 *                1                 comp(i, k)      ancestor of leaf i at level k
 *          2           3           role(i, k)      0 if i comes from its left child, 1 if right
 *       4     5     6     7        opposite(i, k)  the other child of comp(i, k)
 *      i=0   i=1   i=2   i=3
 *
 * In the entry, the writes and the looks at flags are seq_cst and the look at turn acquires, for
 * the same reason as in peterson.c, match by match. (The paper's listings have no line numbers.)
 */
#include "internal.h"

static uint32_t levels_for(uint32_t n)
{
    uint32_t levels = 0;
    while ((1U << levels) < n)
        levels++;
    return levels;
}

static uint32_t comp(uint32_t levels, uint32_t i, uint32_t k)
{
    return ((1U << levels) + i) >> k;
}

static uint32_t role(uint32_t i, uint32_t k)
{
    return (i >> (k - 1)) & 1;
}

static uint32_t opposite(uint32_t levels, uint32_t i, uint32_t k)
{
    return comp(levels, i, k - 1) ^ 1;
}

/* ---- n-tournamentME: one flag per process, which holds its level ---- */

static baton_reg *me_turn(baton_tournament *lock, uint32_t node)
{
    return &lock->registers[node - 1];
}

static baton_reg *me_flag(baton_tournament *lock, uint32_t i)
{
    return &lock->registers[(1U << lock->levels) - 1 + i];
}

void baton_tournament_init(baton_tournament *lock, uint32_t n, baton_waiting waiting)
{
    lock->processes = n;
    lock->levels = levels_for(n);
    lock->waiting = waiting;
    place_init(&lock->place);
    for (uint32_t node = 1; node < 1U << lock->levels; node++)
        reg_init(me_turn(lock, node), 0);
    for (uint32_t i = 0; i < n; i++) {
        reg_init(me_flag(lock, i), 0);
        reg_home(me_flag(lock, i), i + 1);
    }
}

/* [for all j in opponents(i, k): flag(j) < k], one register after the other. */
static bool opponents_below(baton_tournament *lock, uint32_t i, uint32_t k)
{
    uint32_t first = (opposite(lock->levels, i, k) << (k - 1)) - (1U << lock->levels);
    uint32_t end = first + (1U << (k - 1));
    for (uint32_t j = first; j < end && j < lock->processes; j++)
        if (reg_read(me_flag(lock, j), seq_cst) >= k)
            return false;
    return true;
}

void baton_tournament_enter(baton_tournament *lock, uint32_t i)
{
    for (uint32_t k = 1; k <= lock->levels; k++) {
        baton_reg *turn = me_turn(lock, comp(lock->levels, i, k));
        reg_write(me_flag(lock, i), k, seq_cst);
        reg_write(turn, role(i, k), seq_cst);
        wake_all(lock->waiting, &lock->place); /* the write to turn may let the other side on */
        reg_await(lock->waiting, &lock->place,
                  reg_read(turn, acquire) != role(i, k) || opponents_below(lock, i, k));
        wins(comp(lock->levels, i, k));
    }
}

void baton_tournament_exit(baton_tournament *lock, uint32_t i)
{
    expect(reg_read(me_flag(lock, i), relaxed) == lock->levels,
           "tournament: exit by one who did not enter");
    reg_write(me_flag(lock, i), 0, release); /* release: my section before the next */
    wake_all(lock->waiting, &lock->place);
}

/* ---- n-tournamentFME: one flag per node, so that a match looks at one flag only ---- */

static baton_reg *fme_turn(baton_tournament_fme *lock, uint32_t node)
{
    return &lock->registers[node - 1];
}

static baton_reg *fme_flag(baton_tournament_fme *lock, uint32_t node)
{
    return &lock->registers[(1U << lock->levels) - 1 + node - 2]; /* the root has none */
}

void baton_tournament_fme_init(baton_tournament_fme *lock, uint32_t n, baton_waiting waiting)
{
    lock->levels = levels_for(n);
    lock->waiting = waiting;
    place_init(&lock->place);
    for (uint32_t node = 1; node < 1U << lock->levels; node++)
        reg_init(fme_turn(lock, node), 0);
    for (uint32_t node = 2; node < 2U << lock->levels; node++)
        reg_init(fme_flag(lock, node), 0);
}

void baton_tournament_fme_enter(baton_tournament_fme *lock, uint32_t i)
{
    for (uint32_t k = 1; k <= lock->levels; k++) {
        baton_reg *turn = fme_turn(lock, comp(lock->levels, i, k));
        baton_reg *rival = fme_flag(lock, opposite(lock->levels, i, k));
        reg_write(fme_flag(lock, comp(lock->levels, i, k - 1)), 1, seq_cst);
        reg_write(turn, role(i, k), seq_cst);
        wake_all(lock->waiting, &lock->place); /* the write to turn may let the other side on */
        reg_await(lock->waiting, &lock->place,
                  reg_read(turn, acquire) != role(i, k) || reg_read(rival, seq_cst) == 0);
        wins(comp(lock->levels, i, k));
    }
}

void baton_tournament_fme_exit(baton_tournament_fme *lock, uint32_t i)
{
    expect(lock->levels == 0 || reg_read(fme_flag(lock, comp(lock->levels, i, 0)), relaxed) == 1,
           "tournament-fme: exit by one who did not enter");
    /*
     * comp(i, k-1), the flags that the entry set, and root first: erratum 1. A flag further down
     * keeps the other processes of its subtree from the flags above it, which are still mine.
     */
    for (uint32_t k = lock->levels; k >= 1; k--) {
        reg_write(fme_flag(lock, comp(lock->levels, i, k - 1)), 0, release);
        loses(comp(lock->levels, i, k));
    }
    wake_all(lock->waiting, &lock->place);
}
