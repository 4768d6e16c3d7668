/*
 * The load of `baton bench --at ... --mix issue` for clusters of others, so that they can be
 * compared: a closed loop of clients, each with a connection and a key of its own, which it sets
 * again and again. Here are the options and the figures; peer_etcd.c and peer_zookeeper.c speak.
 */
#ifndef BATON_BENCH_PEER_LOAD_H
#define BATON_BENCH_PEER_LOAD_H

#include "load.h"
#include "measure.h"

typedef struct peer_load {
    load_plan plan; /* addresses, clients, size, times */
    uint32_t seconds;
    uint64_t from, end; /* of what is measured, ns; 0: not yet */
    histogram took;
    uint64_t in_time, failed;
    double
        processor; /* seconds that this process had taken when it began to measure; -1: not yet */
    char value[LOAD_MAX_VALUE];
} peer_load;

/* False: it ends here, with *code. */
bool peer_load_read(peer_load *l, const char *program, char **argv, int *code);
/* All clients are ready. */
void peer_load_begin(peer_load *l);
/* Whether another operation may begin. */
bool peer_load_goes_on(const peer_load *l);
/* One that was begun at that time has been answered. */
void peer_load_answered(peer_load *l, uint64_t begun, bool is_fine);
/* The figures as JSON, a part of what `baton bench` prints; returns the exit code. */
int peer_load_print(const peer_load *l);

#endif
