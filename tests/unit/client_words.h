/* Short words for what tests of the client do; each fails its test if that cannot be done. */
#ifndef BATON_TESTS_CLIENT_WORDS_H
#define BATON_TESTS_CLIENT_WORDS_H

#include "baton/client.h"

enum { PATIENCE_MS = 20000 }; /* after which something that should happen has not */

uint64_t now_ns(void);
void rest(unsigned ms);
/* Waits until somebody answers there. */
baton_client *open_at(const char *address, baton_client_options options);
uint64_t lock(baton_client *c, const char *name);
/* Tries until the push has come that opens the gate. */
uint64_t try_until_free(baton_client *c, const char *name);
/* INCR, within the section of that token. */
int increment(baton_client *c, const char *name, uint64_t token);
/* The client must hear that it has lost this one, and no other. */
void await_lost(baton_client *c, const char *name, uint64_t token);

#endif
