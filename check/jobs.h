/*
 * A job is one exploration with all its parts: what was asked, what came out, in words or as JSON.
 * And the list of all jobs, which --all works through on as many processors as there are.
 */
#ifndef BATON_CHECK_JOBS_H
#define BATON_CHECK_JOBS_H

#include "check_options.h"
#include "explore.h"
#include "json.h"
#include "trace.h"

#include <stdio.h>

typedef struct job {
    scope plan;
    uint64_t limit;
    bool figures; /* remote references as well: one more exploration per process */
    bool endless;
    bool timed;
    bool random;
    uint64_t seed;
    uint64_t runs;
} job;

typedef struct report {
    result result;
    figures remote; /* with job.figures */
    endless endless;
    timed timed;
} report;

void job_run(const job *j, report *r, on_progress *progress);
void report_text(const job *j, const report *r, FILE *out);
void report_json(const job *j, const report *r, FILE *out);
/* What report_json puts into its object. */
void report_fields(json *to, const job *j, const report *r);
/* A line of a table, and the line above the first. */
void report_header(FILE *out);
void report_row(const job *j, const report *r, FILE *out);
/* Whether a promise of the subject is broken; starving breaks one only if it was made. */
bool report_broken(const job *j, const report *r);
bool report_limit(const report *r);
/* Whether it could not be explored at all, or not to its end for want of room. */
bool report_impossible(const report *r);

/* All that takes minutes at most, the quick part of it, or the rest. Returns the exit code. */
int jobs_all(const options *o, const baton_check_subject *subjects, size_t count);

#endif
