/*
 * The table of algorithms: one row each, with its promises and its operations.
 * A new lock is a file of this room, its declaration in baton/lock.h, and a row here; tools, tests
 * and benchmarks find it by themselves.
 */
#include "table.h"

#include <string.h>

/*
 * Operations of one shape for the table, from those of the concrete types. Three kinds of
 * algorithm: the process is anonymous, has a number, or has a seat.
 */
#define ANONYMOUS(name)                                          \
    static void name##_enter(void *lock, void *seat, uint32_t i) \
    {                                                            \
        (void)seat, (void)i;                                     \
        baton_##name##_enter(lock);                              \
    }                                                            \
    static void name##_exit(void *lock, void *seat, uint32_t i)  \
    {                                                            \
        (void)seat, (void)i;                                     \
        baton_##name##_exit(lock);                               \
    }

#define NUMBERED(name)                                           \
    static void name##_enter(void *lock, void *seat, uint32_t i) \
    {                                                            \
        (void)seat;                                              \
        baton_##name##_enter(lock, i);                           \
    }                                                            \
    static void name##_exit(void *lock, void *seat, uint32_t i)  \
    {                                                            \
        (void)seat;                                              \
        baton_##name##_exit(lock, i);                            \
    }

#define SEATED(name)                                             \
    static void name##_join(void *seat, baton_word number)       \
    {                                                            \
        baton_##name##_join(seat, number);                       \
    }                                                            \
    static void name##_enter(void *lock, void *seat, uint32_t i) \
    {                                                            \
        (void)i;                                                 \
        baton_##name##_enter(lock, seat);                        \
    }                                                            \
    static void name##_exit(void *lock, void *seat, uint32_t i)  \
    {                                                            \
        (void)i;                                                 \
        baton_##name##_exit(lock, seat);                         \
    }

/* A lock whose size does not depend on n, and one whose size does. */
#define OF_FIXED_SIZE(name)                                                \
    static size_t name##_bytes(uint32_t n)                                 \
    {                                                                      \
        (void)n;                                                           \
        return sizeof(baton_##name);                                       \
    }                                                                      \
    static void name##_init(void *lock, uint32_t n, baton_waiting waiting) \
    {                                                                      \
        (void)n;                                                           \
        baton_##name##_init(lock, waiting);                                \
    }

#define OF_SIZE(name, size)                                                \
    static size_t name##_bytes(uint32_t n)                                 \
    {                                                                      \
        return size(n);                                                    \
    }                                                                      \
    static void name##_init(void *lock, uint32_t n, baton_waiting waiting) \
    {                                                                      \
        baton_##name##_init(lock, n, waiting);                             \
    }

OF_FIXED_SIZE(tas)
ANONYMOUS(tas)
static bool tas_try(void *lock, void *seat, uint32_t i)
{
    (void)seat, (void)i;
    return baton_tas_try(lock);
}

OF_FIXED_SIZE(peterson)
NUMBERED(peterson)

OF_SIZE(filter, BATON_FILTER_SIZE)
NUMBERED(filter)
NUMBERED(filter_fme1)
NUMBERED(filter_fme2)

OF_SIZE(tournament, BATON_TOURNAMENT_SIZE)
NUMBERED(tournament)
OF_SIZE(tournament_fme, BATON_TOURNAMENT_FME_SIZE)
NUMBERED(tournament_fme)

OF_FIXED_SIZE(mcs)
SEATED(mcs)
static bool mcs_try(void *lock, void *seat, uint32_t i)
{
    (void)i;
    return baton_mcs_try(lock, seat);
}

OF_FIXED_SIZE(dt1)
SEATED(dt1)
static bool dt1_try(void *lock, void *seat, uint32_t i)
{
    (void)i;
    return baton_dt1_try(lock, seat);
}

OF_FIXED_SIZE(dt2)
SEATED(dt2)

static const row rows[] = {
    {
        .is = {.name = "tas",
               .title = "test-and-set",
               .source = "lecture-10, Algorithm 20",
               .instructions = "swap",
               .bypass = "unbounded",
               .space = "L",
               .wait_free_exit = true,
               .has_try = true},
        .lock_bytes = tas_bytes,
        .init = tas_init,
        .enter = tas_enter,
        .try = tas_try,
        .exit = tas_exit,
    },
    {
        .is = {.name = "peterson",
               .title = "Peterson, two processes",
               .source = "lecture-10, Algorithm 21",
               .instructions = "none",
               .bypass = "1",
               .space = "3L",
               .max_participants = 2,
               .lockout_free = true,
               .wait_free_exit = true},
        .lock_bytes = peterson_bytes,
        .init = peterson_init,
        .enter = peterson_enter,
        .exit = peterson_exit,
    },
    {
        .is = {.name = "filter",
               .title = "n-processME",
               .source = "lockout-free-speedup, section 3",
               .instructions = "none",
               .bypass = "n(n-1)/2",
               .space = "L(2n-1)",
               .max_participants = BATON_MAX_PROCESSES,
               .lockout_free = true,
               .wait_free_exit = true},
        .lock_bytes = filter_bytes,
        .init = filter_init,
        .enter = filter_enter,
        .exit = filter_exit,
    },
    {
        .is = {.name = "filter-fme1",
               .title = "n-processFME1",
               .source = "lockout-free-speedup, section 3",
               .instructions = "none",
               .bypass = "2n-3",
               .space = "L(2n-1)",
               .max_participants = BATON_MAX_PROCESSES,
               .lockout_free = true,
               .wait_free_exit = true},
        .lock_bytes = filter_bytes,
        .init = filter_init,
        .enter = filter_fme1_enter,
        .exit = filter_fme1_exit,
    },
    {
        .is = {.name = "filter-fme2",
               .title = "n-processFME2",
               .source = "lockout-free-speedup, section 3",
               .instructions = "none",
               .bypass = "n-1",
               .space = "L(2n-1)",
               .max_participants = BATON_MAX_PROCESSES,
               .lockout_free = true,
               .wait_free_exit = true},
        .lock_bytes = filter_bytes,
        .init = filter_init,
        .enter = filter_fme2_enter,
        .exit = filter_fme2_exit,
    },
    {
        .is = {.name = "tournament",
               .title = "n-tournamentME",
               .source = "lockout-free-speedup, section 4",
               .instructions = "none",
               .bypass = "N-1",
               .space = "L(N+n-1)",
               .max_participants = BATON_MAX_PROCESSES,
               .lockout_free = true,
               .wait_free_exit = true},
        .lock_bytes = tournament_bytes,
        .init = tournament_init,
        .enter = tournament_enter,
        .exit = tournament_exit,
    },
    {
        .is = {.name = "tournament-fme",
               .title = "n-tournamentFME",
               .source = "lockout-free-speedup, section 4",
               .instructions = "none",
               .bypass = "N-1",
               .space = "L(3N-3)",
               .max_participants = BATON_MAX_PROCESSES,
               .lockout_free = true,
               .wait_free_exit = true},
        .lock_bytes = tournament_fme_bytes,
        .init = tournament_fme_init,
        .enter = tournament_fme_enter,
        .exit = tournament_fme_exit,
    },
    {
        .is = {.name = "mcs",
               .title = "Mellor-Crummey and Scott's queue",
               .source = "wait-free-exit, section 5",
               .instructions = "swap, cas",
               .bypass = "n-1",
               .space = "L + 2n",
               .fifo = true,
               .lockout_free = true,
               .has_try = true},
        .lock_bytes = mcs_bytes,
        .participant_bytes = sizeof(baton_mcs_participant),
        .init = mcs_init,
        .join = mcs_join,
        .enter = mcs_enter,
        .try = mcs_try,
        .exit = mcs_exit,
    },
    {
        .is = {.name = "dt1",
               .title = "queue with wait-free exit, two nodes",
               .source = "wait-free-exit, Algorithm 1",
               .instructions = "swap, cas",
               .bypass = "n-1",
               .space = "L + 6Ln",
               .fifo = true,
               .lockout_free = true,
               .wait_free_exit = true,
               .has_try = true},
        .lock_bytes = dt1_bytes,
        .pair_bytes = sizeof(baton_dt1_participant),
        .init = dt1_init,
        .join = dt1_join,
        .enter = dt1_enter,
        .try = dt1_try,
        .exit = dt1_exit,
    },
    {
        .is = {.name = "dt2",
               .title = "queue with wait-free exit, nodes travel",
               .source = "wait-free-exit, Algorithm 2",
               .instructions = "swap, cas",
               .bypass = "n-1",
               .space = "4L + 4n",
               .fifo = true,
               .lockout_free = true,
               .wait_free_exit = true},
        .lock_bytes = dt2_bytes,
        .participant_bytes = sizeof(baton_dt2_participant),
        .init = dt2_init,
        .join = dt2_join,
        .enter = dt2_enter,
        .exit = dt2_exit,
    },
};

enum { ROWS = sizeof rows / sizeof rows[0] };

const row *baton_row_find(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].is.name, name) == 0)
            return &rows[i];
    return NULL;
}

const baton_algorithm *baton_algorithm_find(const char *name)
{
    const row *found = name != NULL ? baton_row_find(name) : NULL;
    return found != NULL ? &found->is : NULL;
}

const baton_algorithm *baton_algorithm_at(size_t i)
{
    return i < ROWS ? &rows[i].is : NULL;
}
