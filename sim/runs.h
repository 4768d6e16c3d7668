/* Many runs, on several processors: each worker is a process of its own. */
#ifndef BATON_SIM_RUNS_H
#define BATON_SIM_RUNS_H

#include "run.h"

typedef struct sums {
    uint64_t runs, events, actions, messages, heartbeats, lost, crashes, forgettings, suspicions,
        suspended;
    uint64_t decisions, sections, operations, ejected, resumed, installs, virtual_us;
    uint64_t longest_wait, longest_stall, longest_settling, most_epochs;
} sums;

enum { MOST_FAILURES = 24 };

/* A property that was broken, how often, and the run with the lowest seed of these. */
typedef struct failure {
    uint64_t count;
    uint64_t seed;
    trouble trouble;
} failure;

typedef struct runs_result {
    sums sums;
    double seconds;
    bool interrupted;
    uint32_t broken; /* properties: the one with the lowest seed comes first */
    failure failures[MOST_FAILURES];
} runs_result;

/*
 * From this seed on, until one breaks something; or, to keep going, all of them.
 */
runs_result runs_all(const wishes *w, uint64_t seed, uint64_t runs, uint32_t jobs, bool keep_going);

#endif
