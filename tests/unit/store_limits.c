/* What is too much: for a lock, for the map, for the disk; and very many locks. */
#include "store_scene.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char long_set[OP_MOST_VALUE + 64];

static const char *set_long(unsigned key)
{
    int length = snprintf(long_set, sizeof long_set, "SET|key%u|", key);
    memset(long_set + length, 'v', OP_MOST_VALUE);
    long_set[length + OP_MOST_VALUE] = '\0';
    return long_set;
}

static off_t data_bytes(const char *directory)
{
    struct stat about;
    char path[300];
    snprintf(path, sizeof path, "%s/data.mdb", scene_path(directory));
    assert_int_equal(stat(path, &about), 0);
    return about.st_size;
}

/* A lock ends at STORE_MOST_RESOURCE, with an error; so its snapshot is never too long. */
static void test_full_lock(void **state)
{
    unsigned keys = 0;
    (void)state;
    store_options options = options_for("a");
    options.durability = STORE_MEMORY;
    store *s = store_with(&options);
    store_lock lock = lock_named(s, "lock");
    const char *result;
    while (strcmp(result = run_op(s, &lock, set_long(keys)), "+OK\r\n") == 0)
        keys++;
    assert_string_equal(
        result, "-FULL the keys of this lock would take more than 16777216 bytes; delete some\r\n");
    assert_int_equal(keys, STORE_MOST_RESOURCE / (OP_MOST_VALUE + STORE_KEY_COST + 6));
    assert_int_equal(lock.keys, keys);
    /* The rest of the room, to the byte. */
    size_t left = STORE_MOST_RESOURCE - lock.bytes;
    snprintf(long_set, sizeof long_set, "SET|r|%0*d", (int)(left - STORE_KEY_COST), 0);
    assert_memory_equal(run_op(s, &lock, long_set), "-FULL", 5);
    snprintf(long_set, sizeof long_set, "SET|r|%0*d", (int)(left - STORE_KEY_COST - 1), 0);
    expect_result(s, &lock, long_set, "+OK\r\n");
    assert_memory_equal(run_op(s, &lock, "INCR|n"), "-FULL", 5);
    assert_memory_equal(run_op(s, &lock, "CAS|n|NX|1"), "-FULL", 5);
    expect_result(s, &lock, "GET|n", "$-1\r\n");
    expect_result(s, &lock, "SET|key0|short", "+OK\r\n");
    expect_result(s, &lock, "INCR|n", ":1\r\n");
    store_snapshot taken = snapshot_of(s, &lock);
    assert_true(taken.bytes <= STORE_MOST_SNAPSHOT);
    store_lock other = lock_named(s, "other");
    assert_true(store_install(s, &other, (byte_string){taken.at, taken.bytes}));
    assert_true(store_commit(s));
    free(taken.at);
    store_close(s);
}

/* The file grows by itself; at its limit the turn fails, and nothing else is lost. */
static void test_full_map(void **state)
{
    enum { LIMIT = 4 << 20 };
    unsigned committed = 0;
    (void)state;
    store_options options = options_for("a");
    options.most_bytes = LIMIT;
    store *s = store_with(&options);
    store_lock lock = lock_named(s, "lock");
    assert_true(data_bytes("a") < 65536);
    for (;;) {
        if (run_op(s, &lock, set_long(committed)) == NULL)
            break;
        save_lock(s, &lock);
        if (!store_commit(s))
            break;
        committed++;
    }
    assert_true(committed > LIMIT / OP_MOST_VALUE / 2);
    assert_true(data_bytes("a") > LIMIT / 2 && data_bytes("a") <= LIMIT);
    assert_non_null(strstr(store_why(s), "have come to their limit of 4194304 bytes; raise it"));
    assert_false(store_commit(s));
    assert_null(run_op(s, &lock, "GET|key0"));
    store_close(s);
    options.most_bytes = 2 * LIMIT;
    s = store_with(&options);
    lock = lock_named(s, "lock");
    assert_int_equal(lock.executed, committed);
    assert_non_null(run_op(s, &lock, set_long(committed)));
    save_lock(s, &lock);
    assert_true(store_commit(s));
    assert_int_equal(store_used(s).most, 2 * LIMIT);
    assert_true(store_used(s).bytes > LIMIT / 2);
    store_close(s);
    options.most_bytes = LIMIT / 4; /* less than there is: what is there can still be read */
    s = store_with(&options);
    assert_int_equal(lock_named(s, "lock").executed, committed + 1);
    store_close(s);
}

/* In a process of its own, which may not write beyond a megabyte; says how it went. */
static int fill_small_disk(void)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    for (unsigned i = 0; i < 100; i++) {
        if (run_op(s, &lock, set_long(i)) == NULL)
            return 3;
        save_lock(s, &lock);
        if (store_commit(s))
            continue;
        bool clear = strstr(store_why(s), "no space is left for") != NULL && !store_commit(s);
        store_close(s);
        return clear && i > 10 ? 0 : 4;
    }
    return 5;
}

static void test_full_disk(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(fill_small_disk());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    store *s = store_at("a"); /* there is room again */
    store_lock lock = lock_named(s, "lock");
    assert_true(lock.executed > 10);
    assert_non_null(run_op(s, &lock, set_long(1000)));
    save_lock(s, &lock);
    assert_true(store_commit(s));
    store_close(s);
}

/* ---- very many locks ---- */

static bool count_name(void *context, byte_string name)
{
    unsigned *count = context;
    *count += name.bytes > 0;
    return true;
}

static uint64_t save_many(store *s, unsigned locks, const char *words)
{
    for (unsigned i = 0; i < locks; i++) {
        char name[32];
        snprintf(name, sizeof name, "service/job-%08u", i);
        store_lock lock = lock_named(s, name);
        replica_durable d = {.now = {.epoch = 2, .sn = 1, .ops = lock.executed, .owner = 1}};
        if (words != NULL) {
            assert_non_null(run_op(s, &lock, words));
            d.now.ops = lock.executed;
        }
        assert_true(store_save(s, &lock, &d));
    }
    assert_true(store_commit(s));
    return store_used(s).bytes;
}

static void test_many_locks(void **state)
{
    enum { LOCKS = 100000 };
    unsigned count = 0;
    (void)state;
    store_options options = options_for("a");
    store *s = store_with(&options);
    uint64_t bytes = save_many(s, LOCKS, NULL);
    print_message("# %d locks of 20 characters, saved: %.0f bytes each\n", LOCKS,
                  (double)bytes / LOCKS);
    bytes = save_many(s, LOCKS, "INCR|n");
    print_message("# and with one operation executed: %.0f bytes each\n", (double)bytes / LOCKS);
    store_close(s);
    s = store_with(&options); /* all of them are looked at */
    assert_true(store_each(s, (byte_string){0}, count_name, &count));
    assert_int_equal(count, LOCKS);
    assert_int_equal(lock_named(s, "service/job-00099999").executed, 1);
    store_close(s);
}

void add_limit_tests(suite *s)
{
    suite_add(s, test_full_lock, NULL, "a lock that is full");
    suite_add(s, test_full_map, NULL, "the file grows, up to its limit");
    suite_add(s, test_full_disk, NULL, "a disk that is full");
    suite_add(s, test_many_locks, NULL, "100000 locks");
}
