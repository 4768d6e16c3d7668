/* Locks that nobody uses: out of memory and back, as if nothing had been. */
#include "wme_tests.h"

/* Node 0 has the token, operations were executed, and all are quiet. */
static scene *used(void)
{
    scene *w = scene_open(3, false);
    scene_try(w, 0, 0);
    for (int i = 0; i < 3; i++) {
        scene_issue(w, 0, 0);
        scene_settle(w);
    }
    scene_exit(w, 0, 0);
    scene_settle(w);
    return w;
}

static void rest_all(scene *w)
{
    for (uint8_t i = 0; i < w->nodes; i++)
        assert_true(scene_rest(w, i));
    assert_int_equal(w->count, 0); /* nobody hears of it */
}

static void test_goes_on(void **state)
{
    scene *w = used();
    uint64_t before = scene_user_at(w, 0, 0)->token;
    (void)state;
    rest_all(w);
    scene_try(w, 0, 1);
    assert_string_equal(scene_told(w, 0, 1), "C"); /* the token is where it was */
    assert_true(scene_user_at(w, 0, 1)->token > before);
    scene_issue(w, 0, 1);
    scene_settle(w);
    scene_exit(w, 0, 1);
    rest_all(w);
    scene_try(w, 2, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_issue(w, 2, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 2, 0), "CO");
    for (uint8_t i = 0; i < 3; i++) {
        EXPECT_EXECUTED(w, i, 1, 2, 3, 4, 5);
        assert_int_equal(scene_stub(w, i)->now.epoch, 1);
    }
    scene_close(w);
}

/* A request that was granted is not made again under its number. */
static void test_asks_anew(void **state)
{
    scene *w = used();
    (void)state;
    for (int i = 0; i < 3; i++) {
        uint8_t node = (uint8_t)(1 + i % 2);
        scene_try(w, node, 0);
        scene_settle(w);
        assert_string_equal(scene_told(w, node, 0), i < 2 ? "C" : "CRC");
        scene_exit(w, node, 0);
        scene_settle(w);
        rest_all(w);
    }
    scene_close(w);
}

static void test_has_missed(void **state)
{
    scene *w = used();
    (void)state;
    scene_cut(w, 2, true);
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_settle(w);
    scene_exit(w, 0, 0);
    scene_cut(w, 2, false);
    rest_all(w);
    scene_tick(w, 2); /* one is behind, and what it has missed is in nobody's memory */
    scene_settle(w);
    EXPECT_EXECUTED(w, 2, 1, 2, 3, 4);
    scene_close(w);
}

static void test_must_not(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    assert_false(scene_rest(w, 0)); /* somebody is inside */
    scene_try(w, 1, 0);
    assert_false(scene_rest(w, 1)); /* asks */
    scene_issue(w, 0, 0);
    scene_deliver(w, WME_INVOKE, 0, 2);
    assert_false(scene_rest(w, 2)); /* has accepted what is not known to be acknowledged */
    scene_settle(w);
    assert_false(scene_rest(w, 2)); /* knows that somebody asks */
    scene_exit(w, 0, 0);
    scene_settle(w);
    scene_exit(w, 1, 0);
    scene_settle(w);
    assert_true(scene_rest(w, 2));
    scene_suspect(w, 2, 1);
    assert_false(scene_rest(w, 2)); /* in an epoch change */
    scene_suspect(w, 2, 0);
    assert_false(scene_rest(w, 2));
    scene_close(w);
}

void wme_rest_tests(suite *s)
{
    suite_add(s, test_goes_on, NULL, "rest: goes on as if nothing had been");
    suite_add(s, test_asks_anew, NULL, "rest: asks under a new number");
    suite_add(s, test_has_missed, NULL, "rest: who has missed something gets it");
    suite_add(s, test_must_not, NULL, "rest: not while something goes on");
}
