/*
 * Runs for people: a lane per process, time downwards, each step with its place in the source and
 * in the paper, what it changed, and at the end who did wrong. As text, as SVG, and as a file that
 * can be replayed.
 */
#ifndef BATON_CHECK_TRACE_H
#define BATON_CHECK_TRACE_H

#include "explore.h"

#include <stdio.h>

typedef struct trace {
    scope plan;
    step *run;
    uint32_t length;
    const char *property; /* violated at the end; NULL if the run is only a run */
    const char *detail;
} trace;

/* Runs it again and prints it. Returns NULL, or why the run does not fit its plan. */
const char *trace_print(const trace *t, FILE *out);
const char *trace_svg(const trace *t, FILE *out);

/* A small text file: what is explored, and the steps. Both return NULL, or what went wrong. */
const char *trace_save(const trace *t, FILE *out);
/* `plan.subject` is found among the subjects; run is allocated. */
const char *trace_load(trace *t, FILE *in, const baton_check_subject *subjects, size_t count);
/* Finds out what a loaded run violates at its end. NULL, or why it does not fit its plan. */
const char *trace_judge(trace *t);

#endif
