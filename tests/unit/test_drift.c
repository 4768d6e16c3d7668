/* Sections that are adrift: which is moved next, where it goes, what the answer means. */
#include "drift.h"
#include "unit.h"

enum { SERVERS = 3, A = 0, B = 1, C = 2 };

static drifter *next_at(drift *all, uint64_t now)
{
    uint64_t ignored;
    return drift_next(all, now, &ignored);
}

/* It is the next one; returns where it goes. */
static uint32_t set_out(drift *all, drifter *d, uint64_t now, uint64_t shunned)
{
    assert_ptr_equal(next_at(all, now), d);
    return drift_set_out(all, d, shunned);
}

/* ---- where ---- */

static void its_own_server_comes_first(void **unused)
{
    (void)unused;
    drift all;
    drifter d = {0};
    drift_start(&all, SERVERS);
    drift_begin(&all, &d, B);
    assert_int_equal(set_out(&all, &d, 0, 0), B);
    drift_return(&all, &d, 1);
    assert_int_equal(set_out(&all, &d, 1, 0), C); /* at once, without a pause */
    drift_return(&all, &d, 2);
    assert_int_equal(set_out(&all, &d, 2, 0), A);
    drift_end(&d);
}

static void silent_one_comes_last(void **unused)
{
    (void)unused;
    drift all;
    drifter d = {0};
    drift_start(&all, SERVERS);
    drift_begin(&all, &d, B);
    assert_int_equal(set_out(&all, &d, 0, course_bit(B)), C);
    drift_return(&all, &d, 0);
    assert_int_equal(set_out(&all, &d, 0, course_bit(B)), A);
    drift_return(&all, &d, 0);
    assert_int_equal(set_out(&all, &d, 0, course_bit(B)), B);
    drift_end(&d);
}

static void after_a_round_there_is_a_pause(void **unused)
{
    (void)unused;
    drift all;
    drifter d = {0};
    uint64_t next;
    drift_start(&all, SERVERS);
    drift_begin(&all, &d, A);
    for (uint32_t i = 0; i < SERVERS; i++) {
        assert_int_equal(set_out(&all, &d, 1000, 0), i);
        drift_return(&all, &d, 1000);
    }
    assert_null(drift_next(&all, 1000, &next));
    assert_int_equal(next, 1000 + DRIFT_PAUSE);
    assert_null(drift_next(&all, next - 1, &next));
    assert_int_equal(set_out(&all, &d, next, 0), A); /* and all again */
    drift_end(&d);
    assert_null(drift_next(&all, UINT64_MAX, &next));
    assert_true(next == WATCH_NEVER);
}

/* ---- in which order ---- */

static void none_waits_for_one_that_is_asked_for_in_vain(void **unused)
{
    (void)unused;
    drift all;
    drifter first = {0}, second = {0}, third = {0};
    uint64_t next;
    drift_start(&all, SERVERS);
    drift_begin(&all, &first, A);
    drift_begin(&all, &second, A);
    set_out(&all, &first, 0, 0);
    assert_ptr_equal(next_at(&all, 0), &second); /* the first is on its way */
    drift_return(&all, &first, 0);
    drift_begin(&all, &third, A);
    set_out(&all, &second, 0, 0);
    assert_ptr_equal(drift_next(&all, 7, &next), &first);
    assert_int_equal(next, 7); /* now */
    set_out(&all, &first, 0, 0);
    set_out(&all, &third, 0, 0);
    assert_null(next_at(&all, UINT64_MAX)); /* all are on their way */
    drift_end(&first);
    drift_end(&second);
    drift_end(&third);
}

/* Who rests is behind those that are ready, and before those that began to rest later. */
static void rests_end_in_their_order(void **unused)
{
    (void)unused;
    drift all;
    drifter d[3] = {0};
    uint64_t next;
    drift_start(&all, 1);
    for (uint64_t i = 0; i < 2; i++) {
        drift_begin(&all, &d[i], 0);
        set_out(&all, &d[i], i, 0);
        drift_return(&all, &d[i], 100 * i);
    }
    drift_begin(&all, &d[2], 0);
    assert_ptr_equal(next_at(&all, DRIFT_PAUSE), &d[2]);
    drift_end(&d[2]);
    assert_ptr_equal(next_at(&all, DRIFT_PAUSE), &d[0]);
    drift_end(&d[0]);
    assert_null(drift_next(&all, DRIFT_PAUSE + 99, &next));
    assert_int_equal(next, DRIFT_PAUSE + 100);
    assert_ptr_equal(next_at(&all, DRIFT_PAUSE + 100), &d[1]);
    drift_end(&d[1]);
}

/* ---- the end ---- */

static void what_has_ended_does_not_come_back(void **unused)
{
    (void)unused;
    drift all;
    drifter d = {0};
    drift_start(&all, SERVERS);
    drift_end(&d); /* it was not adrift */
    drift_begin(&all, &d, B);
    drift_end(&d); /* lost before it set out */
    assert_null(next_at(&all, UINT64_MAX));
    drift_begin(&all, &d, B);
    set_out(&all, &d, 0, 0);
    drift_end(&d); /* lost on its way: then the line breaks */
    drift_return(&all, &d, 0);
    assert_null(next_at(&all, UINT64_MAX));
    drift_begin(&all, &d, C); /* arrived, and its line breaks again: a new round */
    assert_int_equal(set_out(&all, &d, 0, 0), C);
    drift_return(&all, &d, 0);
    assert_int_equal(set_out(&all, &d, 0, 0), A);
    drift_return(&all, &d, 0);
    assert_int_equal(set_out(&all, &d, 0, 0), B);
    drift_end(&d);
}

static void answers(void **unused)
{
    (void)unused;
    for (uint64_t left = 0; left < 2; left++) {
        assert_int_equal(drift_judge(DRIFT_NOTHING, left), DRIFT_GOES_ON);
        assert_int_equal(drift_judge(DRIFT_REFUSED, left), DRIFT_GOES_ON);
        assert_int_equal(drift_judge(DRIFT_EJECTED, left), DRIFT_IS_LOST);
    }
    assert_int_equal(drift_judge(DRIFT_GRANTED, 1), DRIFT_ARRIVES);
    assert_int_equal(drift_judge(DRIFT_GRANTED, 0), DRIFT_TOO_LATE);
}

/* So that a server that is silent, or lets it wait, leaves time for the others. */
static void time_is_left_for_the_others(void **unused)
{
    (void)unused;
    const uint64_t second = 1000000000;
    drift all;
    drift_start(&all, SERVERS);
    assert_int_equal(drift_patience(&all, 6 * second), second);
    assert_int_equal(drift_wait_ms(6 * second), 3001);
    assert_int_equal(drift_wait_ms(0), 1); /* 0 would be without end */
    assert_int_equal(drift_wait_ms(3999998), 2);
    assert_int_equal(drift_wait_ms(4000000), 3);
    assert_true(drift_has_own_line(63));
    assert_false(drift_has_own_line(64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_own_server_comes_first),
        cmocka_unit_test(silent_one_comes_last),
        cmocka_unit_test(after_a_round_there_is_a_pause),
        cmocka_unit_test(none_waits_for_one_that_is_asked_for_in_vain),
        cmocka_unit_test(rests_end_in_their_order),
        cmocka_unit_test(what_has_ended_does_not_come_back),
        cmocka_unit_test(answers),
        cmocka_unit_test(time_is_left_for_the_others),
    };
    return cmocka_run_group_tests_name("drift", tests, NULL, NULL);
}
