/*
 * Plays a part on a board, for top.sh: joins locks A to D, which lie in a file that all actors map,
 * publishes what it does, and says READY when it does what it was told. Then it stays until killed.
 *
 *     board_actor BOARD FILE [participants N] ROLE...
 *
 *     rest             pins a card
 *     hold LOCK        enters and stays inside
 *     wait LOCK        waits for a lock that somebody holds, or comes to hold
 *     then-wait LOCK   the same, beside the lock that it holds: with a membership and a card more
 *     pass LOCK        enters and exits, again and again
 */
#include "baton/board.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 4, PARTICIPANTS = 32 };

static const char *name; /* of the board */
static baton_board *board;
static baton_locks *locks;
static uint32_t numbers[LOCKS]; /* what the board calls them */

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("board_actor: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    exit(1);
}

static void check(int value, const char *what)
{
    if (value != BATON_OK)
        fail("%s: %s", what, baton_strerror(value));
}

static void ready(void)
{
    puts("READY");
    fflush(stdout);
}

static void stay(void)
{
    for (;;)
        pause();
}

static void short_while(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* The locks in the file; whoever comes first makes them. */
static void find_locks(const char *path)
{
    baton_locks_spec spec = {"dt1", LOCKS, PARTICIPANTS, BATON_PARK};
    size_t bytes = 0;
    struct stat info;
    check(baton_locks_size(&spec, &bytes), "size");
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || flock(file, LOCK_EX) != 0 || fstat(file, &info) != 0)
        fail("cannot open %s", path);
    bool is_new = info.st_size == 0;
    if (is_new && ftruncate(file, (off_t)bytes) != 0)
        fail("cannot make %s", path);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        fail("cannot map %s", path);
    check(is_new ? baton_locks_create(&spec, memory, bytes, &locks)
                 : baton_locks_attach(memory, bytes, &locks),
          "locks");
    flock(file, LOCK_UN); /* close alone would not do: what is mapped keeps the file open */
    close(file);
}

static void find_board(uint32_t participants)
{
    static const char *const names[LOCKS] = {"A", "B", "C", "D"};
    baton_board_spec spec = {.participants = participants};
    check(baton_board_open(name, &spec, &board), "board");
    for (int i = 0; i < LOCKS; i++)
        check(baton_board_lock(board, names[i], &numbers[i]), "lock on board");
}

static void take_part(baton_participant *me, baton_card *card)
{
    check(baton_join(locks, me), "join");
    int error = baton_card_pin(board, card);
    if (error == BATON_FULL)
        fail("no room on board '%s': all of its %u cards are pinned by the living", name,
             baton_board_participants(board));
    check(error, "pin");
    check(baton_card_watch(card, me, numbers), "watch");
}

/* Whether the board shows somebody doing that with the lock: this process, or anybody else. */
static bool is_seen(baton_doing doing, uint32_t lock, bool me)
{
    static baton_seen seen[BATON_MAX_ON_BOARD];
    int cards = baton_board_look(board, seen);
    for (int i = 0; i < cards; i++)
        if (seen[i].doing == doing && seen[i].lock == lock && (seen[i].process == getpid()) == me)
            return true;
    return false;
}

static void *watch_myself(void *lock)
{
    while (!is_seen(BATON_WAITS, *(uint32_t *)lock, true))
        short_while();
    ready();
    return NULL;
}

static void wait_for(baton_participant *me, uint32_t lock)
{
    pthread_t thread;
    while (!is_seen(BATON_HOLDS, numbers[lock], false))
        short_while();
    if (pthread_create(&thread, NULL, watch_myself, &numbers[lock]) != 0)
        fail("no thread");
    check(baton_enter(me, lock), "enter");
    pthread_join(thread, NULL);
    puts("ENTERED");
    fflush(stdout);
}

static void pass(baton_participant *me, uint32_t lock)
{
    for (uint64_t i = 0;; i++) {
        check(baton_enter(me, lock), "enter");
        check(baton_exit(me, lock), "exit");
        if (i == 100)
            ready();
    }
}

static uint32_t lock_named(const char *word)
{
    if (word == NULL || word[0] < 'A' || word[0] >= 'A' + LOCKS || word[1] != '\0')
        fail("no lock '%s'", word != NULL ? word : "");
    return (uint32_t)(word[0] - 'A');
}

static void play(char **word)
{
    static baton_participant me[2];
    static baton_card card[2];
    take_part(&me[0], &card[0]);
    if (word[0] == NULL || strcmp(word[0], "rest") == 0) {
        ready();
    } else if (strcmp(word[0], "hold") == 0) {
        check(baton_enter(&me[0], lock_named(word[1])), "enter");
        if (word[2] != NULL && strcmp(word[2], "then-wait") == 0) {
            take_part(&me[1], &card[1]);
            wait_for(&me[1], lock_named(word[3]));
        } else {
            ready();
        }
    } else if (strcmp(word[0], "wait") == 0) {
        wait_for(&me[0], lock_named(word[1]));
    } else if (strcmp(word[0], "pass") == 0) {
        pass(&me[0], lock_named(word[1]));
    } else {
        fail("no role '%s'", word[0]);
    }
    stay();
}

int main(int argc, char **argv)
{
    uint32_t participants = 0;
    if (argc < 3)
        fail("usage: board_actor BOARD FILE [participants N] ROLE...");
    char **word = argv + 3;
    if (*word != NULL && strcmp(*word, "participants") == 0 && word[1] != NULL) {
        participants = (uint32_t)strtoul(word[1], NULL, 10);
        word += 2;
    }
    name = argv[1];
    find_locks(argv[2]);
    find_board(participants);
    play(word);
}
