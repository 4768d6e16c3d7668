/* Figures of a lock service in the text format of Prometheus, version 0.0.4. Pure. */
#ifndef BATON_SERVE_METRICS_H
#define BATON_SERVE_METRICS_H

#include "lock_backend.h"
#include "resp.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

typedef struct metrics {
    lock_counts locks;
    uint64_t connections;        /* now */
    uint64_t accepted;           /* so far */
    uint64_t received, sent;     /* messages */
    uint64_t refused_by_clients; /* as they say */
    uint64_t held_back;          /* milliseconds for which grants are still held back */
    bool open;                   /* locks are granted */
} metrics;

void metrics_write(const metrics *m, resp_out *text);
/* One figure with its HELP and TYPE; what only grows is a counter. */
void metrics_counter(resp_out *text, const char *name, uint64_t value, const char *help);
void metrics_gauge(resp_out *text, const char *name, uint64_t value, const char *help);

#endif
