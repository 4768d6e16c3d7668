/* Snapshots: equal for equal resources, and for no others; believed only as a whole. */
#include "store_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static byte_string bytes_of(store_snapshot snapshot)
{
    return (byte_string){snapshot.at, snapshot.bytes};
}

static void run_some(store *s, store_lock *lock, unsigned from, unsigned to)
{
    char words[64];
    for (unsigned i = from; i < to; i++) {
        snprintf(words, sizeof words, i % 7 == 3 ? "DEL|key%u" : "SET|key%u|value%u", i * 37 % 50,
                 i);
        assert_non_null(run_op(s, lock, words));
    }
    save_lock(s, lock);
}

/* The same operations, with other locks and other turns around them. */
static void test_equal(void **state)
{
    (void)state;
    store *a = store_at("a");
    store *b = store_at("b");
    store_lock in_a = lock_named(a, "lock");
    store_lock other = lock_named(b, "other");
    run_some(b, &other, 0, 20);
    assert_true(store_commit(b));
    store_lock in_b = lock_named(b, "lock");
    for (unsigned i = 0; i < 300; i++) {
        run_some(a, &in_a, i, i + 1);
        run_some(b, &in_b, i, i + 1);
        if (i % 100 == 0)
            assert_true(store_commit(b));
    }
    assert_true(in_a.number != in_b.number);
    assert_true(in_a.digest == in_b.digest);
    store_snapshot of_a = snapshot_of(a, &in_a);
    store_snapshot of_b = snapshot_of(b, &in_b);
    expect_same_snapshot(of_a, of_b);
    free(of_b.at);
    run_some(b, &in_b, 300, 301);
    of_b = snapshot_of(b, &in_b);
    assert_true(of_a.bytes != of_b.bytes || memcmp(of_a.at, of_b.at, of_a.bytes) != 0);
    assert_true(in_a.digest != in_b.digest);
    free(of_a.at);
    free(of_b.at);
    store_close(a);
    store_close(b);
}

/* One operation in another order gives other bytes, though the keys are the same. */
static void test_different(void **state)
{
    (void)state;
    store *s = store_at("a");
    store_lock one = lock_named(s, "one");
    store_lock two = lock_named(s, "two");
    expect_result(s, &one, "SET|a|1", "+OK\r\n");
    expect_result(s, &one, "SET|b|2", "+OK\r\n");
    expect_result(s, &two, "SET|b|2", "+OK\r\n");
    expect_result(s, &two, "SET|a|1", "+OK\r\n");
    assert_true(one.digest != two.digest);
    store_snapshot of_one = snapshot_of(s, &one);
    store_snapshot of_two = snapshot_of(s, &two);
    assert_true(of_one.bytes != of_two.bytes || memcmp(of_one.at, of_two.at, of_one.bytes) != 0);
    free(of_one.at);
    free(of_two.at);
    store_close(s);
}

static void test_install(void **state)
{
    uint64_t executed;
    uint64_t answered[WME_MAX_NODES];
    (void)state;
    store *a = store_at("a");
    store *b = store_at("b");
    store_lock in_a = lock_named(a, "lock");
    store_lock in_b = lock_named(b, "lock");
    store_lock beside = lock_named(b, "lock2");
    run_some(a, &in_a, 0, 200);
    run_some(b, &beside, 0, 10);
    expect_result(b, &in_b, "SET|only here|gone soon", "+OK\r\n");
    expect_result(b, &in_b, "SET|key1|another", "+OK\r\n");
    store_snapshot before = snapshot_of(b, &beside);
    store_snapshot taken = snapshot_of(a, &in_a);
    assert_null(store_check_snapshot(bytes_of(taken), &executed, answered));
    assert_int_equal(executed, 200);
    assert_memory_equal(answered, in_a.answered, sizeof answered);
    assert_true(store_install(b, &in_b, bytes_of(taken)));
    assert_int_equal(in_b.executed, 200);
    save_lock(b, &in_b);
    assert_true(store_commit(b));
    store_close(b);
    b = store_at("b");
    in_b = lock_named(b, "lock");
    store_snapshot again = snapshot_of(b, &in_b);
    expect_same_snapshot(taken, again);
    free(again.at);
    again = snapshot_of(b, &beside);
    expect_same_snapshot(before, again);
    free(again.at);
    /* What was executed there is recalled here, and both go on alike. */
    wme_op *last = op_from("GET|x", (uint8_t)(199 % 3), wme_op_id(1, 200));
    resp_out result = {0};
    assert_true(store_recall(b, &in_b, last, &result));
    assert_int_equal(result.bytes, 4);
    assert_memory_equal(result.at, ":1\r\n", 4); /* operation 199 was a DEL */
    resp_free(&result);
    wme_op_drop(last);
    run_some(a, &in_a, 200, 220);
    run_some(b, &in_b, 200, 220);
    assert_true(in_a.digest == in_b.digest);
    free(before.at);
    free(taken.at);
    store_close(a);
    store_close(b);
}

/* That of a lock that nobody has used: installing it empties. */
static void test_empty(void **state)
{
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    store_lock unused = lock_named(s, "unused");
    store_snapshot empty = snapshot_of(s, &unused);
    run_some(s, &lock, 0, 50);
    assert_true(store_install(s, &lock, bytes_of(empty)));
    assert_int_equal(lock.executed, 0);
    assert_int_equal(lock.keys, 0);
    expect_result(s, &lock, "SCAN", "*2\r\n$0\r\n\r\n*0\r\n");
    free(empty.at);
    store_close(s);
}

/* ---- what is no snapshot ---- */

static void put_sum(uint8_t *at, size_t bytes)
{
    uint64_t sum = sum_bytes(0, at, bytes - sizeof sum);
    memcpy(at + bytes - sizeof sum, &sum, sizeof sum);
}

static void test_damaged(void **state)
{
    uint64_t executed;
    uint64_t answered[WME_MAX_NODES];
    unsigned still_fine = 0;
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    run_some(s, &lock, 0, 30);
    store_snapshot taken = snapshot_of(s, &lock);
    for (size_t cut = 0; cut < taken.bytes; cut++)
        assert_non_null(store_check_snapshot((byte_string){taken.at, cut}, &executed, answered));
    for (size_t i = 0; i < 8 * taken.bytes; i++) {
        taken.at[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_non_null(store_check_snapshot(bytes_of(taken), &executed, answered));
        /* With a sum that fits it may be another one, but then one that can be installed. */
        uint64_t sum = sum_bytes(0, taken.at, taken.bytes - sizeof sum);
        uint8_t *copy = malloc(taken.bytes);
        memcpy(copy, taken.at, taken.bytes);
        put_sum(copy, taken.bytes);
        if (store_check_snapshot((byte_string){copy, taken.bytes}, &executed, answered) == NULL) {
            store_lock other = lock_named(s, "other");
            assert_true(store_install(s, &other, (byte_string){copy, taken.bytes}));
            store_snapshot again = snapshot_of(s, &other);
            expect_same_snapshot((store_snapshot){copy, taken.bytes}, again);
            free(again.at);
            still_fine++;
        }
        free(copy);
        taken.at[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    assert_true(still_fine > 0);
    assert_null(store_check_snapshot(bytes_of(taken), &executed, answered));
    /* It should have been checked before. */
    taken.at[taken.bytes / 2] ^= 1;
    assert_false(store_install(s, &lock, bytes_of(taken)));
    assert_non_null(
        strstr(store_why(s), "cannot install a snapshot: the snapshot has a wrong sum"));
    assert_false(store_commit(s));
    free(taken.at);
    store_close(s);
}

void add_snapshot_tests(suite *s)
{
    suite_add(s, test_equal, NULL, "equal resources have equal snapshots");
    suite_add(s, test_different, NULL, "different ones do not");
    suite_add(s, test_install, NULL, "installing replaces all");
    suite_add(s, test_empty, NULL, "an empty snapshot");
    suite_add(s, test_damaged, NULL, "a damaged snapshot is refused, bit by bit");
}
