/*
 * The registry: the registers of all locks of one server (src/wdme), for many sessions on several
 * event loops. A backend of sessions.
 *
 * Locks live in shards by their names; each event is handled under its shard's lock, so it is
 * atomic as automaton B wants it. What a register says to a session goes straight into the hands of
 * the session if it is the one that has just asked, and by a notice to the loop of the session if
 * not. A lock that nobody holds, waits for, or is to be told about takes no memory.
 */
#ifndef BATON_SESSION_REGISTRY_H
#define BATON_SESSION_REGISTRY_H

#include "lock_backend.h"

/* `first_generation`: greater than any that was ever given out, at least 1. NULL: no memory. */
locks *registry_new(uint64_t first_generation, uint32_t max_waiters);
void registry_free(locks *all);

/*
 * What an earlier server has granted may still be held, and nobody knows what that was: so every
 * lock is held by `before`, until that leaves by registry_open.
 */
void registry_hold_back(locks *all, lock_session *before);
void registry_open(locks *all, lock_session *before, uint64_t now);

/* Greater than all that were given out. */
uint64_t registry_next_generation(locks *all);

#endif
