/*
 * Waiting, natively: what a process does between two looks at a condition, and how sleepers are
 * woken. Nothing here decides who enters a lock; it only decides who burns the processor meanwhile.
 * It must never lose a wake-up.
 *
 *   sleeper                                 waker
 *   sleepers++                              register := value
 *   fence                                   fence
 *   look at the register                    look at sleepers
 *   sleep while event is unchanged          event++, wake
 *
 * Of the two looks behind the two fences at least one sees the other side's write. If it is the
 * sleeper's, it does not sleep. If it is the waker's, event changes: either after the sleeper read
 * it, so that the sleep ends or never begins; or before, and then the sleeper's look comes after
 * the waker's write.
 */
#include "baton/reg.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Looks before a waiter gives the processor away: some microseconds, the time of a short critical
 * section.
 */
enum { LOOKS = 256 };

static void pause_a_moment(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

/* Not the _PRIVATE operations: the place may lie in memory that processes share. */
static void futex(BATON_ATOMIC(uint32_t) * word, int operation, uint32_t value)
{
    int before = errno; /* a lock that waits is no reason for the caller's errno to change */
    syscall(SYS_futex, (void *)word, operation, value, NULL, NULL, 0);
    errno = before;
}

void baton_wait(baton_waiting waiting, baton_place *place, baton_waiter *me)
{
    if (me->looks < LOOKS) {
        me->looks++;
        pause_a_moment();
        return;
    }
    if (waiting == BATON_SPIN) {
        sched_yield();
        return;
    }
    if (me->announced) {
        futex(&place->event, FUTEX_WAIT, me->event);
    } else {
        atomic_fetch_add_explicit(&place->sleepers, 1, memory_order_relaxed);
        atomic_thread_fence(
            memory_order_seq_cst); /* sleepers before the look: pairs with baton_wake */
        me->announced = true;
    }
    me->event = atomic_load_explicit(&place->event, memory_order_acquire); /* then the next look */
}

void baton_wait_over(baton_place *place)
{
    atomic_fetch_sub_explicit(&place->sleepers, 1, memory_order_relaxed);
}

void baton_wake(baton_place *place, int count)
{
    atomic_thread_fence(
        memory_order_seq_cst); /* the caller's write before the look: pairs with baton_wait */
    if (atomic_load_explicit(&place->sleepers, memory_order_relaxed) == 0)
        return;
    atomic_fetch_add_explicit(&place->event, 1, memory_order_release);
    futex(&place->event, FUTEX_WAKE, (uint32_t)count);
}
