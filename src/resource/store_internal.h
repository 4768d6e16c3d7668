/*
 * What the files of this room share: the one tree of records in LMDB, and what lies in it.
 *
 *   00                              head: as put_head in store.c writes it
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
 *
 * Turns go to a journal first (journal.c), and to LMDB many at once.
 */
#ifndef BATON_RESOURCE_STORE_INTERNAL_H
#define BATON_RESOURCE_STORE_INTERNAL_H

#include "durable.h"
#include "store.h"

#include <lmdb.h>
#include <stdio.h>

enum {
    STORE_FORMAT = 4,
    HEAD = 0,
    NAME = 1,
    PART = 2,
    PART_PREFIX = 9, /* bytes before the letter */
    MAX_RECORD_KEY = 511,
    SUM_BYTES = 8,
};

typedef enum journal_verb { JOURNAL_PUT = 1, JOURNAL_DELETE, JOURNAL_DELETE_ALL } journal_verb;

typedef struct journal {
    int file;       /* -1 if there is none: in memory mode */
    uint64_t salt;  /* sums begin with it */
    size_t bytes;   /* of the file, from its first day on */
    size_t end;     /* of what counts in it */
    uint8_t *entry; /* the turn in the making */
    size_t used, capacity;
    bool too_long; /* for the journal: the turn must become a checkpoint */
    bool replays;  /* what is written is there already */
} journal;

struct store {
    MDB_env *env;
    MDB_dbi tree;
    MDB_txn *open;   /* that writes all since the last checkpoint; NULL: nothing was written yet */
    MDB_txn *reader; /* rests between looks */
    int directory;   /* open and locked, so that no other process uses it */
    bool booted;
    boot_durable boot_check;
    uint64_t boot_wished;  /* see store_options, */
    size_t journal_wished; /* and there */
    bool broken;
    bool took_back;
    journal journal;
    uint64_t next_number; /* for a lock */
    uint64_t total;       /* of the sums of all records but the head */
    uint64_t commits;
    uint64_t last_turn; /* that is durable */
    uint64_t touched;   /* pages that `open` may have taken, at most */
    size_t max_bytes;
    store_durability durability;
    const store_own *own;        /* NULL: keys and values */
    uint64_t own_state, own_log; /* what these take on the disk, see own.c */
    char path[256];
    char cluster[STORE_MAX_ID + 1];
    char node[STORE_MAX_ID + 1];
    char why[COMPLAINT];
    uint8_t scratch[MAX_DURABLE]; /* a record in the making */
};

/* Goes on from `digest`, see store_lock. */
static inline uint64_t digest_more(uint64_t digest, byte_string operation, byte_string result)
{
    digest = sum_bytes(digest, operation.at, operation.bytes);
    return sum_bytes(digest, result.at, result.bytes);
}

#define STORE_DATA "data.mdb"

/* ---- records.c ---- */

typedef struct record_key {
    size_t bytes;
    uint8_t at[MAX_RECORD_KEY];
} record_key;

record_key key_of_head(void);
record_key key_of_name(byte_string name);
/* `rest`: the key, or the origin, or nothing. */
record_key key_of_part(uint64_t number, char part, byte_string rest);

/* Breaks the store; always false. `code`: of LMDB or errno. */
bool store_fail(store *s, int code, const char *what);
/* The same for a file of the directory in which something cannot be, or that is not there. */
bool store_damaged(store *s, const char *file, const char *what);
bool store_lost(store *s, const char *file);

/* The transaction to read in, between look_begin and look_end; NULL if the store is broken. */
MDB_txn *look_begin(store *s);
void look_end(store *s);
/* The transaction to write in. NULL if the store is broken. */
MDB_txn *write_begin(store *s);

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

/* ---- journal.c; what is an int is 0 or errno ---- */

#define JOURNAL_NAME "journal"
enum { JOURNAL_BYTES = 2 << 20 };

/* A new one, with nothing in it; or the one that is there. */
int journal_create(store *s, size_t bytes);
int journal_open(store *s);
void journal_close(journal *j);
/* Something was written in this turn. */
void journal_note(journal *j, journal_verb verb, byte_string key, byte_string value);
bool journal_has_turn(const journal *j);
/* Whether the turn has room behind the others. If not, a checkpoint takes it. */
bool journal_fits(const journal *j);
/* The turn becomes durable. */
int journal_write(journal *j, uint64_t number);
/* The same as if it were written, without a file. */
void journal_count_turn(journal *j);
/* A checkpoint has all that is in it, and the turn. */
void journal_begin_anew(journal *j);
/* Does again what the turns after s->last_turn have done, as far as they are there. */
bool journal_replay(store *s);

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

/* All zero at first, but for the first. */
typedef struct record_check {
    const store *of;
    bool head; /* was seen: turn, salt and size of the journal are its own */
    uint64_t turn, salt, journal_bytes;
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
bool directory_claim(store *s, directory_state *state, char complaint[COMPLAINT]);
/* Writes the file, durable when it returns; 0 or errno. */
int directory_write(const store *s, directory_state state);
/* From now on the disk has what can be read of the data; 0 or errno. Fine if there are none. */
int directory_settle(const store *s);
/* Removes the data; 0 or errno. */
int directory_empty(const store *s);

/* ---- verify.c ---- */

/*
 * Looks at every page of the data file before LMDB does, which believes what it reads. False, and
 * s->why, if a page or a record is not as it must be. Fills in what the head says.
 */
bool verify_file(store *s);

#endif
