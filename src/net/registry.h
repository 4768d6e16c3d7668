/*
 * The registry: the registers of all locks (src/wdme), for many sessions on several event loops.
 *
 * Locks live in shards by their names; each event is handled under its shard's lock, so it is
 * atomic as automaton B wants it. What a register says to a session goes straight into the hands of
 * the session if it is the one that has just asked, and by a notice to the loop of the session if
 * not. A lock that nobody holds, waits for, or is to be told about takes no memory.
 */
#ifndef BATON_NET_REGISTRY_H
#define BATON_NET_REGISTRY_H

#include "../wdme/wdme.h"
#include "durations.h"

#include <stddef.h>

enum { SHARDS = 16 };

/* The registers of one server (registry_new), or of a cluster (src/node). */
typedef struct registry {
    const struct registry_ways *ways;
    const char *why_not; /* of the last REGISTRY_NOT_READY */
} registry;

/* What a session is to hear, on its way there. */
typedef struct notice {
    struct notice *next;
    struct session_roles *to;
    const char *push;     /* if not NULL: a push of that kind, with message.generation */
    bool outcome;         /* of an operation: `name` is the reply to it */
    wdme_message message; /* else: what a register says */
    size_t name_bytes;
    char name[];
} notice;

/*
 * The registry's part of a session. Only who has the lock of a shard touches what is kept for that
 * shard; everything else belongs to the session's loop.
 */
typedef struct session_roles {
    uint32_t first[SHARDS]; /* roles in each shard, as a list; see registry.c */
    struct seat *seats;     /* in a cluster; see src/node */
    char from[64];          /* where the client is, in words; set before the first command */
    /*
     * In a cluster: whose it is, over whatever connection, NULL if it has not said so, freed with
     * it; and until when that keeps what it holds after its connection is gone.
     */
    char *session;
    uint64_t lingers_until;
    /* NULL: nobody is there to be told anything. */
    void (*hear)(struct session_roles *me, wdme_message m, const char *name, size_t name_bytes);
    void (*post)(struct session_roles *me, notice *n); /* to its loop, from any thread */
} session_roles;

/* `first_generation`: greater than any that was ever given out, at least 1. NULL: no memory. */
registry *registry_new(uint64_t first_generation, uint32_t most_waiters);
void registry_free(registry *r);

/*
 * A session comes; one goes, and everything it held, waited for or was to be told is over. Returns
 * how many locks it held.
 */
void registry_join(session_roles *me);
uint32_t registry_leave(registry *r, session_roles *me, uint64_t now);

/*
 * What an earlier server has granted may still be held, and nobody knows what that was: so every
 * lock is held by `before`, until that leaves by registry_open.
 */
void registry_hold_back(registry *r, session_roles *before);
void registry_open(registry *r, session_roles *before, uint64_t now);

typedef enum registry_verdict {
    REGISTRY_DONE,      /* the session has heard the answer, or will */
    REGISTRY_CROWD,     /* too many wait for it already */
    REGISTRY_TWICE,     /* it waits for it already, or holds it */
    REGISTRY_NO_ROOM,   /* no memory */
    REGISTRY_NOT_READY, /* nobody can be let in; registry.why_not says why */
    REGISTRY_ENDS       /* the server is about to end, and lets nobody in any more */
} registry_verdict;

/*
 * The session says that to the register of the lock of that name. `now` is kept for those who list.
 */
registry_verdict registry_tell(registry *r, session_roles *me, const char *name, size_t bytes,
                               wdme_message m, uint64_t now);
/* The session has waited for that lock long enough. */
void registry_wait_over(registry *r, session_roles *me, const char *name, size_t bytes,
                        uint64_t now);
/* It was silent for too long: all that it holds is taken away. Returns how many locks that were. */
uint32_t registry_lease_over(registry *r, session_roles *me, uint64_t now);
/* By force: ends that generation, whoever holds it. False if nobody holds it in that generation. */
bool registry_release(registry *r, const char *name, size_t bytes, uint64_t generation,
                      uint64_t now);

/* A lock, as whoever lists them sees it. */
typedef struct registry_row {
    const char *name;
    size_t name_bytes;
    uint64_t generation;
    uint64_t since; /* when this generation began */
    const session_roles *holder;
    uint32_t waiters;
} registry_row;

/* Calls `each` for every lock that is held; under the shard's lock, so it must be quick. */
void registry_each(registry *r, void (*each)(const registry_row *row, void *context),
                   void *context);

typedef struct registry_counts {
    uint64_t locks; /* that take memory now */
    uint64_t held;
    uint64_t waiting;       /* sessions, over all queues */
    uint64_t longest_queue; /* of these, for one lock */
    uint64_t sections;      /* so far */
    uint64_t handed_on;     /* of these, straight to the next who waited */
    uint64_t tries, failed, resets, lost, stale;
    uint64_t timeouts;
    durations holds; /* from a grant to the end of its section */
    durations waits; /* from LOCK to its grant */
} registry_counts;

/* ---- ways ---- */

/* What the functions above do, if these are not the registers of one server. */
typedef struct registry_ways {
    uint32_t (*leave)(registry *r, session_roles *me, uint64_t now);
    registry_verdict (*tell)(registry *r, session_roles *me, const char *name, size_t bytes,
                             wdme_message m, uint64_t now);
    void (*wait_over)(registry *r, session_roles *me, const char *name, size_t bytes, uint64_t now);
    uint32_t (*lease_over)(registry *r, session_roles *me, uint64_t now);
    bool (*release)(registry *r, const char *name, size_t bytes, uint64_t generation, uint64_t now);
    void (*each)(registry *r, void (*each)(const registry_row *row, void *context), void *context);
    registry_counts (*count)(registry *r);
    uint64_t (*locks)(registry *r);
} registry_ways;

registry_counts registry_count(registry *r);
/* `locks` of these, without looking at each. */
uint64_t registry_locks(registry *r);
/* Greater than all that were given out; of one server only. */
uint64_t registry_next_generation(registry *r);

#endif
