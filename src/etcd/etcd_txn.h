/*
 * What is asked of etcd, and what its answer means: a register of consensus/outside.h for each key.
 * etcd counts the values of a key since it was made, its *version*; so one transaction is the one
 * step that is needed:
 *
 *   if version(key) = epoch - 1 then put(key, value); range(key)
 *
 * What it shows at last is the decision if its version is the epoch, whoever has put it; so an
 * answer to another question does no harm, wherever that comes from.
 * A transaction that may write goes through the log of etcd whatever comes of it: it is
 * linearizable, and an answer means that a majority of etcd has it on disk. JSON, as the gateway of
 * etcd 3.4 and later speaks it under /v3/kv/txn: bytes are base64, numbers of 64 bits are strings,
 * and what is 0, false or empty is left out. No sockets here. The answer is not trusted.
 */
#ifndef BATON_ETCD_ETCD_TXN_H
#define BATON_ETCD_ETCD_TXN_H

#include "outside.h"

#include <stdbool.h>
#include <stddef.h>

#define ETCD_NEVER ((uint64_t)INT64_MAX) /* an epoch that does not come */

enum {
    ETCD_MAX_VALUE = 96 << 10,   /* bytes of a record with its operation */
    ETCD_MAX_ANSWER = 256 << 10, /* bytes: a value as base64, a key, and what is around them */
    ETCD_COMPLAINT = 200,
};

typedef struct etcd_bytes {
    const void *at;
    size_t bytes;
} etcd_bytes;

typedef struct etcd_answer {
    outside_verdict verdict; /* never OUTSIDE_MINE: then it is shown, as OUTSIDE_THIS */
    uint64_t version;        /* of the key, after the question */
    uint64_t cluster;        /* of etcd, by its own number */
    uint64_t revision;       /* of all that etcd has: it grows with every change */
    void *value;             /* if it shows one: to be freed */
    size_t value_bytes;
} etcd_answer;

/* What etcd itself was, as far as its answers have shown. */
typedef struct etcd_memory {
    uint64_t cluster; /* 0: nobody has answered yet */
    uint64_t revision;
    uint64_t back_from, back_to; /* revisions; 0: it has never gone back */
} etcd_memory;

/* The text of a request, to be freed; NULL if there is no memory. */
char *etcd_ask(etcd_bytes key, uint64_t epoch, etcd_bytes value);
/*
 * Of one for an epoch that never comes, of a lock that nobody has: nothing is written or shown. But
 * etcd takes it as a write, and refuses it as it would refuse the next one: if it is full, or has
 * no majority.
 */
char *etcd_ask_nothing(void);
/*
 * Reads the answer to one of these. False, and why in `words`, if it is none: then nobody knows
 * whether the value was taken, and the same is to be asked again. A value that is too long for a
 * decision is not shown: like one that is no decision, it is of no use to anybody.
 */
bool etcd_read(etcd_bytes text, etcd_bytes key, uint64_t epoch, etcd_answer *a,
               char words[ETCD_COMPLAINT]);
/*
 * Whether that comes from the etcd of the answers before, and this still has all that it had then.
 * Two clusters would decide differently; and one that was brought back to an older state, or begun
 * anew, may have forgotten a decision. `asked_at` is what was remembered when the request began:
 * answers to several may overtake each other. False, and why in `words`: it must not be believed,
 * and if it has gone back once it never is, however far it comes.
 */
bool etcd_remember(etcd_memory *m, uint64_t asked_at, const etcd_answer *a,
                   char words[ETCD_COMPLAINT]);
/* What etcd says in answer to a request that it has not carried out, or NULL; to be freed. */
char *etcd_read_error(etcd_bytes text);

#endif
