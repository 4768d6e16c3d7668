/*
 * What the files of this room share: the one tree of records in LMDB, and what lies in it.
 *
 *   00                              head: version, number and total of the turn, who the node is
 *   01 name                         a lock's number
 *   02 number 'd'                   a lock's replica_durable
 *   02 number 'e'                   what a lock has executed: count, digest, keys, bytes, answered
 *   02 number 'k' key               a value
 *   02 number 'r' origin            result of the last operation of that origin
 *
 * (A program's own resource looks like keys and values here; see own.c.)
 *
 * All of a lock lies together, so an operation on a small one touches one page. The number has
 * eight bytes, the largest first. Each record ends with a sum of its key and its value; the total
 * is that of all these sums, so that a page of an earlier turn is not taken for one of this.
 */
#ifndef BATON_RESOURCE_ROOM_H
#define BATON_RESOURCE_ROOM_H

#include "store.h"

#include <lmdb.h>
#include <stdio.h>

enum {
    STORE_FORMAT = 2,
    HEAD = 0,
    NAME = 1,
    PART = 2,
    PART_PREFIX = 9, /* bytes before the letter */
    MOST_RECORD_KEY = 511,
    SUM_BYTES = 8,
    /* two operations and two records without them */
    MOST_DURABLE = 2 * WME_MOST_OP + 2048,
};

struct store {
    MDB_env *env;
    MDB_dbi tree;
    MDB_txn *turn;   /* that writes; NULL: nothing was written yet */
    MDB_txn *reader; /* rests between looks */
    int directory;   /* open and locked, so that no other process uses it */
    bool booted;
    muster_durable muster;
    bool broken;
    bool took_back;
    uint64_t next_number; /* for a lock */
    uint64_t total;       /* of the sums of all records but the head */
    uint64_t commits;
    size_t most_bytes;
    store_durability durability;
    const store_own *own;        /* NULL: keys and values */
    uint64_t own_state, own_log; /* what these take on the disk, see own.c */
    char path[256];
    char cluster[STORE_MOST_ID + 1];
    char node[STORE_MOST_ID + 1];
    char why[STORE_COMPLAINT];
    uint8_t scratch[MOST_DURABLE]; /* a record in the making */
};

/* Goes on from `digest`, see store_lock. */
static inline uint64_t digest_more(uint64_t digest, byte_string operation, byte_string result)
{
    digest = sum_bytes(digest, operation.at, operation.bytes);
    return sum_bytes(digest, result.at, result.bytes);
}

/* ---- records.c ---- */

typedef struct record_key {
    size_t bytes;
    uint8_t at[MOST_RECORD_KEY];
} record_key;

record_key key_of_head(void);
record_key key_of_name(byte_string name);
/* `rest`: the key, or the origin, or nothing. */
record_key key_of_part(uint64_t number, char part, byte_string rest);

/* Breaks the store; always false. `code`: of LMDB or errno. */
bool store_fail(store *s, int code, const char *what);
/* The same for a record that cannot be. */
bool store_damaged(store *s, const char *what);
/* What a code of LMDB means to people; the directory is named. */
void store_explain(const store *s, int code, const char *what, char complaint[STORE_COMPLAINT]);

/* The transaction to read in, between look_begin and look_end; NULL if the store is broken. */
MDB_txn *look_begin(store *s);
void look_end(store *s);
/* The turn; begins it. NULL if the store is broken. */
MDB_txn *turn_begin(store *s);

typedef enum record_found { RECORD_FOUND, RECORD_ABSENT, RECORD_FAILED } record_found;
/* The value lies in the map, until the next write or the end of the look. */
record_found record_get(store *s, MDB_txn *txn, const record_key *key, byte_string *value);
bool record_put(store *s, const record_key *key, byte_string value);
/* Fine if there is none. */
bool record_delete(store *s, const record_key *key);
/* All whose key begins with these bytes. */
bool record_delete_all(store *s, byte_string prefix);
/* Whether a record's sum is right; its value without the sum. */
bool record_unseal(byte_string key, byte_string sealed, byte_string *value);
/* The sum of one that is right. */
uint64_t record_sum(byte_string sealed);

/* ---- durable.c ---- */

size_t durable_encode(const replica_durable *d, uint8_t bytes[MOST_DURABLE]);
/* Keeps operations of its own. False if these bytes are no such thing, or there is no memory. */
bool durable_decode(byte_string bytes, replica_durable *d);

/* ---- locks.c ---- */

/* Gives the lock a number if it has none. */
bool lock_number(store *s, store_lock *lock);
bool lock_write_executed(store *s, const store_lock *lock);
/* False if these bytes are no such record. */
bool lock_read_executed(byte_string bytes, store_lock *lock);
bool lock_read_number(byte_string bytes, uint64_t *number);

/*
 * Calls visit, until it returns false, for all keys and values of a lock, in order; false if
 * something failed. Neither changes anything.
 */
bool lock_each_key(store *s, MDB_txn *txn, const store_lock *lock,
                   bool (*visit)(void *context, byte_string key, byte_string value), void *context);

/* ---- own.c ---- */

/* The operation as its resource sees it: empty if it is none. */
byte_string own_operation(const wme_op *o);
/* Writes down, and runs; the result is as it is kept. */
bool own_run(store *s, store_lock *lock, const wme_op *o, resp_out *result);
/* To be called when an operation was executed: a state instead of too many operations. */
bool own_trim(store *s, store_lock *lock);
/* The resource becomes what the disk says. */
bool own_wake(store *s, const store_lock *lock);

/* ---- record_check.c ---- */

/* All zero at first, but for the first two. */
typedef struct record_check {
    const store *of;
    uint64_t turn;              /* which the head must name */
    bool head;                  /* was seen */
    uint64_t total, told_total; /* of all sums, and what the head says */
    store_lock lock;
    uint64_t keys, bytes; /* of the lock, so far */
} record_check;

/* False if this record cannot be there. */
bool record_check_next(record_check *c, byte_string key, byte_string sealed);
/* False if something is missing. */
bool record_check_end(const record_check *c);

/* ---- directory.c: the file that says whose directory this is ---- */

typedef enum directory_state {
    DIRECTORY_CREATING,
    DIRECTORY_READY,
    DIRECTORY_BOOTED
} directory_state;

/* Opens, makes, locks the directory and reads the file; s->path and ids are filled in. */
bool directory_claim(store *s, directory_state *state, char complaint[STORE_COMPLAINT]);
/* Writes the file, durable when it returns; 0 or errno. */
int directory_write(const store *s, directory_state state);
/* Removes the data; 0 or errno. */
int directory_empty(const store *s);

/* ---- verify.c ---- */

/*
 * Looks at every page of the data file before LMDB does, which believes what it reads. False, and
 * s->why, if a page or a record is not as it must be. Takes back the last turn if only that is
 * wrong. Fills in s->total.
 */
bool verify_file(store *s);

#endif
