/* What was found wrong in a run. */
#ifndef BATON_SIM_TROUBLE_H
#define BATON_SIM_TROUBLE_H

#include <stdint.h>

/* property[0] is '\0' if nothing was. */
typedef struct trouble {
    char property[32];
    char what[200];
    uint64_t at; /* us */
} trouble;

#endif
