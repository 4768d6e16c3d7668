/* What came out of runs of wme, in words or as JSON. */
#ifndef BATON_SIM_WME_REPORT_H
#define BATON_SIM_WME_REPORT_H

#include "count.h"
#include "million.h"
#include "run_trace.h"
#include "runs.h"

#include <stdio.h>

void report_settings(const settings *s, uint64_t seed, FILE *out);
void report_run(const run_result *r, FILE *out);
void report_runs(const runs_result *r, const wishes *w, FILE *out);
void report_runs_json(const runs_result *r, const wishes *w, FILE *out);

enum { MAX_ROWS = 16 };

/* A row of Table 1. */
typedef struct row {
    const char *name;
    uint8_t nodes;
    costs costs;
} row;

void report_counts(const row *rows, uint32_t count, FILE *out);
void report_counts_json(const row *rows, uint32_t count, FILE *out);
void report_million(const million *m, FILE *out);
void report_million_json(const million *m, FILE *out);

#endif
