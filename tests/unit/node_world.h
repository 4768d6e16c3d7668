/*
 * Three nodes in one process, each with a store of its own and one session; what they say is under
 * way until the test delivers it. A turn ends when the test says so: then what may leave early
 * leaves, the store commits, and the rest leaves; a node may crash before any of these.
 */
#ifndef BATON_NODE_WORLD_H
#define BATON_NODE_WORLD_H

#include "../../src/node/site.h"
#include "unit.h"

enum { WORLD_NODES = 3 };

typedef enum visitor_place {
    VISITOR_OUT,
    VISITOR_WAITS,
    VISITOR_INSIDE,
    VISITOR_ISSUES
} visitor_place;

/* The session at a node. */
typedef struct visitor {
    session_roles roles; /* first: found from it */
    visitor_place place;
    uint64_t token;
    char result[128]; /* of its last operation */
    uint32_t results;
    uint32_t ejected;
} visitor;

typedef struct world {
    cluster_node node[WORLD_NODES];
    bool up[WORLD_NODES];
    store *store[WORLD_NODES];
    visitor visitor[WORLD_NODES];
    resp_out wire[WORLD_NODES][WORLD_NODES]; /* from, to */
    peers all[WORLD_NODES];                  /* as each of them has it */
    uint64_t now, starts;
} world;

/* Setup and teardown of each test; *state is the world, with all nodes up. */
int world_open(void **state);
int world_close(void **state);

void world_start(world *w, uint8_t node);
/* Nothing that was not committed is on its disk. What is under way to it is lost. */
void world_crash(world *w, uint8_t node);
/* What was on the disk of a node that is down is gone. */
void world_empty(const world *w, uint8_t node);

/* The connections between that node and all others are lost, or stand again. */
void world_cut(world *w, uint8_t node, bool cut);

/* The first half of a turn's end: what is early is under way. And all of it. */
void world_send_early(world *w, uint8_t node);
void world_end_turn(world *w, uint8_t node);

/* One message from one to the other, if there is any; the turn of the receiver does not end. */
bool world_deliver(world *w, uint8_t from, uint8_t to);
/* Messages and turns until nobody has anything to say. */
void world_settle(world *w);
/* So many milliseconds, with ticks, messages and turns. */
void world_pass(world *w, uint32_t ms);

/* All of a lock that is called "lock". */
void world_lock(world *w, uint8_t node);
void world_exit(world *w, uint8_t node);
/* INCR n; false if it was refused. */
bool world_issue(world *w, uint8_t node);
const wme_stub *world_stub(world *w, uint8_t node);
/* The value of n, as that node has it; 0 if it has none. */
uint64_t world_value(world *w, uint8_t node);
/* The visitor at the owner's node is inside; which that is. */
uint8_t world_enter(world *w);
/* Until the lock is in nobody's memory. */
void world_rest(world *w);
muster_state world_muster(const world *w, uint8_t node);
/* Whether a command of that name is in these bytes. */
bool world_says(const resp_out *bytes, const char *kind);

/* ---- node_forget.c ---- */
void test_emptied(void **state);
void test_emptied_before_anything_was_written(void **state);
void test_emptied_of_many(void **state);
void test_emptied_and_only_one_knew(void **state);
void test_emptied_while_another_is_down(void **state);
void test_majority_emptied(void **state);

#endif
