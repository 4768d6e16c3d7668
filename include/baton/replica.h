/*
 * A replica within a program: a resource of the program's own, the same in several processes on
 * several machines, that only the holder of one lock may change.
 *
 *     baton_replica_options options = {
 *         .id = "a",
 *         .peers = "a=10.0.0.1:7800,b=10.0.0.2:7800,c=10.0.0.3:7800",
 *         .data = "/var/lib/account",
 *         .secret = secret,
 *         .resource = {&account, apply, snapshot, restore},
 *     };
 *     if (baton_replica_open(&options, &replica, why) != BATON_OK)
 *         ... `why` says in a sentence what is wrong ...
 *     if (baton_replica_enter(replica, 5000, &token) == BATON_OK) {
 *         if (baton_replica_issue(replica, token, "withdraw 50", 11, &result) == BATON_OK)
 *             ... executed, and nothing can undo it: `result` is what apply said ...
 *         baton_replica_exit(replica, token);
 *     }
 *     baton_replica_close(replica);
 *
 * Each process of the cluster runs this, and is a node as `baton node` is: it survives the crash of
 * any minority, and a process that was killed comes back with what it had and gets what it missed.
 * One replica has one lock and one resource. The lock is held by at most one thread of all
 * processes together; within its section the holder issues operations, which all replicas apply in
 * the same order. Nothing that was acknowledged is ever lost, not even if all are killed at once.
 * The very first time all processes must be there once before anybody enters. A process whose
 * directory is lost begins with an empty one, and gets all from the others, while these are a
 * majority; an older copy of a directory must never be used.
 *
 * A holder that the others suspect to be dead is ejected: another may enter, and what the ejected
 * one issues from then on is executed nowhere. The tokens of sections grow: hand one on to whatever
 * else is changed within the section, so that it can refuse an older one.
 *
 * Use it from any number of threads. The library has one thread of its own for each replica. What
 * goes wrong with peers, such as a wrong secret, is written to standard error. Link with
 * libbaton-replica (pkg-config baton-replica).
 */
#ifndef BATON_REPLICA_H
#define BATON_REPLICA_H

#include <baton/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATON_REPLICA_MAX_OPERATION 32000 /* bytes; at least 1 */
#define BATON_REPLICA_MAX_RESULT    1000
#define BATON_REPLICA_MAX_STATE     8388608
#define BATON_REPLICA_WHY_BYTES     512

/* ---- the resource ---- */

/* What an operation has brought. */
typedef struct baton_replica_result {
    size_t bytes;                          /* up to BATON_REPLICA_MAX_RESULT */
    char at[BATON_REPLICA_MAX_RESULT + 1]; /* whoever gets it finds a zero behind the bytes */
} baton_replica_result;

/* Where snapshot writes to, by baton_replica_put. */
typedef struct baton_replica_state baton_replica_state;

/*
 * It lives in the program's memory, and only these three change it. They are called by the
 * library's thread, one at a time (in baton_replica_open by the caller's), and must not call any
 * function of a replica but baton_replica_put; while one runs nothing else goes on, so that others
 * take a process for dead whose apply needs a second.
 *
 * All must be deterministic: the same operations, from the same state, give the same results and
 * the same state in every process. So no clock, no random number, no address, no file; what of that
 * is needed goes into the operation, before it is issued.
 */
typedef struct baton_replica_resource {
    void *context;
    /* Executes an operation, or refuses it, and says so: `result` is empty before. */
    void (*apply)(void *context, const void *operation, size_t bytes, baton_replica_result *result);
    /*
     * Writes the whole state, BATON_REPLICA_MAX_STATE bytes at most: apply must refuse what would
     * make it larger. Called every so many operations.
     */
    void (*snapshot)(void *context, baton_replica_state *to);
    /*
     * Becomes what snapshot has written, here or in another process. No bytes: as it is before the
     * first operation; baton_replica_open begins with this, or with what is on the disk. False: it
     * does not understand that; then the replica has failed.
     */
    bool (*restore)(void *context, const void *state, size_t bytes);
} baton_replica_resource;

/* Appends bytes to a state; only within snapshot. */
BATON_API void baton_replica_put(baton_replica_state *to, const void *bytes, size_t count);

/* ---- a replica ---- */

typedef struct baton_replica baton_replica;

typedef enum baton_replica_event {
    BATON_REPLICA_EJECTED,   /* the section of `token` is over, though nobody has left it */
    BATON_REPLICA_SUSPENDED, /* no majority is in reach: who enters or issues waits until */
    BATON_REPLICA_RESUMED,   /* one is again */
    BATON_REPLICA_FAILED,    /* see baton_replica_why */
} baton_replica_event;

/* Zero stands for the default; texts are copied. */
typedef struct baton_replica_options {
    const char *id;     /* which of the peers this is; must be given */
    const char *peers;  /* ID=HOST:PORT,... of all, the same everywhere; must be given */
    const char *data;   /* a directory of its own, made if it is not there; must be given */
    const char *secret; /* the same everywhere; NULL: none, then all must be on one machine */
    /*
     * What the resource is, up to 64 bytes ("replica"). Replicas of different names refuse each
     * other: change it when operations or states change their meaning.
     */
    const char *name;
    baton_replica_resource resource; /* must be given */
    /*
     * Called by the library's thread, under the same rule as the resource. May be NULL. `token` is
     * 0 but for EJECTED.
     */
    void (*told)(void *context, baton_replica_event event, uint64_t token);
    void *context;
} baton_replica_options;

/*
 * Brings the resource back from the disk, and takes part from now on; does not wait for the others.
 * `why` has room for BATON_REPLICA_WHY_BYTES, or is NULL. Errors: BATON_BAD_ARGUMENT: something is
 * wrong with the options. BATON_SYSTEM: the directory is another's, in use, damaged or cannot be
 * written; the port is taken; restore has returned false; memory.
 */
BATON_API int baton_replica_open(const baton_replica_options *options, baton_replica **replica,
                                 char *why);
/*
 * Leaves the section, if one is held, hands the lock over to another process, and ends. Calls that
 * wait in other threads return BATON_UNREACHABLE; no new one may begin. NULL is fine.
 *
 * A replica is of the process that has opened it. In a child that was forked since, this does
 * nothing, all other calls return BATON_BAD_ARGUMENT, and neither the directory nor the port is the
 * child's: whoever opens the replica anew need not wait for its end.
 */
BATON_API void baton_replica_close(baton_replica *replica);

/*
 * Waits for its turn, at most `timeout_ms` (negative: without end; 0: for as long as it takes to
 * fetch a free lock from another process), then BATON_BUSY. Errors: BATON_FULL: 10000 wait here
 * already; BATON_SYSTEM: the replica has failed; BATON_UNREACHABLE: it is being closed;
 * BATON_BAD_ARGUMENT, also for any call from where none is allowed.
 */
BATON_API int baton_replica_enter(baton_replica *replica, int64_t timeout_ms, uint64_t *token);
/*
 * Executes an operation from within the section of that token, and waits until that is so.
 * BATON_OK: executed, and no crash can undo it. BATON_LOST: the section is over, and it was run
 * nowhere. While no majority is in reach neither is known, and it waits. BATON_BUSY: another thread
 * issues within this section. BATON_FULL: the disk has little room left. BATON_BAD_ARGUMENT: it has
 * no byte, or too many. In all these cases but the first nothing was executed. BATON_UNREACHABLE
 * and BATON_SYSTEM as above: whether it was executed is not known. `result` may be NULL.
 */
BATON_API int baton_replica_issue(baton_replica *replica, uint64_t token, const void *operation,
                                  size_t bytes, baton_replica_result *result);
/* Leaves. BATON_LOST: the section was over already. BATON_BUSY: another thread issues within it. */
BATON_API int baton_replica_exit(baton_replica *replica, uint64_t token);

/* As of which operation a resource is seen. */
typedef struct baton_replica_position {
    uint64_t epoch, sn; /* of the last step that this replica knows; they grow together */
    uint64_t executed;  /* operations, since the beginning of the cluster */
} baton_replica_position;

/*
 * Calls `look` by the library's thread, between two operations: it may read the resource, and must
 * change nothing. What it sees is final, but other processes may be further: who must know for
 * certain enters, and issues an operation that only reads.
 */
BATON_API int baton_replica_look(baton_replica *replica,
                                 void (*look)(void *context, baton_replica_position place),
                                 void *context);

/*
 * Why the replica has failed, in a sentence; empty while it works. A disk that cannot be written, a
 * resource that does not understand a state, or is not deterministic: from then on every call
 * returns BATON_SYSTEM, and the other processes go on without this one. What was acknowledged is
 * safe; close it, mend that, and open it again.
 */
BATON_API const char *baton_replica_why(baton_replica *replica);

#ifdef __cplusplus
}
#endif

#endif
