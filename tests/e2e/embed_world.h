/*
 * Three replicas in one process, for embed_live.c. The resource is a sum: an operation is a number
 * as text, its result the sum.
 */
#ifndef BATON_EMBED_WORLD_H
#define BATON_EMBED_WORLD_H

#include "baton/replica.h"
#include "unit.h"

enum { NODES = 3, PATIENCE = 90000, MILLION = 1000000 }; /* sanitizers are slow */

typedef struct member {
    baton_replica *_Atomic replica;
    int64_t sum;   /* of the library's thread */
    int64_t error; /* added to each result */
    bool is_blind; /* understands no state of a million and more */
    _Atomic int events[4];
    _Atomic uint64_t ejected;
    _Atomic int inner; /* what a call from within has returned */
} member;

extern member members[NODES];

/* The resource of a member, and what it is told. */
extern const baton_replica_resource member_ways;
void member_told(void *context, baton_replica_event event, uint64_t token);

/* Where all of them are, and their directories. */
void world_begin(const char *directory);
/* For another one: what member `i` would be opened with. */
baton_replica_options member_options(int i);
/* The result of opening it; and for those who expect no trouble. */
int open_member(int i, char why[BATON_REPLICA_WHY_BYTES]);
void start(int i);
void stop(int i);

/* All expect that it works. */
uint64_t enter(int i);
void leave(int i, uint64_t token);
int64_t add(int i, uint64_t token, const char *number);

typedef struct seen {
    const member *of;
    int64_t sum;
    baton_replica_position place;
} seen;
seen look_at(int i);

void rest(unsigned ms);
/* Until the replica has that sum; until it was told that so often. */
void await_sum(int i, int64_t sum);
void await_event(const member *m, baton_replica_event event, int count);

#endif
