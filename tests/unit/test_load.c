/* Load on a cluster, without one: percentiles, when operations are due, and what options mean. */
#include "load_parts.h"
#include "unit.h"

#include <string.h>

/* ---- percentiles ---- */

static void test_nothing(void **state)
{
    static histogram h;
    (void)state;
    assert_int_equal(histogram_at(&h, 0), 0);
    assert_int_equal(histogram_at(&h, 1), 0);
}

static void test_small_values_are_exact(void **state)
{
    static histogram h;
    (void)state;
    for (uint64_t value = 1; value <= 100; value++)
        histogram_add(&h, value);
    assert_int_equal(h.count, 100);
    assert_int_equal(h.total, 5050);
    assert_int_equal(histogram_at(&h, 0), 1);
    assert_int_equal(histogram_at(&h, 0.5), 50);
    assert_int_equal(histogram_at(&h, 0.501), 51);
    assert_int_equal(histogram_at(&h, 0.99), 99);
    assert_int_equal(histogram_at(&h, 1), 100);
}

/* Alone between a smaller and a larger one, each value is found, and never found too small. */
static void test_how_exact(void **state)
{
    (void)state;
    for (uint64_t value = 2; value < UINT64_C(1) << 41; value += value / 3 + 1) {
        histogram h = {0};
        histogram_add(&h, 1);
        histogram_add(&h, value);
        histogram_add(&h, UINT64_C(1) << 42);
        uint64_t found = histogram_at(&h, 0.5);
        assert_true(found >= value);
        assert_true(found - value <= value / HISTOGRAM_CUTS);
    }
}

static void test_buckets_are_in_order(void **state)
{
    static histogram h;
    uint64_t before = 0;
    (void)state;
    for (uint64_t value = 1; value < UINT64_C(1) << 41; value *= 3)
        histogram_add(&h, value);
    for (int i = 0; i <= 100; i++) {
        uint64_t at = histogram_at(&h, i / 100.0);
        assert_true(at >= before);
        before = at;
    }
    assert_int_equal(before, h.largest);
}

static void test_beyond_the_last(void **state)
{
    static histogram h;
    (void)state;
    histogram_add(&h, UINT64_MAX);
    assert_int_equal(h.bucket[HISTOGRAM_BUCKETS - 1], 1);
    assert_int_equal(h.largest, UINT64_MAX);
    assert_true(histogram_at(&h, 0.5) >= (UINT64_C(1) << 41) - 1);
}

static void test_join(void **state)
{
    static histogram a, b;
    (void)state;
    for (int i = 0; i < 9; i++)
        histogram_add(&a, 10);
    histogram_add(&b, 70);
    histogram_join(&a, &b);
    assert_int_equal(a.count, 10);
    assert_int_equal(a.total, 160);
    assert_int_equal(a.largest, 70);
    assert_int_equal(histogram_at(&a, 0.9), 10);
    assert_int_equal(histogram_at(&a, 0.91), 70);
    histogram_join(&b, &a);
    assert_int_equal(b.largest, 70);
}

/* ---- when operations are due ---- */

static void test_due(void **state)
{
    (void)state;
    assert_int_equal(load_due_before(0, 3), 0);
    assert_int_equal(load_due_before(1, 3), 1); /* the first is due at once */
    assert_int_equal(load_due_before(LOAD_SECOND / 3, 3), 1);
    assert_int_equal(load_due_before(LOAD_SECOND / 3 + 1, 3), 2);
    assert_int_equal(load_due_before(LOAD_SECOND, 3), 3);
    assert_int_equal(load_due_before(LOAD_SECOND + 1, 3), 4);
    assert_int_equal(load_due_before(86400 * LOAD_SECOND, 10000000), UINT64_C(864000000000));
}

/* ---- options ---- */

static void test_addresses(void **state)
{
    static load_plan p;
    char many[18 * 4];
    (void)state;
    assert_true(load_take_addresses(&p, "127.0.0.1:1,[::1]:2,/run/a"));
    assert_int_equal(p.addresses, 3);
    assert_string_equal(p.address[1].text, "[::1]:2");
    assert_string_equal(p.address[2].text, "/run/a");
    for (const char *const *bad =
             (const char *[]){"", ",", "a:1,", ",a:1", "a:1,,b:1", "word", NULL};
         *bad != NULL; bad++)
        assert_false(load_take_addresses(&p, *bad));
    memset(many, '\0', sizeof many);
    for (int i = 0; i < LOAD_MAX_ADDRESSES; i++)
        strcat(many, i == 0 ? "a:1" : ",a:1");
    assert_true(load_take_addresses(&p, many));
    assert_int_equal(p.addresses, LOAD_MAX_ADDRESSES);
    assert_false(load_take_addresses(&p, strcat(many, ",a:1")));
}

static void test_mix(void **state)
{
    load_plan p = {0};
    (void)state;
    assert_true(load_take_mix(&p, "issue=80,read=20"));
    assert_int_equal(p.weight[LOAD_ISSUE], 80);
    assert_int_equal(p.weight[LOAD_READ], 20);
    assert_int_equal(p.weight[LOAD_LOCK], 0);
    assert_true(load_take_mix(&p, "try"));
    assert_int_equal(p.weight[LOAD_TRY], 1);
    assert_int_equal(p.weight[LOAD_ISSUE], 0);
    for (const char *const *bad =
             (const char *[]){"", "word", "issue=", "issue=0", "issue=1001", "issue=1,",
                              "issue,issue", "issue=-1", "=1", NULL};
         *bad != NULL; bad++)
        assert_false(load_take_mix(&p, *bad));
}

static void test_size(void **state)
{
    load_plan p = {0};
    (void)state;
    assert_true(load_take_size(&p, "64"));
    assert_int_equal(p.least_bytes, 64);
    assert_int_equal(p.max_bytes, 64);
    assert_true(load_take_size(&p, "1-32000"));
    assert_int_equal(p.least_bytes, 1);
    assert_int_equal(p.max_bytes, 32000);
    for (const char *const *bad = (const char *[]){"", "0", "32001", "2-1", "-5", "5-", "1-32001",
                                                   "1-2-3", "000000000001-2", "x", NULL};
         *bad != NULL; bad++)
        assert_false(load_take_size(&p, *bad));
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_nothing, NULL, "percentiles of nothing");
    suite_add(&s, test_small_values_are_exact, NULL, "percentiles of small values are exact");
    suite_add(&s, test_how_exact, NULL, "percentiles are hardly too large");
    suite_add(&s, test_buckets_are_in_order, NULL, "a larger share is never a smaller value");
    suite_add(&s, test_beyond_the_last, NULL, "values beyond the last bucket");
    suite_add(&s, test_join, NULL, "percentiles of two together");
    suite_add(&s, test_due, NULL, "how many operations are due");
    suite_add(&s, test_addresses, NULL, "addresses, right and wrong");
    suite_add(&s, test_mix, NULL, "mixes, right and wrong");
    suite_add(&s, test_size, NULL, "sizes, right and wrong");
    return suite_run(&s, "load");
}
