/*
 * The locks that ship, as subjects: the rows of the table, compiled against the checking backend.
 * A process's seats lie behind the locks, as in a set.
 */
#include "shipped.h"
#include "table.h"

#include <string.h>

enum { MAX = BATON_CHECK_MAX_PROCESSES };

static const row *the_row;
static uint32_t the_locks;

static size_t lock_stride(const row *of, uint32_t processes)
{
    return (of->lock_bytes(processes) + BATON_CACHE_LINE - 1) / BATON_CACHE_LINE * BATON_CACHE_LINE;
}

static size_t seat_bytes(const row *of)
{
    return of->pair_bytes != 0 ? of->pair_bytes : of->participant_bytes;
}

static void *lock_at(void *memory, uint32_t lock)
{
    return (char *)memory + lock * lock_stride(the_row, MAX);
}

static void *seat_at(void *memory, uint32_t lock, uint32_t process)
{
    size_t index = the_row->pair_bytes != 0 ? (size_t)lock * MAX + process : process;
    return (char *)lock_at(memory, the_locks) + index * seat_bytes(the_row);
}

static void init(void *memory, uint32_t processes, baton_waiting waiting)
{
    for (uint32_t l = 0; l < the_locks; l++)
        the_row->init(lock_at(memory, l), processes, waiting);
    if (the_row->join == NULL)
        return;
    for (uint32_t l = 0; l < (the_row->pair_bytes != 0 ? the_locks : 1); l++)
        for (uint32_t p = 0; p < processes; p++)
            the_row->join(seat_at(memory, l, p), p + 1);
}

static void enter(void *memory, uint32_t lock, uint32_t process)
{
    the_row->enter(lock_at(memory, lock), seat_at(memory, lock, process), process);
}

static void leave(void *memory, uint32_t lock, uint32_t process)
{
    the_row->exit(lock_at(memory, lock), seat_at(memory, lock, process), process);
}

static bool try(void *memory, uint32_t lock, uint32_t process)
{
    return the_row->try(lock_at(memory, lock), seat_at(memory, lock, process), process);
}

/*
 * Whether its processes are alike. Locks from reads and writes look at one process after the other;
 * of several locks, processes choose different ones; and one who tries is not like one who enters.
 */
static bool has_alike_processes(const row *of, uint32_t locks, bool tries)
{
    return strcmp(of->is.instructions, "none") != 0 && locks == 1 && !tries;
}

static const struct shipped {
    const char *name;
    const char *algorithm;
    uint32_t locks;
    bool tries; /* process 1 tries instead of entering */
} shipped[] = {
    {"tas", "tas", 1, false},
    {"peterson", "peterson", 1, false},
    {"filter", "filter", 1, false},
    {"filter-fme1", "filter-fme1", 1, false},
    {"filter-fme2", "filter-fme2", 1, false},
    {"tournament", "tournament", 1, false},
    {"tournament-fme", "tournament-fme", 1, false},
    {"mcs", "mcs", 1, false},
    {"dt1", "dt1", 1, false},
    {"dt2", "dt2", 1, false},
    {"tas-try", "tas", 1, true},
    {"mcs-try", "mcs", 1, true},
    {"dt1-try", "dt1", 1, true},
    {"dt2-twice", "dt2", 2, false}, /* two locks that share the nodes */
};

enum { SHIPPED = sizeof shipped / sizeof shipped[0] };

static void select_lock(const baton_check_subject *subject)
{
    const struct shipped *chosen = subject->context;
    the_row = baton_row_find(chosen->algorithm);
    the_locks = chosen->locks;
}

size_t shipped_subjects(baton_check_subject subjects[MAX_SHIPPED])
{
    for (size_t i = 0; i < SHIPPED; i++) {
        const row *of = baton_row_find(shipped[i].algorithm);
        subjects[i] = (baton_check_subject)
        {
            .name = shipped[i].name,
            .bytes = shipped[i].locks * lock_stride(of, MAX) +
                     seat_bytes(of) * MAX * (of->pair_bytes != 0 ? shipped[i].locks : 1),
            .locks = shipped[i].locks, .max_processes = of->is.max_participants,
            .select = select_lock, .context = &shipped[i], .init = init, .enter = enter,
            .exit = leave, .try = shipped[i].tries ?
            try : NULL,
                .fifo = of->is.fifo, .wait_free_exit = of->is.wait_free_exit,
                .lockout_free = of->is.lockout_free && !shipped[i].tries,
                .alike = has_alike_processes(of, shipped[i].locks, shipped[i].tries),
        };
    }
    return SHIPPED;
}
