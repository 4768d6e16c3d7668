/*
 * A backend of baton/reg.h for GenMC, which explores C11 programs by their execution graphs: every
 * access is the atomic of the same name, and a wait is one look that must succeed.
 *
 * Macros, not functions: GenMC follows dependencies from instruction to instruction, and an order
 * that is a parameter would become a branch in front of each access.
 */
#ifndef BATON_GENMC_REG_H
#define BATON_GENMC_REG_H

#include <genmc.h>
#include <stdatomic.h>

#define baton_deref(base, ref) ((void *)((baton_word)(base) + (ref)))

#define baton_reg_init(reg, v)             atomic_init(&(reg)->value, v)
#define baton_reg_read(reg, order)         atomic_load_explicit(&(reg)->value, order)
#define baton_reg_write(reg, v, order)     atomic_store_explicit(&(reg)->value, v, order)
#define baton_reg_fence(order)             atomic_thread_fence(order)
#define baton_reg_swap(reg, v, order)      atomic_exchange_explicit(&(reg)->value, v, order)
#define baton_reg_fetch_add(reg, v, order) atomic_fetch_add_explicit(&(reg)->value, v, order)

/* Of a failure: the acquire or seq_cst part, as natively. */
#define BATON_FAILURE(order)         \
    ((order) == memory_order_acq_rel \
         ? memory_order_acquire      \
         : ((order) == memory_order_release ? memory_order_relaxed : (order)))
#define baton_reg_cas(reg, from, to, order)                                                 \
    ({                                                                                      \
        baton_word baton_expected_ = (from);                                                \
        atomic_compare_exchange_strong_explicit(&(reg)->value, &baton_expected_, to, order, \
                                                BATON_FAILURE(order));                      \
    })

/*
 * Looks that fail change nothing that others can see, so the last look stands for all of them. A
 * process whose look fails although it sees the last value of each register waits for ever, and
 * GenMC says so.
 */
#define baton_reg_await(waiting, place, condition) \
    do {                                           \
        (void)(waiting), (void)(place);            \
        __VERIFIER_loop_begin();                   \
        __VERIFIER_spin_start();                   \
        __VERIFIER_spin_end(condition);            \
    } while (0)

#define baton_wake_one(waiting, place) ((void)(waiting), (void)(place))
#define baton_wake_all(waiting, place) ((void)(waiting), (void)(place))

#endif
