/*
 * Wait-free-exit, Algorithm 2: a queue lock whose exit never waits and whose nodes travel, so that
 * L locks and n processes need L + n of them.
 *
 *   T ─► last node of the queue; the first is a dummy that its owner has left behind
 *   node.pid      p, the process that put the node into the queue
 *   node.status   0 -> p by p on exit, p -> 0 by whoever sees to the hand-over: the successor,
 *                 which then enters by itself, or p, which then clears the successor's locked
 *   node.next     ─► the successor's participant, once that one has linked itself
 *   me.locked     1 while I wait; it stays with me, so that I spin in my own memory
 *
 * The race at the heart of it, store against load on both sides, and seq_cst therefore:
 *
 *   exit      11 status := p            12 read next
 *   entry      7 pred.next := me         9 CAS(pred.status, pred.pid, 0)
 *
 * p and not a mere UNLOCKED: a slow p between 12 and 13 may find that its node has gone to another
 * process already, and then its CAS must fail. That CAS may be relaxed: what line 12 acquired is
 * enough to see that the node has a new owner.
 *
 * Two steps are shorter than printed. `next` refers to the successor's participant at once, not to
 * its node and from there by `local` (line 3) to its participant: one remote reference less. And a
 * process whose predecessor has left already (8, 9 without the CAS) does not link itself: since
 * next stays 0, the predecessor's exit will neither touch its locked nor need to lose a CAS.
 */
#include "internal.h"

void baton_dt2_init(baton_dt2 *lock, baton_waiting waiting)
{
    reg_init(&lock->dummy.next, 0);
    reg_init(&lock->dummy.status, 0);
    reg_init(&lock->dummy.pid, 0);
    reg_init(&lock->tail, baton_ref(lock, &lock->dummy));
    lock->waiting = waiting;
}

void baton_dt2_join(baton_dt2_participant *me, baton_word number)
{
    reg_init(&me->first.next, 0);
    reg_init(&me->first.status, 0);
    reg_init(&me->first.pid, number);
    reg_init(&me->locked, 0);
    reg_home(&me->locked, number);
    place_init(&me->place);
    me->number = number;
    me->node = baton_ref(me, &me->first);
    me->pred = 0;
    me->inside = false;
}

void baton_dt2_enter(baton_dt2 *lock, baton_dt2_participant *me)
{
    baton_dt2_node *mynode = baton_deref(me, me->node);                        /* doorway begins */
    reg_write(&mynode->next, 0, relaxed);                                      /* 1 */
    reg_write(&mynode->pid, me->number, relaxed);                              /* 2 */
    reg_write(&mynode->status, 0, relaxed);                                    /* 4 */
    reg_write(&me->locked, 1, relaxed);                                        /* 5 */
    baton_word tail = reg_swap(&lock->tail, baton_ref(lock, mynode), acq_rel); /* 6: doorway ends */
    doorway_ends();
    baton_dt2_node *pred = baton_deref(lock, tail);
    take(pred);
    me->pred = baton_ref(me, pred);
    note_inside(me, true);

    baton_word pred_pid = reg_read(&pred->pid, relaxed); /* 8 */
    if (reg_read(&pred->status, acquire) == pred_pid)    /* 9: already gone */
        return;
    reg_write(&pred->next, baton_ref(lock, me), seq_cst); /* 7: 5 before 7 */
    if (!reg_cas(&pred->status, pred_pid, 0, seq_cst))    /* 9: 7 before 9 */
        reg_await(lock->waiting, &me->place,              /* 10 */
                  reg_read(&me->locked, acquire) == 0);
}

void baton_dt2_exit(baton_dt2 *lock, baton_dt2_participant *me)
{
    expect(me->inside, "dt2: exit by one who did not enter");
    note_inside(me, false);
    baton_dt2_node *mynode = baton_deref(me, me->node);
    me->node = me->pred;                                                 /* 15 */
    reg_write(&mynode->status, me->number, seq_cst);                     /* 11 */
    baton_word next = reg_read(&mynode->next, seq_cst);                  /* 12: 11 before 12 */
    if (next != 0 && reg_cas(&mynode->status, me->number, 0, relaxed)) { /* 13 */
        baton_dt2_participant *succ = baton_deref(lock, next);
        reg_write(&succ->locked, 0, release); /* 14 */
        wake_one(lock->waiting, &succ->place);
    }
    give_up(mynode);
}
