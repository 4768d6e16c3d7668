/*
 * Test-and-set: who finds the register free has taken it by looking.
 * lecture-10, Algorithm 20. No order among those who wait: a process may lose every race.
 *
 *   taken:  0 free  -> 1 held  -> 0
 */
#include "internal.h"

void baton_tas_init(baton_tas *lock, baton_waiting waiting)
{
    reg_init(&lock->taken, 0);
    place_init(&lock->place);
    lock->waiting = waiting;
}

void baton_tas_enter(baton_tas *lock)
{
    while (reg_swap(&lock->taken, 1, acquire) != 0) { /* 1-3: acquire: the last section is over */
        reg_await(lock->waiting, &lock->place, /* a read loop, so that waiting writes nothing */
                  reg_read(&lock->taken, relaxed) == 0);
        again();
    }
}

bool baton_tas_try(baton_tas *lock)
{
    return reg_swap(&lock->taken, 1, acquire) == 0; /* 2: one round of the loop */
}

void baton_tas_exit(baton_tas *lock)
{
    expect(reg_read(&lock->taken, relaxed) == 1, "tas: exit from a lock that nobody holds");
    reg_write(&lock->taken, 0, release); /* 5: release: my section before the next */
    wake_one(lock->waiting, &lock->place);
}
