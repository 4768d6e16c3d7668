/*
 * The queue lock of Mellor-Crummey and Scott, the yardstick of wait-free-exit (its section 5).
 * First come, first served; each process spins on a register of its own.
 *
 *   tail ─► last node          node.next ─► its successor          node.locked   1 while it waits
 *
 * Its exit is not wait-free: a successor that has swapped the tail and not yet linked itself is
 * waited for. dt1 and dt2 do away with that.
 */
#include "internal.h"

void baton_mcs_init(baton_mcs *lock, baton_waiting waiting)
{
    reg_init(&lock->tail, 0);
    lock->waiting = waiting;
}

void baton_mcs_join(baton_mcs_participant *me, baton_word number)
{
    reg_init(&me->next, 0);
    reg_init(&me->locked, 0);
    reg_home(&me->next, number);
    reg_home(&me->locked, number);
    place_init(&me->place);
    me->inside = false;
}

void baton_mcs_enter(baton_mcs *lock, baton_mcs_participant *me)
{
    reg_write(&me->next, 0, relaxed);
    baton_word tail = reg_swap(&lock->tail, baton_ref(lock, me), acq_rel); /* doorway ends */
    doorway_ends();
    if (tail != 0) {
        baton_mcs_participant *pred = baton_deref(lock, tail);
        reg_write(&me->locked, 1, relaxed);
        reg_write(&pred->next, baton_ref(lock, me), release); /* release: locked before the link */
        wake_one(lock->waiting, &pred->place);                /* pred may wait for it in its exit */
        reg_await(lock->waiting, &me->place, reg_read(&me->locked, acquire) == 0);
    }
    note_inside(me, true);
}

bool baton_mcs_try(baton_mcs *lock, baton_mcs_participant *me)
{
    reg_write(&me->next, 0, relaxed);
    bool entered = reg_cas(&lock->tail, 0, baton_ref(lock, me), acq_rel);
    if (entered) {
        doorway_ends();
        note_inside(me, true);
    }
    return entered;
}

void baton_mcs_exit(baton_mcs *lock, baton_mcs_participant *me)
{
    expect(me->inside, "mcs: exit by one who did not enter");
    note_inside(me, false);
    if (reg_read(&me->next, acquire) == 0) {
        if (reg_cas(&lock->tail, baton_ref(lock, me), 0, release))
            return;
        reg_await(lock->waiting, &me->place, reg_read(&me->next, acquire) != 0); /* not wait-free */
    }
    baton_mcs_participant *succ = baton_deref(lock, reg_read(&me->next, relaxed));
    reg_write(&succ->locked, 0, release); /* release: my section before the successor's */
    wake_one(lock->waiting, &succ->place);
}
