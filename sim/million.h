/* Very many operations in one epoch: what is kept must not grow. */
#ifndef BATON_SIM_MILLION_H
#define BATON_SIM_MILLION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the whole cluster keeps, at one moment. */
typedef struct footprint {
    uint64_t operations; /* executed by all replicas */
    uint64_t log;        /* entries, the longest of all replicas */
    uint64_t kept;       /* operations in memory anywhere, on virtual disks and in letters too */
    uint64_t heap;       /* bytes of the whole simulation */
} footprint;

typedef struct million {
    size_t stub, replica; /* bytes */
    footprint before, after;
    uint64_t epoch;
    bool flat;
    double seconds;
} million;

million million_run(uint8_t nodes, bool ack_all, uint64_t operations);

#endif
