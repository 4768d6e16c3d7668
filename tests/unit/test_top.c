/* Scenes of `baton top`, from cards that nobody has pinned; and text that nobody should print. */
#include "text.h"
#include "top_scene.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static top_look then;
static top_look now;
static top_scene scene;

enum { A, B, C, LOCKS };
#define SECOND 1000000000ULL

/* Two empty looks, a second apart, at a board with locks A, B and C. */
static void start(void)
{
    memset(&then, 0, sizeof then);
    then.participants = 128;
    then.locks = LOCKS;
    for (int i = 0; i < LOCKS; i++)
        snprintf(then.lock[i].name, sizeof then.lock[i].name, "%c", 'A' + i);
    then.began_ns = 100 * SECOND;
    then.ended_ns = 100 * SECOND;
    now = then;
    now.began_ns = 101 * SECOND;
    now.ended_ns = 101 * SECOND;
}

static void add_to(top_look *look, uint32_t card, int32_t thread, baton_doing doing, uint32_t lock,
                   uint64_t since_ns)
{
    look->card[look->cards++] = (baton_seen){.card = card,
                                             .doing = doing,
                                             .lock = lock,
                                             .since_ns = since_ns,
                                             .process = thread,
                                             .thread = thread,
                                             .command = "actor"};
}

/* A card that says the same in both looks. */
static void add(int32_t thread, baton_doing doing, uint32_t lock, uint64_t since_ns)
{
    uint32_t card = now.cards;
    add_to(&then, card, thread, doing, lock, since_ns);
    add_to(&now, card, thread, doing, lock, since_ns);
}

static void kill_card(uint32_t card)
{
    then.card[card].dead = now.card[card].dead = true;
}

static const top_lock *lock_named(const char *name)
{
    for (uint32_t i = 0; i < scene.locks; i++)
        if (strcmp(scene.lock[i].seen->name, name) == 0)
            return &scene.lock[i];
    fail_msg("no lock %s", name);
    return NULL;
}

static void make(void)
{
    top_scene_make(&then, &now, &scene);
}

static void test_empty(void **state)
{
    (void)state;
    start();
    now.locks = then.locks = 0;
    make();
    assert_int_equal(scene.locks, 0);
    assert_int_equal(scene.cards, 0);
    start();
    make();
    assert_int_equal(scene.locks, LOCKS);
    assert_int_equal(scene.participants, 128);
    assert_null(scene.lock[0].holder);
    assert_int_equal(scene.lock[0].waiters, 0);
    assert_int_equal(scene.deadlocks, 0);
}

static void test_order_of_waiters(void **state)
{
    (void)state;
    start();
    add(10, BATON_WAITS, B, 7 * SECOND);
    add(11, BATON_WAITS, B, 5 * SECOND);
    add(12, BATON_HOLDS, B, 4 * SECOND);
    add(13, BATON_WAITS, B, 0);
    add(14, BATON_WAITS, B, 6 * SECOND);
    add(15, BATON_WAITS, B, 0);
    add(16, BATON_WAITS, C, 1 * SECOND);
    make();
    const top_lock *b = lock_named("B");
    static const int32_t order[] = {13, 15, 11, 14, 10};
    assert_int_equal(b->waiters, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(b->waiter[i]->thread, order[i]);
    assert_int_equal(b->holder->thread, 12);
    assert_int_equal(lock_named("C")->waiters, 1);
    assert_int_equal(scene.cards, 7);
    assert_int_equal(scene.deadlocks, 0);
}

static void test_seconds(void **state)
{
    (void)state;
    start();
    assert_true(isnan(top_seconds_since(&now, 0)));
    assert_true(top_seconds_since(&now, 99 * SECOND) == 2);
    assert_true(top_seconds_since(&now, 200 * SECOND) == 0); /* not before it has come */
}

static void test_two_holders(void **state)
{
    (void)state;
    for (int32_t first = 10; first <= 11; first++) {
        int32_t second = 21 - first;
        start();
        add(first, BATON_HOLDS, A, first == 11 ? 6 * SECOND : 5 * SECOND);
        add(second, BATON_HOLDS, A, second == 11 ? 6 * SECOND : 5 * SECOND);
        make();
        assert_int_equal(lock_named("A")->holder->thread, 11);
    }
}

static void test_rates_and_order(void **state)
{
    (void)state;
    start();
    now.ended_ns = then.ended_ns + 2 * SECOND;
    then.lock[A].passages = 100;
    now.lock[A].passages = 110;
    now.lock[B].passages = 400;
    then.lock[C].passages = 50; /* fewer than before: a new board */
    add(10, BATON_WAITS, C, 5 * SECOND);
    make();
    assert_true(lock_named("A")->per_s == 5);
    assert_true(lock_named("B")->per_s == 200);
    assert_true(isnan(lock_named("C")->per_s));
    assert_string_equal(scene.lock[0].seen->name, "C"); /* somebody waits */
    assert_string_equal(scene.lock[1].seen->name, "B");
    assert_string_equal(scene.lock[2].seen->name, "A");
    then.locks = 1; /* named since the first look */
    make();
    assert_true(isnan(lock_named("B")->per_s));
}

/* Thread 10 + i holds lock i and waits for lock i + 1, all around. */
static void add_circle(uint32_t threads)
{
    for (uint32_t i = 0; i < threads; i++) {
        add(10 + (int32_t)i, BATON_HOLDS, i, (5 + i) * SECOND);
        add(10 + (int32_t)i, BATON_WAITS, (i + 1) % threads, (10 + i) * SECOND);
    }
}

static void test_circles(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= LOCKS; threads++) {
        start();
        add(9, BATON_WAITS, A, 50 * SECOND); /* waits too, but nobody waits for it */
        add_circle(threads);
        make();
        assert_int_equal(scene.deadlocks, 1);
        assert_int_equal(scene.deadlock[0].steps, threads);
        for (uint32_t i = 0; i < threads; i++) {
            const top_step *step = &scene.deadlock[0].step[i];
            assert_int_equal(step->who->thread, 10 + (int32_t)i);
            assert_int_equal(step->holds->name[0], 'A' + (int)i);
            assert_int_equal(step->waits_for->name[0], 'A' + (int)((i + 1) % threads));
        }
    }
}

static void test_two_circles(void **state)
{
    (void)state;
    start();
    add_circle(2);
    add(20, BATON_HOLDS, C, 5 * SECOND);
    add(20, BATON_WAITS, C, 6 * SECOND);
    make();
    assert_int_equal(scene.deadlocks, 2);
    assert_int_equal(scene.deadlock[0].steps + scene.deadlock[1].steps, 3);
}

static void test_chain_is_no_circle(void **state)
{
    (void)state;
    start();
    add(10, BATON_HOLDS, A, 5 * SECOND);
    add(11, BATON_HOLDS, B, 5 * SECOND);
    add(11, BATON_WAITS, A, 6 * SECOND);
    add(12, BATON_WAITS, B, 6 * SECOND);
    make();
    assert_int_equal(scene.deadlocks, 0);
}

/* Threads of one process are as different as processes. */
static void test_threads_of_a_process(void **state)
{
    (void)state;
    start();
    add_circle(2);
    for (uint32_t i = 0; i < now.cards; i++)
        then.card[i].process = now.card[i].process = 10;
    make();
    assert_int_equal(scene.deadlocks, 1);
    for (uint32_t i = 0; i < now.cards; i++) /* 10 holds A, 11 waits for A, 12 holds B, 13 ... */
        then.card[i].thread = now.card[i].thread = 10 + (int32_t)i;
    make();
    assert_int_equal(scene.deadlocks, 0);
}

static void test_moving_cards(void **state)
{
    (void)state;
    for (uint32_t card = 0; card < 4; card++)
        for (int change = 0; change < 6; change++) {
            start();
            add_circle(2);
            baton_seen *before = &then.card[card];
            if (change == 0)
                before->doing = BATON_RESTS;
            else if (change == 1)
                before->lock = C;
            else if (change == 2)
                before->since_ns++;
            else if (change == 3)
                before->process++;
            else if (change == 4)
                before->thread++;
            else
                before->card += 100; /* it was not there */
            make();
            assert_int_equal(scene.deadlocks, 0);
        }
    start();
    add_circle(2);
    now.began_ns = then.ended_ns + TOP_APART_NS - 1; /* too soon to tell */
    make();
    assert_int_equal(scene.deadlocks, 0);
    now.began_ns++;
    make();
    assert_int_equal(scene.deadlocks, 1);
}

static void test_dead_holder(void **state)
{
    (void)state;
    start();
    add(10, BATON_HOLDS, A, 5 * SECOND);
    add(11, BATON_WAITS, A, 6 * SECOND);
    add(12, BATON_WAITS, A, 7 * SECOND);
    add(13, BATON_RESTS, 0, 0);
    kill_card(0);
    kill_card(2);
    kill_card(3);
    make();
    const top_lock *a = lock_named("A");
    assert_int_equal(a->waiters, 2);
    assert_int_equal(a->stuck, 1); /* the dead one waits no more */
    assert_int_equal(scene.dead_cards, 3);
    assert_int_equal(scene.dead[0]->thread, 10);
    now.lock[A].passages++; /* somebody else has passed: the lock was made anew */
    make();
    assert_int_equal(lock_named("A")->stuck, 0);
}

/* It is not the circle that keeps them, once somebody in it has died. */
static void test_circle_with_dead(void **state)
{
    (void)state;
    start();
    add_circle(2);
    kill_card(0);
    kill_card(1);
    make();
    assert_int_equal(scene.deadlocks, 0);
    assert_int_equal(lock_named("A")->stuck, 1);
    assert_int_equal(lock_named("B")->stuck, 0);
}

static void test_out_of_range(void **state)
{
    (void)state;
    start();
    add(10, BATON_HOLDS, LOCKS, 5 * SECOND);
    add(11, BATON_WAITS, BATON_MAX_LOCKS_ON_BOARD + 7, 5 * SECOND);
    add(12, BATON_WAITS, UINT32_MAX, 5 * SECOND);
    add(13, (baton_doing)3, A, 5 * SECOND);
    add(14, BATON_RESTS, UINT32_MAX, 0); /* does nothing, so it does not matter with what */
    for (uint32_t i = 0; i < 4; i++)
        kill_card(i);
    make();
    assert_int_equal(scene.cards, 1);
    assert_int_equal(scene.dead_cards, 0);
    for (uint32_t i = 0; i < LOCKS; i++) {
        assert_null(scene.lock[i].holder);
        assert_int_equal(scene.lock[i].waiters, 0);
    }
}

/* As many as there can be, in one circle of two and in a row of waits behind it. */
static void test_full_board(void **state)
{
    (void)state;
    start();
    add_circle(2);
    for (int32_t i = 4; i < BATON_MAX_ON_BOARD; i++)
        add(100 + i, BATON_WAITS, A, 20 * SECOND);
    make();
    assert_int_equal(scene.cards, BATON_MAX_ON_BOARD);
    assert_int_equal(lock_named("A")->waiters, BATON_MAX_ON_BOARD - 3);
    assert_int_equal(scene.deadlocks, 1);
}

static void test_clean_text(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"", ""},
        {"plain name", "plain name"},
        {"tab\tbell\aescape\033[2J\177", "tab?bell?escape?[2J?"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xe2\x82\xac \xf0\x9f\x94\x92", "\xe2\x82\xac \xf0\x9f\x94\x92"},
        {"half \xe2\x82", "half ??"},
        {"\x80\xff\xfe\xc0\xaf", "?????"},
        {"\xc2\x9b", "??"},           /* CSI */
        {"\xed\xa0\x80", "???"},      /* half a surrogate */
        {"\xf4\x90\x80\x80", "????"}, /* beyond the last */
        {"\xe0\x80\xaf", "???"},      /* too long */
        {" ~\x1f", " ~?"},            /* the first and the last of each length, and what is next */
        {"\xc1\xbf\xc2\xa0\xc2\x9f\xdf\xbf", "??\xc2\xa0??\xdf\xbf"},
        {"\xe0\x9f\xbf\xe0\xa0\x80", "???\xe0\xa0\x80"},
        {"\xed\x9f\xbf\xed\xbf\xbf\xee\x80\x80", "\xed\x9f\xbf???\xee\x80\x80"},
        {"\xf0\x8f\xbf\xbf\xf0\x90\x80\x80", "????\xf0\x90\x80\x80"},
        {"\xf4\x8f\xbf\xbf\xf8\x88\x80\x80", "\xf4\x8f\xbf\xbf????"},
        {"\xf7\xbf\xbf\xbf", "????"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", pairs[i][0]);
        text_clean(text);
        assert_string_equal(text, pairs[i][1]);
    }
    assert_int_equal(text_columns("gr\xc3\xbc\xc3\x9f"), 4);
    assert_int_equal(text_bytes("gr\xc3\xbc\xc3\x9f", 3), 4);
    assert_int_equal(text_bytes("gr\xc3\xbc\xc3\x9f", 4), 6);
    assert_int_equal(text_bytes("gr\xc3\xbc\xc3\x9f", 100), 6);
    assert_int_equal(text_bytes("abc", 0), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_order_of_waiters),
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_two_holders),
        cmocka_unit_test(test_rates_and_order),
        cmocka_unit_test(test_circles),
        cmocka_unit_test(test_two_circles),
        cmocka_unit_test(test_chain_is_no_circle),
        cmocka_unit_test(test_threads_of_a_process),
        cmocka_unit_test(test_moving_cards),
        cmocka_unit_test(test_dead_holder),
        cmocka_unit_test(test_circle_with_dead),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_full_board),
        cmocka_unit_test(test_clean_text),
    };
    return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
