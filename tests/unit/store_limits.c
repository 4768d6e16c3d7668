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

static char long_set[OP_MAX_VALUE + 64];

static const char *set_long(unsigned key)
{
    int length = snprintf(long_set, sizeof long_set, "SET|key%u|", key);
    memset(long_set + length, 'v', OP_MAX_VALUE);
    long_set[length + OP_MAX_VALUE] = '\0';
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

/* A lock ends at STORE_MAX_RESOURCE, with an error; so its snapshot is never too long. */
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
    assert_int_equal(keys, STORE_MAX_RESOURCE / (OP_MAX_VALUE + STORE_KEY_COST + 6));
    assert_int_equal(lock.keys, keys);
    /* The rest of the room, to the byte. */
    size_t left = STORE_MAX_RESOURCE - lock.bytes;
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
    assert_true(taken.bytes <= STORE_MAX_SNAPSHOT);
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
    options.max_bytes = LIMIT;
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
    assert_true(committed > LIMIT / OP_MAX_VALUE / 2);
    assert_true(data_bytes("a") > LIMIT / 2 && data_bytes("a") <= LIMIT);
    assert_non_null(strstr(store_why(s), "have come to their limit of 4194304 bytes; raise it"));
    assert_false(store_commit(s));
    assert_null(run_op(s, &lock, "GET|key0"));
    store_close(s);
    options.max_bytes = 2 * LIMIT;
    s = store_with(&options);
    lock = lock_named(s, "lock");
    assert_int_equal(lock.executed, committed);
    assert_non_null(run_op(s, &lock, set_long(committed)));
    save_lock(s, &lock);
    assert_true(store_commit(s));
    assert_int_equal(store_used(s).max, 2 * LIMIT);
    assert_true(store_used(s).bytes > LIMIT / 2);
    store_close(s);
    store_close(store_with(&options));
    options.max_bytes = LIMIT / 4; /* less than there is: what is there can still be read */
    s = store_with(&options);
    assert_int_equal(lock_named(s, "lock").executed, committed + 1);
    store_close(s);
}

/* A key of so many bytes in one of the locks, one turn; as far as it has come. */
static bool put_one(store *s, uint64_t *seed, unsigned locks, size_t bytes)
{
    char name[32];
    snprintf(name, sizeof name, "lock%u", (unsigned)(chance(seed) % locks));
    snprintf(long_set, sizeof long_set, "SET|key%u|%0*d", (unsigned)(chance(seed) % 1000),
             (int)bytes, 0);
    store_lock lock = lock_named(s, name);
    if (run_op(s, &lock, long_set) == NULL)
        return false;
    save_lock(s, &lock);
    return store_commit(s);
}

/* Whoever asks before each turn hears of it before it is too late, and has room for some more. */
static void test_nearly_full(void **state)
{
    static const struct {
        size_t max;
        size_t bytes; /* of a value */
        unsigned locks;
    } tries[] = {
        {1 << 20, 200, 500},
        {1 << 20, 3000, 1},
        {4 << 20, 30000, 10},
        {16 << 20, 3000, 100},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        char name[32];
        uint64_t seed = i;
        unsigned turns = 0;
        snprintf(name, sizeof name, "a%zu", i);
        store_options options = options_for(name);
        options.max_bytes = tries[i].max;
        store *s = store_with(&options);
        for (; !store_is_full(s); turns++)
            if (!put_one(s, &seed, tries[i].locks, tries[i].bytes))
                fail_msg("%zu: after %u turns: %s", i, turns, store_why(s));
        print_message("# %zu bytes are full after %u turns\n", tries[i].max, turns);
        for (size_t more = 0; more < tries[i].max / 64; more += tries[i].bytes + 1000)
            assert_true(put_one(s, &seed, tries[i].locks, tries[i].bytes));
        uint64_t total = store_total(s);
        store_close(s);
        s = store_with(&options);
        assert_true(store_total(s) == total);
        store_close(s);
    }
}

/* In a process of its own, whose files have three megabytes at most; says how it went. */
static int fill_small_disk(void)
{
    struct rlimit limit = {3 << 20, 3 << 20};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    for (unsigned i = 0; i < 300; i++) {
        if (run_op(s, &lock, set_long(i)) == NULL)
            return 3;
        save_lock(s, &lock);
        if (store_commit(s))
            continue;
        bool clear = strstr(store_why(s), "cannot write: the disk is full or fails") != NULL &&
                     !store_commit(s);
        store_close(s);
        return clear && i > 60 ? 0 : 4;
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
    assert_true(lock.executed > 60);
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
    suite_add(s, test_nearly_full, NULL, "those who ask hear of it before it is full");
    suite_add(s, test_full_disk, NULL, "a disk that is full");
    suite_add(s, test_many_locks, NULL, "100000 locks");
}
