/*
 * Peterson's algorithm for two processes, from reads and writes alone.
 * lecture-10, Algorithm 21.
 *
 * Each process says that it wants to enter, then lets the other go first, then looks. All five
 * accesses are seq_cst: what counts is that of two processes that both wrote before they looked, at
 * least one sees the other's wish, and that both agree who wrote `priority` last.
 */
#include "room.h"

void baton_peterson_init(baton_peterson *lock, baton_waiting waiting)
{
    for (uint32_t i = 0; i < 2; i++) {
        reg_init(&lock->want[i], 0);
        reg_home(&lock->want[i], i + 1);
    }
    reg_init(&lock->priority, 0);
    place_init(&lock->place);
    lock->waiting = waiting;
}

void baton_peterson_enter(baton_peterson *lock, uint32_t i)
{
    reg_write(&lock->want[i], 1, seq_cst);      /* 1 */
    reg_write(&lock->priority, 1 - i, seq_cst); /* 2 */
    wake_all(lock->waiting, &lock->place);      /*    line 2 may let the other one in */
    reg_await(lock->waiting, &lock->place,      /* 3 */
              reg_read(&lock->priority, seq_cst) == i ||
                  reg_read(&lock->want[1 - i], seq_cst) == 0);
}

void baton_peterson_exit(baton_peterson *lock, uint32_t i)
{
    expect(reg_read(&lock->want[i], relaxed) == 1, "peterson: exit by one who did not enter");
    reg_write(&lock->want[i], 0, release); /* 5: release: my section before the other's */
    wake_all(lock->waiting, &lock->place);
}
