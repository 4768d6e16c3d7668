/*
 * Checking a lock: the backend of baton/reg.h under which algorithm source is explored instead of
 * run, and the way to hand a lock of your own to the explorer.
 *
 *     cc my_lock.c $(pkg-config --cflags --libs baton-check)      (which says -DBATON_CHECK)
 *
 *     static const baton_check_subject mine = {
 *         .name = "mine", .bytes = sizeof(my_lock), .init = init, .enter = enter, .exit = leave,
 *     };
 *     int main(int argc, char **argv) { return baton_check_main(argc, argv, &mine, 1); }
 *
 * The source must touch what processes share through baton/reg.h alone, and be deterministic: what
 * it does next may depend on nothing but its arguments and what it has read.
 */
#ifndef BATON_CHECK_H
#define BATON_CHECK_H

#include <baton/reg.h>

/* ---- the backend ---- */

#define BATON_REG_HAS_NOTES

/* One call for each kind of access; `file` and `line` say where in the source it stands. */
void baton_check_init(const baton_reg *reg, baton_word value, const char *name, const char *file,
                      int line);
void baton_check_home(const baton_reg *reg, baton_word owner);
baton_word baton_check_read(const baton_reg *reg, memory_order order, const char *file, int line);
void baton_check_write(const baton_reg *reg, baton_word value, memory_order order, const char *file,
                       int line);
void baton_check_fence(memory_order order, const char *file, int line);
baton_word baton_check_swap(const baton_reg *reg, baton_word value, memory_order order,
                            const char *file, int line);
bool baton_check_cas(const baton_reg *reg, baton_word from, baton_word to, memory_order order,
                     const char *file, int line);
baton_word baton_check_add(const baton_reg *reg, baton_word addend, memory_order order,
                           const char *file, int line);
void baton_check_futex_init(const baton_futex *word, uint32_t value, const char *name,
                            const char *file, int line);
uint32_t baton_check_futex_read(const baton_futex *word, memory_order order, const char *file,
                                int line);
uint32_t baton_check_futex_add(const baton_futex *word, uint32_t addend, memory_order order,
                               const char *file, int line);
void baton_check_futex_wait(const baton_futex *word, uint32_t seen, const char *file, int line);
void baton_check_futex_wake(const baton_futex *word, int count, const char *file, int line);
void *baton_check_deref(const void *base, baton_word ref, const char *file, int line);
void baton_check_await_begins(baton_waiting waiting, const baton_place *place, const char *file,
                              int line);
void baton_check_await_failed(void);
void baton_check_wake(baton_waiting waiting, const baton_place *place, uint32_t count,
                      const char *file, int line);
void baton_check_await_ends(void);
void baton_check_doorway_ends(void);
void baton_check_again(void);
void baton_check_wins(uint32_t where);
void baton_check_loses(uint32_t where);
void baton_check_give_up(const void *object, size_t bytes);
void baton_check_take(const void *object);

#define baton_reg_init(reg, value)     baton_check_init(reg, value, #reg, __FILE__, __LINE__)
#define baton_reg_home(reg, owner)     baton_check_home(reg, owner)
#define baton_reg_read(reg, order)     baton_check_read(reg, order, __FILE__, __LINE__)
#define baton_reg_write(reg, v, order) baton_check_write(reg, v, order, __FILE__, __LINE__)
#define baton_reg_fence(order)         baton_check_fence(order, __FILE__, __LINE__)
#define baton_reg_swap(reg, v, order)  baton_check_swap(reg, v, order, __FILE__, __LINE__)
#define baton_reg_cas(reg, from, to, order) \
    baton_check_cas(reg, from, to, order, __FILE__, __LINE__)
#define baton_reg_fetch_add(reg, v, order) baton_check_add(reg, v, order, __FILE__, __LINE__)
#define baton_futex_init(at, v)            baton_check_futex_init(at, v, #at, __FILE__, __LINE__)
#define baton_futex_read(word, order)      baton_check_futex_read(word, order, __FILE__, __LINE__)
#define baton_futex_fetch_add(word, v, order) \
    baton_check_futex_add(word, v, order, __FILE__, __LINE__)
#define baton_futex_wait(word, seen)  baton_check_futex_wait(word, seen, __FILE__, __LINE__)
#define baton_futex_wake(word, count) baton_check_futex_wake(word, count, __FILE__, __LINE__)
#define baton_deref(base, ref)        baton_check_deref(base, ref, __FILE__, __LINE__)
#define baton_doorway_ends()          baton_check_doorway_ends()
#define baton_again()                 baton_check_again()
#define baton_wins(where)             baton_check_wins(where)
#define baton_loses(where)            baton_check_loses(where)
#define baton_give_up(object)         baton_check_give_up(object, sizeof *(object))
#define baton_take(object)            baton_check_take(object)

#define baton_reg_await(waiting, place, condition)                    \
    do {                                                              \
        baton_check_await_begins(waiting, place, __FILE__, __LINE__); \
        while (!(condition))                                          \
            baton_check_await_failed();                               \
        baton_check_await_ends();                                     \
    } while (0)

#define baton_wake_one(waiting, place) baton_check_wake(waiting, place, 1, __FILE__, __LINE__)
#define baton_wake_all(waiting, place) \
    baton_check_wake(waiting, place, UINT32_MAX, __FILE__, __LINE__)

/* ---- what is checked ---- */

/* The most processes and locks that one exploration takes. */
enum { BATON_CHECK_MAX_PROCESSES = 6, BATON_CHECK_MAX_LOCKS = 2 };

/*
 * How a program ended: what each process has written into its own memory, and the memory with what
 * the registers hold in the end.
 */
typedef struct baton_check_outcome {
    uint32_t processes;
    const void *own[BATON_CHECK_MAX_PROCESSES];
    void *memory;
} baton_check_outcome;

/*
 * A lock to be checked, or several that share memory. `memory` is the same piece of zeroed, line-
 * aligned memory in every call. init sets it up for so many processes, numbered from 0, who wait in
 * that way.
 */
typedef struct baton_check_subject {
    const char *name;
    size_t bytes;           /* of memory, for as many processes as an exploration takes */
    uint32_t locks;         /* how many are in it; each passage chooses one of them; 0 means 1 */
    uint32_t max_processes; /* 0: no limit of its own */
    /*
     * For subjects that share their functions: if not NULL, called before init, so that these can
     * tell which of the subjects they are called for.
     */
    void (*select)(const struct baton_check_subject *subject);
    const void *context; /* for select */
    void (*init)(void *memory, uint32_t processes, baton_waiting waiting);
    void (*enter)(void *memory, uint32_t lock, uint32_t process);
    void (*exit)(void *memory, uint32_t lock, uint32_t process);
    /* If not NULL, process 0 tries instead of entering; a try that fails is a passage as well. */
    bool (*try)(void *memory, uint32_t lock, uint32_t process);
    /* Promises, beyond mutual exclusion and freedom from deadlock: */
    bool fifo;           /* entries in the order of doorways; enter calls baton_doorway_ends() */
    bool wait_free_exit; /* exit awaits nothing */
    bool lockout_free;   /* no fair run in which a process tries for ever */
    /*
     * The processes are alike: if they swap their numbers, they do the same with names swapped. Not
     * so, for example, if they look at each other in the order of their numbers. Runs that differ
     * in names only are then explored once.
     */
    bool alike;
    /*
     * Not NULL: a program, not a lock. Every process calls enter once; what it keeps in the memory
     * outside of registers is its own. When all have returned, says what is wrong with the outcome:
     * a few words that stay, or NULL if nothing is. It may note figures, and access registers
     * in outcome->memory with the functions of baton/reg.h.
     */
    const char *(*judge)(const baton_check_outcome *outcome);
} baton_check_subject;

/*
 * To be called by init: no process reads from this register what another has written. Accesses to
 * it then need not be interleaved with anything (in sc), which saves many configurations. That it
 * is so is checked.
 */
void baton_check_unshared(const baton_reg *reg);
/*
 * To be called by init: the register is a clock. Who counts it up and who reads it learn of each
 * other when, and nothing else: whatever fences are around, it orders no memory.
 */
void baton_check_clock(const baton_reg *reg);
/* To be called by judge: the largest value of each name is reported. Names must stay. */
void baton_check_figure(const char *name, uint32_t value);
/* To be called by a program, or by judge: the accesses that it has made so far. */
uint32_t baton_check_steps(void);
/* A number from 0 to ways - 1; every one of them is explored. */
uint32_t baton_check_choose(uint32_t ways);
/*
 * Calls part(context) and breaks it off before it has made more than `accesses` accesses, as if the
 * process had died there. Returns whether that was necessary.
 */
bool baton_check_break_off(uint32_t accesses, void (*part)(void *context), void *context);

/* The whole command line program for these subjects. Returns its exit code. */
int baton_check_main(int argc, char **argv, const baton_check_subject *subjects, size_t count);

#endif
