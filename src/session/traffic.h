/* What the sessions of one event loop have got and sent. One thread counts, others may look. */
#ifndef BATON_SESSION_TRAFFIC_H
#define BATON_SESSION_TRAFFIC_H

#include "baton/reg.h"

typedef BATON_ATOMIC(uint64_t) baton_atomic_count;

typedef struct traffic {
    baton_atomic_count received; /* commands */
    baton_atomic_count sent;     /* answers and pushes */
    baton_atomic_count refused;  /* tries that clients say they have answered by themselves */
} traffic;

/* Without a locked instruction: nobody else writes it. */
static inline void traffic_count(baton_atomic_count *what, uint64_t more)
{
    uint64_t sum = atomic_load_explicit(what, memory_order_relaxed) + more;
    atomic_store_explicit(what, sum, memory_order_relaxed);
}

static inline uint64_t traffic_read(const baton_atomic_count *what)
{
    return atomic_load_explicit(what, memory_order_relaxed);
}

#endif
