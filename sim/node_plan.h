/*
 * What is to go wrong in a run of whole nodes, and when: drawn by chance, or read from a file. A
 * plan is a text of one mishap per line; times are milliseconds, nodes are numbered from 0:
 *
 *   at 120 crash 2 for 400 by 3       node 2 dies at point 3 of a turn (see below), for 400 ms
 *   at 120 wipe 2 for 400 by 0        node 2 dies, its disk is lost, and it starts 400 later;
 *                                     by 1 to 5: and dies again at point 0 to 4 of the turn in
 *                                     which it has all back, for as long
 *   at 120 away 2 for 400 by 0        the same, and starts with an empty disk; when it has run for
 *                                     a while it dies again, and starts with the disk it had before
 *   at 300 ambush 1 for 400 by 2      as crash, in the first turn in which an epoch or its part in
 *                                     the cluster changes
 *   at 300 swap 2,3,4 for 400 by 0    these die; when they start again, all others die for as long
 *   at 100 pause 0 for 300 by 0       it does nothing
 *   at 0 drift 1 for 2000 by -50      its clock is 5 % slow
 *   at 50 cut 0,1 to 2 for 300 by 0   what these send to those stays under way
 *   at 50 split 0,2 for 300 by 0      the same between these and all others, both ways
 *   at 50 drop 0 to 1,2 for 30 by 0   these connections are lost; who sends learns so 30 later
 *   at 50 choke 0 for 30 by 0         what it says to others finds no room; connections stand
 *   at 300 slow 0 for 500 by 40       all takes up to 40 longer on its way
 *   at 300 drain 1 for 400 by 0       the node is told to end, and starts 400 after it has
 *   at 120 power 1,2 for 400 by 2     the power of these machines fails, each in a turn, mostly
 *                                     while it commits; they start 400 later; by 2: and it fails
 *                                     once more after that
 *   at 120 kill 2 for 400 by 30       the node is killed while it commits, and starts 30 later; its
 *                                     power fails 400 after that
 *   at 300 full 1 for 500 by 4        its disk is full after 4 more calls; the node is started
 *                                     again until there is room
 *   at 120 restore 2 for 400 by 900   node 2's directory is copied; 900 later it dies, and starts
 *                                     400 after that with the copy, unless others have not all back
 *   at 120 move 2 for 400 by 300      node 2 dies, and starts 400 later at another address; the
 *                                     others are restarted with the new list, one every 300
 *
 * What follows a # is a comment. Points of a turn: 0 nothing of it has left; 1 a part of what may
 * leave early has; 2 all of that has; 3 it is committed; 4 a part of the rest has left.
 */
#ifndef BATON_SIM_NODE_PLAN_H
#define BATON_SIM_NODE_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum mishap_kind {
    MISHAP_CRASH,
    MISHAP_WIPE,
    MISHAP_AWAY,
    MISHAP_AMBUSH,
    MISHAP_SWAP,
    MISHAP_PAUSE,
    MISHAP_DRIFT,
    MISHAP_CUT,
    MISHAP_SPLIT,
    MISHAP_DROP,
    MISHAP_SLOW,
    MISHAP_DRAIN,
    MISHAP_POWER,
    MISHAP_KILL,
    MISHAP_FULL,
    MISHAP_CHOKE,
    MISHAP_RESTORE, /* from here on by a stream of their own */
    MISHAP_MOVE,
    MISHAP_KINDS
} mishap_kind;

enum {
    MAX_MISHAPS = 32,
    ALL_MISHAPS = (1 << MISHAP_KINDS) - 1,
    DISK_MISHAPS = 1 << MISHAP_POWER | 1 << MISHAP_KILL | 1 << MISHAP_FULL,
    FIRST_KINDS = MISHAP_RESTORE,
    TURN_POINTS = 5,
    POINT_COMMIT = TURN_POINTS, /* within the commit: of those whose disk is concerned */
    MAX_DARK = 3,               /* power failures in a row */
};

extern const char *const mishap_names[MISHAP_KINDS];

typedef struct mishap {
    mishap_kind kind;
    uint32_t at, length; /* ms */
    uint16_t nodes;      /* a bit for each */
    uint16_t others;
    int32_t amount;
} mishap;

typedef struct node_plan {
    uint32_t count;
    mishap mishaps[MAX_MISHAPS];
} node_plan;

/* "none", "all", or names with commas between: a bit for each kind; -1 if it is none of these. */
int mishaps_parse(const char *text);
enum { MISHAPS_TEXT = 160 }; /* bytes for all names */
void mishaps_text(int kinds, char text[MISHAPS_TEXT]);

/* By chance, of these kinds, beginning before `horizon`. */
void node_plan_draw(node_plan *p, int kinds, uint32_t nodes, uint32_t horizon, uint64_t *chance);

/* When it is over, in ms. */
uint32_t mishap_end(const mishap *m, uint32_t nodes);
void mishap_text(const mishap *m, char text[128]);
/* Whether it has any of these kinds. */
bool node_plan_has(const node_plan *p, int kinds);
void node_plan_print(const node_plan *p, FILE *to);
/* NULL, or what is wrong with it in `complaint`, which it returns. */
const char *node_plan_read(node_plan *p, FILE *from, uint32_t nodes, char complaint[160]);

#endif
