/* The journal: turns that come to the disk in part, or are damaged there, and checkpoints. */
#include "store_scene.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, SECTOR = 512, HEAD = 24 };

#define JOURNAL "journal"

/* One turn more: the counter n of a lock, and as many bytes besides. */
static void count_once(store *s, store_lock *lock, size_t bytes)
{
    static char words[OP_MAX_VALUE + 64];
    snprintf(words, sizeof words, "SET|pad|%0*d", (int)bytes, 0);
    assert_non_null(run_op(s, lock, "INCR|n"));
    assert_non_null(run_op(s, lock, words));
    save_lock(s, lock);
    assert_true(store_commit(s));
}

/* How far the counter is. */
static unsigned counted(store *s)
{
    store_lock lock = lock_named(s, "lock");
    assert_int_equal(lock.executed % 2, 0); /* a turn is there as a whole */
    char value[32];
    int length = snprintf(value, sizeof value, "%u", (unsigned)lock.executed / 2);
    char expected[64];
    snprintf(expected, sizeof expected, "$%d\r\n%s\r\n", length, value);
    expect_read(s, &lock, "n", lock.executed > 0 ? expected : "$-1\r\n");
    return (unsigned)lock.executed / 2;
}

static unsigned counted_at(const char *directory)
{
    store *s = store_at(directory);
    unsigned count = counted(s);
    store_close(s);
    return count;
}

/* A store of so many turns, all of them in its journal, a page for each. */
static void make_store(const char *directory, unsigned turns)
{
    store *s = store_at(directory);
    store_lock lock = lock_named(s, "lock");
    for (unsigned i = 0; i < turns; i++)
        count_once(s, &lock, 100);
    store_close(s);
}

/* ---- power failures ---- */

/* Of the last turn some sectors have come to the disk; it is there, or not. */
static void test_torn(void **state)
{
    uint64_t seed = 6;
    unsigned there = 0;
    unsigned torn = 0;
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        store *s = store_at("a");
        store_lock lock = lock_named(s, "lock");
        unsigned before = counted(s);
        if (round % 3 == 0) /* not the first in the journal */
            count_once(s, &lock, 10);
        before += round % 3 == 0;
        image old = read_image("a", JOURNAL);
        count_once(s, &lock, chance(&seed) % 3000 * (round % 4));
        image new = read_image("a", JOURNAL);
        store_close(s);
        uint64_t lost = 1 + chance(&seed) % (round % 2 == 0 ? 2 : 12); /* of 12 sectors */
        for (size_t at = 0; at < new.bytes; at += SECTOR)
            if (chance(&seed) % 12 < lost)
                memcpy(new.at + at, old.at + at, SECTOR);
        write_image("a", JOURNAL, new);
        unsigned after = counted_at("a");
        assert_true(after == before || after == before + 1);
        there += after > before;
        torn += after == before;
        free(old.at);
        free(new.at);
    }
    print_message("# torn %u times: %u turns were there\n", there + torn, there);
    assert_true(there > 10 && torn > 10);
}

/* A turn that was given up, and one of the same number that is torn: neither is there. */
static void test_torn_twice(void **state)
{
    (void)state;
    make_store("a", 0);
    image empty = read_image("a", JOURNAL);
    make_store("a", 1);
    image first = read_image("a", JOURNAL);
    memcpy(first.at, empty.at, SECTOR); /* all but its first sector */
    write_image("a", JOURNAL, first);
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    count_once(s, &lock, 2000);
    store_close(s);
    image second = read_image("a", JOURNAL);
    memcpy(second.at + SECTOR, first.at + SECTOR, SECTOR); /* its first, and others of the former */
    write_image("a", JOURNAL, second);
    s = store_at("a");
    assert_true(store_took_back(s));
    assert_int_equal(counted(s), 0);
    store_close(s);
    free(empty.at);
    free(first.at);
    free(second.at);
}

/* In a process of its own, whose files end within the journal; how many turns it was told of. */
static int write_in_part(void)
{
    struct rlimit limit = {20 * PAGE + SECTOR, 20 * PAGE + SECTOR};
    char words[1100];
    int told = 0;
    snprintf(words, sizeof words, "SET|pad|%01000d", 0); /* more than a sector */
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return -1;
    for (; told < 100; told++) {
        if (run_op(s, &lock, "INCR|n") == NULL || run_op(s, &lock, words) == NULL)
            return -1;
        save_lock(s, &lock);
        if (!store_commit(s))
            return told;
    }
    return told;
}

/* A write that has room for a part of the turn: it is not there, and nobody was told so. */
static void test_short_write(void **state)
{
    int status;
    (void)state;
    make_store("a", 0);
    pid_t child = fork();
    if (child == 0)
        _exit(write_in_part());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 20);
    assert_int_equal(counted_at("a"), 20);
}

/* ---- damage ---- */

/* Whoever has lost a turn that others came after has lost something that was promised. */
static void test_damaged(void **state)
{
    (void)state;
    store_options options = options_for("a");
    make_store("a", 8);
    image whole = read_image("a", JOURNAL);
    for (size_t turn = 0; turn < 8; turn++)
        for (size_t at = 0; at < HEAD + 100; at += 3) {
            whole.at[turn * PAGE + at] ^= 4;
            scene_copy("a", "b");
            write_image("b", JOURNAL, whole);
            options = options_for("b");
            if (turn == 0 && at < sizeof(uint64_t)) /* its number */
                expect_refusal(&options, "is damaged: ");
            else if (turn < 7)
                expect_refusal(&options, "journal is damaged: an entry has a wrong sum; empty");
            else
                assert_int_equal(counted_at("b"), 7);
            whole.at[turn * PAGE + at] ^= 4;
        }
    options = options_for("a");
    static const size_t ends[] = {0, 1, PAGE, 4 * PAGE}; /* as a copy ends that had no room */
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        write_image("a", JOURNAL, (image){whole.at, ends[i]});
        expect_refusal(&options, "journal is damaged: it is not as long as it was");
    }
    whole.at = realloc(whole.at, whole.bytes + PAGE);
    memset(whole.at + whole.bytes, 0, PAGE);
    write_image("a", JOURNAL, (image){whole.at, whole.bytes + PAGE});
    expect_refusal(&options, "journal is damaged: it is not as long as it was");
    char name[300];
    snprintf(name, sizeof name, "%s/%s", scene_path("a"), JOURNAL);
    assert_int_equal(remove(name), 0);
    expect_refusal(&options, "journal is lost; empty the directory, and the node rejoins");
    free(whole.at);
}

/* Data of an earlier checkpoint than the journal goes on from. */
static void test_older_data(void **state)
{
    (void)state;
    make_store("a", 3);
    image old = read_image("a", "data.mdb");
    image journal = read_image("a", JOURNAL);
    make_store("a", 1);
    store_options options = options_for("a");
    write_image("a", "data.mdb", old);
    expect_refusal(&options, "data.mdb is damaged: it is older than the journal");
    write_image("a", JOURNAL, journal);
    assert_int_equal(counted_at("a"), 3);
    free(old.at);
    free(journal.at);
}

/* A value that looks like an entry, where the next one would be; but its sum has no salt. */
static void test_forged(void **state)
{
    (void)state;
    make_store("a", 2);
    image whole = read_image("a", JOURNAL);
    uint64_t head[HEAD / sizeof(uint64_t)]; /* number, bytes, sum */
    memcpy(head, whole.at, sizeof head);    /* the first turn would come once more */
    head[0] += 2;
    head[2] = sum_bytes(sum_bytes(0, &head[0], sizeof head[0]), whole.at + HEAD, head[1]);
    memcpy(whole.at + 2 * PAGE, whole.at, PAGE);
    memcpy(whole.at + 2 * PAGE, head, sizeof head);
    write_image("a", JOURNAL, whole);
    assert_int_equal(counted_at("a"), 2);
    free(whole.at);
}

/* ---- checkpoints ---- */

/* More than the journal has room for, several times; copied as a killed process would leave it. */
static void test_goes_around(void **state)
{
    uint64_t seed = 3;
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    unsigned turns = 0;
    size_t written = 0;
    while (written < (size_t)10 << 20) {
        size_t bytes = chance(&seed) % 30000;
        count_once(s, &lock, bytes);
        turns++;
        written += bytes;
        if (turns % 16 == 0) {
            scene_copy("a", "b");
            assert_int_equal(counted_at("b"), turns);
        }
    }
    assert_true(store_turn(s) == turns + 1); /* the first made the store */
    store_close(s);
    assert_int_equal(counted_at("a"), turns);
}

/* It is used up to its last page; LMDB gets all of it when the next turn has no room. */
static void test_used_up(void **state)
{
    enum { ROOM = 4 }; /* turns */
    (void)state;
    store_options options = options_for("a");
    options.journal_bytes = ROOM * PAGE;
    store *s = store_with(&options);
    store_lock lock = lock_named(s, "lock");
    image before = read_image("a", "data.mdb");
    for (unsigned i = 0; i < ROOM; i++)
        count_once(s, &lock, 100);
    image waiting = read_image("a", "data.mdb");
    assert_int_equal(waiting.bytes, before.bytes);
    assert_memory_equal(waiting.at, before.at, before.bytes);
    scene_copy("a", "b");
    assert_int_equal(counted_at("b"), ROOM);
    count_once(s, &lock, 100);
    image after = read_image("a", "data.mdb");
    assert_true(after.bytes != before.bytes || memcmp(after.at, before.at, after.bytes) != 0);
    store_close(s);
    assert_int_equal(counted_at("a"), ROOM + 1);
    free(before.at);
    free(waiting.at);
    free(after.at);
}

/* A turn that has no room in the journal at all. */
static void test_long_turn(void **state)
{
    static char words[OP_MAX_VALUE + 64];
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    count_once(s, &lock, 10);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(words, sizeof words, "SET|key%u|%0*d", i, 30000, 0);
        assert_non_null(run_op(s, &lock, words));
    }
    save_lock(s, &lock);
    assert_true(store_commit(s));
    scene_copy("a", "b");
    store *copy = store_at("b");
    store_lock there = lock_named(copy, "lock");
    assert_int_equal(there.executed, 102);
    assert_true(store_total(copy) == store_total(s));
    store_close(copy);
    store_close(s);
}

static void *go_around(void *context)
{
    store *s = context;
    store_lock lock = lock_named(s, "lock");
    for (unsigned i = 0; i < 200; i++)
        count_once(s, &lock, 30000);
    store_close(s);
    return NULL;
}

/* A thread opens the store and writes; another goes on, over several checkpoints. */
static void test_other_thread(void **state)
{
    pthread_t thread;
    struct timespec limit;
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    count_once(s, &lock, 10);
    assert_true(store_checkpoint(s));
    assert_int_equal(pthread_create(&thread, NULL, go_around, s), 0);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    assert_int_equal(pthread_timedjoin_np(thread, NULL, &limit), 0);
    assert_int_equal(counted_at("a"), 201);
}

/* Records that are deleted, one by one and all at once, are so when the turn is done again. */
static void test_deleted(void **state)
{
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    for (unsigned i = 0; i < 3; i++) {
        char words[32];
        snprintf(words, sizeof words, "SET|key%u|v", i);
        assert_non_null(run_op(s, &lock, words));
    }
    save_lock(s, &lock);
    assert_true(store_commit(s));
    store_snapshot few = snapshot_of(s, &lock);
    expect_result(s, &lock, "DEL|key1", ":1\r\n");
    expect_result(s, &lock, "SET|other|v", "+OK\r\n");
    save_lock(s, &lock);
    assert_true(store_commit(s));
    scene_copy("a", "b");
    store *copy = store_at("b");
    store_lock there = lock_named(copy, "lock");
    expect_read(copy, &there, "key1", "$-1\r\n");
    expect_read(copy, &there, "key2", "$1\r\nv\r\n");
    assert_true(store_total(copy) == store_total(s));
    store_close(copy);
    assert_true(store_install(s, &lock, (byte_string){few.at, few.bytes}));
    save_lock(s, &lock);
    assert_true(store_commit(s));
    scene_copy("a", "b");
    copy = store_at("b");
    there = lock_named(copy, "lock");
    expect_read(copy, &there, "key1", "$1\r\nv\r\n");
    expect_read(copy, &there, "other", "$-1\r\n");
    assert_true(store_total(copy) == store_total(s));
    store_close(copy);
    store_close(s);
    free(few.at);
}

void add_journal_tests(suite *s)
{
    suite_add(s, test_torn, NULL, "a turn that comes to the disk in part");
    suite_add(s, test_torn_twice, NULL, "and another of the same number, too");
    suite_add(s, test_short_write, NULL, "a turn that has room for a part");
    suite_add(s, test_damaged, NULL, "a turn that is damaged");
    suite_add(s, test_older_data, NULL, "data that are older than the journal");
    suite_add(s, test_forged, NULL, "an entry that somebody has made");
    suite_add(s, test_goes_around, NULL, "many turns, copied as they are");
    suite_add(s, test_used_up, NULL, "a journal that is used up to its last page");
    suite_add(s, test_long_turn, NULL, "a turn that is too long for the journal");
    suite_add(s, test_other_thread, NULL, "a store that another thread goes on with");
    suite_add(s, test_deleted, NULL, "turns that delete");
}
