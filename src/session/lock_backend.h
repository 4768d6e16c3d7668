/*
 * What a session needs of whoever grants locks, and what that needs of a session. There are two
 * such backends: the registers of one server (registry.h), and a node of a cluster (src/cluster).
 * Sessions know neither: they call what is declared here.
 */
#ifndef BATON_SESSION_LOCK_BACKEND_H
#define BATON_SESSION_LOCK_BACKEND_H

#include "durations.h"
#include "wdme.h"

#include <stddef.h>

/* All locks that sessions can name. A backend's own type begins with this. */
typedef struct locks {
    const struct lock_backend *backend;
    const char *why_not; /* of the last LOCK_NOT_READY */
} locks;

/* What a session is to hear, on its way there. */
typedef struct notice {
    struct notice *next;
    struct lock_session *to;
    const char *push;     /* if not NULL: a push of that kind, with message.generation */
    bool outcome;         /* of an operation: `name` is the reply to it */
    wdme_message message; /* else: what a register says */
    size_t name_bytes;
    char name[];
} notice;

enum { LOCK_SESSION_KEEPS = 64 }; /* bytes */

/*
 * A session as backends know it: where the client is, how it is told, and whatever the backend
 * keeps about it. Belongs to the session's loop, but for what is kept.
 */
typedef struct lock_session {
    _Alignas(max_align_t) unsigned char kept[LOCK_SESSION_KEEPS]; /* a struct of the backend's */
    char from[64]; /* where the client is, in words; set before the first command */
    /* NULL: nobody is there to be told anything. */
    void (*hear)(struct lock_session *me, wdme_message m, const char *name, size_t name_bytes);
    void (*post)(struct lock_session *me, notice *n); /* to its loop, from any thread */
} lock_session;

typedef enum lock_verdict {
    LOCK_DONE,      /* the session has heard the answer, or will */
    LOCK_CROWD,     /* too many wait for it already */
    LOCK_TWICE,     /* it waits for it already, or holds it */
    LOCK_NO_ROOM,   /* no memory */
    LOCK_NOT_READY, /* nobody can be let in; locks.why_not says why */
    LOCK_DRAINING,  /* the server is about to end, and the session still has something there */
    LOCK_ENDS,      /* the same, and it has nothing: it may be cut off */
} lock_verdict;

/* A lock that is held, as whoever lists them sees it. */
typedef struct lock_row {
    const char *name;
    size_t name_bytes;
    uint64_t generation;
    uint64_t since; /* when this generation began */
    const lock_session *holder;
    uint32_t waiters;
} lock_row;

/* A part of a list of locks. */
typedef struct lock_page {
    uint64_t looked_at; /* locks */
    uint64_t next;      /* where it goes on; 0: that was all */
} lock_page;

typedef struct lock_counts {
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
} lock_counts;

/* The times that it is told are milliseconds of one clock. */
typedef struct lock_backend {
    /* A session comes: what is kept about it is to be made. */
    void (*join)(lock_session *me);
    /*
     * It goes: everything that it held, waited for or was to be told is over, unless the backend
     * keeps it until its lease is (0: it has none). `quits`: it has said so itself, and gives up
     * what it holds. May be called twice. Returns how many locks it held.
     */
    uint32_t (*leave)(locks *all, lock_session *me, uint64_t lease_until, bool quits, uint64_t now);
    /*
     * Whether it holds something, and must not leave before its lease is over, since nobody else
     * would keep that until then. NULL: the backend keeps it.
     */
    bool (*must_stay)(locks *all, lock_session *me);
    /* The session says that to the register of the lock of that name. */
    lock_verdict (*tell)(locks *all, lock_session *me, const char *name, size_t bytes,
                         wdme_message m, uint64_t now);
    /* The session has waited for that lock long enough. */
    void (*wait_over)(locks *all, lock_session *me, const char *name, size_t bytes, uint64_t now);
    /*
     * It was silent for too long: all that it holds is taken away. False if that is too much for
     * once: then this is to be called again before long, unless the session speaks again.
     */
    bool (*lease_over)(locks *all, lock_session *me, uint64_t now);
    /* By force: ends that generation, whoever holds it. False if nobody holds it in that one. */
    bool (*release)(locks *all, const char *name, size_t bytes, uint64_t generation, uint64_t now);
    /*
     * Calls `each`, which must be quick, for every lock that is held, from a place on; 0 is the
     * first. Ends soon after it has looked at `most` locks, held or not. Who begins at 0 and goes
     * on where it ended sees every lock that is held all the time, and none twice.
     */
    lock_page (*each)(locks *all, uint64_t from, uint64_t most,
                      void (*each)(const lock_row *row, void *context), void *context);
    lock_counts (*count)(locks *all);
    /* `locks` of these, without looking at each. */
    uint64_t (*count_locks)(locks *all);
} lock_backend;

#endif
