/* What the tests of the client share: a server of their own, and short words for what they do. */
#ifndef BATON_TESTS_CLIENT_WORLD_H
#define BATON_TESTS_CLIENT_WORLD_H

#include "../unit/unit.h"
#include "baton/client.h"

#include <sys/types.h>

enum { PATIENCE_MS = 20000 }; /* after which something that should happen has not */

/* ---- the server; it has two loops, so that locks are handed on between them ---- */

extern char server_path[200], server_secret[200];
extern pid_t server;

/* Where `baton` is, and a directory for what is needed. Not 0: no file can be made there. */
int world_begin(const char *program, const char *scratch);
void start_server(const char *auth_file);
void stop_server(int with);
int server_set_up(void **unused);
int server_tear_down(void **unused);

/* ---- clients ---- */

uint64_t now_ns(void);
void rest(unsigned ms);
baton_client *open_with(baton_client_options options);
baton_client *open_plain(void);
uint64_t lock(baton_client *c, const char *name);
/* Tries until the push has come that opens the gate. */
uint64_t try_until_free(baton_client *c, const char *name);
/* Takes it away from whoever holds it, by force. */
void release(const char *name, uint64_t token);
/* How many tries clients have refused by themselves, as far as the server knows. */
uint64_t refusals_reported(void);
/* The client must hear that it has lost it. */
void await_lost(baton_client *c, const char *name, uint64_t token);

/* ---- tests ---- */

/* client_crowd.c */
void first_come_first_served(void **unused);
void crowd_that_waits(void **unused);
void crowd_that_tries(void **unused);
void crowd_that_does_both(void **unused);
/* client_loss.c */
void lost_by_release(void **unused);
void lost_by_death_of_the_server(void **unused);
void lost_by_own_clock(void **unused);
void wait_longer_than_the_lease(void **unused);

#endif
