/* What a server says by itself: losses, gates that open, sections that go on in another epoch. */
#include "false_nodes.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAIN_LINE, WAITING_LINE }; /* connections, in the order in which a client makes them */

static atomic_ullong left_with; /* token of the last EXIT */

static bool note(void *context, asked *what)
{
    (void)context;
    if (is(what, "EXIT"))
        left_with = what->number;
    if (is(what, "TRY"))
        asked_of++;
    return is_odd && is(what, "TRY") && say(what, ":-500\r\n");
}

static void push(int over, const char *word, const char *name, long long number)
{
    char text[700];
    snprintf(text, sizeof text, ">3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n:%lld\r\n", strlen(word), word,
             strlen(name), name, number);
    false_server_say(actors[0].server, over, text);
}

/* What was said over the main line before has been heard. */
static void hear_all(baton_client *c)
{
    uint64_t mine;
    assert_int_equal(baton_client_try(c, "heard", &mine), BATON_OK);
    assert_int_equal(baton_client_exit(c, "heard", mine), BATON_OK);
}

/* ---- pushes that mean nothing ---- */

void pushes_that_mean_nothing(void **unused)
{
    (void)unused;
#define LOST "$4\r\nlost\r\n"
#define NAME "$1\r\nn\r\n"
    static const char *const odd[] = {
        ">0\r\n",
        ">1\r\n" LOST,
        ">2\r\n" LOST NAME,
        ">4\r\n" LOST NAME ":101\r\n:1\r\n",
        ">3\r\n:101\r\n" NAME ":101\r\n",
        ">3\r\n" LOST ":101\r\n:101\r\n",
        ">3\r\n" LOST NAME "$3\r\n101\r\n",
        ">3\r\n" LOST NAME ":0\r\n",
        ">3\r\n" LOST NAME ":-101\r\n",
        ">3\r\n" LOST NAME ":100\r\n",
        ">3\r\n" LOST "$1\r\nm\r\n:101\r\n",
        ">3\r\n$4\r\ngone\r\n" NAME ":101\r\n",
        ">3\r\n$5\r\nreset\r\n" NAME ":101\r\n",
        ">3\r\n$4\r\nkept\r\n$1\r\nm\r\n:150\r\n",
    };
    uint64_t mine;
    char name[BATON_CLIENT_NAME_BYTES + 1];
    actors[0].answers = note;
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    assert_int_equal(baton_client_try(c, "n", &mine), BATON_OK);
    assert_int_equal(mine, 101);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        false_server_say(actors[0].server, MAIN_LINE, odd[i]);
        hear_all(c);
        assert_true(baton_client_holds(c, "n", mine));
    }
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    push(MAIN_LINE, "lost", name, 101); /* longer than any */
    hear_all(c);
    assert_int_equal(connections(), 1);
    assert_int_equal(baton_client_exit(c, "n", mine), BATON_OK);
    assert_int_equal(left_with, 101);
    assert_true(baton_client_count(c).lost == 0);
    baton_client_close(c);
}

/* ---- gates ---- */

/* Over another line it may be about an older try. */
void gate_opens_over_the_main_line_only(void **unused)
{
    (void)unused;
    uint64_t mine;
    actors[0].answers = note;
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    uint64_t held = lock(c, "held");
    is_odd = true;
    assert_int_equal(baton_client_try(c, "gate", &mine), BATON_BUSY);
    is_odd = false;
    push(WAITING_LINE, "reset", "gate", 501);
    assert_int_equal(increment(c, "held", held), BATON_OK); /* and that is heard */
    assert_int_equal(baton_client_try(c, "gate", &mine), BATON_BUSY);
    assert_int_equal(asked_of, 1);
    push(MAIN_LINE, "reset", "gate", 501);
    hear_all(c);
    assert_int_equal(asked_of, 2);
    assert_int_equal(baton_client_try(c, "gate", &mine), BATON_OK);
    baton_client_close(c);
}

static bool cut_next(void *context, asked *what)
{
    (void)context;
    what->cuts = is_odd;
    return is_odd;
}

/* Over the next one, nobody would hear that it opens. */
void gate_opens_when_the_main_line_breaks(void **unused)
{
    (void)unused;
    uint64_t mine;
    actors[0].answers = note;
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    is_odd = true;
    assert_int_equal(baton_client_try(c, "gate", &mine), BATON_BUSY);
    actors[0].answers = cut_next;
    assert_int_equal(baton_client_try(c, "cut", &mine), BATON_UNREACHABLE);
    is_odd = false;
    assert_int_equal(baton_client_try(c, "gate", &mine), BATON_OK);
    baton_client_close(c);
}

/* ---- sections that go on in another epoch ---- */

void section_is_kept(void **unused)
{
    (void)unused;
    uint64_t mine, again;
    actors[0].answers = note;
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    uint64_t held = lock(c, "held");
    assert_int_equal(baton_client_try(c, "n", &mine), BATON_OK);
    push(MAIN_LINE, "kept", "n", 150);
    push(MAIN_LINE, "kept", "held", 160); /* is not held over that one */
    hear_all(c);
    assert_true(baton_client_holds(c, "n", mine)); /* known here by the token that it began with */
    assert_int_equal(baton_client_exit(c, "n", mine), BATON_OK);
    assert_int_equal(left_with, 150);
    assert_int_equal(baton_client_exit(c, "held", held), BATON_OK);
    assert_int_equal(left_with, held);
    assert_int_equal(baton_client_try(c, "n", &again), BATON_OK);
    push(MAIN_LINE, "kept", "n", 200);
    push(MAIN_LINE, "ejected", "n", (long long)again); /* that is over long since */
    hear_all(c);
    assert_true(baton_client_holds(c, "n", again));
    push(MAIN_LINE, "ejected", "n", 200);
    await_lost(c, "n", again);
    assert_int_equal(baton_client_try(c, "n", &again), BATON_OK);
    baton_client_close(c);
}

/* ---- losses ---- */

static void lose_three(baton_client *c, uint64_t mine[3])
{
    static const char *const names[] = {"first", "second", "third"};
    for (int i = 0; i < 3; i++)
        assert_int_equal(baton_client_try(c, names[i], &mine[i]), BATON_OK);
    for (int i = 0; i < 3; i++)
        push(MAIN_LINE, "lost", names[i], (long long)mine[i]);
    hear_all(c);
}

/* Nobody has asked for the first when the next is lost. */
void losses_are_told_one_by_one(void **unused)
{
    (void)unused;
    static const char *const names[] = {"first", "second", "third"};
    uint64_t mine[3], lost;
    char name[BATON_CLIENT_NAME_BYTES];
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    struct pollfd fd = {.fd = baton_client_fd(c), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 0), 0);
    lose_three(c, mine);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(poll(&fd, 1, 0), 1);
        assert_int_equal(baton_client_lost(c, name, &lost), BATON_OK);
        assert_string_equal(name, names[i]);
        assert_true(lost == mine[i]);
    }
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(baton_client_lost(c, name, &lost), BATON_BUSY);
    assert_int_equal(baton_client_count(c).lost, 3);
    baton_client_close(c);
}

static atomic_bool may_return;
static atomic_int told;
static uint64_t told_tokens[3];

static void hear(void *context, const char *name, uint64_t lost)
{
    (void)context, (void)name;
    for (int i = 0; i < PATIENCE_MS && !may_return; i++)
        rest(1);
    told_tokens[told] = lost;
    told++;
}

/* The process hears of the first, and takes its time; it is told of the others, even at the end. */
void losses_wait_for_who_is_told(void **unused)
{
    (void)unused;
    uint64_t mine[3];
    may_return = false;
    told = 0;
    baton_client *c = open_at(actors[0].path, (baton_client_options){.lost = hear});
    lose_three(c, mine);
    may_return = true;
    baton_client_close(c);
    assert_int_equal(told, 3);
    for (int i = 0; i < 3; i++)
        assert_true(told_tokens[i] == mine[i]);
}

/* The line over which it was held is free for the next wait. */
void line_of_a_lost_section_is_used_again(void **unused)
{
    (void)unused;
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    for (int i = 0; i < 5; i++) {
        uint64_t mine = lock(c, "taken");
        push(WAITING_LINE, "lost", "taken", (long long)mine);
        await_lost(c, "taken", mine);
    }
    assert_int_equal(connections(), 2);
    baton_client_close(c);
}

/* Of those that nobody asks for, the last are kept. */
void very_many_losses(void **unused)
{
    (void)unused;
    enum { KEPT = 4096, MORE = 3 };
    char name[BATON_CLIENT_NAME_BYTES];
    uint64_t mine;
    int count = 0;
    actors[0].answers = cut_next;
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    for (int i = 0; i < KEPT + MORE; i++) {
        snprintf(name, sizeof name, "many-%d", i);
        assert_int_equal(baton_client_try(c, name, &mine), BATON_OK);
    }
    is_odd = true;
    assert_int_equal(baton_client_try(c, "cut", &mine), BATON_UNREACHABLE);
    is_odd = false;
    assert_int_equal(baton_client_count(c).lost, KEPT + MORE);
    while (baton_client_lost(c, name, &mine) == BATON_OK) {
        assert_false(baton_client_holds(c, name, mine));
        count++;
    }
    assert_int_equal(count, KEPT);
    assert_int_equal(baton_client_try(c, "many-0", &mine), BATON_OK); /* nothing is held here */
    is_odd = true;
    assert_int_equal(increment(c, "many-0", mine), BATON_UNREACHABLE);
    is_odd = false;
    await_lost(c, "many-0", mine); /* there is room again */
    baton_client_close(c);
}
