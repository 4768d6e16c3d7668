/*
 * Is this node new, or has it forgotten? Before a node counts it asks the others whether they know
 * it. Pure, like all of this room.
 *
 *   boot id    of a data directory: drawn when that is made, so an emptied one has another. Each
 *              node writes down the one that it has heard of each other node
 *   life       grows with each start of a node, and over the loss of its disk: whoever is FORGETFUL
 *              goes on from the largest that the others know. They write down the largest, too
 *   run        of a node: from a start to its end
 *   turn       of a data directory: how often it was written so far, but for starts
 *   NEW        never counted. Sends nothing but questions
 *   FORGETFUL  has counted, and lost what it knew: a lock that it has no record of begins by
 *              replica_rejoin. Counts in all that it has rejoined
 *   SETTLED    knows what it has ever said
 *
 *   NEW ──somebody knows another boot id of it──► FORGETFUL ──all is back──► SETTLED
 *    └───all others, or enough that are settled, know no other───────────────────▲
 *
 * Data that are older than what was heard of a node are refused: of another boot id, but for those
 * of a FORGETFUL node in a later life; of an earlier life, or of another run in the same; and of a
 * run that began with an earlier turn than was heard of, as a copy that was restored does. Who has
 * heard of later ones ignores that node, and tells it so; then it takes part in nothing any more,
 * and says nothing, however often it starts. Who is told so by older data does not believe it. (A
 * copy is not noticed where nobody is up that has heard of what came after it; nor, from then on,
 * when it has written as much as the directory itself had.)
 *
 * A node that is FORGETFUL is not asked how old its data are. So it goes on with none: when it
 * starts, its store is empty, and it has heard of nobody.
 *
 * Enough are N - majority + 1: as many wrote the boot id down before the node first counted, so one
 * of any that many still has it, or has forgotten itself and is not settled.
 *
 * All is back when every other node has hung up on the old self, and has told all locks that it has
 * a record of, and these are rejoined. A lock that none of them has a record of then is one in
 * which the old self has said nothing that still counts. Who has itself forgotten has nothing to
 * tell; enough others must have.
 */
#ifndef BATON_WME_BOOT_CHECK_H
#define BATON_WME_BOOT_CHECK_H

#include "wme.h"

typedef enum boot_state { BOOT_NEW, BOOT_FORGETFUL, BOOT_SETTLED } boot_state;

/* What must be durable before anything is said that follows from it. */
typedef struct boot_durable {
    boot_state state;
    uint64_t boot;                 /* of this node; not 0 */
    uint64_t heard[WME_MAX_NODES]; /* boot id of each other one; 0 for none yet */
    uint64_t life;                 /* of this node, */
    uint64_t lives[WME_MAX_NODES]; /* and of each other one, as far as was heard; */
    uint64_t runs[WME_MAX_NODES];  /* likewise, the run of that life, */
    uint64_t turns[WME_MAX_NODES]; /* and the last turn in it */
    bool outdated;                 /* others have heard of later data than these, for good */
    uint64_t writes;               /* how often there was news in this, but for turns and lives */
} boot_durable;

typedef struct boot_message {
    bool asks;        /* or answers */
    uint64_t nonce;   /* run of the one who asks */
    uint64_t boot;    /* of the sender, */
    boot_state state; /* and how it is */
    bool other;       /* an answer: another boot id of you is known here, or another run: */
    uint64_t life;    /* of the sender */
    uint64_t known;   /* an answer: the largest life of yours that is known here, or is refused */
    uint64_t run;     /* of the sender, */
    uint64_t begin;   /* the turn that it began with, */
    uint64_t turn;    /* and the one that it has come to, for whoever sends this to fill in */
} boot_message;

typedef struct boot_check {
    uint8_t me, nodes;
    boot_durable durable;
    bool unsaved;       /* a turn was heard of, which need not be made durable at once */
    uint64_t begin;     /* the turn that this run began with, */
    uint64_t nonce;     /* and which one it is */
    uint16_t answered;  /* others, a bit for each */
    uint16_t settled;   /* of these, as they were when they last said something */
    uint16_t forgetful; /* of all, likewise */
    uint16_t outdated;  /* of all: their data are older than what was heard of them */
    uint16_t met;       /* of all: which run of theirs this is, was heard in this run */
    uint16_t recently;  /* have said so since the last time this was looked at */
    uint16_t listed;    /* have told all their locks */
    uint32_t ticks;
    uint8_t tells; /* how often all are still to be told that this node is settled */
} boot_check;

/*
 * `durable` as of the last time; `forgets`: the data do not outlive the process. `begin`: the turn
 * of the data, before anything is written; `nonce`: never the same twice.
 */
void boot_start(boot_check *m, uint8_t me, uint8_t nodes, const boot_durable *durable, bool forgets,
                uint64_t begin, uint64_t nonce);
/*
 * Both return whether m->durable has changed, and must be made durable before anything else
 * happens. boot_hear: what is to be answered to a question is in `answer`.
 */
bool boot_hear(boot_check *m, uint8_t from, const boot_message *what, boot_message *answer);
/* That node says which turn is its last one, of a run that was heard of before. */
void boot_hear_turn(boot_check *m, uint8_t from, uint64_t turn);
/* All that was listed is rejoined. */
bool boot_rejoined(boot_check *m);
/* That node, which is settled, has told all its locks in answer to this run's question. */
void boot_listed(boot_check *m, uint8_t from);

/* To be called now and then: whom to ask, a bit for each, and what. Who is outdated asks nobody. */
uint16_t boot_tick(boot_check *m, boot_message *question);
/* Who should be asked for its locks. */
uint16_t boot_unlisted(const boot_check *m);
/* Those who have to answer before this node counts. */
uint16_t boot_missing(const boot_check *m);
/* Too few know what they knew: nothing can be agreed on any more, about any lock that was used. */
bool boot_is_lost(const boot_check *m);
/*
 * Somebody has lost what it knew, and none of all nodes is settled: a disk was lost before the
 * cluster had begun, or so were all. Nobody can tell which, and no node will ever count.
 */
bool boot_is_stuck(const boot_check *m);

#endif
