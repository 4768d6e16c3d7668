/* Finds a small fault plan that still breaks the same property. */
#ifndef BATON_SIM_MINIMIZE_H
#define BATON_SIM_MINIMIZE_H

#include "run.h"

typedef struct minimized {
    trouble trouble; /* of the small plan; property[0] is '\0' if nothing is broken */
    plan plan;
    uint32_t faults_before;
    uint32_t runs;
} minimized;

minimized minimize(const wishes *w, uint64_t seed);
/* One run in a process of its own: an assertion that fails there is a result here. */
trouble run_apart(const settings *s);

#endif
