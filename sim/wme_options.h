/* The command line of `baton-sim wme`, as a wish. */
#ifndef BATON_SIM_WME_OPTIONS_H
#define BATON_SIM_WME_OPTIONS_H

#include "run.h"

enum { DEFAULT_RUNS = 1000 };

typedef enum wish_kind {
    WISH_RUNS,
    WISH_REPLAY,
    WISH_SVG,
    WISH_PLAN,
    WISH_MINIMIZE,
    WISH_COUNT,
    WISH_MILLION,
    WISH_HELP,
} wish_kind;

typedef struct wish {
    wish_kind kind;
    wishes wishes;
    plan plan;
    uint64_t seed, runs; /* runs: 0 if not said */
    uint32_t jobs;
    uint64_t from, to; /* us */
    const char *svg_file;
    bool seeded, keep_going, baseline, as_json;
} wish;

/* EXIT_FINE; or another exit code, with a message on standard error. */
int wish_parse(wish *w, int argc, char **argv);
void wish_help(void);

#endif
