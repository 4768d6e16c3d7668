/*
 * Waiting: what a process does between two looks at a condition, and how sleepers are woken.
 * Nothing here decides who enters a lock; it only decides who burns the processor meanwhile. It
 * must never lose a wake-up: `baton-check park` explores this file (check/parking.c).
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
#define BATON_REG_SHORT_NAMES
#include "baton/reg.h"
#include "futex.h"

#include <sched.h>

/*
 * Looks before a waiter gives the processor away: some microseconds, the time of a short critical
 * section. To the explorer one is as good as many: a look that fails changes nothing.
 */
#ifdef BATON_CHECK
enum { LOOKS = 1 };
#else
enum { LOOKS = 256 };
#endif

static void pause_a_moment(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
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
        futex_wait(&place->event, me->event);
    } else {
        futex_fetch_add(&place->sleepers, 1, relaxed);
        reg_fence(seq_cst); /* sleepers before the look: pairs with baton_wake */
        me->announced = true;
    }
    me->event = futex_read(&place->event, acquire); /* then the next look */
}

void baton_wait_over(baton_place *place)
{
    futex_fetch_add(&place->sleepers, (uint32_t)-1, relaxed);
}

void baton_wake(baton_place *place, int count)
{
    reg_fence(seq_cst); /* the caller's write before the look: pairs with baton_wait */
    if (futex_read(&place->sleepers, relaxed) == 0)
        return;
    futex_fetch_add(&place->event, 1, relaxed); /* the fence releases the caller's write with it */
    futex_wake(&place->event, count);
}
