/*
 * The contenders: Baton's table and its peers, each in a loop of its own that calls it as a C
 * program would: Concurrency Kit's inline functions inline, pthread's and Baton's by a plain call.
 */
#include "contest.h"

#include <ck_spinlock.h>
#include <stdlib.h>
#include <string.h>

static inline void turn_around(uint64_t turns)
{
    for (uint64_t i = 0; i < turns; i++)
        __asm__ volatile("");
}

uint64_t turns_for(uint64_t ns)
{
    enum { TURNS = 2000000 };
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 5; i++) { /* the fastest of a few: the others were disturbed */
        uint64_t start = now_ns();
        turn_around(TURNS);
        uint64_t took = now_ns() - start;
        best = took < best ? took : best;
    }
    return best == 0 ? ns : ns * TURNS / best;
}

/* xorshift64: cheap, and different for each worker. */
static inline uint64_t next_random(worker *me)
{
    me->random ^= me->random << 13;
    me->random ^= me->random >> 7;
    me->random ^= me->random << 17;
    return me->random;
}

typedef void step(worker *);

/* The measured loop. Inlined into one function per contender, together with its enter and exit. */
static inline __attribute__((always_inline)) void passages(worker *me, step *enter, step *leave)
{
    arena *in = me->arena;
    uint64_t inside = in->inside;
    uint64_t outside = in->outside;
    bool timed = in->timed;
    uint64_t done = 0;
    uint64_t longest = 0;
    while (!atomic_load_explicit(&in->stop, memory_order_relaxed)) {
        uint64_t start = timed ? now_ns() : 0;
        enter(me);
        uint64_t waited = timed ? now_ns() - start : 0;
        in->count++;
        if (inside != 0)
            turn_around(inside);
        leave(me);
        if (outside != 0)
            turn_around(next_random(me) % (2 * outside + 1));
        longest = waited > longest ? waited : longest;
        done++;
    }
    me->passages = done;
    me->longest_wait_ns = longest;
}

/* ---- Baton's locks ---- */

static const char *baton_open(arena *in)
{
    uint32_t participants =
        in->threads > 1 ? in->threads : 2; /* alone is not without competition */
    baton_locks_spec spec = {in->contender->name, 1, participants, in->waiting};
    int error = baton_locks_size(&spec, &in->lock_bytes);
    if (error != BATON_OK)
        return baton_strerror(error);
    in->lock = aligned_alloc(BATON_CACHE_LINE, in->lock_bytes);
    if (in->lock == NULL)
        return "no memory for the lock";
    baton_locks *locks;
    error = baton_locks_create(&spec, in->lock, in->lock_bytes, &locks);
    for (uint32_t i = 0; i < in->threads && error == BATON_OK; i++)
        error = baton_join(locks, &in->worker[i].participant);
    return error == BATON_OK ? NULL : baton_strerror(error);
}

/* Through the table, with its checks: for a lock that has no loop of its own below. */
static inline void table_enter(worker *me)
{
    baton_enter(&me->participant, 0);
}

static inline void table_exit(worker *me)
{
    baton_exit(&me->participant, 0);
}

static void table_run(worker *me)
{
    passages(me, table_enter, table_exit);
}

/* Directly, as a C program uses the concrete type: by lock alone, by number, or by seat. */
#define LOOP(name, ...)                          \
    static inline void name##_enter(worker *me)  \
    {                                            \
        baton_##name##_enter(__VA_ARGS__);       \
    }                                            \
    static inline void name##_exit(worker *me)   \
    {                                            \
        baton_##name##_exit(__VA_ARGS__);        \
    }                                            \
    static void name##_run(worker *me)           \
    {                                            \
        passages(me, name##_enter, name##_exit); \
    }

LOOP(tas, me->participant.lock)
LOOP(peterson, me->participant.lock, me->index)
LOOP(filter, me->participant.lock, me->index)
LOOP(filter_fme1, me->participant.lock, me->index)
LOOP(filter_fme2, me->participant.lock, me->index)
LOOP(tournament, me->participant.lock, me->index)
LOOP(tournament_fme, me->participant.lock, me->index)
LOOP(mcs, me->participant.lock, me->participant.seat)
LOOP(dt1, me->participant.lock, me->participant.seat)
LOOP(dt2, me->participant.lock, me->participant.seat)

static const struct {
    const char *name;
    void (*run)(worker *);
} loops[] = {
    {"tas", tas_run},
    {"peterson", peterson_run},
    {"filter", filter_run},
    {"filter-fme1", filter_fme1_run},
    {"filter-fme2", filter_fme2_run},
    {"tournament", tournament_run},
    {"tournament-fme", tournament_fme_run},
    {"mcs", mcs_run},
    {"dt1", dt1_run},
    {"dt2", dt2_run},
};

static void (*loop_of(const baton_algorithm *algorithm))(worker *)
{
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++)
        if (strcmp(loops[i].name, algorithm->name) == 0)
            return loops[i].run;
    return table_run;
}

static void free_lock(arena *in)
{
    free(in->lock);
}

/* ---- pthread ---- */

typedef struct pthread_lock {
    BATON_OWN_LINE pthread_mutex_t mutex;
} pthread_lock;

static const char *pthread_open(arena *in)
{
    in->lock = aligned_alloc(BATON_CACHE_LINE, sizeof(pthread_lock));
    if (in->lock == NULL)
        return "no memory for the lock";
    pthread_mutex_init(in->lock, NULL);
    return NULL;
}

static inline void pthread_step_in(worker *me)
{
    pthread_mutex_lock(me->arena->lock);
}

static inline void pthread_step_out(worker *me)
{
    pthread_mutex_unlock(me->arena->lock);
}

static void pthread_run(worker *me)
{
    passages(me, pthread_step_in, pthread_step_out);
}

/* ---- Concurrency Kit's MCS ---- */

typedef struct ck_seat {
    _Alignas(BATON_CACHE_LINE) ck_spinlock_mcs_context_t node;
} ck_seat;

typedef struct ck_lock {
    _Alignas(BATON_CACHE_LINE) ck_spinlock_mcs_t tail;
    ck_seat seat[];
} ck_lock;

static const char *ck_open(arena *in)
{
    size_t bytes = sizeof(ck_lock) + in->threads * sizeof(ck_seat);
    ck_lock *lock = aligned_alloc(BATON_CACHE_LINE, bytes);
    if (lock == NULL)
        return "no memory for the lock";
    memset(lock, 0, bytes);
    ck_spinlock_mcs_init(&lock->tail);
    in->lock = lock;
    return NULL;
}

static inline void ck_step_in(worker *me)
{
    ck_lock *lock = me->arena->lock;
    ck_spinlock_mcs_lock(&lock->tail, &lock->seat[me->index].node);
}

static inline void ck_step_out(worker *me)
{
    ck_lock *lock = me->arena->lock;
    ck_spinlock_mcs_unlock(&lock->tail, &lock->seat[me->index].node);
}

static void ck_run(worker *me)
{
    passages(me, ck_step_in, ck_step_out);
}

/* ---- all of them ---- */

static const contender peers[] = {
    {.name = "pthread", .open = pthread_open, .run = pthread_run, .close = free_lock},
    {.name = "ck-mcs", .open = ck_open, .run = ck_run, .close = free_lock},
};

enum { PEERS = sizeof peers / sizeof peers[0] };

const contender *contender_at(size_t index)
{
    static contender ours[MAX_CONTENDERS - PEERS];
    if (index < PEERS)
        return &peers[index];
    index -= PEERS;
    const baton_algorithm *algorithm = baton_algorithm_at(index);
    if (algorithm == NULL || index >= sizeof ours / sizeof ours[0])
        return NULL;
    ours[index] = (contender){
        .name = algorithm->name,
        .algorithm = algorithm,
        .max_threads = algorithm->max_participants,
        .open = baton_open,
        .run = loop_of(algorithm),
        .close = free_lock,
    };
    return &ours[index];
}

const contender *contender_find(const char *name)
{
    const contender *found;
    for (size_t i = 0; (found = contender_at(i)) != NULL; i++)
        if (strcmp(found->name, name) == 0)
            return found;
    return NULL;
}
