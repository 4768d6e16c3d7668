/*
 * Consensus on the end of one epoch of one lock: single-decree Paxos, one instance at a time, pure
 * like src/wme. A value is a wme_record. Whoever proposes is told a decision by WME_DECISION, the
 * same everywhere; messages may be lost, repeated and overtake each other.
 *
 *   ballot   round * WME_MAX_NODES + node + 1, so no two nodes have one in common; 0 for none.
 *            Round 0 belongs to one node alone, `first`, which needs no promises: if nobody
 *            competes, a decision costs it one round trip
 */
#ifndef BATON_CONSENSUS_PAXOS_H
#define BATON_CONSENSUS_PAXOS_H

#include "wme.h"

/* What must be durable before anything is sent that follows from it. */
typedef struct paxos_durable {
    uint64_t epoch;
    uint64_t promised; /* no ballot below is accepted */
    uint64_t accepted; /* 0 for none */
    wme_record value;  /* that was accepted */
} paxos_durable;

typedef enum paxos_phase { PAXOS_RESTS, PAXOS_PREPARES, PAXOS_ACCEPTS } paxos_phase;

typedef struct paxos {
    paxos_durable durable;
    uint8_t first; /* owns round 0 */
    bool wants;    /* has a proposal */
    bool decided;  /* the decision was told */
    paxos_phase phase;
    uint64_t ballot;     /* of this node's current attempt */
    uint64_t highest;    /* ballot it has seen anywhere */
    uint16_t from;       /* promises, or acceptances, for it */
    uint64_t best;       /* highest ballot among values in promises; 0 for none */
    wme_record proposal; /* own, or that of `best` */
    uint32_t wait;       /* ticks until the next attempt */
    uint64_t chance;     /* for the back-off */
} paxos;

/* A new instance, for this epoch. `chance`: a seed, different on each node. */
void paxos_start(paxos *p, uint64_t epoch, uint8_t first, uint64_t chance);
/* The same after a restart, from what was persisted. */
void paxos_restart(paxos *p, const paxos_durable *durable, uint8_t first, uint64_t chance);
/* Drops what it keeps. */
void paxos_end(paxos *p);

/* At most one proposal in an instance; later ones are ignored. */
void paxos_propose(paxos *p, const wme_node *node, const wme_record *value, wme_out *out);
/* A message of this instance's epoch, checked by wme_check. */
void paxos_receive(paxos *p, const wme_node *node, uint8_t from, const wme_message *m,
                   wme_out *out);
/* Some time has passed: repeats, or tries again with a higher ballot. */
void paxos_tick(paxos *p, const wme_node *node, wme_out *out);

#endif
