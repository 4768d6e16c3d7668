/* One run: its settings, drawn from its seed as far as nobody says otherwise, and what came out. */
#ifndef BATON_SIM_ONE_RUN_H
#define BATON_SIM_ONE_RUN_H

#include "cluster.h"

/* What is asked of runs; 0 or NULL leaves it to the seed. */
typedef struct wishes {
    uint8_t nodes;
    uint8_t locks;
    const char *ack; /* "all", "owner" */
    bool outside;    /* consensus */
    int faults;      /* kinds; used if there is no plan */
    const plan *plan;
    const char *plan_file; /* it came from there */
    uint64_t fail_epoch;
} wishes;

typedef struct run_result {
    trouble trouble;
    tally tally;
    history_counts counts; /* of all locks */
    uint64_t decisions;
    uint64_t epochs; /* the highest that was reached */
} run_result;

settings run_settings(const wishes *w, uint64_t seed);
run_result run(const settings *s, teller *t);
/* The command that makes this run again. */
void run_command(const settings *s, const wishes *w, uint64_t seed, char text[512]);

#endif
