/* Tables of names: found, removed, walked through, grown and shrunk. */
#include "name_table.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 1000, FEWEST = 4 };

typedef struct thing {
    bool seen;
    name_entry entry;
    size_t bytes;
    char name[24];
} thing;

static thing things[NAMES];

static bool is_called(const name_entry *e, const char *name, size_t bytes)
{
    const thing *t = OWNER_OF(e, thing, entry);
    return t->bytes == bytes && memcmp(t->name, name, bytes) == 0;
}

static thing *find(const name_table *t, const char *name)
{
    size_t bytes = strlen(name);
    name_entry *e = name_table_find(t, name, bytes, name_hash(name, bytes), is_called);
    return OWNER_OF(e, thing, entry);
}

static void add(name_table *t, thing *new, const char *name, uint64_t hash)
{
    *new = (thing){.bytes = strlen(name)};
    memcpy(new->name, name, new->bytes + 1);
    name_table_add(t, &new->entry, hash);
}

/* lock:0, lock:1, ... */
static void add_all(name_table *t)
{
    char name[24];
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "lock:%d", i);
        add(t, &things[i], name, name_hash(name, strlen(name)));
    }
}

/* Each once. */
static void expect_walk(const name_table *t, size_t count)
{
    name_walk all = name_walk_all(t);
    size_t seen = 0;
    for (int i = 0; i < NAMES; i++)
        things[i].seen = false;
    for (thing *at; (at = OWNER_OF(name_walk_next(&all), thing, entry)) != NULL; seen++) {
        assert_false(at->seen);
        at->seen = true;
    }
    assert_int_equal(seen, count);
    assert_int_equal(t->count, count);
    assert_null(name_walk_next(&all));
}

/* Published: FNV-1a of "" and "foobar". */
static void test_hash(void **state)
{
    const uint64_t empty = 0xcbf29ce484222325ULL, foobar = 0x85944171f73967e8ULL;
    (void)state;
    assert_true(name_hash("", 0) == (empty ^ empty >> 32));
    assert_true(name_hash("foobar", 6) == (foobar ^ foobar >> 32));
    assert_true(name_hash("foobarbaz", 6) == name_hash("foobar", 6));
    assert_true(name_hash("\0", 1) != name_hash("", 0));
}

static void test_found(void **state)
{
    name_table t;
    (void)state;
    assert_true(name_table_start(&t, FEWEST));
    assert_null(find(&t, "lock:0"));
    expect_walk(&t, 0);
    add_all(&t);
    assert_int_equal(t.buckets, 1024); /* grown, and no more than it must */
    for (int i = 0; i < NAMES; i++)
        assert_ptr_equal(find(&t, things[i].name), &things[i]);
    assert_null(find(&t, "lock:"));
    assert_null(find(&t, "lock:1000"));
    expect_walk(&t, NAMES);
    name_table_end(&t);
}

/* Two of the same hash: rare, and it must not matter. */
static void test_same_hash(void **state)
{
    name_table t;
    uint64_t hash = name_hash("b", 1);
    (void)state;
    assert_true(name_table_start(&t, FEWEST));
    add(&t, &things[0], "b", hash);
    add(&t, &things[1], "other", hash);
    add(&t, &things[2], "neighbour", hash + FEWEST); /* in the same bucket */
    assert_ptr_equal(find(&t, "b"), &things[0]);
    name_table_remove(&t, &things[1].entry);
    assert_ptr_equal(find(&t, "b"), &things[0]);
    name_table_remove(&t, &things[0].entry);
    assert_null(find(&t, "b"));
    assert_int_equal(t.count, 1);
    name_table_end(&t);
}

static void test_remove_while_walking(void **state)
{
    name_table t;
    (void)state;
    assert_true(name_table_start(&t, FEWEST));
    add_all(&t);
    size_t left = NAMES;
    name_walk all = name_walk_all(&t);
    for (thing *at; (at = OWNER_OF(name_walk_next(&all), thing, entry)) != NULL;) {
        if ((at - things) % 3 == 0)
            continue;
        name_table_remove(&t, &at->entry);
        memset(&at->entry, 0xff, sizeof at->entry); /* it may be freed, too */
        left--;
    }
    assert_int_equal(left, (NAMES + 2) / 3);
    expect_walk(&t, left);
    for (int i = 0; i < NAMES; i++)
        assert_int_equal(find(&t, things[i].name) != NULL, i % 3 == 0);
    name_table_end(&t);
}

/* All buckets, one after the other, have all there is. */
static void test_buckets(void **state)
{
    name_table t;
    size_t seen = 0;
    (void)state;
    assert_true(name_table_start(&t, FEWEST));
    add_all(&t);
    for (size_t b = 0; b < t.buckets; b++) {
        name_walk one = name_walk_bucket(&t, b);
        for (const name_entry *e; (e = name_walk_next(&one)) != NULL; seen++)
            assert_true((e->hash & (t.buckets - 1)) == b);
    }
    assert_int_equal(seen, NAMES);
    name_table_end(&t);
}

/* A bucket, and the place behind it. */
static uint64_t walk_part(const name_table *t, uint64_t place)
{
    name_walk bucket = name_walk_bucket(t, name_bucket_at(t, place));
    uint64_t behind = name_place_behind(t, place);
    for (name_entry *e; (e = name_walk_next(&bucket)) != NULL;) {
        thing *at = OWNER_OF(e, thing, entry);
        assert_true(name_place(e) < behind);
        if (name_place(e) < place)
            continue;
        assert_false(at->seen);
        at->seen = true;
    }
    return behind;
}

/* However it grows and shrinks in between: who is there all the time is seen, and nobody twice. */
static void test_parts(void **state)
{
    enum { STAY = 100 };
    (void)state;
    for (uint64_t grows_at = 0; grows_at < NAME_PLACES; grows_at += NAME_PLACES / 7) {
        for (uint64_t shrinks_at = 0; shrinks_at < NAME_PLACES; shrinks_at += NAME_PLACES / 5) {
            name_table t;
            bool grown = false, shrunk = false;
            assert_true(name_table_start(&t, FEWEST));
            add_all(&t);
            for (int i = STAY; i < NAMES; i++)
                name_table_remove(&t, &things[i].entry);
            for (int i = 0; i < 10; i++)
                name_table_shrink(&t, FEWEST);
            assert_true(t.buckets < NAMES);
            for (uint64_t place = 0; place < NAME_PLACES; place = walk_part(&t, place)) {
                if (!grown && place >= grows_at) {
                    for (int i = STAY; i < NAMES; i++)
                        name_table_add(&t, &things[i].entry, things[i].entry.hash);
                    grown = true;
                }
                if (grown && !shrunk && place >= shrinks_at) {
                    for (int i = STAY; i < NAMES; i++)
                        name_table_remove(&t, &things[i].entry);
                    for (int i = 0; i < 10; i++)
                        name_table_shrink(&t, FEWEST);
                    shrunk = true;
                }
            }
            for (int i = 0; i < STAY; i++)
                assert_true(things[i].seen);
            name_table_end(&t);
        }
    }
}

static void test_shrinks(void **state)
{
    name_table t;
    (void)state;
    assert_true(name_table_start(&t, FEWEST));
    add_all(&t);
    for (int i = 0; i < NAMES; i++) {
        size_t before = t.buckets;
        name_table_remove(&t, &things[i].entry);
        assert_int_equal(t.buckets, before); /* only if it is told to */
        name_table_shrink(&t, FEWEST);
        assert_true(t.buckets >= FEWEST && t.count >= (t.buckets > FEWEST ? t.buckets / 8 : 0));
        if (i % 100 == 0)
            expect_walk(&t, (size_t)(NAMES - 1 - i));
    }
    assert_int_equal(t.buckets, FEWEST);
    name_table_end(&t);
    name_table_end(&t); /* nothing is left to be freed */
    assert_true(name_table_start(&t, 64));
    for (int i = 0; i < 8; i++) {
        const char one[] = {(char)('a' + i), '\0'};
        add(&t, &things[i], one, name_hash(one, 1));
    }
    name_table_shrink(&t, FEWEST);
    assert_int_equal(t.buckets, 64); /* an eighth is in use */
    name_table_remove(&t, &things[0].entry);
    name_table_shrink(&t, FEWEST);
    assert_int_equal(t.buckets, 32);
    name_table_end(&t);
    for (size_t few = 8; few <= 64; few *= 2) { /* empty, and it has few already */
        assert_true(name_table_start(&t, few));
        name_table_shrink(&t, few);
        assert_int_equal(t.buckets, few);
        name_table_end(&t);
    }
}

/* There is nothing in it, and nothing to be freed. */
static void test_no_memory(void **state)
{
    name_table t;
    (void)state;
    assert_false(name_table_start(&t, (size_t)1 << 60));
    name_walk all = name_walk_all(&t);
    assert_null(name_walk_next(&all));
    name_table_end(&t);
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_hash, NULL, "the hash is what it always was");
    suite_add(&s, test_found, NULL, "found by name, however many there are");
    suite_add(&s, test_same_hash, NULL, "two names with one hash");
    suite_add(&s, test_remove_while_walking, NULL, "removed while somebody walks through");
    suite_add(&s, test_buckets, NULL, "bucket by bucket");
    suite_add(&s, test_parts, NULL, "in parts, between which it grows and shrinks");
    suite_add(&s, test_shrinks, NULL, "grows by itself, shrinks when it is told to");
    suite_add(&s, test_no_memory, NULL, "no memory for one");
    return suite_run(&s, "name_table");
}
