/*
 * Wait-free-exit, Algorithm 1: a queue lock whose exit never waits. Two nodes per process and lock.
 *
 *   T ─► last node of the queue, 0 if it is empty
 *   node.next     ─► the successor, once that one has linked itself
 *   node.locked   1 while the owner waits
 *   node.status   LOCKED -> UNLOCKED by the owner on exit
 *                 UNLOCKED -> LOCKED by whoever sees to the hand-over: the successor, which then
 *                 enters by itself, or the owner, which then clears the successor's locked
 *
 * The race at the heart of it, store against load on both sides:
 *
 *   exit      10 status := UNLOCKED     11 read next
 *   entry      7 pred.next := me         8 CAS(pred.status, UNLOCKED, LOCKED)
 *
 * If the exit saw no successor and the successor saw no UNLOCKED, it would wait for ever. 7 and 8
 * are seq_cst. On the side of the exit the paper's line 12 comes first, since it settles the usual
 * case: if T is still mine there is no successor, and nothing to order. Only if it is not does the
 * exit need its fence, and then line 11 is read behind it. Line 13 may be relaxed: of two
 * read-modify-writes on one register one comes first, at any order.
 */
#include "internal.h"

enum { LOCKED, UNLOCKED };

void baton_dt1_init(baton_dt1 *lock, baton_waiting waiting)
{
    reg_init(&lock->tail, 0);
    lock->waiting = waiting;
}

void baton_dt1_join(baton_dt1_participant *me, baton_word number)
{
    for (int i = 0; i < 2; i++) {
        baton_dt1_node *node = &me->node[i];
        reg_init(&node->next, 0);
        reg_init(&node->locked, 0);
        reg_init(&node->status, LOCKED);
        reg_home(&node->next, number);
        reg_home(&node->locked, number);
        reg_home(&node->status, number);
        place_init(&node->place);
    }
    me->current = 0;
    me->inside = false;
}

void baton_dt1_enter(baton_dt1 *lock, baton_dt1_participant *me)
{
    baton_dt1_node *mynode = &me->node[me->current]; /* 1: doorway begins */
    reg_write(&mynode->next, 0, relaxed);            /* 2 */
    reg_write(&mynode->status, LOCKED, relaxed);     /* 3 */
    baton_word tail = reg_swap(&lock->tail, baton_ref(lock, mynode), acq_rel); /* 4: doorway ends */
    doorway_ends();
    if (tail != 0) { /* 5 */
        baton_dt1_node *pred = baton_deref(lock, tail);
        take(pred);
        reg_write(&mynode->locked, 1, relaxed);                   /* 6 */
        reg_write(&pred->next, baton_ref(lock, mynode), seq_cst); /* 7: 6 before 7 */
        if (!reg_cas(&pred->status, UNLOCKED, LOCKED, seq_cst))   /* 8: 7 before 8 */
            reg_await(lock->waiting, &mynode->place,              /* 9 */
                      reg_read(&mynode->locked, acquire) == 0);
        give_up(pred);
    }
    note_inside(me, true);
}

bool baton_dt1_try(baton_dt1 *lock, baton_dt1_participant *me)
{
    baton_dt1_node *mynode = &me->node[me->current];                          /* 1 */
    reg_write(&mynode->next, 0, relaxed);                                     /* 2 */
    reg_write(&mynode->status, LOCKED, relaxed);                              /* 3 */
    bool entered = reg_cas(&lock->tail, 0, baton_ref(lock, mynode), acq_rel); /* 4, 5 in one */
    if (entered) {
        doorway_ends();
        note_inside(me, true);
    }
    return entered;
}

void baton_dt1_exit(baton_dt1 *lock, baton_dt1_participant *me)
{
    expect(me->inside, "dt1: exit by one who did not enter");
    note_inside(me, false);
    baton_dt1_node *mynode = &me->node[me->current];
    me->current = 1 - me->current;                                     /* 16 */
    reg_write(&mynode->status, UNLOCKED, release);                     /* 10: after my section */
    if (reg_read(&mynode->next, relaxed) == 0) {                       /* 11: a first look */
        if (reg_cas(&lock->tail, baton_ref(lock, mynode), 0, release)) /* 12 */
            return;
        reg_fence(seq_cst); /* 10 before 11 */
    }
    baton_word next = reg_read(&mynode->next, acquire);                     /* 11 */
    if (next != 0 && reg_cas(&mynode->status, UNLOCKED, LOCKED, relaxed)) { /* 13 */
        baton_dt1_node *succ = baton_deref(lock, next);                     /* 14 */
        take(succ);
        reg_write(&succ->locked, 0, release); /* 15 */
        give_up(succ);
        wake_one(lock->waiting, &succ->place);
    }
}
