/* Searches through a model: all that can happen, chance from a seed, or a scene that is counted. */
#ifndef BATON_SIM_SEARCH_H
#define BATON_SIM_SEARCH_H

#include "searchable.h"

#include <stdio.h>

typedef enum sim_ending {
    SIM_EXHAUSTED, /* everything was seen, nothing was wrong */
    SIM_RUNS_DONE, /* all runs were made, nothing was wrong */
    SIM_COUNTED,
    SIM_LIMIT,  /* stopped at the limit; what was seen was right */
    SIM_BROKEN, /* something was wrong; the run to it is in `run` */
} sim_ending;

typedef struct sim_result {
    sim_ending ending;
    const char *broken; /* in words */
    uint64_t worlds;    /* that were seen */
    uint64_t steps;
    uint64_t runs;
    uint64_t seed; /* of the run that broke it */
    counts counts; /* of all random runs together, or of the scene */
    double seconds;
    happening *run; /* freed by sim_result_free */
    uint32_t run_length;
} sim_result;

/* Called now and then; NULL for silence. */
typedef void sim_progress(const model *of, uint64_t done);

/* Everything that can happen within the limits, nearest first. */
sim_result sim_search(const model *m, const limits *of, uint64_t max, sim_progress *progress);
/* Runs from seed, seed + 1, ...: each draws limits' faults and its own share of chance. */
sim_result sim_random(const model *m, const limits *of, uint64_t seed, uint64_t runs,
                      sim_progress *progress);
/*
 * A scene without chance: in each of so many sections one process is inside while each of the
 * others tries so many times, every message arrives before anything else happens, and the first to
 * try afterwards is the next one inside.
 */
sim_result sim_count(const model *m, uint32_t clients, uint32_t sections, uint32_t tries_of_each);
/* The run, step by step. */
void sim_tell(const model *m, const limits *of, const sim_result *r, FILE *out);
void sim_result_free(sim_result *r);

#endif
