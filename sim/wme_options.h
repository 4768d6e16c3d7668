/* The command line of `baton-sim wme`, as a wish. */
#ifndef BATON_SIM_WME_OPTIONS_H
#define BATON_SIM_WME_OPTIONS_H

#include "one_run.h"
#include "options.h"

enum { DEFAULT_RUNS = 1000 };

typedef enum wish_kind {
    WISH_RUNS,
    WISH_REPLAY,
    WISH_SVG,
    WISH_HISTORY,
    WISH_PLAN,
    WISH_MINIMIZE,
    WISH_COUNT,
    WISH_MILLION,
} wish_kind;

typedef struct wish {
    wish_kind kind;
    wishes wishes;
    plan plan;
    uint64_t seed, runs; /* runs: 0 if not said */
    uint32_t jobs;
    uint64_t from, to; /* us */
    const char *svg_file, *history_file;
    bool seeded, keep_going, baseline, as_json;
    bool replay, print_plan, minimize, count, million; /* as options; at most one, see `kind` */
} wish;

options_verdict wish_parse(wish *w, char **argv);

#endif
