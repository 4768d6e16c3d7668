/* When the client renews, asks, gives a line up, and where it goes then: the time is told. */
#include "unit.h"
#include "watch.h"

enum { LEASE = 6000, PATIENCE = 5000 }; /* milliseconds here; it does not matter which */

static line_watch leased(uint64_t now)
{
    line_watch w = {.lease = LEASE, .named = true};
    watch_sent(&w, now);
    watch_answered(&w, now);
    return w;
}

/* ---- leases ---- */

static void lease_is_counted_from_before_the_command(void **unused)
{
    (void)unused;
    line_watch w = leased(1000);
    assert_int_equal(w.renew_at, 1000 + LEASE / 6);
    assert_int_equal(w.sure_until, 1000 + LEASE - LEASE / 16);
    assert_false(watch_is_over(&w, w.sure_until - 1));
    assert_true(watch_is_over(&w, w.sure_until));
    watch_sent(&w, 2000);
    assert_int_equal(w.sure_until, 1000 + LEASE - LEASE / 16); /* not before it is answered */
    watch_answered(&w, 2000);
    assert_int_equal(w.sure_until, 2000 + LEASE - LEASE / 16);
    watch_answered(&w, 1500); /* an answer to something older takes nothing back */
    assert_int_equal(w.sure_until, 2000 + LEASE - LEASE / 16);
    w.named = false; /* without a session there is no move to be in time for */
    assert_int_equal(watch_pause(&w), LEASE / 3);
}

static void no_lease_is_never_over(void **unused)
{
    (void)unused;
    line_watch w = {.named = true};
    watch_answered(&w, 1000);
    watch_granted(&w, 0, 1000000);
    assert_false(watch_is_over(&w, UINT64_MAX));
    assert_false(watch_can_move(&w));
    assert_false(w.unsure);
}

static void suspended_node_renews_nothing(void **unused)
{
    (void)unused;
    line_watch w = leased(1000);
    uint64_t until = w.sure_until;
    w.suspended = true;
    watch_answered(&w, 3000);
    assert_int_equal(w.sure_until, until);
}

/* An operation there has no outcome, and the lease runs out behind it. */
static void suspended_node_is_left_after_a_pause(void **unused)
{
    (void)unused;
    line_watch w = leased(1000);
    assert_true(watch_leave_at(&w) == WATCH_NEVER);
    watch_suspended(&w, 2000);
    watch_suspended(&w, 2500); /* of another section: it was so before */
    assert_int_equal(watch_leave_at(&w), 2000 + LEASE / 6);
    watch_resumed(&w);
    assert_true(watch_leave_at(&w) == WATCH_NEVER);
    watch_answered(&w, 3000);
    assert_int_equal(w.sure_until, 3000 + LEASE - LEASE / 16);
    watch_suspended(&w, 4000);
    assert_int_equal(watch_leave_at(&w), 4000 + LEASE / 6);
    w.named = false; /* it would be lost by that */
    assert_true(watch_leave_at(&w) == WATCH_NEVER);
}

static void late_grant_must_be_made_sure(void **unused)
{
    (void)unused;
    line_watch w = leased(1000);
    watch_granted(&w, 1000, 1000 + LEASE / 3);
    assert_false(w.unsure);
    watch_granted(&w, 1000, 1001 + LEASE / 3);
    assert_true(w.unsure);
    assert_false(watch_is_over(&w, 100000)); /* nobody knows yet */
    assert_false(watch_can_move(&w));
}

/* ---- silence ---- */

/* Something is held over it, and a renewal is on its way. */
static void held_line_is_silent_after_a_pause(void **unused)
{
    (void)unused;
    const line_watch w = leased(1000);
    const line_view line = {.precious = true, .asked = true, .asked_at = 2000};
    server_view v = watch_server(PATIENCE);
    watch_line(&v, &w, line);
    assert_int_equal(watch_silent_at(&v, line), 2000 + LEASE / 6);
    const server_watch since = {.heard_at = 2001}, before = {.heard_at = 2000};
    assert_false(watch_is_silent(&since, line)); /* only this line is */
    assert_true(watch_is_silent(&before, line));
    const line_view quiet = {.precious = true};
    assert_true(watch_silent_at(&v, quiet) == WATCH_NEVER);
}

/* Who only waits has no lease to lose, and a place in the queue. */
static void wait_is_as_patient_as_anything(void **unused)
{
    (void)unused;
    const line_watch w = leased(1000);
    const line_view waits = {.asked = true, .may_last = true, .asked_at = 2000};
    const line_view asked = {.asked = true, .asked_at = 3000};
    server_view v = watch_server(PATIENCE);
    watch_line(&v, &w, waits);
    watch_line(&v, &w, asked);
    assert_true(watch_silent_at(&v, waits) == WATCH_NEVER);
    assert_int_equal(watch_silent_at(&v, asked), 3000 + PATIENCE);
}

static watch_question question(const server_watch *s, const server_view *v, uint64_t now)
{
    uint64_t next;
    watch_question what = watch_ask(s, v, now, &next);
    assert_true(next > now);
    return what;
}

static void blocked_line_has_others_asked(void **unused)
{
    (void)unused;
    const line_watch w = {0};
    const line_view waits = {.asked = true, .may_last = true, .asked_at = 2000};
    server_view v = watch_server(PATIENCE);
    server_watch s = {.heard_at = 1000};
    uint64_t next;
    assert_int_equal(question(&s, &v, 1000000), WATCH_NOTHING); /* nobody waits */
    watch_line(&v, &w, waits);
    assert_int_equal(watch_ask(&s, &v, 2000, &next), WATCH_NOTHING);
    assert_int_equal(next, 2000 + PATIENCE / 2);
    assert_int_equal(question(&s, &v, next), WATCH_CONNECT); /* there is no line to ask over */
    s.asked_at = next;
    assert_int_equal(question(&s, &v, next), WATCH_NOTHING); /* once at a time */
    watch_line(&v, &w, (line_view){0});
    assert_int_equal(question(&s, &v, next + PATIENCE / 2), WATCH_ASK);
    s.heard_at = next + PATIENCE / 2; /* it lives */
    assert_int_equal(question(&s, &v, next + PATIENCE / 2), WATCH_NOTHING);
    watch_line(&v, &w, (line_view){.asked = true, .asked_at = 9000});
    assert_int_equal(question(&s, &v, 100000), WATCH_NOTHING); /* it answers, or is silent */
}

/* A third of the lease at most from the hang on: a pause until it is asked, and one to answer. */
static void operation_is_given_up_within_a_third_of_the_lease(void **unused)
{
    (void)unused;
    const line_watch w = leased(1000);
    const line_view works = {.precious = true, .asked = true, .may_last = true, .asked_at = 1000};
    server_view v = watch_server(PATIENCE);
    const server_watch s = {.heard_at = 1000};
    watch_line(&v, &w, works);
    watch_line(&v, &w, (line_view){0});
    uint64_t asked_at;
    assert_int_equal(watch_ask(&s, &v, 1000, &asked_at), WATCH_NOTHING);
    assert_int_equal(question(&s, &v, asked_at), WATCH_ASK);
    const line_view asked = {.asked = true, .asked_at = asked_at};
    assert_int_equal(watch_silent_at(&v, asked), 1000 + LEASE / 3);
    assert_true(watch_is_silent(&s, asked));
    assert_int_equal(watch_look_at(&w, 1000, PATIENCE), asked_at);
    assert_int_equal(watch_look_at(&w, 1000, 10), 1005); /* whichever is sooner */
}

/* ---- where to go ---- */

static void shunned_servers_come_last(void **unused)
{
    (void)unused;
    course way = {.home = 3, .servers = 5, .shunned = course_bit(3) | course_bit(0)};
    const uint32_t expected[] = {4, 1, 2, 3, 0, COURSE_END, COURSE_END};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(course_is_over(&way), expected[i] == COURSE_END);
        assert_int_equal(course_next(&way), expected[i]);
    }
    course alone = {.servers = 1};
    assert_int_equal(course_next(&alone), 0);
    assert_int_equal(course_next(&alone), COURSE_END);
    course all = {.home = 63, .servers = COURSE_MAX, .shunned = UINT64_MAX};
    for (uint32_t i = 0; i < COURSE_MAX; i++)
        assert_int_equal(course_next(&all), (63 + i) % COURSE_MAX);
    assert_true(course_is_over(&all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease_is_counted_from_before_the_command),
        cmocka_unit_test(no_lease_is_never_over),
        cmocka_unit_test(suspended_node_renews_nothing),
        cmocka_unit_test(suspended_node_is_left_after_a_pause),
        cmocka_unit_test(late_grant_must_be_made_sure),
        cmocka_unit_test(held_line_is_silent_after_a_pause),
        cmocka_unit_test(wait_is_as_patient_as_anything),
        cmocka_unit_test(blocked_line_has_others_asked),
        cmocka_unit_test(operation_is_given_up_within_a_third_of_the_lease),
        cmocka_unit_test(shunned_servers_come_last),
    };
    return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
