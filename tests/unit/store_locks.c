/* What a lock must not forget, its results, and its name. */
#include "durable.h"
#include "store_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a lock must not forget ---- */

static void random_record(wme_record *r, uint64_t *seed)
{
    r->epoch = 1 + chance(seed) % 1000;
    r->sn = 1 + (chance(seed) << 7);
    r->ops = 1;
    r->op_sn = chance(seed) % 2 == 0 ? r->sn : 0;
    r->owner = (uint8_t)(chance(seed) % WME_MAX_NODES);
    r->entry = chance(seed) % 100;
    for (uint8_t i = 0; i < WME_MAX_NODES; i++) {
        r->granted[i] = chance(seed) % 3 == 0 ? chance(seed) << 20 : 0;
        r->asked[i] = chance(seed) % 3 == 0 ? chance(seed) << 20 : 0;
        r->queue[r->queued] = i;
        r->queued = (uint8_t)(r->queued + chance(seed) % 2);
    }
    memset(&r->queue[r->queued], 0, (size_t)(WME_MAX_NODES - r->queued));
    if (r->op_sn == 0 && chance(seed) % 2 == 0)
        return;
    r->last = op_new((uint32_t)(chance(seed) % 4 == 0 ? WME_MAX_OP : chance(seed) % 100));
    r->last->id = chance(seed);
    r->last->origin = (uint8_t)(chance(seed) % WME_MAX_NODES);
    memset(r->last->data, (int)chance(seed) % 256, r->last->bytes);
}

static void expect_same_record(const wme_record *a, const wme_record *b)
{
    assert_int_equal(a->last != NULL, b->last != NULL);
    if (a->last != NULL) {
        assert_true(a->last->id == b->last->id && a->last->origin == b->last->origin);
        assert_int_equal(a->last->bytes, b->last->bytes);
        assert_memory_equal(a->last->data, b->last->data, a->last->bytes);
    }
    assert_true(a->epoch == b->epoch && a->sn == b->sn && a->ops == b->ops);
    assert_true(a->op_sn == b->op_sn && a->owner == b->owner && a->entry == b->entry);
    assert_memory_equal(a->granted, b->granted, sizeof a->granted);
    assert_memory_equal(a->asked, b->asked, sizeof a->asked);
    assert_int_equal(a->queued, b->queued);
    assert_memory_equal(a->queue, b->queue, a->queued);
}

static void random_durable(replica_durable *d, uint64_t *seed)
{
    memset(d, 0, sizeof *d);
    random_record(&d->now, seed);
    d->consensus.epoch = d->now.epoch;
    d->consensus.promised = chance(seed);
    d->consensus.accepted = chance(seed) % 2;
    if (d->consensus.accepted == 0)
        return;
    random_record(&d->consensus.value, seed);
    if (d->consensus.value.last != NULL && d->now.last != NULL && chance(seed) % 2 == 0) {
        wme_op_drop(d->consensus.value.last);
        d->consensus.value.last = wme_op_keep(d->now.last);
    }
}

static void test_durable(void **state)
{
    uint64_t seed = 3;
    unsigned shared = 0;
    (void)state;
    store_options options = options_for("a");
    options.durability = STORE_MEMORY;
    store *s = store_with(&options);
    store_lock lock;
    replica_durable d;
    replica_durable loaded;
    assert_int_equal(store_load(s, text_string("lock"), &lock, &loaded), STORE_UNKNOWN);
    for (int round = 0; round < 500; round++) {
        random_durable(&d, &seed);
        assert_true(store_save(s, &lock, &d));
        if (round % 3 == 0)
            assert_true(store_commit(s));
        assert_int_equal(store_load(s, text_string("lock"), &lock, &loaded), STORE_FOUND);
        expect_same_record(&d.now, &loaded.now);
        expect_same_record(&d.consensus.value, &loaded.consensus.value);
        assert_true(d.consensus.epoch == loaded.consensus.epoch);
        assert_true(d.consensus.promised == loaded.consensus.promised);
        assert_true(d.consensus.accepted == loaded.consensus.accepted);
        shared += d.now.last != NULL && d.now.last == d.consensus.value.last &&
                  loaded.now.last == loaded.consensus.value.last;
        replica_durable_end(&d);
        replica_durable_end(&loaded);
    }
    assert_true(shared > 10);
    store_close(s);
}

/* Decodes to itself, or, if it is wrong, to nothing. */
static void expect_decoded(const replica_durable *d, bool right)
{
    static uint8_t bytes[MAX_DURABLE];
    static uint8_t again[MAX_DURABLE];
    replica_durable decoded;
    size_t length = durable_encode(d, bytes);
    assert_int_equal(durable_decode((byte_string){bytes, length}, &decoded), right);
    if (right) {
        assert_int_equal(durable_encode(&decoded, again), length);
        assert_memory_equal(again, bytes, length);
    } else {
        assert_memory_equal(&decoded, &(replica_durable){0}, sizeof decoded);
    }
    replica_durable_end(&decoded);
}

static void test_durable_bytes(void **state)
{
    static uint8_t bytes[MAX_DURABLE];
    replica_durable decoded;
    uint64_t seed = 5;
    (void)state;
    for (int round = 0; round < 50; round++) { /* no part of it is one, nor is it with more */
        replica_durable d;
        random_durable(&d, &seed);
        expect_decoded(&d, true);
        size_t length = durable_encode(&d, bytes);
        for (size_t cut = 0; cut<length; cut += length> 1000 ? 997 : 1)
            assert_false(durable_decode((byte_string){bytes, cut}, &decoded));
        bytes[length] = 0;
        assert_false(durable_decode((byte_string){bytes, length + 1}, &decoded));
        replica_durable_end(&d);
    }
}

/* The largest of each number, and one more. */
static void test_durable_bounds(void **state)
{
    replica_durable d = {.now.epoch = 1, .consensus = {.epoch = 1, .promised = 1, .accepted = 1}};
    (void)state;
    expect_decoded(&d, true);
    d.consensus.epoch = 2; /* of another epoch than the lock's */
    expect_decoded(&d, false);
    d.now.epoch = d.consensus.epoch = WME_MAX_EPOCH;
    d.consensus.value.epoch = WME_MAX_EPOCH;
    expect_decoded(&d, true);
    d.consensus.value.epoch++;
    expect_decoded(&d, false);
    d.consensus.value.epoch = 1;
    d.now.epoch = d.consensus.epoch = WME_MAX_EPOCH + 1;
    expect_decoded(&d, false);
    d = (replica_durable){.now.epoch = 1, .consensus.epoch = WME_MAX_EPOCH, .rests = UINT64_MAX};
    expect_decoded(&d, true);
    d.consensus.epoch++;
    expect_decoded(&d, false);
    d.consensus.epoch = 1;
    d.now.sn = 1;
    d.now.op_sn = 1; /* without an operation */
    expect_decoded(&d, false);
    wme_op *last = d.now.last = op_new(WME_MAX_OP);
    memset(last->data, 'x', WME_MAX_OP);
    last->origin = WME_MAX_NODES - 1;
    expect_decoded(&d, true);
    d.now.op_sn = 2;
    expect_decoded(&d, false);
    d.now.op_sn = 1;
    last->origin++;
    expect_decoded(&d, false);
    last->origin = 0;
    d.consensus = (paxos_durable){.epoch = 1, .promised = 1, .accepted = 1, .value.last = last};
    expect_decoded(&d, true);
    d.now.last = NULL;
    d.now.op_sn = 0;
    expect_decoded(&d, true);
    wme_op_drop(last);
    d = (replica_durable){.now = {.epoch = 1, .owner = WME_MAX_NODES - 1}};
    expect_decoded(&d, true);
    d.now.owner++;
    expect_decoded(&d, false);
    d.now.owner = 0;
    d.now.queued = WME_MAX_NODES;
    for (uint8_t i = 0; i < WME_MAX_NODES; i++)
        d.now.queue[i] = (uint8_t)(WME_MAX_NODES - 1 - i);
    expect_decoded(&d, true);
    d.now.queue[0] = WME_MAX_NODES; /* no such node */
    expect_decoded(&d, false);
    d.now.queue[0] = 0; /* who is the last, too */
    expect_decoded(&d, false);
}

/* An operation is said to be the same as one that is not there, or to be of no known form. */
static void test_durable_same_as_nothing(void **state)
{
    static uint8_t bytes[MAX_DURABLE];
    replica_durable d = {.now.epoch = 1};
    replica_durable decoded;
    (void)state;
    size_t length = durable_encode(&d, bytes);
    size_t form = length - 5; /* before three numbers of consensus and the rest */
    assert_true(durable_decode((byte_string){bytes, length}, &decoded));
    bytes[form] = 2;
    assert_false(durable_decode((byte_string){bytes, length}, &decoded));
    bytes[form] = 3;
    assert_false(durable_decode((byte_string){bytes, length}, &decoded));
}

static void test_recall(void **state)
{
    static char words[OP_MAX_KEPT + 64];
    (void)state;
    store *s = store_at("a");
    store_lock lock = lock_named(s, "lock");
    wme_op *mine = op_from("INCR|n|5", 2, 77);
    wme_op *other = op_from("INCR|n|6", 1, 78);
    resp_out out = {0};
    assert_true(store_execute(s, &lock, mine, 1, &out));
    assert_true(store_execute(s, &lock, other, 2, &out));
    assert_int_equal(lock.answered[2], 77);
    assert_int_equal(lock.answered[1], 78);
    assert_int_equal(lock.answered[0], 0);
    out.bytes = 0;
    assert_true(store_recall(s, &lock, mine, &out));
    assert_true(store_recall(s, &lock, other, &out));
    assert_memory_equal(out.at, ":5\r\n:11\r\n", 9);
    snprintf(words, sizeof words, "SET|long|%0*d", OP_MAX_KEPT, 0);
    expect_result(s, &lock, words, "+OK\r\n");
    wme_op *get = op_from("GET|long", 4, 79);
    out.bytes = 0;
    assert_true(store_execute(s, &lock, get, 4, &out));
    assert_true(out.bytes > OP_MAX_KEPT);
    out.bytes = 0;
    save_lock(s, &lock);
    assert_true(store_commit(s));
    lock = lock_named(s, "lock");
    assert_true(store_recall(s, &lock, get, &out));
    assert_memory_equal(out.at, "-TOOLONG ", 9);
    resp_free(&out);
    wme_op_drop(mine);
    wme_op_drop(other);
    wme_op_drop(get);
    store_close(s);
}

/* ---- names ---- */

static bool add_name(void *context, byte_string name)
{
    resp_out *all = context;
    resp_raw(all, name.at, name.bytes);
    resp_raw(all, "/", 1);
    return true;
}

static void expect_names(store *s, const char *names, size_t bytes)
{
    resp_out all = {0};
    assert_true(store_each(s, (byte_string){0}, add_name, &all));
    assert_int_equal(all.bytes, bytes);
    assert_memory_equal(all.at, names, bytes);
    resp_free(&all);
}

/* Names have any bytes, and one that begins like another has nothing to do with it. */
static void test_names(void **state)
{
    static const byte_string names[] = {{(const uint8_t *)"a", 1},
                                        {(const uint8_t *)"a\0", 2},
                                        {(const uint8_t *)"\xff\xff", 2},
                                        {(const uint8_t *)"\0", 1}};
    enum { NAMES = sizeof names / sizeof *names };
    store_lock locks[NAMES];
    char longest[STORE_MAX_NAME];
    replica_durable d;
    (void)state;
    store *s = store_at("a");
    for (int i = 0; i < NAMES; i++) {
        assert_int_equal(store_load(s, names[i], &locks[i], &d), STORE_UNKNOWN);
        for (int j = 0; j <= i; j++) /* each counts for itself */
            assert_int_equal(run_op(s, &locks[i], "INCR|n")[1], '1' + j);
        save_lock(s, &locks[i]);
    }
    expect_names(s, "\0/a/a\0/\xff\xff/", 10);
    assert_true(store_commit(s));
    store_close(s);
    s = store_at("a");
    expect_names(s, "\0/a/a\0/\xff\xff/", 10);
    for (int i = 0; i < NAMES; i++) {
        assert_int_equal(store_load(s, names[i], &locks[i], &d), STORE_FOUND);
        char value[32];
        snprintf(value, sizeof value, "$1\r\n%d\r\n", i + 1);
        expect_read(s, &locks[i], "n", value);
        replica_durable_end(&d);
    }
    memset(longest, 'x', sizeof longest);
    store_lock fresh;
    byte_string name = {(const uint8_t *)longest, sizeof longest};
    assert_int_equal(store_load(s, name, &fresh, &d), STORE_UNKNOWN);
    save_lock(s, &fresh);
    assert_true(store_commit(s));
    store_close(s);
    s = store_at("a");
    assert_int_equal(store_load(s, name, &fresh, &d), STORE_FOUND);
    replica_durable_end(&d);
    store_close(s);
}

void add_lock_tests(suite *s)
{
    suite_add(s, test_durable, NULL, "what a lock must not forget");
    suite_add(s, test_durable_bytes, NULL, "as bytes: no part of them is enough");
    suite_add(s, test_durable_bounds, NULL, "as bytes: the largest of each number, and one more");
    suite_add(s, test_durable_same_as_nothing, NULL, "as bytes: the same as no operation");
    suite_add(s, test_recall, NULL, "results that are recalled");
    suite_add(s, test_names, NULL, "names of locks");
}
