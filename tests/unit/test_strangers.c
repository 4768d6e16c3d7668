/* What a session gets in one turn, and what a client gets that has not given the password. */
#include "registry.h"
#include "session.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static service of;
static traffic counted;
static guesses wrong;

static void drop(lock_session *me, notice *n)
{
    (void)me;
    free(n);
}

static int set_up(void **unused)
{
    (void)unused;
    guesses_start(&wrong);
    of = (service){.locks = registry_new(1, 10),
                   .limits = {.word_bytes = 512, .command_bytes = 65536},
                   .max_output = 1 << 20,
                   .max_name = 512,
                   .longest_lease = 86400000,
                   .secret = "sesame",
                   .guesses = &wrong};
    return of.locks != NULL ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    registry_free(of.locks);
    return 0;
}

static void come(session *s, const char *from)
{
    session_start(s, &of, &counted, drop);
    strcpy(s->who.from, from);
}

static void go(session *s)
{
    session_end(s, 0);
    session_free(s);
}

/* Returns how many bytes were used; forgets what was said before. */
static size_t feed(session *s, const char *said, uint64_t now)
{
    s->out.bytes = 0;
    return session_feed(s, said, strlen(said), now);
}

static void expect(session *s, const char *said, uint64_t now, const char *answer)
{
    assert_int_equal(feed(s, said, now), strlen(said));
    assert_int_equal(s->out.bytes, strlen(answer));
    assert_memory_equal(s->out.at, answer, s->out.bytes);
}

static const char refusal[] = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

/* ---- shares ---- */

static void expect_share(session *s, size_t share)
{
    char many[100 * 6 + 1] = "";
    for (size_t i = 0; i < 100; i++)
        memcpy(many + 6 * i, "PING\r\n", 7);
    assert_int_equal(feed(s, many, 0), 6 * share);
    assert_true(s->unfinished);
    assert_int_equal(s->out.bytes, 7 * share);
    many[6 * share] = '\0';
    assert_int_equal(feed(s, many, 0), 6 * share); /* exactly its share: it may have more to say */
    assert_false(s->unfinished);
}

static void shares(void **unused)
{
    (void)unused;
    session a;
    come(&a, "10.0.0.1:1");
    expect_share(&a, 4);
    expect(&a, "AUTH sesame\r\n", 0, "+OK\r\n");
    expect_share(&a, SESSION_SHARE);
    go(&a);
}

/* ---- strangers ---- */

static void strangers_have_little_time(void **unused)
{
    (void)unused;
    session a;
    come(&a, "10.0.0.1:1");
    a.stranger_until = 1000;
    assert_int_equal(session_deadline(&a), 1000);
    session_time(&a, 999);
    assert_false(a.ends);
    session_time(&a, 1000);
    assert_true(a.ends);
    assert_memory_equal(a.out.at, "-NOAUTH ", 8);
    go(&a);
    come(&a, "10.0.0.1:2");
    a.stranger_until = 1000;
    expect(&a, "AUTH sesame\r\n", 500, "+OK\r\n");
    assert_int_equal(session_deadline(&a), 0);
    session_time(&a, 1000);
    assert_false(a.ends);
    go(&a);
}

static void guesses_wait(void **unused)
{
    (void)unused;
    session a, b, c;
    come(&a, "10.0.0.1:1");
    for (uint32_t i = 0; i < GUESSES_FREE; i++)
        expect(&a, "AUTH wrong\r\n", 5000, refusal);
    expect(&a, "AUTH wrong\r\n", 5000, refusal); /* the last that need not wait */
    assert_int_equal(feed(&a, "AUTH wrong\r\nPING\r\n", 5000), 0);
    assert_int_equal(a.out.bytes, 0);
    assert_int_equal(session_deadline(&a), 5000 + GUESS_PAUSE);
    session_time(&a, 5000 + GUESS_PAUSE);
    expect(&a, "AUTH wrong\r\n", 5000 + GUESS_PAUSE, refusal);
    assert_int_equal(guesses_count(&wrong), GUESSES_FREE + 2);

    come(&b, "10.0.0.1:2"); /* another connection from there waits, too, though it is right */
    assert_int_equal(feed(&b, "HELLO 3 AUTH default sesame\r\n", 5000 + GUESS_PAUSE), 0);
    uint64_t turn = session_deadline(&b);
    assert_true(turn > 5000 + GUESS_PAUSE && turn <= 5000 + GUESS_PAUSE + GUESS_LONGEST);
    session_time(&b, turn);
    feed(&b, "HELLO 3 AUTH default sesame\r\n", turn);
    assert_true(b.trusted);
    assert_memory_equal(b.out.at, "%4\r\n", 4);

    come(&c, "10.0.0.2:1"); /* and from elsewhere none */
    expect(&c, "AUTH sesame\r\n", 5000, "+OK\r\n");
    go(&a);
    go(&b);
    go(&c);
    come(&a, "10.0.0.1:3"); /* after a minute all is forgotten */
    expect(&a, "AUTH wrong\r\n", 70000, refusal);
    expect(&a, "AUTH wrong\r\n", 70000, refusal);
    go(&a);
}

/* ---- losses in protocol 2 ---- */

static void renew_tells_of_a_loss(void **unused)
{
    (void)unused;
    session a;
    come(&a, "10.0.0.1:1");
    expect(&a, "AUTH sesame\r\n", 0, "+OK\r\n");
    expect(&a, "RENEW 100\r\n", 0, ":100\r\n");
    expect(&a, "TRY x\r\n", 0, ":1\r\n");
    a.out.bytes = 0;
    session_time(&a, 100);
    assert_int_equal(a.out.bytes, 0);
    feed(&a, "RENEW\r\n", 110);
    assert_memory_equal(a.out.at, "-LOST ", 6);
    expect(&a, "RENEW\r\n", 110, ":100\r\n");
    go(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shares, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strangers_have_little_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(guesses_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(renew_tells_of_a_loss, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("strangers", tests, NULL, NULL);
}
