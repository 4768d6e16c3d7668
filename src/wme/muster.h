/*
 * Is this node new, or has it forgotten? Before a node counts it asks the others whether they know
 * it. Pure, like all of this room.
 *
 *   boot id    of a data directory: drawn when that is made, so an emptied one has another. Each
 *              node writes down the first one that it hears of each other node, for ever
 *   NEW        never counted. Sends nothing but questions
 *   FORGETFUL  has counted, and lost what it knew: a lock that it has no record of begins by
 *              replica_rejoin. Counts in all that it has rejoined
 *   SETTLED    knows what it has ever said
 *
 *   NEW ──somebody knows another boot id of it──► FORGETFUL ──all is back──► SETTLED
 *    └───all others, or enough that are settled, know no other───────────────────▲
 *
 * Enough are N - majority + 1: as many wrote the boot id down before the node first counted, so one
 * of any that many still has it, or has forgotten itself and is not settled.
 *
 * All is back when every other node has hung up on the old self, and has told all locks that it has
 * a record of, and these are rejoined. A lock that none of them has a record of then is one in
 * which the old self has said nothing that still counts. Who has itself forgotten has nothing to
 * tell; enough others must have.
 */
#ifndef BATON_WME_MUSTER_H
#define BATON_WME_MUSTER_H

#include "wme.h"

typedef enum muster_state { MUSTER_NEW, MUSTER_FORGETFUL, MUSTER_SETTLED } muster_state;

/* What must be durable before anything is said that follows from it. */
typedef struct muster_durable {
    muster_state state;
    uint64_t boot;                  /* of this node; not 0 */
    uint64_t heard[WME_MOST_NODES]; /* the first boot id of each other one; 0 for none yet */
} muster_durable;

typedef struct muster_message {
    bool asks;          /* or answers */
    uint64_t nonce;     /* of the asking: of one run of the one who asks */
    uint64_t boot;      /* of the sender, */
    muster_state state; /* and how it is */
    bool other;         /* an answer: another boot id of you is known here */
} muster_message;

typedef struct muster {
    uint8_t me, nodes;
    muster_durable durable;
    uint64_t nonce;
    uint16_t answered;  /* others, a bit for each */
    uint16_t settled;   /* of these, as they were when they last said something */
    uint16_t forgetful; /* of all, likewise */
    uint16_t recently;  /* have said so since the last time this was looked at */
    uint16_t listed;    /* have told all their locks */
    uint32_t ticks;
    uint8_t tells; /* how often all are still to be told that this node is settled */
} muster;

/*
 * `durable` as of the last time; `forgets`: the data do not outlive the process. `nonce`: never the
 * same twice.
 */
void muster_start(muster *m, uint8_t me, uint8_t nodes, const muster_durable *durable, bool forgets,
                  uint64_t nonce);
/*
 * Both return whether m->durable has changed, and must be made durable before anything else
 * happens. muster_hear: what is to be answered to a question is in `answer`.
 */
bool muster_hear(muster *m, uint8_t from, const muster_message *what, muster_message *answer);
/* All that was listed is rejoined. */
bool muster_rejoined(muster *m);
/* That node, which is settled, has told all its locks in answer to this run's question. */
void muster_listed(muster *m, uint8_t from);

/* To be called now and then: whom to ask, a bit for each, and what. */
uint16_t muster_tick(muster *m, muster_message *question);
/* Who should be asked for its locks. */
uint16_t muster_unlisted(const muster *m);
/* All are listed that can be: what is left is to rejoin them. */
bool muster_is_listed(const muster *m);
/* Those who have to answer before this node counts. */
uint16_t muster_missing(const muster *m);
/* Too few know what they knew: nothing can be agreed on any more, about any lock that was used. */
bool muster_is_lost(const muster *m);

#endif
