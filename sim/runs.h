/* Many runs of wme, on several processors. */
#ifndef BATON_SIM_RUNS_H
#define BATON_SIM_RUNS_H

#include "one_run.h"
#include "workers.h"

typedef struct sums {
    uint64_t runs, events, actions, messages, heartbeats, lost, crashes, forgettings;
    uint64_t suspicions, suspended, decisions, sections, operations, ejected, resumed, installs;
    uint64_t virtual_us;
    uint64_t longest_wait, longest_stall, longest_settling, max_epochs;
    uint64_t judged[HISTORY_PROPERTIES]; /* see history_counts */
} sums;

typedef struct runs_result {
    sums sums;
    harvest harvest;
} runs_result;

/* As workers_run. */
runs_result runs_all(const wishes *w, uint64_t seed, uint64_t runs, uint32_t jobs, bool keep_going);

#endif
