/* Records that no store writes, each with a right sum: refused when the store is opened. */
#include "store_internal.h"
#include "store_scene.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LOCK_NUMBER = 1, FREE_NUMBER = 9 };

static char long_text[OP_MAX_VALUE + 1];

static byte_string text(size_t bytes)
{
    return (byte_string){(const uint8_t *)long_text, bytes};
}

/* A lock with a key, and that record, in LMDB; then whether the store opens. */
static void expect_opens(const record_key *key, byte_string value, bool opens)
{
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    if (lock.number == 0) {
        expect_result(s, &lock, "SET|k|v", "+OK\r\n");
        assert_int_equal(lock.number, LOCK_NUMBER);
        save_lock(s, &lock);
    }
    assert_true(record_put(s, key, value));
    assert_true(store_commit(s));
    store_close(s);
    store_options options = options_for("a");
    char complaint[COMPLAINT] = "";
    s = store_open(&options, complaint); /* brings the turn from the journal to LMDB */
    assert_non_null(s);
    store_close(s);
    if (opens) {
        store_close(store_at("a"));
        return;
    }
    expect_refusal(&options, "data.mdb is damaged: ");
    assert_int_equal(scene_end(NULL), 0);
    assert_int_equal(scene_begin(NULL), 0);
}

static record_key raw_key(const char *bytes, size_t count)
{
    record_key key = {.bytes = count};
    memcpy(key.at, bytes, count);
    return key;
}

static void expect_part(char part, size_t rest, size_t value, bool opens)
{
    record_key key = key_of_part(FREE_NUMBER, part, text(rest));
    expect_opens(&key, text(value), opens);
}

static void test_keys_of_records(void **state)
{
    (void)state;
    memset(long_text, '\1', sizeof long_text);
    record_key key = raw_key("\1", 1); /* a name of no bytes */
    expect_opens(&key, text(1), false);
    key = raw_key("\3x", 2); /* of no kind */
    expect_opens(&key, text(1), false);
    key = raw_key("\2\0\0\0\0\0\0\0\11", PART_PREFIX); /* of no part */
    expect_opens(&key, text(1), false);
    expect_part('x', 0, 1, false);
}

static void test_names_of_records(void **state)
{
    (void)state;
    memset(long_text, '\1', sizeof long_text);
    record_key key = key_of_name(text(STORE_MAX_NAME));
    expect_opens(&key, text(1), true);
    expect_opens(&key, text(2), false); /* more than a number */
    expect_opens(&key, text(0), false);
    expect_opens(&key, (byte_string){(const uint8_t *)"\0", 1}, false); /* no lock's */
    key.at[key.bytes++] = 'x';
    expect_opens(&key, text(1), false);
}

/* Sizes of results and values, at their bound and beyond. */
static void test_parts_of_records(void **state)
{
    (void)state;
    memset(long_text, '\1', sizeof long_text);
    expect_part('r', 1, OP_MAX_KEPT, true);
    expect_part('r', 1, OP_MAX_KEPT + 1, false);
    expect_part('r', 0, 1, false);
    expect_part('r', 2, 1, false);
    long_text[0] = WME_MAX_NODES;
    expect_part('r', 1, 1, false);
    long_text[0] = WME_MAX_NODES - 1;
    expect_part('r', 1, 1, true);
    memset(long_text, '\1', sizeof long_text);
    expect_part('d', 0, 1, false); /* not what a lock must not forget */
    expect_part('e', 0, 1, false); /* nor what it has executed */
}

/* Keys that the lock does not know of: one more, one less, or of another size. */
static void test_count_of_records(void **state)
{
    (void)state;
    memset(long_text, '\1', sizeof long_text);
    record_key key = key_of_part(LOCK_NUMBER, 'k', text(1));
    expect_opens(&key, text(1), false);
    key = key_of_part(LOCK_NUMBER, 'k', text_string("k"));
    expect_opens(&key, text(1), true); /* as long as the value that is there */
    expect_opens(&key, text(2), false);
    key = key_of_part(FREE_NUMBER, 'k', text(1)); /* of the last lock */
    expect_opens(&key, text(1), false);
    key = key_of_part(LOCK_NUMBER, 'd', (byte_string){0});
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    expect_result(s, &lock, "SET|k|v", "+OK\r\n");
    save_lock(s, &lock);
    assert_true(record_delete(s, &key)); /* what it must not forget may be written later */
    assert_true(store_commit(s));
    store_close(s);
    store_close(store_at("a"));
    s = store_at("a");
    key = key_of_part(LOCK_NUMBER, 'k', text_string("k"));
    assert_true(record_delete(s, &key));
    assert_true(store_commit(s));
    store_close(s);
    store_close(store_at("a"));
    store_options options = options_for("a");
    expect_refusal(&options, "data.mdb is damaged: ");
}

/* The file that says whose directory it is cannot be read. */
static void test_unreadable_file(void **state)
{
    char path[300];
    (void)state;
    assert_int_equal(mkdir(scene_path("a"), 0700), 0);
    snprintf(path, sizeof path, "%s/node", scene_path("a"));
    assert_int_equal(mkdir(path, 0700), 0);
    store_options options = options_for("a");
    expect_refusal(&options, "/node: Is a directory");
}

void add_record_tests(suite *s)
{
    suite_add(s, test_keys_of_records, NULL, "records: keys of no kind");
    suite_add(s, test_names_of_records, NULL, "records: names");
    suite_add(s, test_parts_of_records, NULL, "records: parts of a lock");
    suite_add(s, test_count_of_records, NULL, "records: more or fewer than a lock has");
    suite_add(s, test_unreadable_file, NULL, "a file that cannot be read");
}
