/*
 * Registers: the only way in which Baton's algorithms touch shared memory.
 *
 * A register is one machine word that processes read and write atomically. Every access names its
 * memory order. Compiled as it stands, an access is the C11 atomic of the same name and nothing
 * else. Compiled with BATON_REG_BACKEND defined to a header's name, the same algorithm source calls
 * that header's functions instead, so that the code that is tested step by step is the code that
 * ships. BATON_CHECK is short for the backend that ships, baton/check.h.
 *
 * Write your own lock with it:
 *
 *     #define BATON_REG_SHORT_NAMES    // reg_read for baton_reg_read, acquire for ...
 *     #include <baton/reg.h>
 *
 *     while (reg_swap(&lock->taken, 1, acquire) != 0)
 *         reg_await(BATON_SPIN, &lock->place, reg_read(&lock->taken, relaxed) == 0);
 *
 * The functions are C; a C++ program may use the types, and the locks of baton/lock.h.
 *
 * Registers hold no absolute address that another process would have to follow: use baton_ref.
 */
#ifndef BATON_REG_H
#define BATON_REG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <atomic>
#define BATON_ATOMIC(type) std::atomic<type>
extern "C" {
#else
#include <stdatomic.h>
#define BATON_ATOMIC(type) _Atomic(type)
#endif

#if defined(__GNUC__)
#define BATON_API __attribute__((visibility("default")))
/* A function on the waiting side only: kept out of the way of the code that does not wait. */
#define BATON_COLD __attribute__((cold, noinline))
#else
#define BATON_API
#define BATON_COLD
#endif

/*
 * What lies on a line of its own is aligned to this: a write by its owner then disturbs nobody
 * else.
 */
#define BATON_CACHE_LINE 64
#ifdef __cplusplus
#define BATON_OWN_LINE alignas(BATON_CACHE_LINE)
#else
#define BATON_OWN_LINE _Alignas(BATON_CACHE_LINE)
#endif

/* What a register holds. */
typedef uintptr_t baton_word;

/* One atomic cell. All-zero bytes are a register that holds 0. */
typedef struct baton_reg {
    BATON_ATOMIC(baton_word) value;
} baton_reg;

/*
 * A register of 32 bits at which the kernel lets processes sleep. All-zero bytes are one that
 * holds 0.
 */
typedef struct baton_futex {
    BATON_ATOMIC(uint32_t) value;
} baton_futex;

/* How a process waits. Chosen per lock, the same for all its participants. */
typedef enum baton_waiting {
    BATON_SPIN, /* look again and again; after a while yield the processor between two looks */
    BATON_PARK, /* look for a while, then sleep in the kernel until woken */
} baton_waiting;

/*
 * Where processes sleep. The register that somebody waits for and the place where he sleeps are two
 * things: who changes such a register wakes the place afterwards. Unused, and all zero, under
 * BATON_SPIN.
 *
 *   event      grows with each wake-up; a sleeper sleeps only while it has not changed
 *   sleepers   how many sleep or are about to
 */
typedef struct baton_place {
    baton_futex event;
    baton_futex sleepers;
} baton_place;

/*
 * One process's wait, from its first failed look to the look that succeeds. Lives on the waiter's
 * stack.
 */
typedef struct baton_waiter {
    uint32_t looks;
    uint32_t event;
    bool announced; /* counted among the place's sleepers */
} baton_waiter;

/*
 * A reference that means the same in every process that maps the memory, wherever it maps it: the
 * distance from an object both know (the base, usually the lock). 0 refers to nothing. Base and
 * target must lie in one mapping if processes share them; threads of one process may use any two
 * objects.
 */
static inline baton_word baton_ref(const void *base, const void *target)
{
    return (baton_word)target - (baton_word)base;
}

#ifndef __cplusplus

/* Sets a place up before any other process can see it. */
static inline void baton_place_init(baton_place *place)
{
    atomic_init(&place->event.value, 0);
    atomic_init(&place->sleepers.value, 0);
}

#if __STDC_HOSTED__

/* Between two looks: pauses, yields or sleeps. For baton_wait_until. */
BATON_API BATON_COLD void baton_wait(baton_waiting waiting, baton_place *place, baton_waiter *me);
/* After the look that succeeded, if the waiter had announced itself. For baton_wait_until. */
BATON_API BATON_COLD void baton_wait_over(baton_place *place);
/* Wakes up to `count` processes that sleep at the place. For baton_wake_one and baton_wake_all. */
BATON_API BATON_COLD void baton_wake(baton_place *place, int count);

#else /* freestanding: no kernel to sleep in, so every wait is a spin */

static inline void baton_wait(baton_waiting waiting, baton_place *place, baton_waiter *me)
{
    (void)waiting;
    (void)place;
    (void)me;
}

static inline void baton_wait_over(baton_place *place)
{
    (void)place;
}

static inline void baton_wake(baton_place *place, int count)
{
    (void)place;
    (void)count;
}

#endif

/*
 * What baton_reg_await is natively. A backend has an await of its own, and its programs use this
 * one to run src/reg/wait.c.
 */
#define baton_wait_until(waiting, place, condition)     \
    do {                                                \
        baton_waiter baton_waiter_ = {0, 0, false};     \
        while (!(condition))                            \
            baton_wait(waiting, place, &baton_waiter_); \
        if (baton_waiter_.announced)                    \
            baton_wait_over(place);                     \
    } while (0)

#if defined(BATON_CHECK) && !defined(BATON_REG_BACKEND)
#define BATON_REG_BACKEND <baton/check.h>
#endif
#ifdef BATON_REG_BACKEND
#include BATON_REG_BACKEND
#else

/* What a reference refers to; it must refer to something. */
static inline void *baton_deref(const void *base, baton_word ref)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): that is what it is for */
    return (void *)((baton_word)base + ref);
}

/* Sets a register before any other process can see it. */
static inline void baton_reg_init(baton_reg *reg, baton_word value)
{
    atomic_init(&reg->value, value);
}

static inline baton_word baton_reg_read(const baton_reg *reg, memory_order order)
{
    return atomic_load_explicit(&reg->value, order);
}

static inline void baton_reg_write(baton_reg *reg, baton_word value, memory_order order)
{
    atomic_store_explicit(&reg->value, value, order);
}

static inline void baton_reg_fence(memory_order order)
{
    atomic_thread_fence(order);
}

/* Writes `value` and returns what was there before, in one step (fetch-and-store). */
static inline baton_word baton_reg_swap(baton_reg *reg, baton_word value, memory_order order)
{
    return atomic_exchange_explicit(&reg->value, value, order);
}

/*
 * If the register holds `from`, writes `to`; says whether it did. One step, never fails without
 * cause. `order` is that of a success; a failure is a read, with the acquire or seq_cst part of the
 * same order.
 */
static inline bool baton_reg_cas(baton_reg *reg, baton_word from, baton_word to, memory_order order)
{
    memory_order failure = order == memory_order_acq_rel   ? memory_order_acquire
                           : order == memory_order_release ? memory_order_relaxed
                                                           : order;
    return atomic_compare_exchange_strong_explicit(&reg->value, &from, to, order, failure);
}

/* Adds and returns what was there before, in one step. */
static inline baton_word baton_reg_fetch_add(baton_reg *reg, baton_word addend, memory_order order)
{
    return atomic_fetch_add_explicit(&reg->value, addend, order);
}

/* Sets it before any other process can see it. */
static inline void baton_futex_init(baton_futex *word, uint32_t value)
{
    atomic_init(&word->value, value);
}

static inline uint32_t baton_futex_read(const baton_futex *word, memory_order order)
{
    return atomic_load_explicit(&word->value, order);
}

/* Adds and returns what was there before, in one step. */
static inline uint32_t baton_futex_fetch_add(baton_futex *word, uint32_t addend, memory_order order)
{
    return atomic_fetch_add_explicit(&word->value, addend, order);
}

/*
 * To be called after a write that may end the wait of one process at `place`. Nothing under
 * BATON_SPIN.
 */
static inline void baton_wake_one(baton_waiting waiting, baton_place *place)
{
    if (waiting == BATON_PARK)
        baton_wake(place, 1);
}

/* The same for every process at `place`. */
static inline void baton_wake_all(baton_waiting waiting, baton_place *place)
{
    if (waiting == BATON_PARK)
        baton_wake(place, INT32_MAX);
}

/*
 * Waits until `condition` holds. The condition is an expression over registers that is evaluated
 * anew at each look; whoever makes it true must wake `place` afterwards.
 */
#define baton_reg_await(waiting, place, condition) baton_wait_until(waiting, place, condition)

#endif /* BATON_REG_BACKEND */

/* ---- notes: nothing natively, but an explorer takes heed of them ---- */

#ifndef BATON_REG_HAS_NOTES

/*
 * Says that the register lies in the memory of process `owner` (1, 2, ...), on machines where that
 * matters.
 */
static inline void baton_reg_home(const baton_reg *reg, baton_word owner)
{
    (void)reg;
    (void)owner;
}

/*
 * Says that the calling process has just finished its doorway: its place among the others is fixed.
 */
static inline void baton_doorway_ends(void)
{
}

/*
 * Says that the calling process has won at a level or node of the lock, or no longer counts there.
 */
static inline void baton_wins(uint32_t where)
{
    (void)where;
}

static inline void baton_loses(uint32_t where)
{
    (void)where;
}

/*
 * Says that the calling process will not touch the object again unless it takes it, and takes it.
 */
static inline void baton_give_up(const void *object)
{
    (void)object;
}

static inline void baton_take(const void *object)
{
    (void)object;
}

/* Says that the call goes on as if it had just begun: nothing that it has read matters any more. */
static inline void baton_again(void)
{
}

#endif

/* ---- made of the above, whatever the backend ---- */

/* Writes 1 and says whether 1 was there before. */
#define baton_reg_test_and_set(reg, order) (baton_reg_swap(reg, 1, order) != 0)

/*
 * Load-link and store-conditional: the store succeeds only if nothing was stored since the load,
 * even if the old value has come back. A linked register holds half a word; the other half counts
 * the stores, so a process that sleeps between the two for 2^32 stores (2^16 on 32-bit cores) may
 * be fooled. All-zero bytes are a linked register that holds 0.
 *
 *     baton_link link = baton_load_link(&x, acquire);
 *     bool stored = baton_store_conditional(&x, link, baton_link_value(link) + 1, release);
 */
typedef struct baton_linked {
    baton_reg word;
} baton_linked;

/* What a process has seen in a linked register: its value, and which store it was. */
typedef baton_word baton_link;

enum { BATON_LINK_BITS = 4 * sizeof(baton_word) };

static inline baton_word baton_link_value(baton_link link)
{
    return link & (((baton_word)1 << BATON_LINK_BITS) - 1);
}

/* The whole word after a store of `value`. */
static inline baton_word baton_link_next(baton_link link, baton_word value)
{
    return ((link >> BATON_LINK_BITS) + 1) << BATON_LINK_BITS | baton_link_value(value);
}

#define baton_load_link(linked, order) baton_reg_read(&(linked)->word, order)
#define baton_store_conditional(linked, link, value, order) \
    baton_reg_cas(&(linked)->word, link, baton_link_next(link, value), order)

#ifdef BATON_REG_SHORT_NAMES
#define relaxed         memory_order_relaxed
#define acquire         memory_order_acquire
#define release         memory_order_release
#define acq_rel         memory_order_acq_rel
#define seq_cst         memory_order_seq_cst
#define place_init      baton_place_init
#define reg_home        baton_reg_home
#define reg_init        baton_reg_init
#define reg_read        baton_reg_read
#define reg_write       baton_reg_write
#define reg_fence       baton_reg_fence
#define reg_swap        baton_reg_swap
#define reg_cas         baton_reg_cas
#define reg_fetch_add   baton_reg_fetch_add
#define reg_await       baton_reg_await
#define futex_init      baton_futex_init
#define futex_read      baton_futex_read
#define futex_fetch_add baton_futex_fetch_add
#define futex_wait      baton_futex_wait
#define futex_wake      baton_futex_wake
#define doorway_ends    baton_doorway_ends
#define again           baton_again
#define wins            baton_wins
#define loses           baton_loses
#define give_up         baton_give_up
#define take            baton_take
#define wake_one        baton_wake_one
#define wake_all        baton_wake_all
#endif

#else
} /* extern "C" */
#endif /* __cplusplus */

#endif
