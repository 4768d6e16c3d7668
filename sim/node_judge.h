/*
 * Judges a run of whole nodes by what its clients were told, and by nothing else: it knows no node,
 * no epoch and no message. Operations are INCRs of keys of their own, so how often each was
 * executed can be read in the end; others count in one key, so their results show their order.
 *
 *   lost       an operation that was acknowledged is not there
 *   twice      one was executed more than once
 *   ejected    one that is said to have been executed nowhere is there
 *   order      of two operations the one of the later section has the lower result
 *   overtaken  one was begun and acknowledged in a section after a later section had begun
 *   token      a token was given twice
 *   between    a section goes on though somebody else was inside since
 *   overlap    somebody enters while another may believe that it is inside (see node_keeper.c)
 *   kept       one does not though nobody else can have been (in runs where that is promised)
 *   replicas   nodes that are at rest differ
 *   progress   something does not go on though nothing is wrong any more
 */
#ifndef BATON_SIM_NODE_JUDGE_H
#define BATON_SIM_NODE_JUDGE_H

#include "trouble.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JUDGED_OPS = 4096, JUDGED_ENTRIES = 4096, JUDGED_LOCKS = 8 };

typedef enum op_fate {
    FATE_OPEN, /* no answer, or one that leaves it open */
    FATE_DONE,
    FATE_NOWHERE,
} op_fate;

/* An operation as the client that issued it knows it; its key is called u and its number. */
typedef struct judged_op {
    uint8_t lock, client;
    bool counts; /* in the key that all share, not in one of its own */
    op_fate fate;
    uint64_t token; /* of its section */
    uint64_t begun, ended;
    uint64_t begun_turn, ended_turn; /* among all beginnings and ends, from 1; 0: not so far */
    uint64_t result;
} judged_op;

/* Somebody was told that it is inside. */
typedef struct judged_entry {
    uint8_t lock, client;
    uint64_t token;
    uint64_t resumes; /* the token of the section that goes on, or 0 */
    uint64_t at;
} judged_entry;

typedef struct judge {
    trouble trouble; /* the first */
    uint32_t ops, entries;
    judged_op op[JUDGED_OPS];
    judged_entry entry[JUDGED_ENTRIES];
    uint64_t turns;
    uint64_t total[JUDGED_LOCKS]; /* in the end, in the key that all share, if it was read */
    bool has_total[JUDGED_LOCKS];
    uint64_t resumed, refused; /* counted: RESUMEs that were granted, and not */
} judge;

__attribute__((format(printf, 4, 5))) void judge_wrong(judge *j, const char *property, uint64_t at,
                                                       const char *format, ...);

/* The number of the operation, which begins now. */
uint32_t judge_begins(judge *j, const judged_op *op);
void judge_ends(judge *j, uint32_t op, op_fate fate, uint64_t result, uint64_t at);
void judge_entered(judge *j, const judged_entry *e);
/* In the end: what the key of that operation has. */
void judge_read(judge *j, uint32_t op, uint64_t value, uint64_t at);
/* Likewise: what the key that all share has in that lock. And then all that can be compared. */
void judge_total(judge *j, uint8_t lock, uint64_t value, uint64_t at);

#endif
