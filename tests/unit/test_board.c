/*
 * Boards: made and found by name, refused when damaged, and what cards say as others see it, also
 * when their process has been killed.
 */
#define BATON_REG_SHORT_NAMES
#include "internal.h"
#include "layout.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char name[BATON_BOARD_NAME_BYTES];
static char file_of_it[BATON_BOARD_NAME_BYTES + 8];

static int begin(void **state)
{
    (void)state;
    snprintf(name, sizeof name, "test.%d", (int)getpid());
    snprintf(file_of_it, sizeof file_of_it, "/baton.%s", name);
    baton_board_remove(name);
    return 0;
}

static int end(void **state)
{
    (void)state;
    baton_board_remove(name);
    return 0;
}

static baton_board *open_for(uint32_t participants, uint32_t locks)
{
    baton_board *board = NULL;
    baton_board_spec spec = {participants, locks};
    assert_int_equal(baton_board_open(name, &spec, &board), BATON_OK);
    return board;
}

/* ---- names, sizes, files ---- */

static void test_names(void **state)
{
    static const char *const bad[] = {"",           ".hidden", "a/b",     "../x",
                                      "with space", "tab\t",   "\xc3\xa4"};
    char long_name[BATON_BOARD_NAME_BYTES + 1];
    baton_board *board = NULL;
    (void)state;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(baton_board_open(bad[i], NULL, &board), BATON_BAD_NAME);
        assert_int_equal(baton_board_find(bad[i], &board), BATON_BAD_NAME);
        assert_int_equal(baton_board_remove(bad[i]), BATON_BAD_NAME);
    }
    assert_int_equal(baton_board_open(long_name, NULL, &board), BATON_BAD_NAME);
    assert_int_equal(baton_board_open(NULL, NULL, &board), BATON_BAD_NAME);
    assert_int_equal(baton_board_open(name, NULL, NULL), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_board_find(name, &board), BATON_NO_BOARD);
    assert_int_equal(baton_board_remove(name), BATON_NO_BOARD);
    assert_null(board);
}

static void test_sizes(void **state)
{
    baton_board *board = NULL;
    (void)state;
    baton_board_spec too_many = {BATON_MAX_ON_BOARD + 1, 1};
    baton_board_spec too_many_locks = {1, BATON_MAX_LOCKS_ON_BOARD + 1};
    assert_int_equal(baton_board_open(name, &too_many, &board), BATON_BAD_COUNT);
    assert_int_equal(baton_board_open(name, &too_many_locks, &board), BATON_BAD_COUNT);
    assert_int_equal(baton_board_find(name, &board), BATON_NO_BOARD); /* none was left behind */
    board = open_for(0, 0);
    assert_int_equal(baton_board_participants(board), 128);
    baton_board_close(board);
    board = open_for(5, 7); /* it is there already: its size stays */
    assert_int_equal(baton_board_participants(board), 128);
    baton_board_close(board);
    struct stat info;
    int file = shm_open(file_of_it, O_RDONLY, 0);
    assert_int_equal(fstat(file, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    close(file);
}

static void test_read_only(void **state)
{
    uint32_t lock;
    baton_board *board = open_for(2, 2);
    baton_board *found = NULL;
    baton_card card = {0};
    (void)state;
    assert_int_equal(baton_board_lock(board, "a", &lock), BATON_OK);
    assert_int_equal(baton_board_find(name, &found), BATON_OK);
    assert_int_equal(baton_board_lock(found, "a", &lock), BATON_OK); /* to find it is no change */
    assert_int_equal(baton_board_lock(found, "b", &lock), BATON_READ_ONLY);
    assert_int_equal(baton_card_pin(found, &card), BATON_READ_ONLY);
    baton_board_close(found);
    baton_board_close(board);
}

/* Writes into the board's file; if asked, makes the checksum fit. */
static void patch(size_t offset, const void *bytes, size_t count, bool mend)
{
    board_header header;
    int file = shm_open(file_of_it, O_RDWR, 0);
    assert_int_equal(pwrite(file, bytes, count, (off_t)offset), (ssize_t)count);
    assert_int_equal(pread(file, &header, sizeof header, 0), (ssize_t)sizeof header);
    header.checksum = checksum_of(&header.layout, &header.checksum);
    if (mend)
        assert_int_equal(pwrite(file, &header, sizeof header, 0), (ssize_t)sizeof header);
    close(file);
}

static void expect_both(int error)
{
    baton_board *board = NULL;
    assert_int_equal(baton_board_open(name, NULL, &board), error);
    assert_int_equal(baton_board_find(name, &board), error);
    assert_null(board);
}

static void test_damage(void **state)
{
    (void)state;
    baton_board_close(open_for(2, 2));
    for (size_t byte = 0; byte < offsetof(board_header, rows); byte++) {
        unsigned char old;
        int file = shm_open(file_of_it, O_RDWR, 0);
        assert_int_equal(pread(file, &old, 1, (off_t)byte), 1);
        close(file);
        unsigned char wrong = old ^ 0x41;
        patch(byte, &wrong, 1, false);
        baton_board *board = NULL;
        int error = baton_board_find(name, &board);
        assert_true(error == BATON_NOT_BOARD || error == BATON_OTHER_VERSION);
        assert_int_equal(baton_board_open(name, NULL, &board), error);
        patch(byte, &old, 1, false);
    }
    uint32_t layout = 77;
    patch(offsetof(board_header, layout), &layout, sizeof layout, true);
    expect_both(BATON_OTHER_VERSION);
}

/* The header is right; what it promises is not there. */
static void expect_damaged_cards(void)
{
    struct stat info;
    baton_board_close(open_for(2, 2));
    int file = shm_open(file_of_it, O_RDWR, 0);
    assert_int_equal(fstat(file, &info), 0);
    static const char zeros[65536];
    size_t header = sizeof(board_header);
    size_t bytes = (size_t)info.st_size - header;
    assert_true(bytes <= sizeof zeros);
    assert_int_equal(pwrite(file, zeros, bytes, (off_t)header), (ssize_t)bytes);
    close(file);
    expect_both(BATON_NOT_BOARD);
}

static void test_damaged_cards(void **state)
{
    (void)state;
    expect_damaged_cards();
}

static void test_namespace(void **state)
{
    uint64_t other = 4711;
    (void)state;
    baton_board_close(open_for(2, 2));
    patch(offsetof(board_header, name_space), &other, sizeof other, true);
    expect_both(BATON_OTHER_NAMESPACE);
}

static void test_cut_off(void **state)
{
    (void)state;
    baton_board_close(open_for(2, 2));
    struct stat info;
    int file = shm_open(file_of_it, O_RDWR, 0);
    assert_int_equal(fstat(file, &info), 0);
    assert_int_equal(ftruncate(file, info.st_size - 1), 0);
    expect_both(BATON_TOO_SMALL);
    assert_int_equal(ftruncate(file, 100), 0);
    expect_both(BATON_TOO_SMALL);
    assert_int_equal(ftruncate(file, 20), 0);
    expect_both(BATON_NOT_BOARD);
    assert_int_equal(ftruncate(file, 0), 0);
    baton_board *board = NULL;
    assert_int_equal(baton_board_find(name, &board), BATON_NOT_BOARD);
    assert_int_equal(baton_board_open(name, NULL, &board), BATON_OK); /* as if it were new */
    baton_board_close(board);
    close(file);
}

/* Others could cut it off, or write into it what they like. */
static void test_others_may_write(void **state)
{
    static const mode_t modes[] = {0666, 0620, 0602};
    baton_board *board = NULL;
    (void)state;
    baton_board_close(open_for(2, 2));
    int file = shm_open(file_of_it, O_RDWR, 0);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(fchmod(file, modes[i]), 0);
        expect_both(BATON_OTHER_OWNER);
    }
    assert_int_equal(fchmod(file, 0644), 0); /* who only reads does no harm */
    assert_int_equal(baton_board_find(name, &board), BATON_OK);
    baton_board_close(board);
    close(file);
}

/* Only root can give a file away. Another user's board is refused before anything is read. */
static void test_other_owner(void **state)
{
    enum { ANOTHER = 12345 };
    (void)state;
    if (geteuid() != 0)
        skip();
    baton_board_close(open_for(2, 2));
    int file = shm_open(file_of_it, O_RDWR, 0);
    assert_int_equal(fchown(file, ANOTHER, ANOTHER), 0);
    expect_both(BATON_OTHER_OWNER);
    assert_int_equal(ftruncate(file, 0), 0); /* nor is it made anew */
    expect_both(BATON_OTHER_OWNER);
    close(file);
}

/* What root has made can be looked at by others, if root lets them. */
static void test_board_of_root(void **state)
{
    enum { ANOTHER = 12345 };
    (void)state;
    if (geteuid() != 0)
        skip();
    baton_board_close(open_for(2, 2));
    int file = shm_open(file_of_it, O_RDWR, 0);
    assert_int_equal(fchmod(file, 0644), 0);
    close(file);
    pid_t child = fork();
    if (child == 0) {
        baton_board *board = NULL;
        _exit(setuid(ANOTHER) != 0 || baton_board_find(name, &board) != BATON_OK);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Nobody waits for the other end of a pipe. */
static void test_pipe(void **state)
{
    char path[sizeof file_of_it + 16];
    baton_board *board = NULL;
    (void)state;
    snprintf(path, sizeof path, "/dev/shm%s", file_of_it);
    assert_int_equal(mkfifo(path, 0600), 0);
    unsigned patience = alarm(60); /* who waits is killed */
    assert_int_equal(baton_board_find(name, &board), BATON_NOT_BOARD);
    assert_int_equal(baton_board_open(name, NULL, &board), BATON_NOT_BOARD);
    alarm(patience);
}

/* A first store that was interrupted, it says, at a node far outside. */
static void test_damaged_progress(void **state)
{
    baton_board *board = open_for(2, 2);
    baton_card card = {0};
    (void)state;
    reg_write(&seat_of(&board->cards_in, 0)->progress, (baton_word)1 << 40 | 1, relaxed);
    assert_int_equal(baton_card_pin(board, &card), BATON_NOT_BOARD);
    assert_int_equal(baton_card_take_down(&card), BATON_NOT_JOINED);
    baton_board_close(board);
}

/* A maker that died before it had finished leaves a file without magic. */
static void test_half_made(void **state)
{
    baton_board *board = NULL;
    (void)state;
    int file = shm_open(file_of_it, O_RDWR | O_CREAT, 0600);
    assert_int_equal(ftruncate(file, 12345), 0);
    close(file);
    assert_int_equal(baton_board_find(name, &board), BATON_NOT_BOARD);
    assert_int_equal(baton_board_open(name, NULL, &board), BATON_OK);
    baton_board_close(board);
}

/* ---- what is left behind ---- */

static int count_entries(const char *directory)
{
    int count = 0;
    DIR *all = opendir(directory);
    assert_non_null(all);
    while (readdir(all) != NULL)
        count++;
    closedir(all);
    return count;
}

/* Mappings of this board. */
static int count_maps(void)
{
    char line[600];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, file_of_it) != NULL;
    fclose(maps);
    return count;
}

/* Opens, finds and names, in every way that fails, and in all that do not. */
static void use_all_ways(void)
{
    baton_board *board = open_for(2, 2), *found = NULL;
    uint32_t lock, other = 77;
    assert_int_equal(baton_board_find(name, &found), BATON_OK);
    assert_int_equal(baton_board_lock(board, "a", &lock), BATON_OK);
    assert_int_equal(baton_board_lock(board, "b", &lock), BATON_OK);
    assert_int_equal(baton_board_lock(board, "c", &lock), BATON_FULL);
    baton_board_close(board);
    baton_board_close(found);
    patch(offsetof(board_header, layout), &other, sizeof other, true);
    expect_both(BATON_OTHER_VERSION);
    assert_int_equal(baton_board_remove(name), BATON_OK);
    expect_damaged_cards();
    assert_int_equal(baton_board_remove(name), BATON_OK);
    assert_int_equal(baton_board_remove(name), BATON_NO_BOARD);
}

static void test_nothing_is_left(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        use_all_ways(); /* what malloc keeps for the next time, it keeps from here on */
    int descriptors = count_entries("/proc/self/fd");
    size_t before = heap_bytes();
    use_all_ways();
    assert_int_equal(heap_bytes(), before);
    assert_int_equal(count_entries("/proc/self/fd"), descriptors);
    assert_int_equal(count_maps(), 0);
}

/* A descriptor may be any number, in a process without standard input also 0. */
static void test_descriptor_zero(void **state)
{
    (void)state;
    uint32_t lock;
    int kept = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    use_all_ways(); /* the board's file is 0 */
    int other = open("/dev/null", O_RDWR);
    baton_board *board = open_for(2, 2);
    close(other);
    assert_int_equal(baton_board_lock(board, "a", &lock), BATON_OK); /* what it opens for that is */
    baton_board_close(board);
    dup2(kept, STDIN_FILENO);
    close(kept);
}

static atomic_int interruptions;

static void be_interrupted(int number)
{
    (void)number;
    interruptions++;
}

typedef struct naming {
    baton_board *board;
    int error;
    atomic_bool done;
} naming;

static void *name_a_lock(void *context)
{
    naming *n = context;
    uint32_t lock;
    n->error = baton_board_lock(n->board, "late", &lock);
    n->done = true;
    return NULL;
}

/* Somebody else names one for a long time; signals in between do no harm. */
static void test_interrupted(void **state)
{
    (void)state;
    const struct sigaction interrupt = {.sa_handler = be_interrupted}; /* no SA_RESTART */
    struct sigaction before;
    naming n = {.board = open_for(2, 2)};
    pthread_t thread;
    int file = shm_open(file_of_it, O_RDWR, 0);
    assert_int_equal(flock(file, LOCK_EX), 0);
    assert_int_equal(sigaction(SIGUSR1, &interrupt, &before), 0);
    assert_int_equal(pthread_create(&thread, NULL, name_a_lock, &n), 0);
    for (int i = 0; i < 100 && !n.done; i++) {
        usleep(1000);
        pthread_kill(thread, SIGUSR1);
    }
    assert_false(n.done);
    close(file);
    pthread_join(thread, NULL);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    assert_int_equal(n.error, BATON_OK);
    assert_true(interruptions > 0);
    baton_board_close(n.board);
}

static void test_made_once(void **state)
{
    enum { OPENERS = 16 };
    pid_t child[OPENERS];
    (void)state;
    for (uint32_t i = 0; i < OPENERS; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            uint32_t lock;
            char own[16];
            baton_board *board;
            baton_board_spec spec = {32, 32};
            snprintf(own, sizeof own, "lock %u", i / 2); /* each name by two of them */
            bool fine = baton_board_open(name, &spec, &board) == BATON_OK &&
                        baton_board_lock(board, own, &lock) == BATON_OK;
            _exit(fine ? (int)lock : 255);
        }
    }
    int got[OPENERS];
    for (uint32_t i = 0; i < OPENERS; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status));
        got[i] = WEXITSTATUS(status);
    }
    baton_board *board = open_for(32, 32);
    assert_int_equal(baton_board_locks(board), OPENERS / 2);
    for (uint32_t i = 0; i < OPENERS; i += 2)
        assert_int_equal(got[i], got[i + 1]);
    baton_board_close(board);
}

static void test_locks(void **state)
{
    uint32_t lock = 99;
    char long_name[BATON_BOARD_LOCK_NAME_BYTES + 1];
    baton_board_lock_seen seen;
    baton_board *board = open_for(2, 2);
    (void)state;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(baton_board_lock(board, "", &lock), BATON_BAD_NAME);
    assert_int_equal(baton_board_lock(board, "a\nb", &lock), BATON_BAD_NAME);
    assert_int_equal(baton_board_lock(board, long_name, &lock), BATON_BAD_NAME);
    assert_int_equal(baton_board_lock(board, NULL, &lock), BATON_BAD_NAME);
    assert_int_equal(baton_board_lock(NULL, "a", &lock), BATON_BAD_ARGUMENT);
    assert_int_equal(lock, 99);
    long_name[sizeof long_name - 2] = '\0';
    assert_int_equal(baton_board_lock(board, long_name, &lock), BATON_OK);
    assert_int_equal(baton_board_lock(board, "b", &lock), BATON_OK);
    assert_int_equal(lock, 1);
    assert_int_equal(baton_board_lock(board, "c", &lock), BATON_FULL);
    assert_int_equal(baton_board_lock(board, long_name, &lock), BATON_OK);
    assert_int_equal(lock, 0);
    assert_int_equal(baton_board_lock_at(board, 0, &seen), BATON_OK);
    assert_string_equal(seen.name, long_name);
    assert_int_equal(baton_board_lock_at(board, 2, &seen), BATON_NO_LOCK);
    baton_board_close(board);
}

/* ---- cards ---- */

static void test_pins(void **state)
{
    baton_board *board = open_for(2, 2);
    baton_card first = {0};
    baton_card second = {0};
    baton_card third = {0};
    baton_seen seen[2];
    (void)state;
    assert_int_equal(baton_card_pin(board, NULL), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_card_pin(NULL, &first), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_card_take_down(&first), BATON_NOT_JOINED);
    assert_int_equal(baton_board_look(board, seen), 0);
    assert_int_equal(baton_card_pin(board, &first), BATON_OK);
    assert_int_equal(baton_card_pin(board, &first), BATON_ALREADY_JOINED);
    assert_int_equal(baton_card_pin(board, &second), BATON_OK);
    assert_int_equal(baton_card_pin(board, &third), BATON_FULL); /* nobody is dead */
    assert_int_equal(baton_board_look(board, seen), 2);
    assert_int_equal(seen[0].process, getpid());
    assert_int_equal(seen[0].thread, gettid());
    assert_false(seen[0].dead);
    assert_string_equal(seen[0].command, "test_board");
    assert_int_equal(baton_card_take_down(&first), BATON_OK);
    assert_int_equal(baton_board_look(board, seen), 1);
    assert_int_equal(seen[0].card, 1);
    assert_int_equal(baton_card_pin(board, &third), BATON_OK);
    assert_int_equal(baton_card_take_down(&second), BATON_OK);
    assert_int_equal(baton_card_take_down(&third), BATON_OK);
    baton_board_close(board);
}

static baton_seen only_card(const baton_board *board)
{
    baton_seen seen[4];
    assert_int_equal(baton_board_look(board, seen), 1);
    return seen[0];
}

static uint64_t passages_of(const baton_board *board, uint32_t lock)
{
    baton_board_lock_seen seen;
    assert_int_equal(baton_board_lock_at(board, lock, &seen), BATON_OK);
    return seen.passages;
}

static void test_watched(void **state)
{
    baton_locks *locks =
        make_locks(&(baton_locks_spec){.algorithm = "dt1", .locks = 3, .participants = 2});
    baton_board *board = open_for(4, 4);
    baton_participant me = {0};
    baton_card card = {0};
    uint32_t shown[3] = {0, BATON_NOT_SHOWN, 0};
    (void)state;
    assert_int_equal(baton_board_lock(board, "first", &shown[0]), BATON_OK);
    assert_int_equal(baton_board_lock(board, "third", &shown[2]), BATON_OK);
    assert_int_equal(baton_join(locks, &me), BATON_OK);
    assert_int_equal(baton_card_watch(&card, &me, shown), BATON_NOT_JOINED);
    assert_int_equal(baton_card_pin(board, &card), BATON_OK);
    assert_int_equal(baton_card_watch(&card, &me, shown), BATON_OK);
    assert_int_equal(only_card(board).doing, BATON_RESTS);
    for (uint32_t round = 1; round <= 3; round++) {
        assert_int_equal(baton_enter(&me, 2), BATON_OK);
        assert_int_equal(only_card(board).doing, BATON_HOLDS);
        assert_int_equal(only_card(board).lock, shown[2]);
        assert_true(only_card(board).since_ns > 0);
        assert_int_equal(baton_enter(&me, 0), BATON_ALREADY_INSIDE);
        assert_int_equal(baton_exit(&me, 0), BATON_NOT_INSIDE);
        assert_int_equal(baton_card_watch(&card, &me, NULL), BATON_ALREADY_INSIDE);
        assert_int_equal(baton_leave(&me), BATON_ALREADY_INSIDE);
        assert_int_equal(baton_exit(&me, 2), BATON_OK);
        assert_int_equal(only_card(board).doing, BATON_RESTS);
        assert_int_equal(passages_of(board, shown[2]), round);
    }
    assert_int_equal(baton_try(&me, 0), BATON_OK);
    assert_int_equal(only_card(board).lock, shown[0]);
    assert_int_equal(baton_exit(&me, 0), BATON_OK);
    assert_int_equal(baton_enter(&me, 1), BATON_OK); /* not shown */
    assert_int_equal(only_card(board).doing, BATON_RESTS);
    assert_int_equal(baton_exit(&me, 1), BATON_OK);
    assert_int_equal(baton_enter(&me, 3), BATON_NO_LOCK);
    assert_int_equal(baton_card_watch(&card, &me, NULL), BATON_OK);
    assert_int_equal(baton_enter(&me, 2), BATON_OK); /* no longer */
    assert_int_equal(only_card(board).doing, BATON_RESTS);
    assert_int_equal(baton_exit(&me, 2), BATON_OK);
    assert_int_equal(passages_of(board, shown[2]), 3);
    assert_int_equal(baton_leave(&me), BATON_OK);
    assert_int_equal(baton_card_take_down(&card), BATON_OK);
    baton_board_close(board);
    free(locks);
}

static void test_by_hand(void **state)
{
    baton_board *board = open_for(4, 4);
    baton_card holder = {0};
    baton_card waiter = {0};
    baton_seen seen[4];
    uint32_t lock;
    (void)state;
    assert_int_equal(baton_board_lock(board, "lock", &lock), BATON_OK);
    assert_int_equal(baton_card_pin(board, &holder), BATON_OK);
    assert_int_equal(baton_card_pin(board, &waiter), BATON_OK);
    baton_card_waits(&holder, lock); /* it looks free: no time is taken */
    assert_int_equal(baton_board_look(board, seen), 2);
    assert_int_equal(seen[0].doing, BATON_WAITS);
    assert_int_equal(seen[0].since_ns, 0);
    baton_card_holds(&holder, lock);
    baton_card_waits(&waiter, lock);
    baton_card_waits(&waiter, 4); /* out of range: ignored */
    baton_card_holds(&waiter, UINT32_MAX);
    assert_int_equal(baton_board_look(board, seen), 2);
    assert_int_equal(seen[0].doing, BATON_HOLDS);
    assert_int_equal(seen[1].doing, BATON_WAITS);
    assert_int_equal(seen[1].lock, lock);
    assert_true(seen[1].since_ns > 0);
    baton_card_rests(&holder, lock);
    baton_card_holds(&waiter, lock);
    baton_card_rests(&waiter, lock);
    assert_int_equal(passages_of(board, lock), 2);
    assert_int_equal(baton_card_take_down(&holder), BATON_OK);
    assert_int_equal(baton_card_take_down(&waiter), BATON_OK);
    baton_board_close(board);
}

/* A child that pins a card, holds the lock if it is to, says so, and waits to be killed. */
static pid_t start_victim(bool holds)
{
    int told[2];
    char ready;
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        uint32_t lock;
        baton_board *board;
        baton_card card = {0};
        bool fine = baton_board_open(name, NULL, &board) == BATON_OK &&
                    baton_board_lock(board, "lock", &lock) == BATON_OK &&
                    baton_card_pin(board, &card) == BATON_OK;
        if (fine && holds)
            baton_card_holds(&card, lock);
        if (!fine || write(told[1], "r", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(told[1]);
    assert_int_equal(read(told[0], &ready, 1), 1);
    close(told[0]);
    return child;
}

static void test_dead(void **state)
{
    baton_board *board = open_for(2, 2);
    baton_seen seen[2];
    baton_card mine[3] = {0};
    (void)state;
    pid_t holder = start_victim(true);
    pid_t idler = start_victim(false);
    assert_int_equal(baton_board_look(board, seen), 2);
    assert_false(seen[0].dead);
    kill(holder, SIGKILL);
    kill(idler, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)holder, &info, WEXITED | WNOWAIT); /* a zombie is dead already */
    waitid(P_PID, (id_t)idler, &info, WEXITED | WNOWAIT);
    assert_int_equal(baton_board_look(board, seen), 2);
    assert_true(seen[0].dead);
    assert_int_equal(seen[0].process, holder);
    assert_int_equal(seen[0].doing, BATON_HOLDS);
    waitpid(holder, NULL, 0);
    waitpid(idler, NULL, 0);
    /* The board is full of dead ones: who did nothing goes first, so that the holder is seen. */
    assert_int_equal(baton_card_pin(board, &mine[0]), BATON_OK);
    assert_int_equal(baton_board_look(board, seen), 2);
    assert_true(seen[0].dead);
    assert_int_equal(seen[1].process, getpid());
    assert_int_equal(baton_card_pin(board, &mine[1]), BATON_OK);
    assert_int_equal(baton_card_pin(board, &mine[2]), BATON_FULL);
    assert_int_equal(baton_board_look(board, seen), 2);
    assert_int_equal(seen[0].process, getpid());
    assert_int_equal(seen[0].doing, BATON_RESTS);
    baton_card_take_down(&mine[0]);
    baton_card_take_down(&mine[1]);
    baton_board_close(board);
}

/* Cards that come and go while others look: whoever is seen is whole. */
static void *come_and_go(void *context)
{
    baton_board *board = context;
    for (int i = 0; i < 2000; i++) {
        baton_card card = {0};
        if (baton_card_pin(board, &card) != BATON_OK)
            continue;
        baton_card_waits(&card, 1);
        baton_card_take_down(&card);
    }
    return NULL;
}

static void test_coming_and_going(void **state)
{
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    baton_board *board = open_for(4, 4);
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, board), 0);
    for (int i = 0; i < 300; i++) {
        baton_seen seen[4];
        int count = baton_board_look(board, seen);
        assert_in_range(count, 0, 4);
        for (int k = 0; k < count; k++) {
            assert_int_equal(seen[k].process, getpid());
            assert_true(seen[k].thread > 0);
            assert_string_equal(seen[k].command, "test_board");
            assert_true(seen[k].doing == BATON_RESTS || seen[k].lock == 1);
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    baton_seen seen[4];
    assert_int_equal(baton_board_look(board, seen), 0);
    baton_board_close(board);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names),
        TEST(test_sizes),
        TEST(test_read_only),
        TEST(test_damage),
        TEST(test_namespace),
        TEST(test_cut_off),
        TEST(test_others_may_write),
        TEST(test_other_owner),
        TEST(test_board_of_root),
        TEST(test_pipe),
        TEST(test_damaged_progress),
        TEST(test_damaged_cards),
        TEST(test_nothing_is_left),
        TEST(test_descriptor_zero),
        TEST(test_interrupted),
        TEST(test_half_made),
        TEST(test_made_once),
        TEST(test_locks),
        TEST(test_pins),
        TEST(test_watched),
        TEST(test_by_hand),
        TEST(test_dead),
        TEST(test_coming_and_going),
    };
    return cmocka_run_group_tests_name("board", tests, NULL, NULL);
}
