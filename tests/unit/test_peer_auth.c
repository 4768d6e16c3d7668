/*
 * How nodes come to know each other: two that belong together do, in whatever pieces the bytes
 * come; all others are refused, and both sides can say why. And what an attacker may try.
 */
#include "peer_auth.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static const char list[] = "a=h:1,b=h:2,c=h:3";
static const proof_secret none = {NULL, 0};
static const proof_secret good = {"correct horse battery staple", 28};
static const proof_secret other_secret = {"correct horse battery stable", 28};

typedef struct side {
    peers of;
    peer_auth auth;
    resp_out out;
    size_t sent; /* of out, to the other side */
} side;

static side dialer, listener, third;
static const char *dials_by, *listens_by; /* engines; NULL: paxos */

static void join_list(side *s, const char *peers_list, const char *me)
{
    char words[PEERS_COMPLAINT];
    resp_free(&s->out);
    memset(s, 0, sizeof *s);
    assert_true(peers_parse(&s->of, peers_list, me, words));
}

static void fresh_nonce(uint8_t nonce[PROOF_BYTES])
{
    static uint8_t count;
    memset(nonce, 0, PROOF_BYTES);
    nonce[7] = ++count;
}

static void dial(side *s, const char *peers_list, const char *me, const char *whom,
                 proof_secret secret)
{
    uint8_t nonce[PROOF_BYTES];
    join_list(s, peers_list, me);
    assert_true(dials_by == NULL || peers_set_engine(&s->of, dials_by));
    fresh_nonce(nonce);
    peer_auth_dial(&s->auth, &s->of, secret, peers_find(&s->of, whom, strlen(whom)), nonce,
                   &s->out);
}

static void listen_as(side *s, const char *peers_list, const char *me, proof_secret secret)
{
    uint8_t nonce[PROOF_BYTES];
    join_list(s, peers_list, me);
    assert_true(listens_by == NULL || peers_set_engine(&s->of, listens_by));
    fresh_nonce(nonce);
    peer_auth_listen(&s->auth, &s->of, secret, nonce);
}

/* Hands over what is there, in pieces of so many bytes; what is not used comes again. */
static void hand_over(side *from, side *to, size_t piece)
{
    size_t seen = from->sent;
    while (from->sent < from->out.bytes && seen < from->out.bytes) {
        size_t left = from->out.bytes - seen;
        seen += piece < left ? piece : left;
        from->sent +=
            peer_auth_receive(&to->auth, from->out.at + from->sent, seen - from->sent, &to->out);
    }
}

static bool over(const side *s)
{
    return s->auth.state == PEER_AUTH_DONE || s->auth.state == PEER_AUTH_REFUSED;
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
    peer_auth_receive(&s->auth, bytes, count, &s->out);
}

static void expect_refused(const side *s, const char *why)
{
    assert_int_equal(s->auth.state, PEER_AUTH_REFUSED);
    if (strstr(s->auth.complaint, why) == NULL)
        fail_msg("'%s' does not say '%s'", s->auth.complaint, why);
}

/* ---- those who belong together ---- */

static void test_done(void **state)
{
    const proof_secret *secret = *state;
    for (size_t piece = 1; piece < 300; piece += piece < 10 ? 1 : 17) {
        dial(&dialer, list, "a", "c", *secret);
        listen_as(&listener, "c=x:1,b=y:2,a=z:3", "c", *secret);
        talk(piece);
        assert_int_equal(dialer.auth.state, PEER_AUTH_DONE);
        assert_int_equal(listener.auth.state, PEER_AUTH_DONE);
        assert_int_equal(dialer.auth.other, 2);
        assert_int_equal(listener.auth.other, 0);
        assert_int_equal(dialer.sent, dialer.out.bytes);
        assert_int_equal(listener.sent, listener.out.bytes);
    }
}

/* What comes right behind is not for this to read. */
static void test_rest(void **state)
{
    (void)state;
    dial(&dialer, list, "a", "c", none);
    listen_as(&listener, list, "c", none);
    size_t hello = dialer.out.bytes;
    resp_text(&dialer.out, "behind");
    assert_int_equal(
        peer_auth_receive(&listener.auth, dialer.out.at, dialer.out.bytes, &listener.out), hello);
    assert_int_equal(listener.auth.state, PEER_AUTH_DONE);
    assert_int_equal(peer_auth_receive(&listener.auth, "x", 1, &listener.out), 0);
}

/* The secret itself is never said, and a hello fits into the limit with the longest id. */
static void test_said(void **state)
{
    static const char longest[] = "abcdefghijklmnopqrstuvwxyz012345=h:1,b=h:2";
    (void)state;
    dials_by = "etcd/abcdefghijklmnopqrstuvwx";
    dial(&dialer, longest, "abcdefghijklmnopqrstuvwxyz012345", "b", good);
    assert_true(dialer.out.bytes <= PEER_AUTH_MAX);
    dials_by = NULL;
    dial(&dialer, longest, "abcdefghijklmnopqrstuvwxyz012345", "b", good);
    listen_as(&listener, longest, "b", good);
    talk(1000);
    assert_int_equal(dialer.auth.state, PEER_AUTH_DONE);
    assert_null(memmem(dialer.out.at, dialer.out.bytes, good.at, good.bytes));
    assert_null(memmem(listener.out.at, listener.out.bytes, good.at, good.bytes));
}

/* ---- those who do not ---- */

typedef struct strangers {
    const char *dials_with, *me, *whom, *listens_with, *is;
    const proof_secret *dials_secret, *listens_secret;
    const char *listener_says, *dialer_says;
} strangers;

static const strangers pairs[] = {
    {list, "a", "b", list, "b", &good, &other_secret, "'b' and 'a' have different secrets",
     "b refuses: 'b' and 'a' have different secrets"},
    {list, "a", "b", list, "b", &good, &none, "'b' has not a secret and 'a' has one", "b refuses"},
    {list, "a", "b", list, "b", &none, &good, "'b' has a secret and 'a' has none", "b refuses"},
    {"a=h:1,b=h:2", "a", "b", list, "b", &good, &good,
     "'a' and 'b' have different lists of peers; --peers must have the same ids",
     "b refuses: 'a' and 'b' have different lists"},
    {"a=h:1,b=h:2", "a", "b", list, "b", &none, &none, "different lists of peers", "b refuses"},
    {list, "a", "b", list, "a", &good, &good, "'a' talks to itself, or two nodes have this id",
     "b refuses: 'a' talks to itself"},
    {list, "a", "b", list, "c", &none, &none, NULL, "'b' was dialed and 'c' answers"},
    {list, "a", "b", list, "c", &good, &good, "a refuses: 'b' was dialed and 'c' answers",
     "'b' was dialed and 'c' answers"},
};

static void test_strangers(void **state)
{
    const strangers *s = *state;
    for (size_t piece = 1; piece < 300; piece += 23) {
        dial(&dialer, s->dials_with, s->me, s->whom, *s->dials_secret);
        listen_as(&listener, s->listens_with, s->is, *s->listens_secret);
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
    const proof_secret *const secrets[] = {&good, &none};
    dials_by = e->dials_by;
    listens_by = e->listens_by;
    for (int i = 0; i < 2; i++) {
        dial(&dialer, list, "a", "b", *secrets[i]);
        listen_as(&listener, list, "b", *secrets[i]);
        talk(7);
        if (e->says != NULL) {
            expect_refused(&listener, e->says);
            expect_refused(&dialer, "b refuses: 'b' decides by");
        } else {
            assert_int_equal(dialer.auth.state, PEER_AUTH_DONE);
            assert_int_equal(listener.auth.state, PEER_AUTH_DONE);
        }
    }
    dials_by = listens_by = NULL;
}

static void test_version(void **state)
{
    static const char hello[] = "*3\r\n$5\r\nBATON\r\n$1\r\n3\r\n$3\r\nnew\r\n";
    (void)state;
    listen_as(&listener, list, "b", good);
    say(&listener, hello, sizeof hello - 1);
    expect_refused(&listener, "version 2 of the nodes' protocol is spoken by 'b', not 3");
    assert_memory_equal(listener.out.at, "-ERR version 2", 14);
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
        listen_as(&listener, list, "b", good);
        say(&listener, said[i], strlen(said[i]));
        expect_refused(&listener, "this port is for the nodes of a cluster");
        dial(&dialer, list, "a", "b", good);
        say(&dialer, said[i], strlen(said[i]));
        expect_refused(&dialer, "what answers at the address of 'b' is no node");
    }
    char longest[PEER_AUTH_MAX];
    resp_out out = {0};
    memset(longest, '0', sizeof longest);
    resp_array(&out, 6);
    for (int i = 0; i < 3; i++)
        resp_bulk(&out, longest, PROOF_HEX);
    resp_bulk(&out, longest, PEER_AUTH_MAX - out.bytes - 7);
    assert_int_equal(out.bytes, sizeof longest);
    memcpy(longest, out.at, sizeof longest);
    resp_free(&out);
    listen_as(&listener, list, "b", good);
    assert_int_equal(peer_auth_receive(&listener.auth, longest, sizeof longest - 1, &listener.out),
                     0);
    assert_int_equal(listener.auth.state, PEER_AUTH_HELLO);
    say(&listener, longest, sizeof longest);
    expect_refused(&listener, "this port is for the nodes of a cluster");
    memset(longest, '-', sizeof longest);
    dial(&dialer, list, "a", "b", good);
    say(&dialer, longest, sizeof longest);
    expect_refused(&dialer, "a refusal without end");
    dial(&dialer, list, "a", "b", good);
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
                   {4, "", "damaged"},
                   {5, "secrets", "'b' has a secret and 'a' has none"}};
    resp_limits limits = {64, 256};
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        resp_command c;
        resp_out out = {0};
        dial(&dialer, list, "a", "b", good);
        resp_parse(dialer.out.at, dialer.out.bytes, &limits, &c);
        resp_array(&out, c.words);
        for (uint32_t k = 0; k < c.words; k++) {
            resp_word changed = {changes[i].text, strlen(changes[i].text)};
            resp_word word = k == changes[i].word ? changed : c.word[k];
            resp_bulk(&out, word.at, word.bytes);
        }
        listen_as(&listener, list, "b", good);
        say(&listener, out.at, out.bytes);
        expect_refused(&listener, changes[i].why);
        resp_free(&out);
    }
}

/* ---- attacks: a third one in between, who does not know the secret ---- */

/* What a node has said is sent back to it. */
static void test_reflected(void **state)
{
    (void)state;
    dial(&dialer, list, "a", "b", good);
    say(&dialer, dialer.out.at, dialer.out.bytes);
    expect_refused(&dialer, "'a' talks to itself");
    /* It is made to listen too, is called by "b" with its own nonce, and asked for the proof that
     * it waits for as the dialer. */
    dial(&dialer, list, "a", "b", good);
    listen_as(&listener, list, "a", good);
    dial(&third, list, "b", "a", good);
    memcpy(third.auth.own_nonce, dialer.auth.own_nonce, PROOF_BYTES);
    third.out.bytes = 0;
    peer_auth forged = third.auth;
    peer_auth_dial(&forged, &third.of, good, 0, dialer.auth.own_nonce, &third.out);
    say(&listener, third.out.at, third.out.bytes); /* "I am b" */
    assert_int_equal(listener.auth.state, PEER_AUTH_PROOF);
    /* To the dialer: "I am b", with the nonce of its own listener. */
    resp_out hello = {0};
    peer_auth_dial(&forged, &third.of, good, 0, listener.auth.own_nonce, &hello);
    size_t before = dialer.out.bytes;
    say(&dialer, hello.at, hello.bytes);
    assert_int_equal(dialer.auth.state, PEER_AUTH_PROOF);
    /* Same nonces on both, and yet its proof as the dialer does not fit where it listens. */
    say(&listener, dialer.out.at + before, dialer.out.bytes - before);
    expect_refused(&listener, "different secrets");
    /* Nor where it dials. */
    say(&dialer, dialer.out.at + before, dialer.out.bytes - before);
    expect_refused(&dialer, "different secrets");
    resp_free(&hello);
}

/* All that a good dialer has said is said again to the same node. */
static void test_replayed(void **state)
{
    (void)state;
    dial(&dialer, list, "a", "b", good);
    listen_as(&listener, list, "b", good);
    talk(1000);
    assert_int_equal(listener.auth.state, PEER_AUTH_DONE);
    listen_as(&listener, list, "b", good);
    say(&listener, dialer.out.at, dialer.out.bytes);
    expect_refused(&listener, "different secrets");
}

/* A stranger learns nothing from a node that listens: no proof before its own was right. */
static void test_no_proof_for_strangers(void **state)
{
    (void)state;
    dial(&dialer, list, "a", "b", other_secret);
    listen_as(&listener, list, "b", good);
    talk(1000);
    assert_null(memmem(listener.out.at, listener.out.bytes, "PROOF", 5));
    expect_refused(&listener, "different secrets");
}

/* The proofs of a connection fit no other: not with other nodes, nor another nonce. */
static void test_bound(void **state)
{
    (void)state;
    dial(&dialer, list, "a", "b", good);
    listen_as(&listener, list, "b", good);
    hand_over(&dialer, &listener, 1000);
    hand_over(&listener, &dialer, 1000);
    peer_auth waits = listener.auth;
    const char *proof = dialer.out.at + dialer.sent;
    size_t bytes = dialer.out.bytes - dialer.sent;
    peer_auth changed[4] = {waits, waits, waits, waits};
    changed[0].other = 2;
    changed[1].own_nonce[31] ^= 1;
    changed[2].other_nonce[0] ^= 128;
    peers elsewhere = listener.of;
    elsewhere.digest[5] ^= 1;
    changed[3].of = &elsewhere;
    for (int i = 0; i < 4; i++) {
        peer_auth_receive(&changed[i], proof, bytes, &third.out);
        assert_int_equal(changed[i].state, PEER_AUTH_REFUSED);
    }
    peer_auth_receive(&waits, proof, bytes, &third.out);
    assert_int_equal(waits.state, PEER_AUTH_DONE);
}

/* Each digit of the proof counts. */
static void test_every_digit(void **state)
{
    (void)state;
    dial(&dialer, list, "a", "b", good);
    listen_as(&listener, list, "b", good);
    hand_over(&dialer, &listener, 1000);
    hand_over(&listener, &dialer, 1000);
    char *proof = dialer.out.at + dialer.sent;
    size_t bytes = dialer.out.bytes - dialer.sent;
    for (size_t i = 2; i < 2 + PROOF_HEX; i++) {
        peer_auth waits = listener.auth;
        char *digit = proof + bytes - 1 - i;
        char was = *digit;
        *digit = was == '0' ? '1' : '0';
        peer_auth_receive(&waits, proof, bytes, &third.out);
        assert_int_equal(waits.state, PEER_AUTH_REFUSED);
        *digit = was;
    }
}

/* ---- proofs ---- */

/* RFC 4231, test case 2; and what a client must compute, by another program. */
static void test_known(void **state)
{
    uint8_t proof[PROOF_BYTES], nonce[PROOF_BYTES] = {0};
    char hex[PROOF_HEX + 1];
    (void)state;
    proof_make((proof_secret){"Jefe", 4}, "what do ya want for nothing?", 28, proof);
    proof_to_hex(proof, hex);
    assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    proof_of_client((proof_secret){"Jefe", 4}, nonce, proof);
    proof_to_hex(proof, hex);
    assert_string_equal(hex, "9b688634061c7b27ab41a747d21032e5bfe9678ca3c4122466574caacd1b75fd");
}

static void test_hex(void **state)
{
    uint8_t bytes[PROOF_BYTES], back[PROOF_BYTES];
    char hex[PROOF_HEX + 1];
    (void)state;
    assert_true(proof_nonce(bytes));
    proof_to_hex(bytes, hex);
    assert_true(proof_from_hex((resp_word){hex, PROOF_HEX}, back));
    assert_true(proof_same(bytes, back));
    assert_false(proof_from_hex((resp_word){hex, PROOF_HEX - 1}, back));
    static const char wrong[] = {'g', 'A', '/', ':', '`', ' ', '\0'};
    for (size_t i = 0; i < sizeof wrong; i++) {
        proof_to_hex(bytes, hex);
        hex[i * 9] = wrong[i];
        assert_false(proof_from_hex((resp_word){hex, PROOF_HEX}, back));
    }
    assert_true(proof_nonce(back));
    assert_false(proof_same(bytes, back)); /* 2^-256 */
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_done, &good, "with a secret");
    suite_add(&s, test_done, &none, "without");
    suite_add(&s, test_rest, NULL, "what comes behind is left alone");
    suite_add(&s, test_said, NULL, "what is said");
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        suite_add(&s, test_strangers, &pairs[i], "refused: %s", pairs[i].dialer_says);
    for (size_t i = 0; i < sizeof engine_pairs / sizeof engine_pairs[0]; i++)
        suite_add(&s, test_engines, &engine_pairs[i], "engines: %s and %s",
                  engine_pairs[i].dials_by != NULL ? engine_pairs[i].dials_by : "paxos",
                  engine_pairs[i].listens_by != NULL ? engine_pairs[i].listens_by : "paxos");
    suite_add(&s, test_version, NULL, "another version");
    suite_add(&s, test_no_hello, NULL, "no hello");
    suite_add(&s, test_damaged_hello, NULL, "a damaged hello");
    suite_add(&s, test_reflected, NULL, "a reflected proof");
    suite_add(&s, test_replayed, NULL, "a replay");
    suite_add(&s, test_no_proof_for_strangers, NULL, "no proof for strangers");
    suite_add(&s, test_bound, NULL, "a proof fits one connection");
    suite_add(&s, test_every_digit, NULL, "every digit counts");
    suite_add(&s, test_known, NULL, "known proofs");
    suite_add(&s, test_hex, NULL, "digits");
    int failures = suite_run(&s, "peer_auth");
    resp_free(&dialer.out);
    resp_free(&listener.out);
    resp_free(&third.out);
    return failures;
}
