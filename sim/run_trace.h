/* A run as text: a line for each thing that happens, and for each that is then done. */
#ifndef BATON_SIM_RUN_TRACE_H
#define BATON_SIM_RUN_TRACE_H

#include "note.h"

#include <stdio.h>

typedef struct trace {
    teller teller;
    FILE *out;
    uint64_t from, to; /* us: what is before or after is left out */
    bool heading_due;
    note heading; /* a tick: told only if something comes of it */
} trace;

trace trace_start(FILE *out, uint64_t from, uint64_t to);

const char *wme_kind_name(wme_kind kind);

#endif
