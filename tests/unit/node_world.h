/*
 * Three nodes in one process, each with a store of its own and one session; what they say is under
 * way until the test delivers it. A turn ends when the test says so: then what may leave early
 * leaves, the store commits, and the rest leaves; a node may crash before any of these.
 */
#ifndef BATON_NODE_WORLD_H
#define BATON_NODE_WORLD_H

#include "node_lock.h"
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
    lock_session who; /* first: found from it */
    visitor_place place;
    uint64_t token;
    char result[128]; /* of its last operation */
    uint32_t results;
    uint32_t ejected;
} visitor;

typedef struct world {
    cluster_node node[WORLD_NODES];
    bool up[WORLD_NODES];
    bool cut[WORLD_NODES]; /* off from all others */
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
/* A copy of it is made, also while the node is up, for world_set_aside to bring back. */
void world_copy(const world *w, uint8_t node);
/* It is set aside, or comes back in the place of the one that was used since. */
void world_set_aside(const world *w, uint8_t node, bool back);

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
boot_state world_boot_state(const world *w, uint8_t node);
/* Whether a command of that name is in these bytes. */
bool world_says(const resp_out *bytes, const char *kind);

/* ---- node_forget.c ---- */
void test_emptied(void **state);
void test_emptied_before_anything_was_written(void **state);
void test_emptied_of_many(void **state);
void test_emptied_and_only_one_knew(void **state);
void test_new_answers_nothing(void **state);
void test_emptied_while_another_is_down(void **state);
void test_majority_emptied(void **state);

/* ---- node_due.c ---- */
void test_held_costs_nothing(void **state);
void test_held_is_heard_of_by_nobody(void **state);
void test_dropped_is_made_good(void **state);
void test_link_begins(void **state);
void test_who_was_new_is_told(void **state);
void test_patrol(void **state);
void test_waits_without_end(void **state);
void test_suspicion_of_many(void **state);

/* ---- node_many.c ---- */
enum { MANY = 1000 };
/* Locks have numbers there. The visitor of a node says something about one. */
size_t many_name(uint32_t number, char name[32]);
lock_verdict many_tell(world *w, uint8_t node, uint32_t number, wdme_kind kind, uint64_t token);
/* The visitor at node 0 holds them all; wherever their tokens were. */
void many_hold(world *w, uint32_t count);
const node_lock *many_find(world *w, uint8_t node, uint32_t number);
void test_many_roles(void **state);
void test_longest_queue(void **state);
void test_holder_of_many_goes(void **state);
void test_lease_of_many_ends(void **state);
void test_many_are_handed_over(void **state);
void test_holder_is_waited_for(void **state);

/* ---- node_rules.c ---- */
void test_holders_hear_at_once(void **state);
void test_comes_before_the_news(void **state);
void test_begins_without_a_majority(void **state);
void test_rests_after_a_suspicion(void **state);
void test_trusted_again(void **state);
void test_suspicion_is_told_once(void **state);
void test_news_in_slices(void **state);
void test_orphans_wait_for_room(void **state);
void test_link_concerns_one(void **state);
void test_wish_is_repeated_at_once(void **state);
void test_dropped_comparison(void **state);
void test_comparisons_wait_for_room(void **state);
void test_absent_are_not_compared_with(void **state);
void test_outdated_compares_nothing(void **state);
void test_in_a_hurry(void **state);
void test_patrol_does_not_repeat(void **state);
void test_patrol_rate(void **state);

/* ---- node_resting.c ---- */
void test_compared_before_it_rests(void **state);
void test_nothing_rests_before_all_is_said(void **state);
void test_absent_keep_nothing_from_rest(void **state);
void test_one_stays_others_rest(void **state);
void test_new_is_told_what_rests(void **state);
void test_new_over_a_link(void **state);
void test_told_when_there_is_room(void **state);
void test_told_again(void **state);
void test_wakes_before_it_is_told(void **state);
void test_all_are_told_again(void **state);

/* ---- node_scenes.c ---- */
void test_restarted_says_what_it_executed(void **state);
void test_open_operation_is_not_slept_on(void **state);
void test_lease_of_the_absent_ends(void **state);
void test_no_room_for_the_absent(void **state);
void test_lease_of_the_silent_ends(void **state);
void test_quit_is_an_exit(void **state);
void test_stranger_is_not_revoked(void **state);
void test_settled_has_all_back(void **state);
void test_old_directory_returns(void **state);
void test_copy_is_restored(void **state);
void test_heard_turns_are_kept(void **state);
void test_heard_turns_are_kept_at_the_end(void **state);

/* ---- node_copies.c ---- */
void test_refused_is_silent(void **state);
void test_refused_lists_nothing(void **state);
void test_copy_starts_alone(void **state);
void test_copy_of_who_rejoins(void **state);
void test_idle_nodes_write_nothing(void **state);

/* ---- node_sessions.c ---- */
void test_node_commands_have_rules(void **state);
void test_operations_of_a_session(void **state);
void test_ids_of_sessions(void **state);
void test_goes_on_over_another_connection(void **state);
void test_lingers(void **state);
void test_goes_on_elsewhere(void **state);
void test_patience_of_a_try(void **state);
void test_wait_ends(void **state);
void test_taken_away(void **state);
void test_ejected_while_it_issues(void **state);
void test_suspended_and_resumed(void **state);
void test_draining(void **state);
void test_new_node_lets_nobody_in(void **state);
void test_status(void **state);
void test_states_of_a_lock(void **state);
void test_locks_of_a_node(void **state);
void test_status_has_an_end(void **state);
void test_longest_name(void **state);

/* ---- node_snapshots.c ---- */
void test_damaged_snapshot_is_refused(void **state);
void test_snapshot_of_another_state_is_refused(void **state);
void test_snapshot_that_cannot_be_taken(void **state);
void test_whole_is_not_repeated(void **state);
void test_listed_is_written(void **state);

#endif
