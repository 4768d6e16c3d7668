/*
 * What nodes say first: two that belong together understand each other, in whatever pieces the
 * bytes come; all others are refused, and both sides can say why.
 */
#include "peer_hello.h"
#include "unit.h"

#include <string.h>

static const char list[] = "a=h:1,b=h:2,c=h:3";

typedef struct side {
    peers of;
    peer_hello hello;
    resp_out out;
    size_t sent; /* of out, to the other side */
} side;

static side dialer, listener;
static const char *dials_by, *listens_by; /* engines; NULL: paxos */

static void join_list(side *s, const char *peers_list, const char *me)
{
    char words[PEERS_COMPLAINT];
    resp_free(&s->out);
    memset(s, 0, sizeof *s);
    assert_true(peers_parse(&s->of, peers_list, me, words));
}

static void dial(side *s, const char *peers_list, const char *me, const char *whom)
{
    join_list(s, peers_list, me);
    assert_true(dials_by == NULL || peers_set_engine(&s->of, dials_by));
    peer_hello_dial(&s->hello, &s->of, peers_find(&s->of, whom, strlen(whom)), &s->out);
}

static void listen_as(side *s, const char *peers_list, const char *me)
{
    join_list(s, peers_list, me);
    assert_true(listens_by == NULL || peers_set_engine(&s->of, listens_by));
    peer_hello_listen(&s->hello, &s->of);
}

/* Hands over what is there, in pieces of so many bytes; what is not used comes again. */
static void hand_over(side *from, side *to, size_t piece)
{
    size_t seen = from->sent;
    while (from->sent < from->out.bytes && seen < from->out.bytes) {
        size_t left = from->out.bytes - seen;
        seen += piece < left ? piece : left;
        from->sent +=
            peer_hello_receive(&to->hello, from->out.at + from->sent, seen - from->sent, &to->out);
    }
}

static bool over(const side *s)
{
    return s->hello.state == PEER_HELLO_DONE || s->hello.state == PEER_HELLO_REFUSED;
}

static void talk(size_t piece)
{
    for (int i = 0; i < 4 && !(over(&dialer) && over(&listener)); i++) {
        hand_over(&dialer, &listener, piece);
        hand_over(&listener, &dialer, piece);
    }
}

static void say(side *s, const char *bytes, size_t count)
{
    peer_hello_receive(&s->hello, bytes, count, &s->out);
}

static void expect_refused(const side *s, const char *why)
{
    assert_int_equal(s->hello.state, PEER_HELLO_REFUSED);
    if (strstr(s->hello.complaint, why) == NULL)
        fail_msg("'%s' does not say '%s'", s->hello.complaint, why);
}

/* ---- those who belong together ---- */

static void test_done(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < 300; piece += piece < 10 ? 1 : 17) {
        dial(&dialer, list, "a", "c");
        listen_as(&listener, "c=x:1,b=y:2,a=z:3", "c");
        talk(piece);
        assert_int_equal(dialer.hello.state, PEER_HELLO_DONE);
        assert_int_equal(listener.hello.state, PEER_HELLO_DONE);
        assert_int_equal(dialer.hello.other, 2);
        assert_int_equal(listener.hello.other, 0);
        assert_int_equal(dialer.sent, dialer.out.bytes);
        assert_int_equal(listener.sent, listener.out.bytes);
    }
}

/* What comes right behind is not for this to read. */
static void test_rest(void **state)
{
    (void)state;
    dial(&dialer, list, "a", "c");
    listen_as(&listener, list, "c");
    size_t hello = dialer.out.bytes;
    resp_text(&dialer.out, "behind");
    assert_int_equal(
        peer_hello_receive(&listener.hello, dialer.out.at, dialer.out.bytes, &listener.out), hello);
    assert_int_equal(listener.hello.state, PEER_HELLO_DONE);
    assert_int_equal(peer_hello_receive(&listener.hello, "x", 1, &listener.out), 0);
}

/* A hello fits into the limit with the longest id and engine. */
static void test_longest(void **state)
{
    static const char longest[] = "abcdefghijklmnopqrstuvwxyz012345=h:1,b=h:2";
    (void)state;
    dials_by = listens_by = "etcd/abcdefghijklmnopqrstuvwx";
    dial(&dialer, longest, "abcdefghijklmnopqrstuvwxyz012345", "b");
    assert_true(dialer.out.bytes <= PEER_HELLO_MAX);
    listen_as(&listener, longest, "b");
    talk(1000);
    assert_int_equal(dialer.hello.state, PEER_HELLO_DONE);
    assert_int_equal(listener.hello.state, PEER_HELLO_DONE);
    dials_by = listens_by = NULL;
}

/* ---- those who do not ---- */

typedef struct strangers {
    const char *dials_with, *me, *whom, *listens_with, *is;
    const char *listener_says, *dialer_says;
} strangers;

static const strangers pairs[] = {
    {"a=h:1,b=h:2", "a", "b", list, "b",
     "'a' and 'b' have different lists of peers; --peers must have the same ids",
     "b refuses: 'a' and 'b' have different lists"},
    {list, "a", "b", list, "a", "'a' talks to itself, or two nodes have this id",
     "b refuses: 'a' talks to itself"},
    {list, "a", "b", list, "c", NULL, "'b' was dialed and 'c' answers"},
};

static void test_strangers(void **state)
{
    const strangers *s = *state;
    for (size_t piece = 1; piece < 300; piece += 23) {
        dial(&dialer, s->dials_with, s->me, s->whom);
        listen_as(&listener, s->listens_with, s->is);
        talk(piece);
        expect_refused(&dialer, s->dialer_says);
        if (s->listener_says != NULL)
            expect_refused(&listener, s->listener_says);
    }
}

#define LONGEST_ENGINE "etcd/abcdefghijklmnopqrstuvwx"

typedef struct engines {
    const char *dials_by, *listens_by, *says; /* NULL: they understand each other */
} engines;

static const engines engine_pairs[] = {
    {NULL, NULL, NULL},
    {"etcd", "etcd", NULL},
    {"etcd/x", "etcd/x", NULL},
    {LONGEST_ENGINE, LONGEST_ENGINE, NULL},
    {"etcd", NULL, "'b' decides by paxos and 'a' by etcd; give all nodes the same --consensus"},
    {NULL, "etcd", "'b' decides by etcd and 'a' by paxos"},
    {"etcd", "etcd/x", "'b' decides by etcd/x and 'a' by etcd"},
    {"etcd/x", "etcd/y", "'b' decides by etcd/y and 'a' by etcd/x"},
    {"etcd/x", "etcd/xx", "'b' decides by etcd/xx and 'a' by etcd/x"},
    {LONGEST_ENGINE, NULL, "'b' decides by paxos and 'a' by " LONGEST_ENGINE},
};

static void test_engines(void **state)
{
    const engines *e = *state;
    dials_by = e->dials_by;
    listens_by = e->listens_by;
    dial(&dialer, list, "a", "b");
    listen_as(&listener, list, "b");
    talk(7);
    if (e->says != NULL) {
        expect_refused(&listener, e->says);
        expect_refused(&dialer, "b refuses: 'b' decides by");
    } else {
        assert_int_equal(dialer.hello.state, PEER_HELLO_DONE);
        assert_int_equal(listener.hello.state, PEER_HELLO_DONE);
    }
    dials_by = listens_by = NULL;
}

static void test_version(void **state)
{
    static const char hello[] = "*3\r\n$5\r\nBATON\r\n$1\r\n4\r\n$3\r\nnew\r\n";
    (void)state;
    listen_as(&listener, list, "b");
    say(&listener, hello, sizeof hello - 1);
    expect_refused(&listener, "version 3 of the nodes' protocol is spoken by 'b', not 4");
    assert_memory_equal(listener.out.at, "-ERR version 3", 14);
}

/* Bytes that are no hello are refused as soon as that is known, and 256 of them always. */
static void test_no_hello(void **state)
{
    static const char *const said[] = {"GET / HTTP/1.1\r\n",
                                       "PING\r\n",
                                       "*1\r\n$4\r\nPING\r\n",
                                       "\n",
                                       "$",
                                       "*7\r\n$65\r\n",
                                       "*1\r\n$256\r\n",
                                       "*33\r\n",
                                       "*0\r\n",
                                       "*1\r\n$5\r\nBATON\r\n",
                                       "*2\r\n$5\r\nBATON\r\n$1\r\nx\r\n"};
    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        listen_as(&listener, list, "b");
        say(&listener, said[i], strlen(said[i]));
        expect_refused(&listener, "this port is for the nodes of a cluster");
        dial(&dialer, list, "a", "b");
        say(&dialer, said[i], strlen(said[i]));
        expect_refused(&dialer, "what answers at the address of 'b' is no node");
    }
    char longest[PEER_HELLO_MAX];
    resp_out out = {0};
    memset(longest, '0', sizeof longest);
    resp_array(&out, 6);
    for (int i = 0; i < 3; i++)
        resp_bulk(&out, longest, PROOF_HEX);
    resp_bulk(&out, longest, PEER_HELLO_MAX - out.bytes - 7);
    assert_int_equal(out.bytes, sizeof longest);
    memcpy(longest, out.at, sizeof longest);
    resp_free(&out);
    listen_as(&listener, list, "b");
    assert_int_equal(
        peer_hello_receive(&listener.hello, longest, sizeof longest - 1, &listener.out), 0);
    assert_int_equal(listener.hello.state, PEER_HELLO_WAITS);
    say(&listener, longest, sizeof longest);
    expect_refused(&listener, "this port is for the nodes of a cluster");
    memset(longest, '-', sizeof longest);
    dial(&dialer, list, "a", "b");
    say(&dialer, longest, sizeof longest);
    expect_refused(&dialer, "a refusal without end");
    dial(&dialer, list, "a", "b");
    say(&dialer, "-ERR \033[2Jfull\r\n", 15);
    expect_refused(&dialer, "b refuses:  [2Jfull");
}

/* A hello in which one word was changed. */
static void test_damaged_hello(void **state)
{
    static const struct {
        uint32_t word;
        const char *text;
        const char *why;
    } changes[] = {{2, "A", "without a good id"},
                   {2, "", "without a good id"},
                   {2, "d", "'d' is not in the list of peers of 'b'"},
                   {3, "abc", "damaged"},
                   {3, "", "damaged"}};
    resp_limits limits = {64, 256};
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        resp_command c;
        resp_out out = {0};
        dial(&dialer, list, "a", "b");
        resp_parse(dialer.out.at, dialer.out.bytes, &limits, &c);
        resp_array(&out, c.words);
        for (uint32_t k = 0; k < c.words; k++) {
            resp_word changed = {changes[i].text, strlen(changes[i].text)};
            resp_word word = k == changes[i].word ? changed : c.word[k];
            resp_bulk(&out, word.at, word.bytes);
        }
        listen_as(&listener, list, "b");
        say(&listener, out.at, out.bytes);
        expect_refused(&listener, changes[i].why);
        resp_free(&out);
    }
}

/* What a node has said is sent back to it. */
static void test_reflected(void **state)
{
    (void)state;
    dial(&dialer, list, "a", "b");
    say(&dialer, dialer.out.at, dialer.out.bytes);
    expect_refused(&dialer, "'a' talks to itself");
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_done, NULL, "two that belong together");
    suite_add(&s, test_rest, NULL, "what comes behind is left alone");
    suite_add(&s, test_longest, NULL, "the longest hello");
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        suite_add(&s, test_strangers, &pairs[i], "refused: %s", pairs[i].dialer_says);
    for (size_t i = 0; i < sizeof engine_pairs / sizeof engine_pairs[0]; i++)
        suite_add(&s, test_engines, &engine_pairs[i], "engines: %s and %s",
                  engine_pairs[i].dials_by != NULL ? engine_pairs[i].dials_by : "paxos",
                  engine_pairs[i].listens_by != NULL ? engine_pairs[i].listens_by : "paxos");
    suite_add(&s, test_version, NULL, "another version");
    suite_add(&s, test_no_hello, NULL, "no hello");
    suite_add(&s, test_damaged_hello, NULL, "a damaged hello");
    suite_add(&s, test_reflected, NULL, "a reflected hello");
    int failures = suite_run(&s, "peer_hello");
    resp_free(&dialer.out);
    resp_free(&listener.out);
    return failures;
}
