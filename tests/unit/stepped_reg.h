/*
 * A backend of baton/reg.h for tests: every access to a register is a point where the process can
 * be stopped, so that a test decides step by step who moves. Sequentially consistent: one process
 * moves at a time. See stepped.h for the test's side.
 */
#ifndef BATON_STEPPED_REG_H
#define BATON_STEPPED_REG_H

#include <stdatomic.h>

/* Called before each access and at each await whose condition does not hold. */
void stepped_access(void);
void stepped_blocked(void);

static inline void *baton_deref(const void *base, baton_word ref)
{
    return (void *)((baton_word)base + ref);
}

static inline void baton_reg_init(baton_reg *reg, baton_word value)
{
    atomic_init(&reg->value, value);
}

static inline baton_word baton_reg_read(const baton_reg *reg, memory_order order)
{
    (void)order;
    stepped_access();
    return atomic_load(&reg->value);
}

static inline void baton_reg_write(baton_reg *reg, baton_word value, memory_order order)
{
    (void)order;
    stepped_access();
    atomic_store(&reg->value, value);
}

static inline void baton_reg_fence(memory_order order)
{
    (void)order;
}

static inline baton_word baton_reg_swap(baton_reg *reg, baton_word value, memory_order order)
{
    (void)order;
    stepped_access();
    return atomic_exchange(&reg->value, value);
}

static inline bool baton_reg_cas(baton_reg *reg, baton_word from, baton_word to, memory_order order)
{
    (void)order;
    stepped_access();
    return atomic_compare_exchange_strong(&reg->value, &from, to);
}

static inline baton_word baton_reg_fetch_add(baton_reg *reg, baton_word addend, memory_order order)
{
    (void)order;
    stepped_access();
    return atomic_fetch_add(&reg->value, addend);
}

#define baton_reg_await(waiting, place, condition) \
    do {                                           \
        (void)(waiting), (void)(place);            \
        while (!(condition))                       \
            stepped_blocked();                     \
    } while (0)

static inline void baton_wake_one(baton_waiting waiting, baton_place *place)
{
    (void)waiting, (void)place;
}

static inline void baton_wake_all(baton_waiting waiting, baton_place *place)
{
    (void)waiting, (void)place;
}

#endif
