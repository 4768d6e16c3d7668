/* The options of baton-check. */
#ifndef BATON_CHECK_OPTIONS_H
#define BATON_CHECK_OPTIONS_H

#include "model.h"

typedef struct options {
    scope plan; /* without a subject */
    uint64_t limit;
    uint64_t seed;
    uint64_t runs;
    const char *trace;
    const char *svg;
    bool random, figures, endless, timed, json, all, quick, list, help;
    int words; /* index in argv of the first that is no option */
} options;

/* NULL, or what is wrong with them. */
const char *options_parse(options *o, int argc, char **argv);

#endif
