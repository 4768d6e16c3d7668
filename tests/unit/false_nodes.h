/* Two false nodes of a cluster, and what tests of the client have them say. */
#ifndef BATON_TESTS_FALSE_NODES_H
#define BATON_TESTS_FALSE_NODES_H

#include "client_words.h"
#include "false_server.h"
#include "unit.h"

#include <stdatomic.h>

enum { BOTH = 2 };

typedef struct actor {
    false_server *server;
    char path[120];
    false_answer *_Atomic answers; /* what the test wants to be said; else who asks is let in */
    atomic_int last;   /* connection over which it was asked what it does not answer yet */
    atomic_int issued; /* over which there is an operation: nothing is answered behind it */
    atomic_int resumed;
} actor;

extern actor actors[BOTH];
extern char list[300];      /* the addresses of both */
extern atomic_llong token;  /* the last that was given */
extern atomic_bool is_odd;  /* what the test is about happens */
extern atomic_int asked_of; /* commands of the kind that the test is about */

/* A directory for their sockets; not 0: there can be none. */
int nodes_begin(void **unused);
int nodes_end(void **unused);
void node_path(const char *name, char *to, size_t bytes);
int false_set_up(void **unused);
int false_tear_down(void **unused);

bool is(const asked *what, const char *verb);
bool say(asked *what, const char *text);
bool grant(asked *what);
/* A push of that word, about the lock that is asked for, and the last token. */
void add_push(asked *what, const char *push);
/* How many connections both have seen. */
int connections(void);
/* Until there are so many. */
void await_count(const atomic_int *what, int count);

/* ---- tests ---- */

/* client_answers.c */
void answers_to_try_and_lock(void **unused);
void refusal_beside_a_section(void **unused);
void answers_to_exit(void **unused);
void answers_to_operations(void **unused);
void replies_of_any_size(void **unused);
void operations_that_are_none(void **unused);
void no_client(void **unused);
void addresses_that_lead_nowhere(void **unused);
void longest_path(void **unused);
void answers_to_who_connects(void **unused);
void answers_to_who_proves(void **unused);
void server_that_is_silent_at_first(void **unused);
void error_from_before_means_nothing(void **unused);
/* client_pushes.c */
void pushes_that_mean_nothing(void **unused);
void gate_opens_over_the_main_line_only(void **unused);
void gate_opens_when_the_main_line_breaks(void **unused);
void section_is_kept(void **unused);
void losses_are_told_one_by_one(void **unused);
void losses_wait_for_who_is_told(void **unused);
void line_of_a_lost_section_is_used_again(void **unused);
void very_many_losses(void **unused);
/* client_moves.c */
void wait_at_a_node_without_majority(void **unused);
void wait_at_the_only_node(void **unused);
void operation_while_there_is_no_majority(void **unused);
void section_leaves_a_node_without_majority(void **unused);
void timed_wait_ends_on_its_way(void **unused);
void endless_wait_stays_endless(void **unused);
void section_moves(void **unused);
void section_that_may_not_go_on(void **unused);
void section_that_may_not_go_on_yet(void **unused);
void section_without_a_name_is_lost(void **unused);
void who_needs_a_name_says_it(void **unused);
/* client_limits.c */
void as_many_lines_as_may_be(void **unused);
void lines_that_cannot_be_made(void **unused);
void few_lines_are_kept_idle(void **unused);
void nothing_is_left(void **unused);
void names_are_forgotten(void **unused);
void server_that_reads_slowly(void **unused);
void keeper_sleeps_when_nothing_is_due(void **unused);
void keeper_sleeps_beside_who_calls(void **unused);
void keeper_sleeps_beside_a_child(void **unused);
/* client_sockets.c */
void sockets_that_are_slow(void **unused);
/* client_ends.c */
void all_that_is_held_is_left(void **unused);
void child_that_closes_twice(void **unused);
void farewell_is_said_where_it_is_held(void **unused);
/* client_false.c */
void operation_of_a_lock_that_is_taken_away(void **unused);
void line_of_an_ejected_section_is_used_again(void **unused);
void line_of_a_node_without_majority_is_not(void **unused);
void operation_at_a_node_without_majority(void **unused);
void try_beside_a_section_at_a_node_that_ends(void **unused);
void two_tries_at_a_node_that_ends(void **unused);
void wait_until_somebody_lets_in(void **unused);
void very_many_move_in_time(void **unused);
void cut_at_every_byte(void **unused);
/* client_noise.c */
void anything_is_said(void **unused);

#endif
