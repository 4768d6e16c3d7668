/* The automata of wdme one message at a time: what each says to what it hears. */
#include "unit.h"
#include "wdme.h"

#include <string.h>

enum { MEMBERS = 4, MAX_SENT = 16 };

/* A register whose messages are kept. */
typedef struct desk {
    wdme_register reg;
    wdme_member member[MEMBERS];
    uint64_t next_generation;
    struct {
        uint32_t to;
        wdme_message message;
    } sent[MAX_SENT];
    uint32_t count;
    wdme_context place;
} desk;

static void keep(void *context, uint32_t to, wdme_message m)
{
    desk *d = context;
    assert_true(d->count < MAX_SENT);
    d->sent[d->count].to = to;
    d->sent[d->count++].message = m;
}

static void open_desk(desk *d)
{
    memset(d, 0, sizeof *d);
    d->next_generation = 1;
    d->place = (wdme_context){&d->reg, d->member, &d->next_generation, keep, d};
    wdme_register_start(&d->place);
}

/* Member `from` says that; afterwards only what the register said to it is kept. */
static void say(desk *d, uint32_t from, wdme_kind kind, uint32_t request, uint64_t generation)
{
    d->count = 0;
    wdme_register_receive(&d->place, from, (wdme_message){kind, request, generation});
}

static void expect_sent(const desk *d, uint32_t which, uint32_t to, wdme_kind kind,
                        uint32_t request, uint64_t generation)
{
    assert_true(which < d->count);
    assert_int_equal(d->sent[which].to, to);
    assert_int_equal(d->sent[which].message.kind, kind);
    assert_int_equal(d->sent[which].message.request, request);
    assert_int_equal(d->sent[which].message.generation, generation);
}

/* Nobody holds it, waits for it, or is to be told. */
static bool is_idle(const wdme_register *reg)
{
    return reg->holder == WDME_NOBODY && reg->first == WDME_NOBODY && reg->losers == WDME_NOBODY;
}

/* ---- B ---- */

static void test_try_and_exit(void **state)
{
    desk d;
    (void)state;
    open_desk(&d);
    assert_true(is_idle(&d.reg));
    say(&d, 0, WDME_TRY, 7, 0);
    assert_int_equal(d.count, 1);
    expect_sent(&d, 0, 0, WDME_OK, 7, 1);
    assert_false(is_idle(&d.reg));
    say(&d, 1, WDME_TRY, 8, 0);
    expect_sent(&d, 0, 1, WDME_FAIL, 8, 1);
    say(&d, 2, WDME_TRY, 9, 0);
    say(&d, 2, WDME_TRY, 10, 0); /* told once, however often it fails */
    say(&d, 1, WDME_EXIT, 0, 1); /* not its lock */
    assert_int_equal(d.count, 1);
    expect_sent(&d, 0, 1, WDME_STALE, 0, 1);
    say(&d, 0, WDME_EXIT, 0, 2); /* not its generation */
    expect_sent(&d, 0, 0, WDME_STALE, 0, 2);
    say(&d, 0, WDME_EXIT, 0, 1);
    assert_int_equal(d.count, 3);
    expect_sent(&d, 0, 0, WDME_EXIT_DONE, 0, 1);
    expect_sent(&d, 1, 2, WDME_RESET, 0, 2);
    expect_sent(&d, 2, 1, WDME_RESET, 0, 2);
    assert_true(is_idle(&d.reg));
    say(&d, 0, WDME_EXIT, 0, 1); /* once more */
    assert_int_equal(d.count, 1);
    expect_sent(&d, 0, 0, WDME_STALE, 0, 1);
}

static void test_queue(void **state)
{
    desk d;
    (void)state;
    open_desk(&d);
    say(&d, 0, WDME_LOCK, 1, 0);
    expect_sent(&d, 0, 0, WDME_OK, 1, 1);
    for (uint32_t i = 1; i < MEMBERS; i++) {
        say(&d, i, WDME_LOCK, 10 + i, 0);
        assert_int_equal(d.count, 0); /* no message until its turn */
    }
    say(&d, 2, WDME_CANCEL, 11, 0); /* of another request: nothing */
    assert_int_equal(d.reg.waiting, MEMBERS - 1);
    say(&d, 2, WDME_CANCEL, 12, 0);
    assert_int_equal(d.count, 0);
    say(&d, 0, WDME_EXIT, 0, 1);
    assert_int_equal(d.count, 2);
    expect_sent(&d, 1, 1, WDME_OK, 11, 2);
    say(&d, 0, WDME_TRY, 2, 0);
    expect_sent(&d, 0, 0, WDME_FAIL, 2, 2);
    say(&d, 1, WDME_EXIT, 0, 2); /* handed on: whoever failed hears nothing yet */
    assert_int_equal(d.count, 2);
    expect_sent(&d, 1, 3, WDME_OK, 13, 3);
    say(&d, 3, WDME_EXIT, 0, 3);
    expect_sent(&d, 1, 0, WDME_RESET, 0, 4);
}

static void test_waits_once(void **state)
{
    desk d;
    (void)state;
    open_desk(&d);
    say(&d, 0, WDME_LOCK, 1, 0);
    say(&d, 1, WDME_LOCK, 5, 0);
    say(&d, 2, WDME_LOCK, 1, 0);
    say(&d, 1, WDME_LOCK, 6, 0); /* anew, in its old place */
    say(&d, 1, WDME_LOCK, 4, 0); /* a late one changes nothing */
    say(&d, 0, WDME_EXIT, 0, 1);
    expect_sent(&d, 1, 1, WDME_OK, 6, 2);
    d.count = 0;
    wdme_register_wait_over(&d.place, 1); /* it does not wait any more */
    assert_int_equal(d.count, 0);
    wdme_register_wait_over(&d.place, 2);
    assert_int_equal(d.count, 1);
    expect_sent(&d, 0, 2, WDME_TIMEOUT, 1, 0);
    say(&d, 1, WDME_EXIT, 0, 2);
    assert_int_equal(d.count, 1); /* nobody is left */
}

static void test_lease_and_gone(void **state)
{
    desk d;
    (void)state;
    open_desk(&d);
    say(&d, 0, WDME_TRY, 1, 0);
    say(&d, 1, WDME_TRY, 1, 0);
    say(&d, 2, WDME_LOCK, 1, 0);
    say(&d, 3, WDME_LOCK, 1, 0);
    d.count = 0;
    wdme_register_lease_over(&d.place, 1); /* it holds nothing */
    assert_int_equal(d.count, 0);
    wdme_register_lease_over(&d.place, 0);
    expect_sent(&d, 0, 0, WDME_LOST, 0, 1);
    expect_sent(&d, 1, 2, WDME_OK, 1, 2);
    say(&d, 0, WDME_EXIT, 0, 1);
    expect_sent(&d, 0, 0, WDME_STALE, 0, 1);
    d.count = 0;
    wdme_register_gone(&d.place, 3); /* waited */
    wdme_register_gone(&d.place, 1); /* was to be told */
    assert_int_equal(d.count, 0);
    wdme_register_gone(&d.place, 2); /* held */
    assert_int_equal(d.count, 0);    /* nobody is left to be told */
    assert_true(is_idle(&d.reg));
    assert_int_equal(d.reg.generation, 3);
}

/* Whoever is gone and comes again, with the same number, begins anew: it is told, too. */
static void test_comes_again(void **state)
{
    desk d;
    (void)state;
    open_desk(&d);
    say(&d, 0, WDME_TRY, 1, 0);
    for (uint32_t i = 1; i < MEMBERS; i++)
        say(&d, i, WDME_TRY, 1, 0);
    wdme_register_gone(&d.place, 2); /* from the middle of the losers */
    wdme_register_gone(&d.place, 2);
    say(&d, 2, WDME_TRY, 1, 0);
    say(&d, 0, WDME_EXIT, 0, 1);
    assert_int_equal(d.count, MEMBERS); /* the exit is done, and each loser is told once */
    expect_sent(&d, 1, 2, WDME_RESET, 0, 2);
    expect_sent(&d, 2, 3, WDME_RESET, 0, 2);
    expect_sent(&d, 3, 1, WDME_RESET, 0, 2);
    say(&d, 2, WDME_CANCEL, 1, 0); /* it does not wait */
    say(&d, 1, WDME_LOCK, 2, 0);
    expect_sent(&d, 0, 1, WDME_OK, 2, 2);
}

/* ---- A ---- */

static wdme_step hear(wdme_client *a, wdme_kind kind, uint32_t request, uint64_t generation)
{
    return wdme_client_receive(a, (wdme_message){kind, request, generation});
}

static void expect_sends(wdme_step s, wdme_kind kind, uint32_t request, uint64_t generation)
{
    assert_true(s.sends);
    assert_int_equal(s.answer, WDME_NOTHING);
    assert_int_equal(s.message.kind, kind);
    assert_int_equal(s.message.request, request);
    assert_int_equal(s.message.generation, generation);
}

static void test_gate(void **state)
{
    wdme_client a = {0};
    (void)state;
    wdme_step s = wdme_client_try(&a);
    expect_sends(s, WDME_TRY, 1, 0);
    assert_int_equal(wdme_client_try(&a).answer, WDME_MISUSE); /* one thing at a time */
    assert_int_equal(wdme_client_lock(&a).answer, WDME_MISUSE);
    assert_int_equal(wdme_client_exit(&a).answer, WDME_MISUSE);
    assert_int_equal(hear(&a, WDME_FAIL, s.message.request, 5).answer, WDME_REFUSED);
    for (int i = 0; i < 3; i++) { /* here and now, without a message */
        s = wdme_client_try(&a);
        assert_false(s.sends);
        assert_int_equal(s.answer, WDME_REFUSED);
    }
    hear(&a, WDME_RESET, 0, 5); /* of the same generation: not yet */
    assert_false(wdme_client_try(&a).sends);
    hear(&a, WDME_RESET, 0, 6);
    hear(&a, WDME_RESET, 0, 3); /* a late one closes nothing */
    s = wdme_client_try(&a);
    assert_true(s.sends);
    hear(&a, WDME_RESET, 0, 9); /* overtakes the answer */
    assert_int_equal(hear(&a, WDME_FAIL, s.message.request, 8).answer, WDME_REFUSED);
    assert_true(wdme_client_try(&a).sends);
}

static void test_enter_and_exit(void **state)
{
    wdme_client a = {0};
    (void)state;
    expect_sends(wdme_client_lock(&a), WDME_LOCK, 1, 0);
    wdme_step s = hear(&a, WDME_OK, 1, 4);
    assert_int_equal(s.answer, WDME_ENTERED);
    assert_int_equal(s.token, 4);
    assert_int_equal(wdme_client_cancel(&a).answer, WDME_NOTHING); /* nothing is asked for */
    expect_sends(wdme_client_exit(&a), WDME_EXIT, 0, 4);
    s = hear(&a, WDME_EXIT_DONE, 0, 4); /* is no entry (erratum 12) */
    assert_int_equal(s.answer, WDME_LEFT);
    assert_int_equal(a.doing, WDME_RESTS);
    assert_int_equal(hear(&a, WDME_STALE, 0, 4).answer, WDME_LEFT_LATE);
}

static void test_given_up(void **state)
{
    wdme_client a = {0};
    (void)state;
    uint32_t request = wdme_client_try(&a).message.request;
    assert_false(wdme_client_cancel(&a).sends);
    assert_false(wdme_client_try(&a).sends); /* the answer may still close the gate */
    /* Nobody wants it any more. */
    expect_sends(hear(&a, WDME_OK, request, 3), WDME_EXIT, 0, 3);
    assert_true(wdme_client_try(&a).sends);
    wdme_client b = {0};
    request = wdme_client_lock(&b).message.request;
    expect_sends(wdme_client_cancel(&b), WDME_CANCEL, request, 0);
    assert_int_equal(hear(&b, WDME_TIMEOUT, request, 0).answer, WDME_NOTHING);
    request = wdme_client_lock(&b).message.request;
    assert_int_equal(hear(&b, WDME_TIMEOUT, request, 0).answer, WDME_TIMED_OUT);
}

static void test_lost(void **state)
{
    wdme_client a = {0};
    (void)state;
    uint32_t request = wdme_client_try(&a).message.request;
    hear(&a, WDME_OK, request, 2);
    assert_int_equal(hear(&a, WDME_LOST, 0, 1).answer, WDME_NOTHING); /* not this section */
    assert_int_equal(hear(&a, WDME_LOST, 0, 2).answer, WDME_WAS_LOST);
    assert_int_equal(a.doing, WDME_RESTS);
    request = wdme_client_lock(&a).message.request;
    hear(&a, WDME_LOST, 0, 3); /* overtakes the grant */
    assert_int_equal(hear(&a, WDME_OK, request, 3).answer, WDME_WAS_LOST);
    request = wdme_client_lock(&a).message.request;
    assert_int_equal(hear(&a, WDME_OK, request, 4).answer, WDME_ENTERED);
    assert_int_equal(wdme_client_cut(&a).answer, WDME_WAS_LOST);
    assert_int_equal(wdme_client_cut(&a).answer, WDME_NOTHING);
    wdme_client_try(&a);
    assert_int_equal(wdme_client_cut(&a).answer, WDME_CUT);
    assert_true(wdme_gate_is_open(&a));
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_try_and_exit, NULL, "register: tries, exits, late exits");
    suite_add(&s, test_queue, NULL, "register: the queue, and those who only try");
    suite_add(&s, test_waits_once, NULL, "register: one wait for each, and its end");
    suite_add(&s, test_lease_and_gone, NULL, "register: leases, and those who are gone");
    suite_add(&s, test_comes_again, NULL, "register: gone, and there again");
    suite_add(&s, test_gate, NULL, "client: the gate");
    suite_add(&s, test_enter_and_exit, NULL, "client: in and out");
    suite_add(&s, test_given_up, NULL, "client: what is given up is given back");
    suite_add(&s, test_lost, NULL, "client: what is lost, and when the connection is");
    return suite_run(&s, "wdme");
}
