/* What the tests of the client share: a server of their own, and short words for what they do. */
#ifndef BATON_TESTS_CLIENT_WORLD_H
#define BATON_TESTS_CLIENT_WORLD_H

#include "client_words.h"
#include "unit.h"

#include <sys/types.h>

/* ---- the server; it has two loops, so that locks are handed on between them ---- */

extern char server_path[200], server_secret[200];
extern pid_t server;

/* Where `baton` is, and a directory for what is needed. Not 0: no file can be made there. */
int world_begin(const char *program, const char *scratch);
void start_server(const char *auth_file);
/* A cluster of one node in its stead. */
void start_node(void);
void stop_server(int with);

/* ---- a cluster of three beside it, each node at a socket and at a port of this machine ---- */

enum { NODES = 3 };
extern pid_t node[NODES];
/* "a,b,c": the sockets of all, from that one on. */
const char *nodes_from(int first);
int node_port(int which);
void start_cluster(void);
void revive_node(int which);
/* Ends those that run, whatever they do. */
void stop_cluster(void);
int server_set_up(void **unused);
int server_tear_down(void **unused);

/* ---- clients ---- */

baton_client *open_with(baton_client_options options); /* at the server */
baton_client *open_plain(void);
/* Takes it away from whoever holds it, by force. */
void release(const char *name, uint64_t token);
/* How many tries clients have refused by themselves, as far as the server knows. */
uint64_t refusals_reported(void);

/* ---- tests ---- */

/* client_crowd.c */
void first_come_first_served(void **unused);
void crowd_that_waits(void **unused);
void crowd_that_tries(void **unused);
void crowd_that_does_both(void **unused);
void crowd_that_connects_anew(void **unused);
/* client_loss.c */
void lost_by_release(void **unused);
void lost_by_death_of_the_server(void **unused);
void lost_by_own_clock(void **unused);
void wait_longer_than_the_lease(void **unused);
void slow_to_hear_of_a_loss(void **unused);
void child_that_closes(void **unused);
/* client_nodes.c */
int cluster_set_up(void **unused);
int cluster_tear_down(void **unused);
void wait_at_a_node_that_hangs(void **unused);
void wait_beside_a_line_elsewhere(void **unused);
void operation_at_a_node_that_hangs(void **unused);
void many_leave_a_node_that_hangs(void **unused);
void no_descriptor_is_spare(void **unused);
/* client_dns.c */
void names_are_away(void **unused);
void names_are_away_when_a_node_dies(void **unused);

#endif
