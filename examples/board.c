/*
 * Three processes that share locks in memory, and a board on which they show what they do. Look at
 * it while it runs:
 *
 *     cc board.c $(pkg-config --cflags --libs baton) && ./a.out shop 20 & baton top shop
 */
#define _GNU_SOURCE
#include <baton/board.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 3, STOCK = 0, TILL = 1, LOCKS = 2, PAUSES_PER_S = 200 };

static void check(int value)
{
    if (value != BATON_OK) {
        fprintf(stderr, "board: %s\n", baton_strerror(value));
        exit(1);
    }
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000000 / PAUSES_PER_S}, NULL);
}

/* What a clerk does for so many pauses: fetches something from the stock, then goes to the till. */
static void work(baton_locks *locks, baton_board *board, int pauses)
{
    uint32_t shown[LOCKS]; /* the board's numbers of our locks 0 and 1 */
    baton_participant me = {0};
    baton_card card = {0};
    check(baton_board_lock(board, "stock", &shown[STOCK]));
    check(baton_board_lock(board, "till", &shown[TILL]));
    check(baton_join(locks, &me));
    check(baton_card_pin(board, &card));
    check(baton_card_watch(&card, &me, shown)); /* from here on it is seen */
    for (int done = 0; done < pauses; done += 3) {
        check(baton_enter(&me, STOCK));
        pause_briefly();
        check(baton_exit(&me, STOCK));
        check(baton_enter(&me, TILL));
        pause_briefly();
        pause_briefly();
        check(baton_exit(&me, TILL));
    }
    check(baton_card_watch(&card, &me, NULL));
    check(baton_card_take_down(&card));
    check(baton_leave(&me));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "example";
    int seconds = argc > 2 ? atoi(argv[2]) : 2;
    baton_locks_spec spec = {"dt1", LOCKS, PROCESSES, BATON_PARK};
    size_t bytes;
    baton_locks *locks;
    baton_board *board;
    check(baton_locks_size(&spec, &bytes));
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("board: mmap");
        return 1;
    }
    check(baton_locks_create(&spec, memory, bytes, &locks));
    check(baton_board_open(name, NULL, &board));
    printf("Look with 'baton top %s'.\n", name);
    fflush(stdout);

    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        if (child < 0) {
            perror("board: fork");
            return 1;
        }
        if (child == 0) {
            work(locks, board, seconds * PAUSES_PER_S / PROCESSES);
            return 0;
        }
    }
    int failures = 0;
    for (int status; wait(&status) > 0;)
        failures += status != 0;
    baton_board_close(board);
    check(baton_board_remove(name));
    return failures == 0 ? 0 : 1;
}
