/* What came out of runs of wme, in words or as JSON. */
#ifndef BATON_SIM_WME_REPORT_H
#define BATON_SIM_WME_REPORT_H

#include "runs.h"
#include "trace.h"

#include <stdio.h>

void report_settings(const settings *s, uint64_t seed, FILE *out);
void report_run(const run_result *r, FILE *out);
void report_runs(const runs_result *r, const wishes *w, FILE *out);
void report_runs_json(const runs_result *r, const wishes *w, FILE *out);

#endif
