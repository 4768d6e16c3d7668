/* Processes that die in the middle: what was committed is there, and nothing of what was not. */
#include "store_scene.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Counts in two locks at once, a turn each; says after each commit how far it is. */
static void count_for_ever(int tell)
{
    store *s = store_at("a");
    store_lock one = lock_named(s, "one");
    store_lock two = lock_named(s, "two");
    for (;;) {
        char words[3000];
        snprintf(words, sizeof words, "SET|pad%d|%0*d", (int)(one.executed % 40),
                 (int)(one.executed % 2900), 0);
        if (run_op(s, &one, "INCR|n") == NULL || run_op(s, &two, "INCR|n") == NULL ||
            run_op(s, &two, words) == NULL)
            break;
        save_lock(s, &one);
        save_lock(s, &two);
        if (!store_commit(s) || write(tell, &one.executed, sizeof one.executed) < 0)
            break;
    }
    _exit(1);
}

static uint64_t value_of(store *s, const store_lock *lock)
{
    resp_out out = {0};
    unsigned long long value = 0;
    assert_true(store_read(s, lock, text_string("n"), &out));
    resp_raw(&out, "", 1);
    assert_true(sscanf(out.at, "$%*u\r\n%llu", &value) == 1 || lock->executed == 0);
    resp_free(&out);
    return value;
}

/* The last number that came through the pipe. */
static uint64_t last_told(int from)
{
    uint64_t last = 0;
    uint64_t next;
    while (read(from, &next, sizeof next) == sizeof next)
        last = next;
    return last;
}

static void test_killed(void **state)
{
    enum { KILLS = 40 };
    uint64_t seed = 5;
    uint64_t before = 0;
    (void)state;
    store_close(store_at("a"));
    for (int i = 0; i < KILLS; i++) {
        int ends[2];
        int status;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            count_for_ever(ends[1]);
        }
        close(ends[1]);
        uint64_t first;
        assert_int_equal(read(ends[0], &first, sizeof first), sizeof first);
        nanosleep(&(struct timespec){.tv_nsec = (long)(chance(&seed) % 20000) * 1000}, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        uint64_t told = last_told(ends[0]);
        close(ends[0]);
        told = told > first ? told : first;
        store *s = store_at("a");
        store_lock one = lock_named(s, "one");
        store_lock two = lock_named(s, "two");
        assert_true(one.executed >= told && one.executed <= told + 1 && told > before);
        assert_int_equal(two.executed, 2 * one.executed); /* a turn is there as a whole */
        assert_int_equal(value_of(s, &one), one.executed);
        assert_int_equal(value_of(s, &two), one.executed);
        before = one.executed;
        store_close(s);
    }
    print_message("# killed %d times, after %llu turns\n", KILLS, (unsigned long long)before);
}

/* In the middle of a turn. */
static void test_killed_in_turn(void **state)
{
    int status;
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    expect_result(s, &lock, "SET|k|before", "+OK\r\n");
    save_lock(s, &lock);
    assert_true(store_commit(s));
    store_close(s);
    pid_t child = fork();
    if (child == 0) {
        s = store_at("a");
        lock = lock_named(s, "lock");
        for (int i = 0; i < 1000; i++)
            if (run_op(s, &lock, "INCR|n") == NULL || run_op(s, &lock, "SET|k|after") == NULL)
                _exit(1);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    s = store_at("a");
    lock = lock_named(s, "lock");
    assert_int_equal(lock.executed, 1);
    expect_result(s, &lock, "SCAN", "*2\r\n$0\r\n\r\n*2\r\n$1\r\nk\r\n$6\r\nbefore\r\n");
    store_close(s);
}

/* While another process has it, nobody else gets it; when that dies, somebody does. */
static void test_in_use(void **state)
{
    int ends[2];
    char byte = 0;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        store_at("a");
        if (write(ends[1], &byte, 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    store_options options = options_for("a");
    expect_refusal(&options, "another running process uses");
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    store_close(store_at("a"));
}

void add_crash_tests(suite *s)
{
    suite_add(s, test_killed, NULL, "killed while it commits, 40 times");
    suite_add(s, test_killed_in_turn, NULL, "killed before it commits");
    suite_add(s, test_in_use, NULL, "one process at a time");
}
