/* The client and nodes that answer as only few ever do: late, with refusals, cut in the middle. */
#include "false_nodes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- operations ---- */

static bool take_away(void *context, asked *what)
{
    (void)context;
    return is(what, "ISSUE") && say(what, "-LOST taken away; it may be executed nevertheless\r\n");
}

/* Whether it was executed is not known: not "nothing was executed", and not an outcome. */
void operation_of_a_lock_that_is_taken_away(void **unused)
{
    (void)unused;
    actors[0].answers = take_away;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = 60000});
    uint64_t mine = lock(c, "taken");
    assert_int_equal(increment(c, "taken", mine), BATON_UNREACHABLE);
    baton_client_close(c);
}

/* The operation is executed nowhere; and the section is over, which is said first. */
static bool eject(void *context, asked *what)
{
    (void)context;
    if (!is(what, "ISSUE"))
        return false;
    if (is_odd)
        add_push(what, "suspended");
    add_push(what, "ejected");
    strcat(what->reply, "-EJECTED it was executed nowhere\r\n");
    return true;
}

void line_of_an_ejected_section_is_used_again(void **unused)
{
    (void)unused;
    actors[0].answers = eject;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = 60000});
    for (int i = 0; i < 20; i++) {
        uint64_t mine = lock(c, "ejected");
        assert_int_equal(increment(c, "ejected", mine), BATON_LOST);
    }
    assert_int_equal(connections(), 2); /* the main line, and one to wait over */
    baton_client_close(c);
}

/* What its node says there renews no lease: it does not tell when it sees a majority again. */
void line_of_a_node_without_majority_is_not(void **unused)
{
    (void)unused;
    actors[0].answers = eject;
    is_odd = true;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = 1000});
    uint64_t mine = lock(c, "suspended");
    assert_int_equal(increment(c, "suspended", mine), BATON_LOST);
    rest(1100); /* the lease as it was known is over */
    for (int i = 0; i < 3; i++) {
        mine = lock(c, "suspended");
        rest(100); /* the client has looked at its lease by now */
        assert_true(baton_client_holds(c, "suspended", mine));
        assert_int_equal(baton_client_exit(c, "suspended", mine), BATON_OK);
    }
    baton_client_close(c);
}

/* It sees no majority, so there is no outcome, nor anything behind that. */
static bool suspend(void *context, asked *what)
{
    actor *me = context;
    if (what->over == me->issued)
        return true;
    if (is(what, "RESUME"))
        return say(what, "-SUSPENDED this node sees no majority\r\n");
    if (!is(what, "ISSUE"))
        return false;
    me->issued = what->over;
    add_push(what, "suspended");
    return true;
}

/* The lease is shorter than the patience for the operation. */
void operation_at_a_node_without_majority(void **unused)
{
    (void)unused;
    actors[0].answers = suspend;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = 6000, .patience_ms = 60000});
    uint64_t mine = lock(c, "suspended");
    assert_int_equal(increment(c, "suspended", mine), BATON_UNREACHABLE);
    assert_int_equal(increment(c, "suspended", mine), BATON_OK); /* at the other one */
    assert_int_equal(actors[1].resumed, 1);
    assert_int_equal(baton_client_exit(c, "suspended", mine), BATON_OK);
    baton_client_close(c);
}

/* ---- nodes that let nobody in ---- */

static bool drain(void *context, asked *what)
{
    (void)context;
    return is_odd && is(what, "TRY") && say(what, "-DRAINING it is about to end\r\n");
}

/* What is held stays; another is to be had at the other node. */
void try_beside_a_section_at_a_node_that_ends(void **unused)
{
    (void)unused;
    actors[0].answers = drain;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = 60000});
    uint64_t kept, more;
    assert_int_equal(baton_client_try(c, "kept", &kept), BATON_OK);
    is_odd = true;
    assert_int_equal(baton_client_try(c, "more", &more), BATON_OK);
    assert_true(baton_client_holds(c, "kept", kept));
    assert_int_equal(baton_client_exit(c, "kept", kept), BATON_OK);
    assert_int_equal(baton_client_exit(c, "more", more), BATON_OK);
    assert_int_equal(baton_client_try(c, "kept", &kept), BATON_OK);
    assert_true(baton_client_count(c).lost == 0);
    baton_client_close(c);
}

/* The answer to the first try comes with that to the next, which was sent before. */
static const char *_Atomic second_answer;

static bool drain_two(void *context, asked *what)
{
    actor *me = context;
    if (!is_odd || !is(what, "TRY"))
        return false;
    if (strcmp(what->name, "first") == 0) {
        me->last = what->over;
        return true;
    }
    snprintf(what->reply, sizeof what->reply, "-DRAINING it is about to end\r\n%s", second_answer);
    what->cuts = second_answer[0] == '\0';
    return true;
}

typedef struct trial {
    baton_client *client;
    uint64_t token;
    int result;
} trial;

static void *try_first(void *context)
{
    trial *t = context;
    t->result = baton_client_try(t->client, "first", &t->token);
    return NULL;
}

static void two_tries(const char *answer_to_second, int result)
{
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = 60000});
    trial first = {.client = c};
    pthread_t thread;
    uint64_t kept, second;
    second_answer = answer_to_second;
    is_odd = false;
    actors[0].last = -1;
    assert_int_equal(baton_client_try(c, "kept", &kept), BATON_OK);
    is_odd = true;
    assert_int_equal(pthread_create(&thread, NULL, try_first, &first), 0);
    for (int i = 0; i < PATIENCE_MS && actors[0].last < 0; i++)
        rest(1);
    assert_int_equal(baton_client_try(c, "second", &second), result);
    pthread_join(thread, NULL);
    assert_int_equal(first.result, BATON_OK);
    if (result == BATON_OK)
        assert_int_equal(baton_client_exit(c, "second", second), BATON_OK);
    assert_int_equal(baton_client_try(c, "second", &second), BATON_OK); /* no gate is closed */
    baton_client_close(c);
}

void two_tries_at_a_node_that_ends(void **unused)
{
    (void)unused;
    actors[0].answers = drain_two;
    two_tries(":-7\r\n", BATON_BUSY);
    two_tries(":90\r\n", BATON_OK);
    two_tries("-DRAINING it is about to end\r\n", BATON_OK);
    two_tries("", BATON_OK); /* cut: tried again at the other one */
}

static bool refuse(void *context, asked *what)
{
    (void)context;
    return is_odd && is(what, "LOCK") && say(what, "-NOTREADY it has not heard from all\r\n");
}

static void *be_ready(void *unused)
{
    rest(1500);
    is_odd = false;
    return unused;
}

/* Whoever waits goes round, and not as fast as it can. */
void wait_until_somebody_lets_in(void **unused)
{
    (void)unused;
    pthread_t thread;
    actors[0].answers = actors[1].answers = refuse;
    is_odd = true;
    baton_client *c = open_at(list, (baton_client_options){0});
    assert_int_equal(pthread_create(&thread, NULL, be_ready, NULL), 0);
    uint64_t mine = lock(c, "refused");
    pthread_join(thread, NULL);
    assert_int_equal(baton_client_exit(c, "refused", mine), BATON_OK);
    assert_true(connections() < 200);
    baton_client_close(c);
}

/* ---- very many sections ---- */

static bool cut_for_good(void *context, asked *what)
{
    (void)context;
    what->cuts = is_odd;
    return is_odd;
}

/* Each costs the same, however many there are: else the lease is over before all have moved. */
void very_many_move_in_time(void **unused)
{
    (void)unused;
    enum { VERY_MANY = 30000 };
    int count = getenv("BATON_SANITIZED") != NULL ? VERY_MANY / 10 : VERY_MANY;
    char name[24];
    uint64_t mine;
    actors[0].answers = cut_for_good;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = 20000});
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "many-%d", i);
        assert_int_equal(baton_client_try(c, name, &mine), BATON_OK);
    }
    is_odd = true;
    assert_int_equal(baton_client_try(c, "more", &mine), BATON_OK); /* at the other one */
    for (int i = 0; i < 2 * PATIENCE_MS && actors[1].resumed < count; i++)
        rest(1);
    assert_int_equal(actors[1].resumed, count);
    assert_true(baton_client_count(c).lost == 0);
    baton_client_close(c);
}

/* ---- connections that break anywhere ---- */

/* Of all that both say over one connection so many bytes. Whatever comes of it, it ends. */
static void cut_after(size_t bytes)
{
    for (int i = 0; i < BOTH; i++)
        false_server_limit(actors[i].server, bytes);
    baton_client *c = NULL;
    const baton_client_options options = {.address = list, .lease_ms = 60000, .patience_ms = 60000};
    uint64_t tried, waited;
    if (baton_client_open(&options, &c) == BATON_OK) {
        bool holds = baton_client_try(c, "tried", &tried) == BATON_OK;
        if (baton_client_lock(c, "waited", 100, &waited) == BATON_OK)
            increment(c, "waited", waited);
        if (holds)
            baton_client_exit(c, "tried", tried);
    }
    for (int i = 0; i < BOTH; i++)
        false_server_limit(actors[i].server, 0);
    baton_client_close(c); /* what is on its way arrives */
}

void cut_at_every_byte(void **unused)
{
    (void)unused;
    for (size_t bytes = 1; bytes < 90; bytes++)
        cut_after(bytes);
}
