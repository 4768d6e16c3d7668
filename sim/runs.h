/* Many runs, on several processors: each worker is a process of its own. */
#ifndef BATON_SIM_RUNS_H
#define BATON_SIM_RUNS_H

#include "run.h"

typedef struct sums {
    uint64_t runs, events, actions, messages, heartbeats, lost, crashes, suspicions, suspended;
    uint64_t decisions, sections, operations, ejected, installs, virtual_us;
    uint64_t longest_wait, longest_settling, most_epochs;
} sums;

typedef struct runs_result {
    sums sums;
    double seconds;
    bool interrupted;
    bool broken;
    uint64_t seed; /* of the first run that broke something: the lowest of all */
    trouble trouble;
} runs_result;

/* From this seed on. */
runs_result runs_all(const wishes *w, uint64_t seed, uint64_t runs, uint32_t jobs);

#endif
