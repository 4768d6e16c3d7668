/* Finds a small fault plan that still breaks the same property. */
#ifndef BATON_SIM_MINIMIZE_H
#define BATON_SIM_MINIMIZE_H

#include "one_run.h"

typedef struct minimized {
    trouble trouble; /* of the small plan; property[0] is '\0' if nothing is broken */
    plan plan;
    uint32_t faults_before;
    uint32_t runs;
} minimized;

minimized minimize(const wishes *w, uint64_t seed);

#endif
