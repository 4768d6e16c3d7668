/*
 * Locks: ten algorithms, each usable in two ways.
 *
 *   Directly      a concrete type, its own enter and exit. The fastest, and all that a core without
 *                 an operating system needs. Part 1 of this file.
 *   By name       any algorithm of the table, created in memory that the caller gives (a mapping
 *                 that processes share, or plain memory for threads), with participants who come
 *                 and go and every misuse answered with an error. Part 2.
 *
 * A process (a thread or an operating-system process) goes try -> enter -> critical section ->
 * exit -> remainder. The one between enter and exit is the holder; there is never more than one.
 * What the holder wrote is seen by the next holder.
 *
 * All memory may be mapped at different addresses by different processes: no address is stored.
 * Memory of a lock and of its participants must stay mapped until nobody uses the lock any more: a
 * process that left the critical section may still be looked at by the one behind it, and one whose
 * exit has not returned may still look at the lock, or wake somebody there.
 *
 * Which one? dt1 or dt2 where threads or processes compete: first come, first served, and exit
 * never waits. tas where the lock is hardly ever contended. tournament-fme on a core without atomic
 * read-modify-write instructions. `baton locks` prints the whole table.
 */
#ifndef BATON_LOCK_H
#define BATON_LOCK_H

#include <baton/reg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest n of the locks that are made of reads and writes alone. */
#define BATON_MAX_PROCESSES 1024

/* ======================================= 1. Directly ======================================= */

/*
 * Rules for all of them:
 * - init sets a lock up in the caller's memory before anybody else sees it; there is nothing to
 *   free.
 * - enter returns when the caller is the holder; exit may be called by the holder only, and once.
 *   Nothing is checked, except in a library built with -Ddebug_checks=true, which aborts with a
 *   message when exit is called by a process that did not enter. (Where the lock does not know its
 *   processes, tas, or there is only one, it finds an exit from a lock that nobody holds at most.)
 * - A process holds a lock at most once: entering again what it already holds waits for ever.
 */

/* ---- tas: test-and-set (lecture-10, Algorithm 20). Any number of processes; unfair. ---- */

typedef struct baton_tas {
    baton_reg taken; /* 0 free, 1 held */
    baton_place place;
    baton_waiting waiting;
} baton_tas;

BATON_API void baton_tas_init(baton_tas *lock, baton_waiting waiting);
BATON_API void baton_tas_enter(baton_tas *lock);
/* Enters if the lock is free; says whether it did. Never waits. */
BATON_API bool baton_tas_try(baton_tas *lock);
BATON_API void baton_tas_exit(baton_tas *lock);

/* ---- peterson (lecture-10, Algorithm 21). Two processes, 0 and 1; reads and writes alone. ---- */

typedef struct baton_peterson {
    baton_reg want[2];  /* W: 1 while process i tries or holds */
    baton_reg priority; /* Pi: who goes first if both want */
    baton_place place;
    baton_waiting waiting;
} baton_peterson;

BATON_API void baton_peterson_init(baton_peterson *lock, baton_waiting waiting);
BATON_API void baton_peterson_enter(baton_peterson *lock, uint32_t i);
BATON_API void baton_peterson_exit(baton_peterson *lock, uint32_t i);

/*
 * ---- filter, filter-fme1, filter-fme2 (lockout-free-speedup, section 3) ----
 *
 * n processes, 0 to n-1, each number used by one process at a time; reads and writes alone.
 * n-1 levels, and at each of them at least one process stays behind. One type, three
 * algorithms: all participants of a lock must use the same one.
 */
typedef struct baton_filter {
    uint32_t processes; /* n */
    baton_waiting waiting;
    baton_place place;
    baton_reg registers[]; /* flag(0) ... flag(n-1), turn(1) ... turn(n-1) */
} baton_filter;

/* Bytes of a lock for n processes, 1 <= n <= BATON_MAX_PROCESSES. */
#define BATON_FILTER_SIZE(n) (sizeof(baton_filter) + (2 * (size_t)(n)-1) * sizeof(baton_reg))

BATON_API void baton_filter_init(baton_filter *lock, uint32_t n, baton_waiting waiting);
BATON_API void baton_filter_enter(baton_filter *lock, uint32_t i);
BATON_API void baton_filter_exit(baton_filter *lock, uint32_t i);
BATON_API void baton_filter_fme1_enter(baton_filter *lock, uint32_t i);
BATON_API void baton_filter_fme1_exit(baton_filter *lock, uint32_t i);
BATON_API void baton_filter_fme2_enter(baton_filter *lock, uint32_t i);
BATON_API void baton_filter_fme2_exit(baton_filter *lock, uint32_t i);

/*
 * ---- tournament, tournament-fme (lockout-free-speedup, section 4) ----
 *
 * n processes, 0 to n-1, the leaves of a binary tree; a process plays one match against the other
 * side at each node on its way to the root; reads and writes alone. Two types, since they need
 * different registers. n need not be a power of two.
 */
typedef struct baton_tournament {
    uint32_t processes; /* n */
    uint32_t levels;    /* log n, rounded up: the tree has 1 << levels leaves */
    baton_waiting waiting;
    baton_place place;
    baton_reg registers[]; /* turn(x) of the inner nodes x, then flag(i) of the processes */
} baton_tournament;

typedef struct baton_tournament_fme {
    uint32_t levels;
    baton_waiting waiting;
    baton_place place;
    baton_reg
        registers[]; /* turn(x) of the inner nodes x, then flag(x) of all nodes but the root */
} baton_tournament_fme;

/* The number of leaves: n rounded up to a power of two. */
#define BATON_LEAVES(n)          \
    ((size_t)((n) <= 1     ? 1   \
              : (n) <= 2   ? 2   \
              : (n) <= 4   ? 4   \
              : (n) <= 8   ? 8   \
              : (n) <= 16  ? 16  \
              : (n) <= 32  ? 32  \
              : (n) <= 64  ? 64  \
              : (n) <= 128 ? 128 \
              : (n) <= 256 ? 256 \
              : (n) <= 512 ? 512 \
                           : 1024))

/* Bytes of a lock for n processes, 1 <= n <= BATON_MAX_PROCESSES. */
#define BATON_TOURNAMENT_SIZE(n) \
    (sizeof(baton_tournament) + (BATON_LEAVES(n) - 1 + (size_t)(n)) * sizeof(baton_reg))
#define BATON_TOURNAMENT_FME_SIZE(n) \
    (sizeof(baton_tournament_fme) + 3 * (BATON_LEAVES(n) - 1) * sizeof(baton_reg))

BATON_API void baton_tournament_init(baton_tournament *lock, uint32_t n, baton_waiting waiting);
BATON_API void baton_tournament_enter(baton_tournament *lock, uint32_t i);
BATON_API void baton_tournament_exit(baton_tournament *lock, uint32_t i);

BATON_API void baton_tournament_fme_init(baton_tournament_fme *lock, uint32_t n,
                                         baton_waiting waiting);
BATON_API void baton_tournament_fme_enter(baton_tournament_fme *lock, uint32_t i);
BATON_API void baton_tournament_fme_exit(baton_tournament_fme *lock, uint32_t i);

#if __STDC_HOSTED__ || defined(__cplusplus)

/*
 * ---- mcs, dt1, dt2: queue locks (wait-free-exit; mcs is its yardstick) ----
 *
 * Any number of processes, first come, first served; each waits on a register of its own. A
 * participant is a process's part of the queue. It is initialised once, before its first use, with
 * a number that no other participant has and that is not 0. Afterwards another process may take it
 * over while its owner is in its remainder: as it is, without a second init, and told by the owner
 * in a way that orders memory (a lock, a thread's end, a message).
 */

typedef struct baton_mcs {
    baton_reg tail; /* the last node of the queue, or 0 */
    baton_waiting waiting;
} baton_mcs;

/* May be used with many locks, one at a time. */
typedef struct baton_mcs_participant {
    BATON_OWN_LINE baton_reg next; /* a line of its own: the owner spins on it */
    baton_reg locked;
    baton_place place;
    bool inside; /* kept by libraries with debug checks only */
} baton_mcs_participant;

BATON_API void baton_mcs_init(baton_mcs *lock, baton_waiting waiting);
BATON_API void baton_mcs_join(baton_mcs_participant *me, baton_word number);
BATON_API void baton_mcs_enter(baton_mcs *lock, baton_mcs_participant *me);
/* Enters if nobody is in the queue; says whether it did. Never waits. */
BATON_API bool baton_mcs_try(baton_mcs *lock, baton_mcs_participant *me);
/* Waits, if a process is on its way into the queue, until that process takes a step. */
BATON_API void baton_mcs_exit(baton_mcs *lock, baton_mcs_participant *me);

typedef struct baton_dt1 {
    baton_reg tail; /* T: the last node of the queue, or 0 */
    baton_waiting waiting;
} baton_dt1;

typedef struct baton_dt1_node {
    BATON_OWN_LINE baton_reg next; /* a line of its own: the owner spins on it */
    baton_reg locked;
    baton_reg status;
    baton_place place;
} baton_dt1_node;

/* Belongs to one lock for good: its nodes must not be used with another one. */
typedef struct baton_dt1_participant {
    baton_dt1_node node[2]; /* used in turn, since the last successor may still look at the other */
    uint32_t current;       /* the owner's alone */
    bool inside;            /* kept by libraries with debug checks only */
} baton_dt1_participant;

BATON_API void baton_dt1_init(baton_dt1 *lock, baton_waiting waiting);
BATON_API void baton_dt1_join(baton_dt1_participant *me, baton_word number);
BATON_API void baton_dt1_enter(baton_dt1 *lock, baton_dt1_participant *me);
/* Enters if nobody is in the queue; says whether it did. Never waits. */
BATON_API bool baton_dt1_try(baton_dt1 *lock, baton_dt1_participant *me);
/* Never waits. */
BATON_API void baton_dt1_exit(baton_dt1 *lock, baton_dt1_participant *me);

/*
 * A node travels: who leaves takes the node of its predecessor with it and leaves its own behind.
 */
typedef struct baton_dt2_node {
    BATON_OWN_LINE baton_reg next; /* its own line: predecessor and successor meet there */
    baton_reg status;
    baton_reg pid;
} baton_dt2_node;

typedef struct baton_dt2 {
    baton_reg tail; /* T: the last node of the queue, never 0 */
    baton_waiting waiting;
    baton_dt2_node dummy; /* node_0; later in some participant's hands */
} baton_dt2;

/*
 * May be used with many locks, one at a time: L locks and n participants take L + n nodes. The
 * numbers of all participants that use one of these locks must differ.
 */
typedef struct baton_dt2_participant {
    BATON_OWN_LINE baton_reg locked; /* a line of its own: the owner spins on it */
    baton_place place;
    baton_word number;    /* p */
    baton_word node;      /* the node that is mine now, counted from this struct */
    baton_word pred;      /* my predecessor's node while I am inside, likewise */
    bool inside;          /* kept by libraries with debug checks only */
    baton_dt2_node first; /* node_p; later in somebody else's hands */
} baton_dt2_participant;

BATON_API void baton_dt2_init(baton_dt2 *lock, baton_waiting waiting);
BATON_API void baton_dt2_join(baton_dt2_participant *me, baton_word number);
BATON_API void baton_dt2_enter(baton_dt2 *lock, baton_dt2_participant *me);
/* Never waits. */
BATON_API void baton_dt2_exit(baton_dt2 *lock, baton_dt2_participant *me);

/* ======================================== 2. By name ======================================== */

/* A row of the table: an algorithm and what it promises. */
typedef struct baton_algorithm {
    const char *name;
    const char *title;
    const char *source;       /* the paper it comes from */
    const char *instructions; /* what it needs beyond reads and writes */
    /*
     * How many critical sections of others a waiting process may see, if every process takes its
     * next step within a short time: the factor of a section's length in the paper's bound. N is n
     * rounded up to a power of two.
     */
    const char *bypass;
    const char *space;         /* registers for L locks and n participants */
    uint32_t max_participants; /* 0: as many as memory holds */
    bool fifo;                 /* entries in the order in which doorways were finished */
    bool lockout_free;         /* every process that tries enters */
    bool wait_free_exit;       /* exit takes a bounded number of steps, whatever others do */
    bool has_try;
} baton_algorithm;

/* The algorithm of that name, or NULL if there is none. */
BATON_API const baton_algorithm *baton_algorithm_find(const char *name);
/* The algorithm in row 0, 1, ... of the table, or NULL beyond its end. */
BATON_API const baton_algorithm *baton_algorithm_at(size_t row);

/* What functions of this part return: BATON_OK, BATON_BUSY, or one of the errors, all negative. */
enum {
    BATON_OK = 0,
    BATON_BUSY = 1,              /* not an error: somebody holds the lock, the try failed */
    BATON_NO_ALGORITHM = -1,     /* no algorithm of that name */
    BATON_BAD_COUNT = -2,        /* no locks or no participants, or more than it can take */
    BATON_TOO_SMALL = -3,        /* the memory is too small */
    BATON_MISALIGNED = -4,       /* the memory does not begin at a multiple of BATON_CACHE_LINE */
    BATON_NOT_LOCKS = -5,        /* no locks in this memory, or its header is damaged */
    BATON_OTHER_VERSION = -6,    /* made by a library with another memory layout */
    BATON_FULL = -7,             /* as many participants as it was made for have joined already */
    BATON_NO_LOCK = -8,          /* no lock of that number */
    BATON_NOT_INSIDE = -9,       /* exit without enter, or of another lock */
    BATON_ALREADY_INSIDE = -10,  /* enter or leave while inside a lock */
    BATON_NOT_JOINED = -11,      /* the participant has not joined, or has left */
    BATON_NO_TRY = -12,          /* the algorithm has no try */
    BATON_ALREADY_JOINED = -13,  /* join by a participant that has not left */
    BATON_BAD_ARGUMENT = -14,    /* a null pointer, or a value that is not allowed */
    BATON_NO_OBJECT = -15,       /* no collect object of that name */
    BATON_NOT_COLLECT = -16,     /* no collect object in this memory, or its header is damaged */
    BATON_NO_BOARD = -17,        /* no board of that name */
    BATON_NOT_BOARD = -18,       /* what has that name is no board, or is damaged */
    BATON_BAD_NAME = -19,        /* a name that is empty, too long, or has characters not allowed */
    BATON_OTHER_NAMESPACE = -20, /* the board belongs to another pid namespace */
    BATON_READ_ONLY = -21,       /* the board was opened only to look at it */
    BATON_UNSUPPORTED = -22,     /* not on this system */
    BATON_SYSTEM = -23,          /* the system refused; errno says why */
    BATON_UNREACHABLE = -24,     /* nobody answers at that address; errno says why */
    BATON_REFUSED = -25,         /* the server does not want this client */
    BATON_LOST = -26,            /* the lock had been taken away */
    BATON_CLOSED = -27,          /* the server lets nobody in for now */
    BATON_OTHER_OWNER = -28,     /* the board is another user's, or others may write to it */
};

/* What a value means, as a sentence without capital or full stop. Never NULL. */
BATON_API const char *baton_strerror(int value);

/* What to create. */
typedef struct baton_locks_spec {
    const char *algorithm; /* a name of the table */
    uint32_t locks;        /* how many locks, numbered from 0; at least 1 */
    uint32_t participants; /* how many may have joined at one time; at least 1 */
    baton_waiting waiting;
} baton_locks_spec;

/*
 * A set of locks of one algorithm with room for a number of participants, all in memory that the
 * caller gave. It lives as long as that memory; there is nothing to destroy.
 */
typedef struct baton_locks baton_locks;

/* What a process does with a lock. */
typedef enum baton_doing { BATON_RESTS, BATON_WAITS, BATON_HOLDS } baton_doing;

/*
 * Somebody who wants to know what a participant does: told before it waits, when it has entered,
 * and before it exits; of a try, or if it need not wait, only that it has entered. A board's card
 * is one (baton/board.h).
 */
typedef struct baton_watch {
    void (*tell)(struct baton_watch *watch, baton_doing doing, uint32_t lock);
} baton_watch;

/*
 * A process's membership in a set of locks: what one thread needs to enter. It lies in the
 * process's own memory, is filled in by baton_join and is used by one thread at a time. It is
 * inside at most one lock; a thread that holds two at a time joins twice.
 */
typedef struct baton_participant {
    const void *self; /* its own address while it has joined: a copy is no participant */
    const void *row;
    baton_reg *claim;
    void *lock; /* the first lock, and how far it is to the next */
    void *seat; /* what the algorithm keeps for this participant, and likewise */
    size_t lock_stride;
    size_t seat_stride;
    uint32_t locks;
    uint32_t index;
    uint32_t inside; /* number of the lock it is inside, plus 1; 0 if none; and see set.c */
    baton_watch *watch;
} baton_participant;

/*
 * How many bytes such a set takes. Errors: BATON_NO_ALGORITHM, BATON_BAD_COUNT (also if the size
 * would not fit into a size_t), BATON_BAD_ARGUMENT; *bytes is then left alone.
 */
BATON_API int baton_locks_size(const baton_locks_spec *spec, size_t *bytes);

/*
 * Makes the locks in `memory`, whatever it held before, and hands out their set. The memory must
 * begin at a multiple of BATON_CACHE_LINE and hold at least baton_locks_size bytes. Errors: those
 * of baton_locks_size, BATON_TOO_SMALL, BATON_MISALIGNED; the memory is then left alone.
 */
BATON_API int baton_locks_create(const baton_locks_spec *spec, void *memory, size_t bytes,
                                 baton_locks **locks);

/*
 * Finds the locks that another process made in memory that both map; `bytes` is how much of it the
 * caller has mapped. Errors: BATON_NOT_LOCKS (also while the maker has not finished: try again),
 * BATON_OTHER_VERSION, BATON_TOO_SMALL, BATON_MISALIGNED, BATON_BAD_ARGUMENT.
 */
BATON_API int baton_locks_attach(void *memory, size_t bytes, baton_locks **locks);

/*
 * What the set was made as; `algorithm` then points into the table. Errors: BATON_NOT_LOCKS and
 * BATON_OTHER_VERSION if its header has been damaged, BATON_BAD_ARGUMENT.
 */
BATON_API int baton_locks_describe(const baton_locks *locks, baton_locks_spec *spec);

/*
 * Joins and leaves, at any time. `me` is all zero (`baton_participant me = {0};`) before its first
 * join, and stays where it is until it leaves: a copy is no participant. A process that ends
 * without leaving keeps its place occupied. Errors: for join BATON_FULL, BATON_ALREADY_JOINED, and
 * those of baton_locks_describe; for leave BATON_NOT_JOINED, BATON_ALREADY_INSIDE;
 * BATON_BAD_ARGUMENT.
 */
BATON_API int baton_join(baton_locks *locks, baton_participant *me);
BATON_API int baton_leave(baton_participant *me);

/*
 * Enters lock number `lock`, waiting as long as it takes. Try returns BATON_BUSY instead of
 * waiting. Exit hands the lock on. Errors, the lock being left as it is: BATON_NOT_JOINED,
 * BATON_NO_LOCK, BATON_ALREADY_INSIDE, BATON_NOT_INSIDE, BATON_NO_TRY.
 */
BATON_API int baton_enter(baton_participant *me, uint32_t lock);
BATON_API int baton_try(baton_participant *me, uint32_t lock);
BATON_API int baton_exit(baton_participant *me, uint32_t lock);

/*
 * From now on `watch` is told what the participant does; NULL: nobody. Costs nothing while there is
 * none. Errors: BATON_NOT_JOINED, BATON_ALREADY_INSIDE, BATON_BAD_ARGUMENT.
 */
BATON_API int baton_watch_by(baton_participant *me, baton_watch *watch);

/* The version of the library, as in "0.1.0". */
BATON_API const char *baton_version(void);

#endif /* hosted */

#ifdef __cplusplus
}
#endif

#endif
