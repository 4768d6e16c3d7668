/* Leases of sessions, by a clock that the test moves: no socket, no thread. */
#include "registry.h"
#include "session.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static service of;
static traffic counted;
static notice *posted;

static void keep(lock_session *to, notice *n)
{
    (void)to;
    assert_null(posted);
    posted = n;
}

static int set_up(void **unused)
{
    (void)unused;
    of = (service){.locks = registry_new(1, 10),
                   .limits = {.word_bytes = 512, .command_bytes = 4096},
                   .max_name = 512,
                   .longest_lease = 86400000};
    return of.locks != NULL ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    registry_free(of.locks);
    return 0;
}

/* What the session says, and what it hears at once. */
static void say(session *s, const char *command, uint64_t now, const char *answer)
{
    size_t bytes = strlen(command);
    assert_int_equal(session_feed(s, command, bytes, now), bytes);
    assert_int_equal(s->out.bytes, strlen(answer));
    assert_memory_equal(s->out.at, answer, s->out.bytes);
    s->out.bytes = 0;
}

static void hear_notice(session *s, uint64_t now, const char *answer)
{
    assert_non_null(posted);
    assert_ptr_equal(posted->to, &s->who);
    session_notice(posted, now);
    posted = NULL;
    assert_int_equal(s->out.bytes, strlen(answer));
    assert_memory_equal(s->out.at, answer, s->out.bytes);
    s->out.bytes = 0;
}

static void end(session *s)
{
    session_end(s, 0);
    session_free(s);
}

static void a_command_renews(void **unused)
{
    (void)unused;
    session a;
    session_start(&a, &of, &counted, keep);
    assert_int_equal(session_deadline(&a), 0);
    say(&a, "RENEW 1000\r\n", 100, ":1000\r\n");
    assert_int_equal(session_deadline(&a), 1100);
    say(&a, "PING\r\n", 600, "+PONG\r\n");
    assert_int_equal(session_deadline(&a), 1600);
    say(&a, "RENEW 0\r\n", 700, ":0\r\n");
    assert_int_equal(session_deadline(&a), 0);
    end(&a);
}

/* Who waits must be silent, so its lease must not count what it has waited. */
static void a_grant_renews(void **unused)
{
    (void)unused;
    session a, b;
    session_start(&a, &of, &counted, keep);
    session_start(&b, &of, &counted, keep);
    say(&a, "TRY x\r\n", 0, ":1\r\n");
    say(&b, "RENEW 1000\r\n", 0, ":1000\r\n");
    say(&b, "LOCK x\r\n", 10, "");
    say(&a, "EXIT x 1\r\n", 900, ":1\r\n");
    hear_notice(&b, 900, ":2\r\n");
    assert_int_equal(session_deadline(&b), 1900);
    session_time(&b, 1899);
    assert_null(posted);
    assert_int_equal(b.out.bytes, 0);
    say(&a, "TRY x\r\n", 1899, ":-2\r\n"); /* still held */
    session_time(&b, 1900);
    hear_notice(&a, 1900, ""); /* free, in section 3; pushes are for protocol 3 */
    say(&a, "TRY x\r\n", 1901, ":4\r\n");
    end(&a);
    end(&b);
}

static uint32_t parts;

static bool take_a_part(locks *all, lock_session *me, uint64_t now)
{
    (void)all;
    (void)me;
    (void)now;
    return ++parts == 3;
}

/* What is too much to be taken away at once is taken before long, not after another lease. */
static void the_rest_follows_soon(void **unused)
{
    (void)unused;
    lock_backend in_parts = *of.locks->backend;
    const lock_backend *whole = of.locks->backend;
    session a;
    in_parts.lease_over = take_a_part;
    of.locks->backend = &in_parts;
    parts = 0;
    session_start(&a, &of, &counted, keep);
    say(&a, "RENEW 1000\r\n", 0, ":1000\r\n");
    session_time(&a, 1000);
    assert_int_equal(session_deadline(&a), 1050);
    session_time(&a, 1050);
    session_time(&a, 1100);
    assert_int_equal(parts, 3);
    assert_int_equal(session_deadline(&a), 2100);
    of.locks->backend = whole;
    end(&a);
}

/* Its time is over when the lock is its own already: no need to look at the clock any more. */
static void a_grant_beats_the_clock(void **unused)
{
    (void)unused;
    session a, b;
    session_start(&a, &of, &counted, keep);
    session_start(&b, &of, &counted, keep);
    say(&a, "TRY x\r\n", 0, ":1\r\n");
    say(&b, "LOCK x 50\r\n", 0, "");
    assert_int_equal(session_deadline(&b), 50);
    say(&a, "EXIT x 1\r\n", 49, ":1\r\n");
    session_time(&b, 50);
    assert_int_equal(session_deadline(&b), 0);
    hear_notice(&b, 50, ":2\r\n");
    end(&a);
    end(&b);
}

/* A grant is no reason for a lease where there was none. */
static void no_lease_stays_none(void **unused)
{
    (void)unused;
    session a, b;
    session_start(&a, &of, &counted, keep);
    session_start(&b, &of, &counted, keep);
    say(&a, "TRY x\r\n", 0, ":1\r\n");
    say(&b, "LOCK x\r\n", 10, "");
    say(&a, "EXIT x 1\r\n", 900, ":1\r\n");
    hear_notice(&b, 900, ":2\r\n");
    assert_int_equal(session_deadline(&b), 0);
    end(&a);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_command_renews, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_grant_renews, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_rest_follows_soon, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_grant_beats_the_clock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_lease_stays_none, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
