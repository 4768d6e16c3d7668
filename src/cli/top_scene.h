/*
 * What goes on around the locks of a board, made out of two looks at it. Pure: it reads no clock,
 * no board and no /proc, and believes nothing that is out of range.
 */
#ifndef BATON_CLI_TOP_SCENE_H
#define BATON_CLI_TOP_SCENE_H

#include "baton/board.h"

/* Cards that say the same in two looks this far apart have not moved in between. */
#define TOP_APART_NS 20000000U

/* What one look saw, copied: the board itself may change or vanish. Large: for static memory. */
typedef struct top_look {
    uint64_t began_ns; /* CLOCK_MONOTONIC */
    uint64_t ended_ns;
    uint32_t participants; /* how many cards the board has room for */
    uint32_t cards;
    uint32_t locks;
    baton_seen card[BATON_MAX_ON_BOARD];
    baton_board_lock_seen lock[BATON_MAX_LOCKS_ON_BOARD];
} top_look;

/* A lock. Whatever it points to belongs to the later look, or to the scene. */
typedef struct top_lock {
    const baton_board_lock_seen *seen;
    double per_s;              /* passages; NAN if the looks do not tell */
    const baton_seen *holder;  /* NULL: nobody was seen to hold it */
    const baton_seen **waiter; /* who came first, first; those of whom that is not known before */
    uint32_t waiters;
    uint32_t stuck; /* how many wait in vain, since the holder has died; 0 if it has not */
} top_lock;

/* A thread in a circle of waits. What it waits for is held by the next one in the circle. */
typedef struct top_step {
    const baton_seen *who;
    const baton_board_lock_seen *holds;
    const baton_board_lock_seen *waits_for;
} top_step;

typedef struct top_deadlock {
    const top_step *step;
    uint32_t steps;
} top_deadlock;

/* Points into itself: not to be copied. Valid as long as the looks stay as they are. */
typedef struct top_scene {
    const top_look *look; /* the later one */
    uint32_t participants;
    uint32_t cards; /* that could be believed */
    uint32_t dead_cards;
    uint32_t locks;
    uint32_t deadlocks;
    const baton_seen *dead[BATON_MAX_ON_BOARD];
    top_lock lock[BATON_MAX_LOCKS_ON_BOARD]; /* the busiest first */
    top_deadlock deadlock[BATON_MAX_ON_BOARD];
    const baton_seen *waiter[BATON_MAX_ON_BOARD];
    top_step step[BATON_MAX_ON_BOARD];
} top_scene;

void top_scene_make(const top_look *earlier, const top_look *later, top_scene *scene);

/* Seconds from since_ns to the look; NAN if it is 0. */
double top_seconds_since(const top_look *look, uint64_t since_ns);

#endif
