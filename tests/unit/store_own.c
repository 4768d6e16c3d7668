/*
 * A resource of a program's own in the store. The one here is a sum and a ballast: "+n" adds n, and
 * its result is the sum; "=n" makes the state n bytes larger than it would be.
 */
#include "store_scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
    int64_t sum;
    size_t ballast;
    uint64_t applied, restored, states; /* counted */
    bool refuses;                       /* to be restored */
    int64_t error;                      /* added to each result: another one on each machine */
    size_t result;                      /* bytes that apply says its results have, if not 0 */
    store_own own;                      /* it, for a store */
} tally;

static size_t tally_apply(void *context, byte_string operation, uint8_t result[STORE_OWN_RESULT])
{
    tally *t = context;
    char text[32] = "";
    t->applied++;
    memcpy(text, operation.at, operation.bytes < sizeof text ? operation.bytes : sizeof text - 1);
    if (text[0] == '=')
        t->ballast = strtoul(text + 1, NULL, 10);
    else
        t->sum += strtol(text, NULL, 10);
    size_t length = (size_t)snprintf((char *)result, 32, "%" PRId64, t->sum + t->error);
    return t->result != 0 ? t->result : length;
}

static void tally_snapshot(void *context, resp_out *state)
{
    static const uint8_t nothing[1 << 16];
    tally *t = context;
    t->states++;
    resp_raw(state, &t->sum, sizeof t->sum);
    for (size_t left = t->ballast; left > 0;) {
        size_t now = left < sizeof nothing ? left : sizeof nothing;
        resp_raw(state, nothing, now);
        left -= now;
    }
}

static bool tally_restore(void *context, byte_string state)
{
    tally *t = context;
    t->restored++;
    t->sum = 0;
    t->ballast = state.bytes > sizeof t->sum ? state.bytes - sizeof t->sum : 0;
    if (state.bytes >= sizeof t->sum)
        memcpy(&t->sum, state.at, sizeof t->sum);
    return !t->refuses && (state.bytes == 0 || state.bytes >= sizeof t->sum);
}

/* A store whose resource is this tally. */
static store *store_of(const char *directory, tally *t)
{
    store_options options = options_for(directory);
    t->own = (store_own){t, tally_apply, tally_snapshot, tally_restore};
    options.own = &t->own;
    return store_with(&options);
}

static bool run_bytes(store *s, store_lock *lock, const void *bytes, size_t count, resp_out *result)
{
    wme_op *o = op_new((uint32_t)count);
    if (count > 0)
        memcpy(o->data, bytes, count);
    o->origin = (uint8_t)(lock->executed % 3);
    o->id = wme_op_id(1, lock->executed + 1);
    bool fine = store_execute(s, lock, o, lock->executed + 1, result);
    wme_op_drop(o);
    return fine;
}

static bool run_text(store *s, store_lock *lock, const char *text)
{
    resp_out result = {0};
    bool fine = run_bytes(s, lock, text, strlen(text), &result);
    resp_free(&result);
    return fine;
}

/* So many additions. */
static void add_some(store *s, store_lock *lock, unsigned count)
{
    char text[32];
    for (unsigned i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%+d", (int)(lock->executed * 7 % 100) - 40);
        assert_true(run_text(s, lock, text));
    }
}

static void keep(store *s, store_lock *lock)
{
    save_lock(s, lock);
    assert_true(store_commit(s));
}

/* ---- coming back ---- */

static void test_restart(void **state)
{
    tally t = {.sum = 99};
    resp_out result = {0};
    (void)state;
    store *s = store_of("a", &t);
    store_lock lock = lock_named(s, "lock");
    assert_int_equal(t.sum, 0); /* as new, whatever it was */
    assert_true(run_bytes(s, &lock, "+5", 2, &result));
    assert_true(run_bytes(s, &lock, "-7", 2, &result));
    assert_int_equal(result.bytes, strlen("$1\r\n5\r\n$2\r\n-2\r\n"));
    assert_memory_equal(result.at, "$1\r\n5\r\n$2\r\n-2\r\n", result.bytes);
    resp_free(&result);
    keep(s, &lock);
    uint64_t digest = lock.digest;
    add_some(s, &lock, 10); /* a turn that does not come to the disk */
    store_close(s);
    tally again = {0};
    s = store_of("a", &again);
    lock = lock_named(s, "lock");
    assert_int_equal(lock.executed, 2);
    assert_true(lock.digest == digest);
    assert_int_equal(again.sum, -2);
    assert_int_equal(again.applied, 2);
    /* The result of an origin's last operation is remembered, as for any resource. */
    wme_op *last = op_new(1);
    last->origin = 1;
    last->id = wme_op_id(1, 2);
    assert_true(store_recall(s, &lock, last, &result));
    assert_memory_equal(result.at, "$2\r\n-2\r\n", 8);
    resp_free(&result);
    wme_op_drop(last);
    store_close(s);
}

/* The log is bounded, whatever the size of the state, and a restart is right at any point. */
static void run_log(const char *directory, const char *size)
{
    tally lives[2] = {0};
    uint64_t states = 0;
    store *s = store_of(directory, &lives[0]);
    store_lock lock = lock_named(s, "lock");
    assert_true(run_text(s, &lock, size));
    for (int round = 0; round < 30; round++) {
        tally *before = &lives[round % 2];
        tally *now = &lives[(round + 1) % 2];
        add_some(s, &lock, 700);
        keep(s, &lock);
        states += before->states;
        assert_true(lock.bytes < (size_t)70000 + before->ballast * 13 / 10);
        store_close(s);
        *now = (tally){0};
        s = store_of(directory, now);
        store_lock loaded = lock_named(s, "lock");
        assert_true(loaded.digest == lock.digest && loaded.bytes == lock.bytes);
        assert_int_equal(now->sum, before->sum);
        assert_int_equal(now->ballast, before->ballast);
        assert_true(now->applied < lock.executed || states == 0);
        lock = loaded;
    }
    assert_true(states >= 2);
    store_close(s);
}

static void test_log(void **state)
{
    (void)state;
    run_log("small", "=0");
    run_log("medium", "=100000");
    run_log("large", "=1000000");
}

/* ---- from one node to another ---- */

static void test_install(void **state)
{
    uint64_t executed;
    uint64_t answered[WME_MAX_NODES];
    tally in_a = {0};
    tally in_b = {0};
    tally in_c = {0};
    (void)state;
    store *a = store_of("a", &in_a);
    store *b = store_of("b", &in_b);
    store *c = store_of("c", &in_c);
    store_lock at_a = lock_named(a, "lock");
    store_lock at_b = lock_named(b, "lock");
    store_lock at_c = lock_named(c, "lock");
    add_some(b, &at_b, 3); /* gone soon */
    keep(b, &at_b);
    for (int round = 0; round < 20; round++) {
        add_some(a, &at_a, 411);
        keep(a, &at_a);
        add_some(c, &at_c, 411);
        keep(c, &at_c);
        store_snapshot taken = snapshot_of(a, &at_a);
        store_snapshot same = snapshot_of(c, &at_c);
        expect_same_snapshot(taken, same);
        byte_string bytes = {taken.at, taken.bytes};
        assert_null(store_check_snapshot(bytes, &executed, answered));
        assert_int_equal(executed, at_a.executed);
        assert_true(store_install(b, &at_b, bytes));
        assert_int_equal(in_b.sum, in_a.sum);
        add_some(b, &at_b, 5);
        keep(b, &at_b);
        add_some(a, &at_a, 5); /* go on alike */
        keep(a, &at_a);
        add_some(c, &at_c, 5);
        keep(c, &at_c);
        assert_true(at_b.digest == at_a.digest && at_b.bytes == at_a.bytes);
        store_close(c);
        c = store_of("c", &in_c);
        at_c = lock_named(c, "lock");
        free(taken.at);
        free(same.at);
    }
    assert_true(in_a.states >= 2 && in_b.states >= 1);
    store_close(a);
    store_close(b);
    store_close(c);
}

/* A peer may send anything: executed as an error, the same everywhere, after a restart too. */
static void test_no_operation(void **state)
{
    static uint8_t large[WME_MAX_OP];
    tally t = {0};
    resp_out result = {0};
    (void)state;
    store *s = store_of("a", &t);
    store_lock lock = lock_named(s, "lock");
    assert_true(run_bytes(s, &lock, NULL, 0, &result));
    assert_true(run_bytes(s, &lock, large, STORE_OWN_OPERATION + 1, &result));
    assert_true(run_bytes(s, &lock, large, sizeof large, &result));
    assert_int_equal(result.bytes, 3 * 40);
    assert_memory_equal(result.at, "-ERR not an operation of this resource\r\n", 40);
    assert_int_equal(t.applied, 0);
    assert_true(run_bytes(s, &lock, large, STORE_OWN_OPERATION, &result));
    assert_int_equal(t.applied, 1);
    resp_free(&result);
    keep(s, &lock);
    store_close(s);
    s = store_of("a", &t);
    assert_int_equal(lock_named(s, "lock").executed, 4);
    assert_int_equal(t.applied, 2);
    store_close(s);
}

/* ---- what a program gets wrong: said clearly, and nothing is lost ---- */

static void expect_broken(store *s, const char *words)
{
    assert_false(store_commit(s));
    if (strstr(store_why(s), words) == NULL)
        fail_msg("expected '%s', got '%s'", words, store_why(s));
    store_close(s);
}

/* As it was committed. */
static void expect_kept(const char *directory, uint64_t executed, int64_t sum)
{
    tally t = {0};
    store *s = store_of(directory, &t);
    assert_int_equal(lock_named(s, "lock").executed, executed);
    assert_int_equal(t.sum, sum);
    store_close(s);
}

static void test_refused_state(void **state)
{
    tally t = {0};
    tally other = {0};
    store_lock lock;
    replica_durable durable;
    (void)state;
    store *s = store_of("a", &t);
    store *b = store_of("b", &other);
    store_lock at_b = lock_named(b, "lock");
    lock = lock_named(s, "lock");
    add_some(s, &lock, 5000);
    keep(s, &lock);
    add_some(b, &at_b, 4);
    keep(b, &at_b);
    int64_t sum = other.sum;
    store_snapshot taken = snapshot_of(s, &lock);
    store_close(s);
    /* from the disk */
    tally blind = {.refuses = true};
    s = store_of("a", &blind);
    assert_true(store_load(s, text_string("lock"), &lock, &durable) == STORE_FAILED);
    expect_broken(s, "does not understand its state");
    expect_kept("a", 5000, t.sum);
    /* from another node */
    other.refuses = true;
    assert_false(store_install(b, &at_b, (byte_string){taken.at, taken.bytes}));
    expect_broken(b, "does not understand its state");
    expect_kept("b", 4, sum);
    free(taken.at);
}

static void test_not_deterministic(void **state)
{
    tally t = {0};
    store_lock lock;
    replica_durable durable;
    (void)state;
    store *s = store_of("a", &t);
    lock = lock_named(s, "lock");
    add_some(s, &lock, 10);
    keep(s, &lock);
    store_close(s);
    tally wrong = {.error = 1};
    s = store_of("a", &wrong);
    assert_true(store_load(s, text_string("lock"), &lock, &durable) == STORE_FAILED);
    expect_broken(s, "the resource is not deterministic");
    expect_kept("a", 10, t.sum);
}

static void test_too_large(void **state)
{
    tally t = {0};
    (void)state;
    store *s = store_of("a", &t);
    store_lock lock = lock_named(s, "lock");
    char text[32];
    snprintf(text, sizeof text, "=%zu", STORE_OWN_STATE - sizeof t.sum);
    assert_true(run_text(s, &lock, text));
    for (int i = 0; i < 100 && t.states < 1; i++)
        add_some(s, &lock, 100); /* just as large as it may be */
    assert_int_equal(t.states, 1);
    keep(s, &lock);
    uint64_t executed = lock.executed;
    int64_t sum = t.sum;
    snprintf(text, sizeof text, "=%zu", STORE_OWN_STATE - sizeof t.sum + 1);
    assert_true(run_text(s, &lock, text));
    while (run_text(s, &lock, "+1"))
        assert_true(lock.executed < 200000);
    expect_broken(s, "the state of the resource has more than 8388608 bytes");
    expect_kept("a", executed, sum);
}

static void test_long_result(void **state)
{
    tally t = {.result = STORE_OWN_RESULT};
    (void)state;
    store *s = store_of("a", &t);
    store_lock lock = lock_named(s, "lock");
    assert_true(run_text(s, &lock, "+1"));
    keep(s, &lock);
    t.result++;
    assert_false(run_text(s, &lock, "+1"));
    expect_broken(s, "a result has 1001 bytes; it may have 1000");
}

/* What no such resource has ever written, though it is a snapshot. */
static void test_foreign(void **state)
{
    static const char *const keys[] = {"SET|k|v", "SET|s1234567x|v", "SET|t0000000x|v"};
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        tally t = {0};
        char directory[2] = {(char)('c' + i), '\0'};
        store *s = store_of("a", &t);
        store *b = store_at(directory);
        store_lock lock = lock_named(s, "lock");
        store_lock at_b = lock_named(b, "lock");
        expect_result(b, &at_b, keys[i], "+OK\r\n");
        store_snapshot taken = snapshot_of(b, &at_b);
        assert_false(store_install(s, &lock, (byte_string){taken.at, taken.bytes}));
        expect_broken(s, "a resource has something that is not its own");
        free(taken.at);
        store_close(b);
    }
}

void add_own_tests(suite *s)
{
    suite_add(s, test_restart, NULL, "own: comes back as of the last turn");
    suite_add(s, test_log, NULL, "own: the log is bounded, and right at any point");
    suite_add(s, test_install, NULL, "own: equal on all nodes, and installed");
    suite_add(s, test_no_operation, NULL, "own: bytes that are no operation");
    suite_add(s, test_refused_state, NULL, "own: a state that is not understood");
    suite_add(s, test_not_deterministic, NULL, "own: not deterministic, and found out");
    suite_add(s, test_too_large, NULL, "own: a state that is too large");
    suite_add(s, test_long_result, NULL, "own: a result that is too long");
    suite_add(s, test_foreign, NULL, "own: what is not its own");
}
