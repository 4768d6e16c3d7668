/*
 * The kernel's part of a futex, natively: a process sleeps while a word has not changed, and others
 * wake it. A backend of baton/reg.h has words of its own for both.
 */
#ifndef BATON_REG_FUTEX_H
#define BATON_REG_FUTEX_H

#include "baton/reg.h"

#ifndef BATON_REG_BACKEND

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not the _PRIVATE operations: the word may lie in memory that processes share. */
static inline void futex_call(baton_futex *word, int operation, uint32_t value)
{
    int before = errno; /* a lock that waits is no reason for the caller's errno to change */
    syscall(SYS_futex, (void *)&word->value, operation, value, NULL, NULL, 0);
    errno = before;
}

/*
 * Sleeps if the word holds `seen`, until woken: comparing and falling asleep are one step. May
 * return without cause. Orders no memory.
 */
static inline void baton_futex_wait(baton_futex *word, uint32_t seen)
{
    futex_call(word, FUTEX_WAIT, seen);
}

/* Wakes up to `count` of those who sleep at the word. */
static inline void baton_futex_wake(baton_futex *word, int count)
{
    futex_call(word, FUTEX_WAKE, (uint32_t)count);
}

#endif

#endif
