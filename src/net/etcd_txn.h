/*
 * What is asked of etcd, and what its answer means: a register of consensus/outside.h for each key.
 * etcd counts the values of a key since it was made, its *version*; so one transaction is the one
 * step that is needed:
 *
 *   if version(key) = epoch - 1 then put(key, value) else range(key)
 *
 * A transaction that may write goes through the log of etcd whatever comes of it: it is
 * linearizable, and an answer means that a majority of etcd has it on disk. JSON, as the gateway of
 * etcd 3.4 and later speaks it under /v3/kv/txn: bytes are base64, numbers of 64 bits are strings,
 * and what is 0, false or empty is left out. No sockets here. The answer is not trusted.
 */
#ifndef BATON_NET_ETCD_TXN_H
#define BATON_NET_ETCD_TXN_H

#include "../consensus/outside.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    ETCD_MOST_VALUE = 96 << 10,   /* bytes of a record with its operation */
    ETCD_MOST_ANSWER = 256 << 10, /* bytes: a value as base64, a key, and what is around them */
    ETCD_COMPLAINT = 160,
};

typedef struct etcd_bytes {
    const void *at;
    size_t bytes;
} etcd_bytes;

typedef struct etcd_answer {
    outside_verdict verdict;
    uint64_t version; /* of the key, before */
    void *value;      /* if it shows one: to be freed */
    size_t value_bytes;
} etcd_answer;

/* The text of a request, to be freed; NULL if there is no memory. */
char *etcd_ask(etcd_bytes key, uint64_t epoch, etcd_bytes value);
/*
 * Reads the answer to that. False, and why in `words`, if it is none: then nobody knows whether the
 * value was taken, and the same is to be asked again.
 */
bool etcd_read(etcd_bytes text, etcd_bytes key, uint64_t epoch, etcd_answer *a,
               char words[ETCD_COMPLAINT]);
/* What etcd says in answer to a request that it has not carried out, or NULL; to be freed. */
char *etcd_read_error(etcd_bytes text);

#endif
