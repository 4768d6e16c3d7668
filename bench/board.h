/*
 * Measuring the board: what it costs one thread alone to enter and exit a lock by name, and what it
 * costs when a card on a board shows it.
 */
#ifndef BATON_BENCH_BOARD_H
#define BATON_BENCH_BOARD_H

#include "baton/lock.h"
#include "measure.h"

enum { MAX_BOARD_LOCKS = 32 };

typedef struct board_plan {
    const baton_algorithm *lock[MAX_BOARD_LOCKS];
    size_t locks;
    uint32_t rounds;
    double seconds; /* for everything together */
    /* Called now and then with the share that is done, from 0 to 1. May be NULL. */
    void (*progress)(double share, const char *lock);
} board_plan;

/* Nanoseconds per enter and exit: medians over the rounds, of the difference as well. */
typedef struct board_outcome {
    double off_ns;
    double on_ns;
    double cost_ns;
} board_outcome;

/* Measures every lock of the plan. Returns NULL, or what went wrong. */
const char *board_measure(const board_plan *plan, board_outcome outcomes[MAX_BOARD_LOCKS]);

#endif
