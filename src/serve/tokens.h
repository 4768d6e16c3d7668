/*
 * What a server remembers over its death: a small file, written and synced ahead of what it is for.
 *
 *   tokens   up to which number they may have been given out, so that none comes back
 *   leases   the longest that may still be running, so that the next server can wait until those
 *            who held something under this one know that they hold it no longer
 */
#ifndef BATON_SERVE_TOKENS_H
#define BATON_SERVE_TOKENS_H

#include "baton/reg.h"
#include "complaint.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LONGEST_LEASE ((uint64_t)86400 * 1000) /* milliseconds */
enum { LEASE_KINDS = 28 };                     /* the longest has 27 bits */

/* One server has it. Its first loop reserves tokens; any may remember leases. */
typedef struct tokens {
    char file[512];
    int claim; /* descriptor: no other server has the file */
    pthread_mutex_t mutex;
    uint64_t reserved;              /* numbers below may be given out; set by the first loop only */
    uint64_t inherited;             /* lease that the server before may have left running */
    BATON_ATOMIC(uint64_t) written; /* lease in the file; who changes it has the mutex */
    /* Sessions by the length of their leases: of the k-th kind is one of k bits. */
    BATON_ATOMIC(uint64_t) leases[LEASE_KINDS];
} tokens;

/*
 * Reads the file, or makes it; `*first` is the first number to give out. Waits a little for a
 * server that is about to leave it. False if that fails: then `complaint` says why.
 */
bool tokens_open(tokens *t, const char *file, uint64_t *first, char complaint[COMPLAINT]);
/* Sees to it that there are plenty beyond `next`; false if the file cannot be written. */
bool tokens_reserve(tokens *t, uint64_t next);
/* Whether so few are left that nobody should be let in until the file can be written again. */
bool tokens_are_short(const tokens *t, uint64_t next);

/*
 * Before a session's lease changes, 0 for none; false, and it stays, if the file cannot be written.
 * From any thread.
 */
bool tokens_change_lease(tokens *t, uint64_t from, uint64_t to);
/*
 * Writes how long leases are now; of what was inherited so much is left. False if the file cannot
 * be written, which does no harm.
 */
bool tokens_settle(tokens *t, uint64_t inherited_left);
/* Whether the file has a lease so much longer that it is time to settle. */
bool tokens_say_too_much(const tokens *t, uint64_t inherited_left);
/*
 * The server ends, and knows that no lease above `lease` is still running under which something is
 * held, its own or inherited. False if the file cannot be written.
 */
bool tokens_close(tokens *t, uint64_t lease);

#endif
