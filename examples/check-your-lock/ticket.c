/*
 * Somebody's own lock, a ticket lock, written with baton/reg.h and handed to the explorer:
 *
 *     cc ticket.c $(pkg-config --cflags --libs baton-check) -o ticket
 *     ./ticket --processes 3 --memory c11
 *
 * With -DBUG=1 tickets are drawn by a read and a write, with -DBUG=2 the exit forgets to release.
 * Both are found, with the shortest run that shows them (--memory sc is enough for the first).
 */
#define BATON_REG_SHORT_NAMES
#include <baton/check.h>

#ifndef BUG
#define BUG 0
#endif

typedef struct ticket_lock {
    baton_reg next;    /* the number that the next comer draws */
    baton_reg serving; /* the number that may be inside */
} ticket_lock;

static void ticket_init(void *memory, uint32_t processes, baton_waiting waiting)
{
    ticket_lock *lock = memory;
    (void)processes, (void)waiting;
    reg_init(&lock->next, 0);
    reg_init(&lock->serving, 0);
}

static void ticket_enter(void *memory, uint32_t number, uint32_t process)
{
    ticket_lock *lock = memory;
    (void)number, (void)process;
#if BUG == 1
    baton_word mine = reg_read(&lock->next, relaxed);
    reg_write(&lock->next, mine + 1, relaxed);
#else
    baton_word mine = reg_fetch_add(&lock->next, 1, relaxed);
#endif
    doorway_ends();
    reg_await(BATON_SPIN, NULL, reg_read(&lock->serving, acquire) == mine);
}

static void ticket_exit(void *memory, uint32_t number, uint32_t process)
{
    ticket_lock *lock = memory;
    (void)number, (void)process;
    baton_word mine = reg_read(&lock->serving, relaxed);
    reg_write(&lock->serving, mine + 1, BUG == 2 ? relaxed : release);
}

/* What is promised is checked: mutual exclusion and freedom from deadlock always, and these. */
static const baton_check_subject subject = {
    .name = "ticket",
    .bytes = sizeof(ticket_lock),
    .init = ticket_init,
    .enter = ticket_enter,
    .exit = ticket_exit,
    .fifo = true,
    .wait_free_exit = true,
};

int main(int argc, char **argv)
{
    return baton_check_main(argc, argv, &subject, 1);
}
