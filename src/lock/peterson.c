/*
 * Peterson's algorithm for two processes, from reads and writes alone.
 * lecture-10, Algorithm 21.
 *
 * Each process says that it wants to enter, then lets the other go first, then looks. The two
 * writes and the look at the other's wish are seq_cst: of two processes that both wrote before they
 * looked, the one whose write to `priority` is the later must see the other's wish. To read a stale
 * `priority` only makes a process look on; what lets it in, it acquires.
 */
#include "internal.h"

void baton_peterson_init(baton_peterson *lock, baton_waiting waiting)
{
    for (uint32_t i = 0; i < 2; i++) {
        reg_init(&lock->want[i], 0);
        reg_home(&lock->want[i], 2 - i); /* with the other one, who awaits it */
    }
    reg_init(&lock->priority, 0);
    reg_home(&lock->priority, 1); /* both await it, so one of them looks from afar */
    place_init(&lock->place);
    lock->waiting = waiting;
}

void baton_peterson_enter(baton_peterson *lock, uint32_t i)
{
    reg_write(&lock->want[i], 1, seq_cst);      /* 1 */
    reg_write(&lock->priority, 1 - i, seq_cst); /* 2 */
    wake_all(lock->waiting, &lock->place);      /*    line 2 may let the other one in */
    reg_await(lock->waiting, &lock->place,      /* 3 */
              reg_read(&lock->priority, acquire) == i ||
                  reg_read(&lock->want[1 - i], seq_cst) == 0);
}

void baton_peterson_exit(baton_peterson *lock, uint32_t i)
{
    expect(reg_read(&lock->want[i], relaxed) == 1, "peterson: exit by one who did not enter");
    reg_write(&lock->want[i], 0, release); /* 5: release: my section before the other's */
    wake_all(lock->waiting, &lock->place);
}
