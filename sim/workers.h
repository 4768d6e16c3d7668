/*
 * Many runs, on several processors: each worker is a process of its own. Workers take seeds from a
 * counter that they share. When a run breaks something, nobody takes a later seed, but those that
 * were taken are finished: so the seed that is reported is the lowest that fails, however many
 * workers there are.
 */
#ifndef BATON_SIM_WORKERS_H
#define BATON_SIM_WORKERS_H

#include "trouble.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MAX_FAILURES = 24, MAX_SUMS = 1024 /* bytes */ };

/* What a worker does, whatever its runs are. */
typedef struct labour {
    const void *wishes;
    /* One run; what it has counted is added to `sums`. */
    void (*run)(const void *wishes, uint64_t seed, void *sums, trouble *found);
    void (*add)(void *sums, const void *more);
    void (*leave)(pid_t worker); /* when that one has ended, however; NULL: nothing to do */
    size_t sums_bytes;           /* MAX_SUMS at most */
} labour;

/* A property that was broken, how often, and the run with the lowest seed of these. */
typedef struct failure {
    uint64_t count;
    uint64_t seed;
    trouble trouble;
} failure;

typedef struct harvest {
    uint64_t runs;
    double seconds;
    bool interrupted;
    uint32_t broken; /* properties: the one with the lowest seed comes first */
    failure failures[MAX_FAILURES];
} harvest;

/* From this seed on, until one breaks something; or, to keep going, all of them. */
harvest workers_run(const labour *l, uint64_t seed, uint64_t runs, uint32_t jobs, bool keep_going,
                    void *sums);

#endif
