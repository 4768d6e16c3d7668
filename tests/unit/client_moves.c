/* Waits and sections that go on at another node, and what they say there. */
#include "false_nodes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a node that sees no majority ---- */

static bool suspend_waits(void *context, asked *what)
{
    (void)context;
    if (!is_odd || !is(what, "LOCK"))
        return false;
    add_push(what, "suspended");
    return true;
}

/* Who waits there waits for nothing: the other node may see a majority. */
void wait_at_a_node_without_majority(void **unused)
{
    (void)unused;
    actors[0].answers = suspend_waits;
    is_odd = true;
    baton_client *c = open_at(list, (baton_client_options){0});
    uint64_t mine = lock(c, "waited");
    assert_int_equal(false_server_count(actors[1].server), 1);
    assert_int_equal(baton_client_exit(c, "waited", mine), BATON_OK);
    baton_client_close(c);
}

static bool suspend_for_a_while(void *context, asked *what)
{
    (void)context;
    if (!is(what, "LOCK") && !is(what, "ISSUE"))
        return false;
    add_push(what, "suspended");
    add_push(what, "resumed");
    return is(what, "LOCK") ? grant(what) : (strcat(what->reply, ":1\r\n"), true);
}

/* With nowhere else to go, it waits for the majority. */
void wait_at_the_only_node(void **unused)
{
    (void)unused;
    actors[0].answers = suspend_for_a_while;
    baton_client *c = open_at(actors[0].path, (baton_client_options){.lease_ms = 60000});
    for (int i = 0; i < 3; i++) {
        uint64_t mine = lock(c, "waited");
        assert_int_equal(increment(c, "waited", mine), BATON_OK);
        assert_int_equal(baton_client_exit(c, "waited", mine), BATON_OK);
    }
    assert_int_equal(connections(), 2);
    baton_client_close(c);
}

/* An operation that is under way may have an outcome yet. */
void operation_while_there_is_no_majority(void **unused)
{
    (void)unused;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = 60000});
    uint64_t mine = lock(c, "works");
    actors[0].answers = suspend_for_a_while;
    assert_int_equal(increment(c, "works", mine), BATON_OK);
    assert_int_equal(baton_client_exit(c, "works", mine), BATON_OK);
    assert_int_equal(false_server_count(actors[1].server), 0);
    baton_client_close(c);
}

/* The lease is so long that no other reason to leave comes up before the test has failed. */
enum { LONG_LEASE_MS = 600 * 1000 };

static bool resume_nothing(void *context, asked *what)
{
    (void)context;
    return is(what, "RESUME") && say(what, "-SUSPENDED this node sees no majority\r\n");
}

void section_leaves_a_node_without_majority(void **unused)
{
    (void)unused;
    actors[0].answers = resume_nothing;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = LONG_LEASE_MS});
    uint64_t mine = lock(c, "n"), tried;
    assert_int_equal(baton_client_try(c, "m", &tried), BATON_OK);
    false_server_say(actors[0].server, 1, ">3\r\n$9\r\nsuspended\r\n$1\r\nn\r\n:0\r\n");
    await_count(&actors[1].resumed, 1);
    assert_int_equal(baton_client_exit(c, "n", mine), BATON_OK);
    assert_true(baton_client_holds(c, "m", tried)); /* that node has said nothing about it */
    false_server_say(actors[0].server, 0, ">3\r\n$9\r\nsuspended\r\n$1\r\nm\r\n:0\r\n");
    await_count(&actors[1].resumed, 2);
    assert_int_equal(baton_client_exit(c, "m", tried), BATON_OK);
    assert_true(baton_client_count(c).lost == 0);
    baton_client_close(c);
}

/* ---- waits with an end ---- */

static atomic_ullong waits_for; /* milliseconds, as the last LOCK says */
static atomic_bool is_endless;  /* and all before it */

static bool refuse_waits(void *context, asked *what)
{
    (void)context;
    if (!is(what, "LOCK"))
        return false;
    waits_for = what->number;
    is_endless = is_endless && what->number == 0;
    asked_of++;
    return is_odd && say(what, "-NOTREADY it has not heard from all\r\n");
}

void timed_wait_ends_on_its_way(void **unused)
{
    (void)unused;
    enum { WAIT_MS = 400 };
    uint64_t mine;
    actors[0].answers = actors[1].answers = refuse_waits;
    is_odd = true;
    baton_client *c = open_at(list, (baton_client_options){0});
    assert_int_equal(baton_client_lock(c, "refused", WAIT_MS, &mine), BATON_BUSY);
    assert_true(asked_of > BOTH);                            /* it has gone round */
    assert_true(waits_for > 0 && waits_for <= WAIT_MS - 50); /* less with each pause */
    baton_client_close(c);
}

static void *let_in_later(void *unused)
{
    for (int i = 0; i < PATIENCE_MS && asked_of < 3 * BOTH; i++)
        rest(1);
    is_odd = false;
    return unused;
}

void endless_wait_stays_endless(void **unused)
{
    (void)unused;
    uint64_t mine;
    pthread_t thread;
    actors[0].answers = actors[1].answers = refuse_waits;
    is_odd = is_endless = true;
    baton_client *c = open_at(list, (baton_client_options){0});
    assert_int_equal(pthread_create(&thread, NULL, let_in_later, NULL), 0);
    assert_int_equal(baton_client_lock(c, "refused", -1, &mine), BATON_OK);
    pthread_join(thread, NULL);
    assert_true(is_endless);
    assert_int_equal(baton_client_exit(c, "refused", mine), BATON_OK);
    baton_client_close(c);
}

/* ---- sections ---- */

static atomic_ullong resumed_with;
static const char *_Atomic resume_reply; /* NULL: granted */

static bool answer_resume(void *context, asked *what)
{
    actor *me = context;
    if (me == &actors[0]) {
        what->cuts = is_odd;
        return is_odd;
    }
    const char *reply = resume_reply;
    if (!is(what, "RESUME") || reply == NULL)
        return false;
    resumed_with = what->number;
    me->resumed++;
    return say(what, reply);
}

/* The node has died, as far as can be seen from here. */
static baton_client *lose_the_node(const char *reply, uint64_t *mine)
{
    actors[0].answers = actors[1].answers = answer_resume;
    resume_reply = reply;
    is_odd = false;
    actors[1].resumed = 0;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = LONG_LEASE_MS});
    *mine = lock(c, "moves");
    is_odd = true;
    assert_int_equal(increment(c, "moves", *mine), BATON_UNREACHABLE);
    return c;
}

void section_moves(void **unused)
{
    (void)unused;
    uint64_t mine;
    baton_client *c = lose_the_node(NULL, &mine);
    assert_int_equal(increment(c, "moves", mine), BATON_OK);
    assert_true(baton_client_holds(c, "moves", mine));
    assert_true(baton_client_lease_left_ms(c, "moves", mine) > LONG_LEASE_MS / 2);
    assert_int_equal(baton_client_exit(c, "moves", mine), BATON_OK);
    assert_true(baton_client_count(c).lost == 0);
    baton_client_close(c);
}

void section_that_may_not_go_on(void **unused)
{
    (void)unused;
    static const char *const verdicts[] = {"-EJECTED it is over\r\n", "-NAME no\r\n"};
    for (int i = 0; i < 2; i++) {
        uint64_t mine;
        baton_client *c = lose_the_node(verdicts[i], &mine);
        await_lost(c, "moves", mine);
        assert_int_equal(actors[1].resumed, 1);
        assert_int_equal(resumed_with, mine);
        is_odd = false;
        mine = lock(c, "moves"); /* as if nothing had been */
        assert_int_equal(baton_client_exit(c, "moves", mine), BATON_OK);
        baton_client_close(c);
    }
}

/* It asks again, as long as its lease lasts. */
void section_that_may_not_go_on_yet(void **unused)
{
    (void)unused;
    static const char *const verdicts[] = {"-SUSPENDED no majority\r\n", "_\r\n", ":0\r\n",
                                           "+OK\r\n"};
    for (int i = 0; i < 4; i++) {
        uint64_t mine;
        baton_client *c = lose_the_node(verdicts[i], &mine);
        for (int n = 0; n < PATIENCE_MS && actors[1].resumed < 3; n++)
            rest(1);
        assert_true(actors[1].resumed >= 3);
        assert_true(baton_client_holds(c, "moves", mine));
        actors[1].answers = NULL; /* lets it in */
        assert_int_equal(increment(c, "moves", mine), BATON_OK);
        assert_int_equal(baton_client_exit(c, "moves", mine), BATON_OK);
        baton_client_close(c);
    }
}

static bool refuse_sessions(void *context, asked *what)
{
    (void)context;
    if (is(what, "SESSION"))
        return say(what, "-ERR unknown command\r\n");
    what->cuts = is_odd;
    return is_odd;
}

/* Nobody knows it elsewhere. */
void section_without_a_name_is_lost(void **unused)
{
    (void)unused;
    actors[0].answers = refuse_sessions;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = LONG_LEASE_MS});
    uint64_t mine = lock(c, "stays");
    is_odd = true;
    assert_int_equal(increment(c, "stays", mine), BATON_UNREACHABLE);
    await_lost(c, "stays", mine);
    assert_int_equal(actors[1].resumed, 0);
    baton_client_close(c);
}

static bool note_sessions(void *context, asked *what)
{
    (void)context;
    asked_of += is(what, "SESSION");
    return false;
}

/* Not if there is nowhere to move, or no lease within which that could be. */
void who_needs_a_name_says_it(void **unused)
{
    (void)unused;
    actors[0].answers = note_sessions;
    const struct {
        const char *address;
        uint32_t lease_ms;
        int sessions;
    } rows[] = {{actors[0].path, 0, 0}, {actors[0].path, 60000, 0}, {list, 0, 0}, {list, 60000, 1}};
    for (int i = 0; i < 4; i++) {
        asked_of = 0;
        baton_client *c =
            open_at(rows[i].address, (baton_client_options){.lease_ms = rows[i].lease_ms});
        assert_int_equal(asked_of, rows[i].sessions);
        baton_client_close(c);
    }
}
