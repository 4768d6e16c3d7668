/*
 * Store & collect: every process stores a value of its own, and every process can collect a view of
 * what all the others have stored last. Nobody ever waits for anybody.
 *
 * Three objects with one interface (lecture-10, section 10.3). n is how many may take part, k how
 * many have taken part so far:
 *
 *   name     first store   later stores   collect   registers
 *   array    O(1)          O(1)           O(n)      O(n)
 *   tree     O(k)          O(1)           O(k)      O(2^n), so n is at most BATON_MAX_IN_TREE
 *   matrix   O(k)          O(1)           O(k^2)    O(n^2)
 *
 *     baton_collect_spec spec = {"matrix", 64, 4, sizeof(position)};
 *     baton_collect_create(&spec, memory, bytes, &board);
 *
 *     baton_storer me = {0};                            a process that stores
 *     baton_storer_join(board, getpid(), &me);
 *     baton_store(&me, &where_i_am);
 *
 *     baton_collector you = {0};                        a process that collects
 *     baton_collector_join(board, getpid(), &you);
 *     count = baton_collect_view(&you, ids, values);
 *
 * The objects live in memory that the caller gives and that several processes may map, each at an
 * address of its own. Functions return BATON_OK or an error of baton/lock.h; the memory is left as
 * it was if they return an error.
 */
#ifndef BATON_COLLECT_H
#define BATON_COLLECT_H

#include <baton/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ====================================== 1. The splitter ======================================= */

/*
 * A splitter (Algorithm 23) parts those who enter it: of k processes at most one stops, at most k-1
 * go left and at most k-1 go right. Who enters alone stops. All-zero bytes are a splitter.
 */
typedef struct baton_splitter {
    baton_reg x; /* who came last: i, from 1; 0 is the paper's bottom */
    baton_reg y; /* somebody has passed line 2 */
} baton_splitter;

typedef enum baton_turn { BATON_STOP, BATON_LEFT, BATON_RIGHT } baton_turn;

BATON_API void baton_splitter_init(baton_splitter *splitter);
/* Process i, from 1, enters, once. Four steps at most, never waits. */
BATON_API baton_turn baton_splitter_enter(baton_splitter *splitter, baton_word i);

/* ======================================= 2. The objects ======================================= */

enum {
    BATON_MAX_IN_TREE = 20,     /* 2^20 - 1 splitters take 32 MiB */
    BATON_MAX_IN_MATRIX = 1024, /* 524800 splitters take 16 MiB */
    BATON_MAX_IN_ARRAY = 65536,
    BATON_MAX_COLLECTORS = 64,
    BATON_MAX_VALUE_BYTES = 65536,
};

typedef struct baton_collect baton_collect;

/* What to create. */
typedef struct baton_collect_spec {
    const char *object;    /* "array", "tree" or "matrix" */
    uint32_t participants; /* n: how many may have joined as storers at one time */
    /*
     * How many may have joined as collectors at one time. Values wider than a word are kept in
     * collectors + 2 places for each participant, and a store looks at what each collector reads.
     * Values of a word cost neither.
     */
    uint32_t collectors;
    size_t value_bytes; /* of each value, 1 to BATON_MAX_VALUE_BYTES */
} baton_collect_spec;

/*
 * As for sets of locks in baton/lock.h: how many bytes it takes; make it; find what another process
 * made; what it was made as. Errors: BATON_NO_OBJECT, BATON_BAD_COUNT, BATON_TOO_SMALL,
 * BATON_MISALIGNED, BATON_NOT_COLLECT, BATON_OTHER_VERSION, BATON_BAD_ARGUMENT.
 */
BATON_API int baton_collect_size(const baton_collect_spec *spec, size_t *bytes);
BATON_API int baton_collect_create(const baton_collect_spec *spec, void *memory, size_t bytes,
                                   baton_collect **object);
BATON_API int baton_collect_attach(void *memory, size_t bytes, baton_collect **object);
BATON_API int baton_collect_describe(const baton_collect *object, baton_collect_spec *spec);

/* Where a process has mapped the parts of an object. For storers and collectors only. */
typedef struct baton_collect_parts {
    const void *kind; /* array, tree or matrix */
    char *seats;      /* a line for each participant */
    char *requests;   /* a line for each collector */
    char *slots;      /* where wide values lie */
    char *nodes;      /* of tree and matrix */
    size_t value_bytes;
    uint32_t participants;
    uint32_t collectors;
} baton_collect_parts;

/*
 * A process's membership as one who stores, under a small id from 0 to n-1. It lies in the
 * process's own memory, is all zero before its first join, stays where it is until it leaves, and
 * is used by one thread at a time.
 */
typedef struct baton_storer {
    const void *self; /* its own address while it has joined: a copy is no storer */
    uint32_t id;
    baton_reg *value; /* of the seat: for baton_store_lazily */
    baton_collect_parts in;
} baton_storer;

/*
 * Joins under the lowest free id. `owner` is any word but 0: it tells others whose id that is. An
 * id is free again after leave; what was stored under it stays in the view until the next who has
 * the id stores. Errors: BATON_FULL, BATON_ALREADY_JOINED, BATON_NOT_JOINED, BATON_BAD_ARGUMENT,
 * and those of describe.
 */
BATON_API int baton_storer_join(baton_collect *object, baton_word owner, baton_storer *me);
BATON_API int baton_storer_leave(baton_storer *me);

/* Who has joined under that id; 0 if nobody. */
BATON_API baton_word baton_collect_owner(const baton_collect *object, uint32_t id);

/*
 * Joins under an id whose owner is `dead`: it has ended without leaving, and never takes another
 * step. Wherever it stopped, the object is whole: what it had stored stays in the view, and a store
 * that it had begun is gone on with. Errors as for join; BATON_FULL if `dead` is not the owner
 * (somebody else was faster).
 */
BATON_API int baton_storer_take_over(baton_collect *object, uint32_t id, baton_word dead,
                                     baton_word owner, baton_storer *me);

/*
 * Stores a value of value_bytes. Wait-free. A collect that begins after it has returned sees it, or
 * a later one. Errors: BATON_NOT_JOINED, BATON_BAD_ARGUMENT, BATON_NOT_COLLECT (it is damaged).
 */
BATON_API int baton_store(baton_storer *me, const void *value);

/*
 * Stores a word, without the fence at the end: for those who have stored before and for whom some
 * nanoseconds matter. A collect sees it if it happens after by other means (a lock, a message), or
 * as soon as the processor has written back its stores; never out of order. Nothing is checked: the
 * storer has joined and stored, and value_bytes is at most sizeof(baton_word). Not in C++.
 */
#ifndef __cplusplus
static inline void baton_store_lazily(baton_storer *me, baton_word value)
{
    baton_reg_write(me->value, value, memory_order_release);
}
#endif

/* A process's membership as one who collects; kept and used like a storer. */
typedef struct baton_collector {
    const void *self;
    uint32_t number;
    baton_collect_parts in;
} baton_collector;

/* Joins, leaves, takes over: as for storers. Errors: as for storers. */
BATON_API int baton_collector_join(baton_collect *object, baton_word owner, baton_collector *me);
BATON_API int baton_collector_leave(baton_collector *me);
BATON_API baton_word baton_collector_owner(const baton_collect *object, uint32_t number);
BATON_API int baton_collector_take_over(baton_collect *object, uint32_t number, baton_word dead,
                                        baton_word owner, baton_collector *me);

/*
 * Collects: fills in the ids of those who have stored, in no order, and what each has stored last.
 * There must be room for n of both; `values` takes value_bytes for each. Returns how many there
 * are, or an error (negative): BATON_NOT_JOINED, BATON_BAD_ARGUMENT. Wait-free. The view need not
 * be one that existed at any moment; but each value was the last of its process at some moment
 * between begin and end, and who is missing had not stored before the begin (Definition 10.4).
 */
BATON_API int baton_collect_view(baton_collector *me, uint32_t *ids, void *values);

#ifdef __cplusplus
}
#endif

#endif
