/*
 * Measuring store & collect: what STORE and COLLECT cost while more and more have stored. Shows who
 * is adaptive, so n stays as it is and only k grows.
 *
 * One thread stores as each of k participants, one after another. Then each goes right in the tree
 * and the matrix until it stops, and what is marked is a path of k nodes. That is not the worst
 * case: some k^2 nodes of the matrix are marked only if many come at once.
 */
#ifndef BATON_BENCH_COLLECT_H
#define BATON_BENCH_COLLECT_H

#include "measure.h"

#include <stdbool.h>

enum { COLLECT_OBJECTS = 3, COLLECT_COUNTS = 7, MAX_STORERS = 64 };

/* What is measured: an object, and n. */
typedef struct collect_object {
    const char *name;
    uint32_t participants;
} collect_object;

extern const collect_object collect_objects[COLLECT_OBJECTS];
extern const uint32_t collect_counts[COLLECT_COUNTS]; /* k, growing */

typedef struct collect_plan {
    uint32_t rounds;
    double seconds; /* for everything together */
    size_t value_bytes;
    /* Called now and then with the share that is done, from 0 to 1. May be NULL. */
    void (*progress)(double share, const char *object, uint32_t stored);
} collect_plan;

/* What is asked of each object. */
enum {
    FIRST_STORE_COST, /* of the k-th to come */
    LATER_STORE_COST, /* of those who have stored before */
    COLLECT_COST,     /* of all k values */
    COSTS,
};

extern const char *const cost_names[COSTS];

/* What it came to when k had stored: medians over the rounds. */
typedef struct collect_outcome {
    bool measured; /* false: k is more than n */
    double ns[COSTS];
} collect_outcome;

/* Object by object; [o][c] is about collect_objects[o] and collect_counts[c]. */
typedef collect_outcome collect_outcomes[COLLECT_OBJECTS][COLLECT_COUNTS];

/* Measures. Returns NULL, or what went wrong: memory, or a COLLECT that missed a STORE. */
const char *collect_measure(const collect_plan *plan, collect_outcomes outcomes);

/* Draws COLLECT and later STOREs over k as SVG, into an open file. NULL, or what went wrong. */
const char *collect_plot(const collect_plan *plan, const collect_outcomes outcomes, int file);

#endif
