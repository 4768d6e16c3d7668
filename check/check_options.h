/* The options of baton-check. */
#ifndef BATON_CHECK_CHECK_OPTIONS_H
#define BATON_CHECK_CHECK_OPTIONS_H

#include "model.h"
#include "options.h"

typedef struct options {
    scope plan; /* without a subject */
    uint64_t limit;
    uint64_t seed;
    uint64_t runs;
    const char *trace;
    const char *svg;
    bool random, figures, endless, timed, no_reduction, json, all, quick, deep, list;
} options;

/* Its program is to be filled in: the name under which somebody has linked it. */
extern const command_line check_line;

/* OPTIONS_FINE if they make sense together, too. */
options_verdict options_parse(const command_line *line, char **argv, options *o, options_got *got);

#endif
