/*
 * Parking, explored: src/reg/wait.c as it ships, compiled against the checking backend, with a
 * kernel that the explorer plays. Sleepers wait for a register by the native await; wakers write it
 * and wake. A wake-up that is lost shows as a deadlock.
 *
 * Registers are written and read relaxed wherever that is enough for the program, so that nothing
 * but wait.c orders what sleepers and wakers do.
 */
#define BATON_REG_SHORT_NAMES
#include "parking.h"

enum { MAX = BATON_CHECK_MAX_PROCESSES, PLACES = 2, ROUNDS = 2 };

/* The memory. */
typedef struct hall {
    baton_place place[PLACES]; /* only park-turns uses both */
    baton_reg flag[MAX];
    baton_reg permits;
    baton_reg passages; /* counted inside of a lock */
} hall;

/* What a process does: `p` of `n`. */
typedef void part(hall *at, uint32_t p, uint32_t n);

typedef struct program {
    const char *name;
    part *part;
    uint32_t max_processes; /* 0: no limit of its own */
} program;

static uint32_t processes;
static const program *the;

static void write_and_wake(baton_reg *reg, baton_word value, baton_place *place, int count)
{
    reg_write(reg, value, relaxed);
    baton_wake(place, count);
}

/* ---- the programs ---- */

/* The first opens a gate, all others wait for it. */
static void pass_gate(hall *at, uint32_t p, uint32_t n)
{
    (void)n;
    if (p == 0)
        write_and_wake(&at->flag[0], 1, &at->place[0], INT32_MAX);
    else
        baton_wait_until(BATON_PARK, &at->place[0], reg_read(&at->flag[0], relaxed) == 1);
}

static bool all_flags(hall *at, uint32_t n)
{
    for (uint32_t q = 1; q < n; q++)
        if (reg_read(&at->flag[q], relaxed) == 0)
            return false;
    return true;
}

/* The first waits for all others: it is woken, looks in vain, and sleeps again. */
static void gather(hall *at, uint32_t p, uint32_t n)
{
    if (p == 0)
        baton_wait_until(BATON_PARK, &at->place[0], all_flags(at, n));
    else
        write_and_wake(&at->flag[p], 1, &at->place[0], 1);
}

/* Two wait for each other in turns, each at a place of its own. */
static void take_turns(hall *at, uint32_t p, uint32_t n)
{
    for (baton_word round = 1; n == 2 && round <= ROUNDS; round++) {
        if (p == 0)
            write_and_wake(&at->flag[0], round, &at->place[1], 1);
        baton_wait_until(BATON_PARK, &at->place[p], reg_read(&at->flag[1 - p], relaxed) == round);
        if (p == 1)
            write_and_wake(&at->flag[1], round, &at->place[0], 1);
    }
}

static void give_permit(hall *at)
{
    reg_fetch_add(&at->permits, 1, relaxed);
    baton_wake(&at->place[0], 1);
}

static void take_permit(hall *at)
{
    for (;;) {
        baton_word seen = 0;
        baton_wait_until(BATON_PARK, &at->place[0], (seen = reg_read(&at->permits, relaxed)) != 0);
        if (reg_cas(&at->permits, seen, seen - 1, relaxed))
            return;
    }
}

/* The first gives a permit to each of the others, one after the other. */
static void get_permits(hall *at, uint32_t p, uint32_t n)
{
    if (p > 0)
        take_permit(at);
    for (uint32_t q = 1; p == 0 && q < n; q++)
        give_permit(at);
}

/* Every second gives a permit, the others take one. */
static void swap_permits(hall *at, uint32_t p, uint32_t n)
{
    (void)n;
    if (p % 2 == 0)
        give_permit(at);
    else
        take_permit(at);
}

/* Test-and-set: all sleep at one place, and who leaves wakes one. */
static void pass_lock(hall *at, uint32_t p, uint32_t n)
{
    (void)p;
    (void)n;
    while (reg_swap(&at->flag[0], 1, acquire) != 0)
        baton_wait_until(BATON_PARK, &at->place[0], reg_read(&at->flag[0], relaxed) == 0);
    reg_write(&at->passages, reg_read(&at->passages, relaxed) + 1, relaxed);
    reg_write(&at->flag[0], 0, release);
    baton_wake(&at->place[0], 1);
}

static const program programs[] = {
    {"park", pass_gate, 0},          {"park-gather", gather, 0},
    {"park-turns", take_turns, 2},   {"park-permits", get_permits, 0},
    {"park-pairs", swap_permits, 0}, {"park-lock", pass_lock, 0},
};

enum { PROGRAMS = sizeof programs / sizeof programs[0] };
_Static_assert((int)PROGRAMS <= (int)MAX_PARKING, "room for every program");

static void init_place(baton_place *place)
{
    futex_init(&place->event, 0);
    futex_init(&place->sleepers, 0);
}

static void init(void *memory, uint32_t n, baton_waiting waiting)
{
    hall *at = memory;
    (void)waiting;
    processes = n;
    for (uint32_t i = 0; i < PLACES; i++)
        init_place(&at->place[i]);
    for (uint32_t i = 0; i < n; i++)
        reg_init(&at->flag[i], 0);
    reg_init(&at->permits, 0);
    reg_init(&at->passages, 0);
}

static void run(void *memory, uint32_t lock, uint32_t p)
{
    (void)lock;
    the->part(memory, p, processes);
}

/* That nobody sleeps for ever is not for the judge: then there is no outcome. */
static const char *judge(const baton_check_outcome *o)
{
    hall *at = o->memory;
    for (uint32_t i = 0; i < PLACES; i++) {
        baton_check_figure("events", futex_read(&at->place[i].event, relaxed));
        if (futex_read(&at->place[i].sleepers, relaxed) != 0)
            return "somebody still counts as a sleeper";
    }
    if (the->part == pass_lock && reg_read(&at->passages, relaxed) != o->processes)
        return "two were inside";
    return NULL;
}

static void select_program(const baton_check_subject *subject)
{
    the = subject->context;
}

size_t parking_programs(baton_check_subject subjects[MAX_PARKING])
{
    for (size_t i = 0; i < PROGRAMS; i++)
        subjects[i] = (baton_check_subject){
            .name = programs[i].name,
            .bytes = sizeof(hall),
            .max_processes = programs[i].max_processes,
            .context = &programs[i],
            .select = select_program,
            .init = init,
            .enter = run,
            .judge = judge,
        };
    return PROGRAMS;
}
