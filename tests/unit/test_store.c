/* The store: operations, turns, what a lock must not forget. */
#include "store_scene.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- operations ---- */

static void test_operations(void **state)
{
    static const char *const scene[][2] = {
        {"GET|k", "$-1\r\n"},
        {"SET|k|v", "+OK\r\n"},
        {"GET|k", "$1\r\nv\r\n"},
        {"SET|k|", "+OK\r\n"},
        {"GET|k", "$0\r\n\r\n"},
        {"DEL|k", ":1\r\n"},
        {"DEL|k", ":0\r\n"},
        {"GET|k", "$-1\r\n"},
        {"INCR|n", ":1\r\n"},
        {"INCR|n|41", ":42\r\n"},
        {"INCR|n|-50", ":-8\r\n"},
        {"GET|n", "$2\r\n-8\r\n"},
        {"SET|n|9223372036854775807", "+OK\r\n"},
        {"INCR|n", "-ERR the sum would be beyond 64 bits\r\n"},
        {"INCR|n|-9223372036854775808", ":-1\r\n"},
        {"INCR|n|-9223372036854775808", "-ERR the sum would be beyond 64 bits\r\n"},
        {"SET|n|1x", "+OK\r\n"},
        {"INCR|n", "-ERR the value is not an integer of 64 bits\r\n"},
        {"SET|n|", "+OK\r\n"},
        {"INCR|n", "-ERR the value is not an integer of 64 bits\r\n"},
        {"GET|n", "$0\r\n\r\n"},
        {"CAS|c|old|new", ":0\r\n"},
        {"GET|c", "$-1\r\n"},
        {"CAS|c|NX|one", ":1\r\n"},
        {"CAS|c|NX|two", ":0\r\n"},
        {"CAS|c|zero|two", ":0\r\n"},
        {"CAS|c|one|NX", ":1\r\n"},
        {"CAS|c|NX|three", ":0\r\n"},
        {"CAS|c|EQ|NX|", ":1\r\n"},
        {"CAS|c|EQ||end", ":1\r\n"},
        {"GET|c", "$3\r\nend\r\n"},
        {"SCAN", "*2\r\n$0\r\n\r\n*4\r\n$1\r\nc\r\n$3\r\nend\r\n$1\r\nn\r\n$0\r\n\r\n"},
        {"SCAN||1", "*2\r\n$1\r\nn\r\n*2\r\n$1\r\nc\r\n$3\r\nend\r\n"},
        {"SCAN|d|1", "*2\r\n$0\r\n\r\n*2\r\n$1\r\nn\r\n$0\r\n\r\n"},
        {"SCAN|o", "*2\r\n$0\r\n\r\n*0\r\n"},
    };
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    for (size_t i = 0; i < sizeof scene / sizeof *scene; i++)
        expect_result(s, &lock, scene[i][0], scene[i][1]);
    assert_int_equal(lock.executed, sizeof scene / sizeof *scene);
    assert_int_equal(lock.keys, 2);
    assert_int_equal(lock.bytes, 2 * STORE_KEY_COST + 1 + 3 + 1);
    save_lock(s, &lock);
    assert_true(store_commit(s));
    store_close(s);
    s = store_at("a"); /* counts keys and bytes again */
    assert_int_equal(lock_named(s, "lock").digest, lock.digest);
    store_close(s);
}

/* A peer may send anything: executed as an error, the same everywhere, and counted. */
static void test_no_operation(void **state)
{
    uint64_t seed = 7;
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    for (uint64_t i = 1; i <= 2000; i++) {
        wme_op *o = op_new((uint32_t)(i == 1 ? WME_MAX_OP : chance(&seed) % 12));
        for (uint32_t j = 0; j < o->bytes; j++)
            o->data[j] = (uint8_t)(i % 2 == 0 ? chance(&seed) % 7 : chance(&seed));
        o->id = i;
        resp_out result = {0};
        op decoded;
        assert_true(store_execute(s, &lock, o, i, &result));
        bool right = op_decode(o->data, o->bytes, &decoded);
        if (!right)
            assert_memory_equal(result.at, "-ERR not an operation of this resource\r\n", 40);
        resp_free(&result);
        wme_op_drop(o);
    }
    assert_int_equal(lock.executed, 2000);
    store_close(s);
}

/* A SCAN goes on where it said, and never gets too long, however long the values. */
static void test_scan(void **state)
{
    enum { KEYS = 7 };
    static char words[OP_MAX_VALUE + 64];
    unsigned long keys = 0;
    char from[16] = "";
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    store_lock other = lock_named(s, "lock2");
    expect_result(s, &other, "SET|k9|other", "+OK\r\n");
    for (int i = 0; i < KEYS; i++) {
        int length = snprintf(words, sizeof words, "SET|k%d|", i);
        memset(words + length, 'v', OP_MAX_VALUE);
        words[length + OP_MAX_VALUE] = '\0';
        expect_result(s, &lock, words, "+OK\r\n");
    }
    do {
        char next[16] = "";
        unsigned long count = 0;
        snprintf(words, sizeof words, "SCAN|%s", from);
        const char *result = run_op(s, &lock, words);
        assert_non_null(result);
        assert_true(strlen(result) <= OP_MAX_RESULT);
        assert_true(sscanf(result, "*2\r\n$2\r\n%2s\r\n*%lu", next, &count) == 2 ||
                    sscanf(result, "*2\r\n$0\r\n\r\n*%lu", &count) == 1);
        assert_true(count == 4 || from[0] != '\0'); /* two such pairs fit */
        assert_non_null(strstr(result, from));
        keys += count / 2;
        snprintf(from, sizeof from, "%s", next);
    } while (from[0] != '\0');
    assert_int_equal(keys, KEYS);
    store_close(s);
}

/* ---- against a model ---- */

enum { MODEL_KEYS = 12, MODEL_VALUE = 8000 };

typedef struct model {
    bool there[MODEL_KEYS];
    char value[MODEL_KEYS][MODEL_VALUE];
} model;

static void random_step(store *s, store_lock *lock, model *m, uint64_t *seed)
{
    static char words[MODEL_VALUE + 64];
    static char expected[MODEL_VALUE + 64];
    unsigned k = (unsigned)(chance(seed) % MODEL_KEYS);
    char *value = m->value[k];
    switch (chance(seed) % 4) {
    case 0:
        if (m->there[k])
            snprintf(expected, sizeof expected, "$%zu\r\n%.*s\r\n", strlen(value), MODEL_VALUE,
                     value);
        else
            snprintf(expected, sizeof expected, "$-1\r\n");
        snprintf(words, sizeof words, "GET|key%u", k);
        break;
    case 1:
        snprintf(words, sizeof words, "DEL|key%u", k);
        snprintf(expected, sizeof expected, ":%d\r\n", m->there[k]);
        m->there[k] = false;
        break;
    default: {
        size_t length = chance(seed) % (chance(seed) % 4 == 0 ? MODEL_VALUE : 40);
        memset(value, (int)('a' + chance(seed) % 26), length);
        value[length] = '\0';
        m->there[k] = true;
        snprintf(words, sizeof words, "SET|key%u|%.*s", k, MODEL_VALUE, value);
        snprintf(expected, sizeof expected, "+OK\r\n");
    }
    }
    expect_result(s, lock, words, expected);
}

/* Turns of any length, and opened again every now and then, which looks at every page. */
static void test_model(void **state)
{
    enum { LOCKS = 3 };
    static const char *const names[LOCKS] = {"one", "two", "three"};
    static model models[LOCKS];
    store_lock locks[LOCKS];
    uint64_t seed = 11;
    (void)state;
    memset(models, 0, sizeof models);
    store *s = store_at("a");
    for (int i = 0; i < LOCKS; i++)
        locks[i] = lock_named(s, names[i]);
    for (int round = 0; round < 3000; round++) {
        unsigned i = (unsigned)(chance(&seed) % LOCKS);
        random_step(s, &locks[i], &models[i], &seed);
        save_lock(s, &locks[i]);
        if (chance(&seed) % 10 == 0)
            assert_true(store_commit(s));
        if (chance(&seed) % 100 != 0)
            continue;
        assert_true(store_commit(s));
        store_close(s);
        s = store_at("a");
        for (int j = 0; j < LOCKS; j++) {
            store_lock loaded = lock_named(s, names[j]);
            assert_int_equal(loaded.executed, locks[j].executed);
            assert_true(loaded.digest == locks[j].digest && loaded.bytes == locks[j].bytes);
            locks[j] = loaded;
        }
    }
    store_close(s);
}

/* ---- turns ---- */

static void test_turns(void **state)
{
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    expect_read(s, &lock, "k", "$-1\r\n");
    assert_true(store_commit(s)); /* nothing to do */
    assert_int_equal(store_used(s).commits, 0);
    expect_result(s, &lock, "SET|k|one", "+OK\r\n");
    expect_read(s, &lock, "k", "$3\r\none\r\n");
    save_lock(s, &lock);
    assert_int_equal(lock_named(s, "lock").executed, 1);
    assert_true(store_commit(s));
    assert_true(store_commit(s));
    assert_int_equal(store_used(s).commits, 1);
    expect_read(s, &lock, "k", "$3\r\none\r\n");
    expect_result(s, &lock, "SET|k|two", "+OK\r\n");
    expect_read(s, &lock, "k", "$3\r\ntwo\r\n");
    store_close(s); /* without a commit */
    s = store_at("a");
    lock = lock_named(s, "lock");
    assert_int_equal(lock.executed, 1);
    expect_read(s, &lock, "k", "$3\r\none\r\n");
    expect_read(s, &lock, "", "$-1\r\n");
    store_close(s);
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    while (readdir(all) != NULL)
        count++;
    closedir(all);
    return count;
}

/* Neither one that works nor one that is refused. */
static void test_leaves_nothing_open(void **state)
{
    (void)state;
    store_options wrong = options_for("a");
    wrong.node = "b";
    int before = open_descriptors();
    for (int i = 0; i < 3; i++) {
        store *s = store_at("a");
        assert_true(open_descriptors() > before);
        store_close(s);
        expect_refusal(&wrong, "node");
        assert_int_equal(open_descriptors(), before);
    }
}

static void test_memory_mode(void **state)
{
    (void)state;
    store_options options = options_for("a");
    options.durability = STORE_MEMORY;
    store *s = store_with(&options);
    store_lock lock = lock_named(s, "lock");
    expect_result(s, &lock, "SET|k|one", "+OK\r\n");
    assert_true(store_commit(s));
    assert_false(store_booted(s));
    store_close(s);
    s = store_with(&options);
    assert_int_equal(lock_named(s, "lock").number, 0);
    assert_false(store_booted(s));
    assert_true(store_mark_booted(s));
    store_close(s);
    s = store_with(&options);
    assert_true(store_booted(s));
    assert_int_equal(lock_named(s, "lock").number, 0);
    store_close(s);
}

static void test_booted(void **state)
{
    (void)state;
    store *s = store_at("a");
    assert_false(store_booted(s));
    store_close(s);
    s = store_at("a");
    assert_false(store_booted(s));
    assert_true(store_mark_booted(s));
    assert_true(store_booted(s));
    store_close(s);
    s = store_at("a");
    assert_true(store_booted(s));
    store_close(s);
}

/* Who the node is to the others; it outlives the data. */
static void test_boot(void **state)
{
    (void)state;
    for (int memory = 0; memory < 2; memory++) {
        store_options options = options_for(memory ? "m" : "d");
        options.durability = memory ? STORE_MEMORY : STORE_DISK;
        store *s = store_with(&options);
        boot_durable its = store_boot(s);
        assert_int_equal(its.state, BOOT_NEW);
        assert_true(its.boot != 0);
        its.state = BOOT_FORGETFUL;
        its.heard[2] = UINT64_MAX;
        its.heard[8] = 1;
        its.life = 7;
        its.lives[0] = UINT64_MAX;
        its.lives[8] = 2;
        assert_true(store_save_boot(s, &its));
        assert_false(store_booted(s));
        assert_true(store_mark_booted(s));
        store_close(s);
        s = store_with(&options);
        boot_durable again = store_boot(s);
        assert_memory_equal(&again, &its, sizeof its);
        assert_true(store_booted(s));
        store_close(s);
    }
    store *other = store_at("other");
    store *one = store_at("one");
    assert_true(store_boot(one).boot != store_boot(other).boot);
    store_close(one);
    store_close(other);
}

static bool take_two(void *context, byte_string name)
{
    char *names = context;
    strncat(names, (const char *)name.at, name.bytes);
    return strlen(names) < 2;
}

static void test_names_after(void **state)
{
    (void)state;
    store *s = store_at("a");
    for (const char *name = "abcde"; *name != '\0'; name++) {
        store_lock lock = lock_named(s, (char[]){*name, '\0'});
        replica_durable durable = {.now.epoch = 1};
        assert_true(store_save(s, &lock, &durable));
    }
    static const char *const pages[][2] = {
        {"", "ab"}, {"b", "cd"}, {"bb", "cd"}, {"d", "e"}, {"e", ""}};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        char names[8] = "";
        byte_string after = {(const uint8_t *)pages[i][0], strlen(pages[i][0])};
        assert_true(store_each(s, after, take_two, names));
        assert_string_equal(names, pages[i][1]);
    }
    store_close(s);
}

int main(void)
{
    static suite s;
    suite_add(&s, test_operations, NULL, "every operation and its results");
    suite_add(&s, test_no_operation, NULL, "bytes that are no operation");
    suite_add(&s, test_scan, NULL, "SCAN goes on where it said");
    suite_add(&s, test_model, NULL, "3000 operations by chance");
    suite_add(&s, test_turns, NULL, "turns");
    suite_add(&s, test_leaves_nothing_open, NULL, "a store that is closed leaves nothing open");
    suite_add(&s, test_memory_mode, NULL, "memory mode begins empty, and knows that it has run");
    suite_add(&s, test_booted, NULL, "booted");
    suite_add(&s, test_boot, NULL, "who the node is to the others");
    suite_add(&s, test_names_after, NULL, "names after another");
    add_lock_tests(&s);
    add_snapshot_tests(&s);
    add_limit_tests(&s);
    add_damage_tests(&s);
    add_record_tests(&s);
    add_journal_tests(&s);
    add_crash_tests(&s);
    add_own_tests(&s);
    for (size_t i = 0; i < s.tests; i++) {
        s.test[i].setup_func = scene_begin;
        s.test[i].teardown_func = scene_end;
    }
    return suite_run(&s, "store");
}
