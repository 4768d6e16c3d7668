/* A node that is about to go gives its token to another, though nobody has asked. */
#include "wme_tests.h"

static const uint8_t sizes[] = {2, 3, 5};

static void test_yield(void **state)
{
    const uint8_t *nodes = *state;
    scene *w = scene_open(*nodes, false);
    scene_try(w, 0, 0);
    assert_false(scene_yield(w, 0, 1)); /* somebody is inside */
    scene_exit(w, 0, 0);
    assert_false(scene_yield(w, 0, 0));
    assert_false(scene_yield(w, 0, *nodes));
    assert_false(scene_yield(w, 1, 0)); /* it has no token */
    assert_int_equal(scene_sent(w), 0);
    assert_true(scene_yield(w, 0, 1));
    assert_int_equal(scene_sent(w), *nodes - 1);
    assert_false(scene_yield(w, 0, 1));
    scene_settle(w);
    assert_int_equal(scene_stub(w, 1)->state, WME_TOKEN_HELD);
    scene_crash(w, 0); /* nobody minds */
    scene_forget_counts(w);
    scene_try(w, 1, 0);
    assert_string_equal(scene_told(w, 1, 0), "C");
    assert_true(scene_user_at(w, 1, 0)->token > scene_user_at(w, 0, 0)->token);
    assert_int_equal(scene_sent(w), 0);
    assert_int_equal(scene_stub(w, 1)->now.epoch, 1);
    scene_close(w);
}

static void test_yield_to_whom(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_suspect(w, 0, 1);
    assert_false(scene_yield(w, 0, 1));
    scene_suspect(w, 0, 2); /* a minority now */
    scene_trust(w, 0, 1);
    scene_suspect(w, 0, 1);
    assert_false(scene_yield(w, 0, 2));
    scene_trust(w, 0, 1);
    assert_true(scene_yield(w, 0, 1));
    scene_close(w);
}

/* Somebody has asked, and it is not known here yet. */
static void test_yield_and_requests(void **state)
{
    for (uint8_t to = 1; to < 3; to++) {
        scene *w = scene_open(3, false);
        (void)state;
        scene_try(w, 2, 0);
        assert_true(scene_yield(w, 0, to));
        scene_settle(w);
        assert_string_equal(scene_told(w, 2, 0), "C");
        scene_exit(w, 2, 0);
        scene_try(w, 0, 0);
        scene_settle(w);
        assert_string_equal(scene_told(w, 0, 0), "C");
        scene_close(w);
    }
}

void wme_yield_tests(suite *s)
{
    for (size_t i = 0; i < sizeof sizes; i++)
        suite_add(s, test_yield, &sizes[i], "yield, %u nodes: the token goes before its node does",
                  (unsigned)sizes[i]);
    suite_add(s, test_yield_to_whom, NULL, "yield: to who is trusted, and in a majority only");
    suite_add(s, test_yield_and_requests, NULL, "yield: while somebody asks for it");
}
