/*
 * What is to go wrong in a run, and when: drawn by chance, or read from a file. A plan is a text of
 * one fault per line, times in milliseconds:
 *
 *   at 120 crash 2 after 3 for 400      node 2 stops after 3 more actions, starts 400 later
 *   at 900 crash 0 after 0 for ever     (a minority at most)
 *   at 120 forget 2 after 3 for 400     as crash, and what was on its disk is gone; or not, if too
 *                                       few others are there that know anything
 *   at 300 ambush 1 after 2 for 400     the same, but only actions in an epoch change count
 *   at 0 late 1 for 200                 node 1 starts for the first time at 200
 *   at 100 pause 0 for 300              its events wait
 *   at 0 drift 1 by -5 for 2000         its clock is 5 % slow
 *   at 50 cut 0,1 to 2 for 300          what these send to those is lost
 *   at 50 split 0,2 for 300             these and all others lose what they send to each other
 *   at 0 lose 20 for 1000               20 % of all messages are lost
 *   at 0 duplicate 10 for 1000          10 % come twice
 *   at 300 slow 40 for 500              messages take 40 longer on average, some of them far more
 *
 * What follows a # is a comment.
 */
#ifndef BATON_SIM_PLAN_H
#define BATON_SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum fault_kind {
    FAULT_CRASH,
    FAULT_AMBUSH,
    FAULT_FORGET,
    FAULT_LATE,
    FAULT_PAUSE,
    FAULT_DRIFT,
    FAULT_CUT,
    FAULT_SPLIT,
    FAULT_LOSE,
    FAULT_DUPLICATE,
    FAULT_SLOW,
    FAULT_KINDS
} fault_kind;

enum { MAX_FAULTS = 64, FOR_EVER = 0, ALL_FAULTS = (1 << FAULT_KINDS) - 1 };

typedef struct fault {
    fault_kind kind;
    uint32_t at;     /* ms */
    uint32_t length; /* ms; FOR_EVER */
    uint16_t nodes;  /* a bit for each */
    uint16_t others;
    int32_t amount;
} fault;

typedef struct plan {
    uint32_t count;
    fault faults[MAX_FAULTS];
} plan;

/* "none", "all", or names with commas between: a bit for each kind; -1 if it is none of these. */
int faults_parse(const char *text);
/* The other way round. */
void faults_text(int faults, char text[128]);

/* By chance: faults of these kinds, all over before `horizon`, but for crashes of a minority. */
void plan_draw(plan *p, int faults, uint32_t nodes, uint32_t horizon, uint64_t *chance);

void fault_text(const fault *f, char text[96]);
void plan_print(const plan *p, FILE *to);
/* NULL, or what is wrong with it in `complaint`, which it returns. */
const char *plan_read(plan *p, FILE *from, uint32_t nodes, char complaint[160]);

/* When the last of them is over that ends, in ms. */
uint32_t plan_end(const plan *p);
/* Nodes that never come back. */
uint16_t plan_lost(const plan *p);

#endif
