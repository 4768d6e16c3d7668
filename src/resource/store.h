/*
 * What a node keeps, on LMDB, in one directory: for each lock what the protocol must not forget
 * (replica_durable), and the resource: keys and values, or a program's own. No protocol, no socket,
 * one thread at a time (see store_checkpoint).
 *
 *   turn   all that is written between two commits; it becomes durable as a whole, with one commit,
 *          or not at all. It begins by itself with the first write. Reads see what it has written.
 *
 * A function that returns false has failed for good, and store_why says in one sentence what
 * happened and what to do: the turn is lost, nothing of it may be told to anybody, and nothing
 * works any more but store_close. What was committed is there when the store is opened again.
 */
#ifndef BATON_RESOURCE_STORE_H
#define BATON_RESOURCE_STORE_H

#include "boot_check.h"
#include "complaint.h"
#include "op.h"
#include "replica.h"

enum {
    STORE_MAX_NAME = 500, /* bytes of a lock's name */
    STORE_MAX_ID = 64,    /* characters of a cluster's or a node's */
    /*
     * Of a lock's keys and values, STORE_KEY_COST for each besides; who would go beyond gets an
     * error. The same on all nodes, since it decides about results. Bounds a snapshot, too.
     */
    STORE_MAX_RESOURCE = 16 << 20,
    STORE_KEY_COST = 32,
};

/* A lock's snapshot has no more bytes than this. */
#define STORE_MAX_SNAPSHOT \
    ((size_t)STORE_MAX_RESOURCE + (size_t)WME_MAX_NODES * (OP_MAX_KEPT + 32) + 128)

typedef struct store store;

/* ---- a resource of a program's own ---- */

enum {
    STORE_OWN_OPERATION = OP_MAX_VALUE, /* bytes at most; at least 1 */
    STORE_OWN_RESULT = 1000,            /* so that op_kept keeps every one */
    STORE_OWN_STATE = 8 << 20,          /* as snapshot writes it */
};

/*
 * Instead of keys and values: something in the memory of a program, for one lock. The store keeps
 * what leads to it, its state as of some operation and the operations since, and brings it back in
 * store_load and store_install. Equal states must give equal results, on any node.
 */
typedef struct store_own {
    void *context;
    /* Runs an operation; returns the bytes of its result. Results are bulk strings to others. */
    size_t (*apply)(void *context, byte_string operation, uint8_t result[STORE_OWN_RESULT]);
    /* Appends the state, as bytes that restore understands. */
    void (*snapshot)(void *context, resp_out *state);
    /* No bytes: as it is before the first operation. False if these bytes are no state of it. */
    bool (*restore)(void *context, byte_string state);
} store_own;

/* ---- the directory ---- */

typedef enum store_durability {
    STORE_DISK,  /* a commit is on the disk when it returns */
    STORE_MEMORY /* nothing is ever synced but who the node is; opened again, the store is empty */
} store_durability;

typedef struct store_options {
    const char *directory; /* made if it is not there; its parent must be */
    const char *cluster;   /* id: letters, digits, and any of -_.:, */
    const char *node;      /* id, as above */
    store_durability durability;
    size_t max_bytes;     /* the data file grows up to this; address space is taken at once */
    const store_own *own; /* stays the caller's; NULL: keys and values */
    uint64_t boot; /* boot id of a directory that has none yet; 0: by chance, as it should be */
    size_t journal_bytes; /* of a new journal; 0: as many as are good for a disk */
} store_options;

/*
 * NULL, and a complaint: the directory belongs to another node, another cluster, another version,
 * another durability, a running process; cannot be written; is damaged. Every page and record of
 * the data is looked at. Never empties what it does not understand.
 *
 * Of a node that has lost what it knew, and had not got all back (BOOT_FORGETFUL), the store is
 * empty again.
 *
 * If the machine died during a commit, that turn is there as a whole, or not at all. (Damage to
 * nothing but the last turn looks the same.) What the store has when it is open is on the disk.
 */
store *store_open(const store_options *options, char complaint[COMPLAINT]);
/* What was not committed is gone. NULL is fine. */
void store_close(store *s);
/* The one that keeps others from the directory: while any process has it, nobody can open that. */
int store_descriptor(const store *s);
const char *store_why(const store *s);
/* Whether the last turn was there in part when the store was opened: something to be logged. */
bool store_took_back(const store *s);

/* Whether this node has taken part in the cluster before: its locks begin by replica_restart. */
bool store_booted(const store *s);
/* Durable when it returns, in memory mode too; before anything is sent to a peer. */
bool store_mark_booted(store *s);

/* Who this node is to the others. */
boot_durable store_boot(const store *s);
/* Durable when it returns, in memory mode too. */
bool store_save_boot(store *s, const boot_durable *its);

/*
 * Makes the turn durable. A turn without writes costs nothing. A turn may go on for as long as
 * nothing of it must be durable.
 */
bool store_commit(store *s);
/*
 * The same, and all turns come to LMDB, whose transaction is else kept open from turn to turn and
 * belongs to the thread that began it. Whoever gives the store to another thread calls this first.
 */
bool store_checkpoint(store *s);
/* Whether nothing has failed so far. */
bool store_works(const store *s);
/* A sum of all records, with those of the turn: equal for equal data. */
uint64_t store_total(const store *s);

/* How many turns were made durable in this directory, in all runs; 0 in memory mode. */
uint64_t store_turn(const store *s);

typedef struct store_usage {
    uint64_t bytes; /* of the data file, as of the last checkpoint; free room in it counts */
    uint64_t max;
    uint64_t commits; /* that wrote something */
} store_usage;
store_usage store_used(const store *s);
/*
 * Whether little room is left: whoever takes operations from clients refuses them from now on, a
 * good while before the most is reached, since what others have accepted must still find room.
 */
bool store_is_full(const store *s);

/* ---- locks ---- */

/*
 * What the store knows of a lock without a look at the disk. Belongs to who runs the lock, is
 * filled in by store_load, and changed by functions of this file alone. `name` is borrowed.
 */
typedef struct store_lock {
    byte_string name;
    uint64_t number;   /* in this store; 0: nothing was ever written */
    uint64_t executed; /* operations */
    uint64_t digest;   /* of these and their results, in order: equal on nodes with equal counts */
    uint64_t keys;
    uint64_t bytes;                   /* that count for STORE_MAX_RESOURCE */
    uint64_t answered[WME_MAX_NODES]; /* id of the last operation of each origin */
} store_lock;

/* Whether anything was saved of this lock; if not, `durable` is all zero. */
typedef enum store_found { STORE_FOUND, STORE_UNKNOWN, STORE_FAILED } store_found;
store_found store_load(store *s, byte_string name, store_lock *lock, replica_durable *durable);
/* For WME_PERSIST. `durable` stays the caller's. */
bool store_save(store *s, store_lock *lock, const replica_durable *durable);

/*
 * Calls visit, which must not change the store, for every name after that one (all, if it is empty)
 * that was saved, in order, until it returns false.
 */
bool store_each(store *s, byte_string after, bool (*visit)(void *context, byte_string name),
                void *context);

/* ---- the resource of a lock ---- */

/*
 * For WME_EXECUTE: `number` must be lock->executed + 1. Appends the result, as op.h says; bytes
 * that are no operation have an error as result, everywhere the same.
 */
bool store_execute(store *s, store_lock *lock, const wme_op *o, uint64_t number, resp_out *result);
/* For WME_RECALL: what that operation, the last one of its origin, had as result (see op_kept). */
bool store_recall(store *s, const store_lock *lock, const wme_op *o, resp_out *result);
/* A key's value or null, as of lock->executed; outside of any critical section. */
bool store_read(store *s, const store_lock *lock, byte_string key, resp_out *result);

/*
 * The whole resource as bytes, equal for equal resources on any node; to be freed by the caller.
 * lock->answered and lock->executed belong to it.
 */
typedef struct store_snapshot {
    uint8_t *at;
    size_t bytes;
} store_snapshot;
bool store_take_snapshot(store *s, const store_lock *lock, store_snapshot *taken);
/*
 * NULL, or why these bytes are no snapshot. For whoever receives one, before the protocol hears of
 * it; fills in what the snapshot knows.
 */
const char *store_check_snapshot(byte_string snapshot, uint64_t *executed,
                                 uint64_t answered[WME_MAX_NODES]);
/* For WME_INSTALL: replaces the resource. The snapshot was checked; it is checked again. */
bool store_install(store *s, store_lock *lock, byte_string snapshot);

#endif
