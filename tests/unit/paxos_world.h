/*
 * Nodes that run src/consensus in a network and with a disk that the test has in its hand. It looks
 * at every message that leaves, and at every decision.
 */
#ifndef BATON_UNIT_PAXOS_WORLD_H
#define BATON_UNIT_PAXOS_WORLD_H

#include "out.h"
#include "paxos.h"
#include "unit.h"

enum {
    EPOCH = 7,
    MAX_MEMBERS = 5,
    MAX_FLYING = 512,
    MAX_ROUNDS = 512,
    MAX_VALUES = 256,
};

typedef struct flying {
    uint8_t from, to;
    wme_message message;
} flying;

/* What was said in a ballot: it belongs to one life of one node, and to one value. */
typedef struct ballot_use {
    uint32_t life;
    uint64_t value; /* 0 for none yet */
} ballot_use;

typedef struct world {
    uint64_t seed, chance;
    uint8_t nodes, first;
    uint32_t loss, twice, crash; /* of 1000 messages, messages, actions */
    wme_node node[MAX_MEMBERS];
    paxos p[MAX_MEMBERS];
    paxos_durable saved[MAX_MEMBERS];
    bool up[MAX_MEMBERS];
    uint32_t life[MAX_MEMBERS];
    uint64_t told[MAX_MEMBERS]; /* decision of this life, 0 for none */
    flying air[MAX_FLYING];
    uint32_t flying;
    ballot_use use[MAX_ROUNDS * WME_MAX_NODES];
    uint64_t values; /* proposed so far: 1, 2, 3, ... */
    uint64_t decided;
    uint64_t sent, persisted; /* counted */
    wme_out out;
} world;

void world_open(world *w, uint8_t nodes, uint8_t first, uint64_t seed);
/* Also sees that no operation is left behind. */
void world_close(world *w);
uint64_t draw(world *w, uint64_t below);

void propose(world *w, uint8_t i);
void tick(world *w, uint8_t i);
/* The k-th message in the air arrives; its place is free then. */
void deliver(world *w, uint32_t k);
/* All, in the order in which they were sent, and those that come of it. */
void deliver_all(world *w);
void lose_all(world *w);
/* What one says that is not in the air. */
void say(world *w, uint8_t from, uint8_t to, wme_message m);
void crash(world *w, uint8_t i);
void restart(world *w, uint8_t i);

/* A record without an operation. */
wme_record plain_record(uint64_t value);

#define CHECK(w, condition)                                                        \
    do {                                                                           \
        if (!(condition))                                                          \
            fail_msg("seed %llu: not " #condition, (unsigned long long)(w)->seed); \
    } while (0)

#endif
