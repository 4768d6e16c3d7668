/*
 * TLS between two ends that the test has both of: what is said arrives, in whatever pieces; whoever
 * is not who it says it is gets nowhere, and both ends can say why.
 */
#include "certificates.h"
#include "tls.h"
#include "unit.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MUCH = 300000 };

static uint8_t keys[2][TLS_KEY_BYTES] = {{1, 2, 3}, {1, 2, 4}};
static char heard[MUCH + 1];
static char complaint[COMPLAINT];

/* The longest identity that there can be. */
static const char *longest(void)
{
    static char text[TLS_MAX_IDENTITY + 1];
    memset(text, 'x', TLS_MAX_IDENTITY);
    return text;
}

/* "0" and "1" are known, and the longest one, by the key of "0". */
static bool find(void *context, const char *identity, uint8_t key[TLS_KEY_BYTES])
{
    (void)context;
    if (strcmp(identity, longest()) == 0)
        identity = "0";
    if (strcmp(identity, "0") != 0 && strcmp(identity, "1") != 0)
        return false;
    memcpy(key, keys[identity[0] - '0'], TLS_KEY_BYTES);
    return true;
}

static const tls_settings by_key = {.find_key = find};

/* ---- two ends ---- */

static tls_settings by_cert(const char *name, const char *trusts)
{
    return (tls_settings){.cert = strdup(certificates_path(name, "crt")),
                          .key = strdup(certificates_path(name, "key")),
                          .ca = strdup(certificates_path(trusts, "crt")),
                          .asks_for_cert = true};
}

static void forget(tls_settings *s)
{
    free((char *)s->cert);
    free((char *)s->key);
    free((char *)s->ca);
}

typedef struct pair {
    tls_party *dials, *listens;
    tls_stream *from, *to;
} pair;

static pair two_by_key(const char *identity, const uint8_t key[TLS_KEY_BYTES])
{
    pair p = {.dials = tls_open(&by_key, complaint), .listens = tls_open(&by_key, complaint)};
    p.from = tls_dial_by_key(p.dials, identity, key);
    p.to = tls_accept(p.listens);
    return p;
}

static pair two_by_cert(tls_settings dials, tls_settings listens, const char *name)
{
    pair p = {.dials = tls_open(&dials, complaint), .listens = tls_open(&listens, complaint)};
    assert_non_null(p.dials);
    assert_non_null(p.listens);
    p.from = tls_dial(p.dials, name);
    p.to = tls_accept(p.listens);
    forget(&dials);
    forget(&listens);
    return p;
}

static void part(pair *p)
{
    tls_hang_up(p->from);
    tls_hang_up(p->to);
    tls_close(p->dials);
    tls_close(p->listens);
}

/* What one has to send goes to the other in pieces; what it hears is added to `heard`. */
static size_t hand_over(tls_stream *from, tls_stream *to, size_t piece, size_t already)
{
    const char *at;
    size_t count = tls_unsent(from, &at);
    char *bytes = malloc(count + 1);
    memcpy(bytes, at, count);
    tls_sent(from, count);
    for (size_t done = 0;
         done < count && tls_feed(to, bytes + done, piece < count - done ? piece : count - done);
         done += piece)
        for (size_t got; (got = tls_read(to, heard + already, MUCH - already)) > 0;)
            already += got;
    free(bytes);
    return already;
}

static void shake_hands(pair *p, size_t piece)
{
    for (int i = 0; i < 4; i++) {
        hand_over(p->from, p->to, piece, 0);
        hand_over(p->to, p->from, piece, 0);
    }
}

static void expect_ready(const pair *p)
{
    assert_string_equal(tls_why(p->from), "");
    assert_string_equal(tls_why(p->to), "");
    assert_true(tls_is_ready(p->from));
    assert_true(tls_is_ready(p->to));
}

static void expect_failed(const tls_stream *s, const char *why)
{
    char none[1];
    assert_true(tls_failed(s));
    assert_false(tls_is_ready(s));
    if (strstr(tls_why(s), why) == NULL)
        fail_msg("'%s' does not say '%s'", tls_why(s), why);
    assert_int_equal(tls_read((tls_stream *)s, none, 1), 0);
    assert_false(tls_write((tls_stream *)s, "x", 1));
    assert_false(tls_feed((tls_stream *)s, "x", 1));
}

/* ---- those who belong together ---- */

static void expect_conversation(pair *p, size_t piece)
{
    static char much[MUCH];
    for (size_t i = 0; i < MUCH; i++)
        much[i] = (char)('a' + i % 23);
    assert_true(tls_write(p->from, much, MUCH));
    assert_int_equal(hand_over(p->from, p->to, piece, 0), MUCH);
    assert_memory_equal(heard, much, MUCH);
    assert_true(tls_write(p->to, "yes", 3));
    assert_true(tls_write(p->to, "", 0));
    assert_int_equal(hand_over(p->to, p->from, piece, 0), 3);
    assert_memory_equal(heard, "yes", 3);
}

static void test_by_key(void **state)
{
    static const size_t pieces[] = {1, 2, 7, 100, 5000, MUCH * 2};
    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        pair p = two_by_key("1", keys[1]);
        assert_false(tls_is_ready(p.from) || tls_is_ready(p.to));
        assert_false(tls_write(p.from, "too early", 9));
        shake_hands(&p, pieces[i]);
        expect_ready(&p);
        assert_string_equal(tls_identity(p.to), "1");
        assert_false(tls_is_named(p.to, "1"));
        expect_conversation(&p, pieces[i] < 100 ? 100 : pieces[i]);
        part(&p);
    }
}

static void test_longest_identity(void **state)
{
    (void)state;
    pair p = two_by_key(longest(), keys[0]);
    shake_hands(&p, 1000);
    expect_ready(&p);
    assert_string_equal(tls_identity(p.to), longest());
    part(&p);
}

/* The socket takes as much as it likes; what is left comes next. */
static void test_sent_in_parts(void **state)
{
    static char much[MUCH];
    char piece[5000];
    const char *at;
    size_t said = 0;
    (void)state;
    pair p = two_by_key("0", keys[0]);
    shake_hands(&p, 1000);
    for (size_t i = 0; i < MUCH; i++)
        much[i] = (char)('a' + i % 23);
    assert_true(tls_write(p.from, much, MUCH));
    for (size_t count; (count = tls_unsent(p.from, &at)) > 0;) {
        size_t now = count < sizeof piece ? count : sizeof piece;
        memcpy(piece, at, now);
        tls_sent(p.from, now);
        assert_int_equal(tls_unsent(p.from, &at), count - now);
        assert_true(tls_feed(p.to, piece, now));
        for (size_t got; (got = tls_read(p.to, heard + said, MUCH - said)) > 0;)
            said += got;
    }
    assert_int_equal(said, MUCH);
    assert_memory_equal(heard, much, MUCH);
    expect_conversation(&p, 1000); /* the room for much was given back */
    part(&p);
}

static void come_and_go(int times)
{
    for (int i = 0; i < times; i++) {
        pair p = two_by_key(i % 2 == 0 ? "0" : "2", keys[0]); /* the second is refused */
        shake_hands(&p, 1000);
        part(&p);
    }
}

static void test_nothing_is_left(void **state)
{
    enum { OFTEN = 100, LEAST = 512 }; /* bytes of what a stream or a party has */
    (void)state;
    come_and_go(8);
    size_t before = heap_bytes();
    come_and_go(OFTEN); /* what malloc keeps for the next time is not much */
    assert_true(heap_bytes() < before + (size_t)OFTEN * LEAST);
}

static void test_by_cert(void **state)
{
    static const char *const names[] = {"b", "127.0.0.1"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        pair p = two_by_cert(by_cert("a", "ours"), by_cert("b", "ours"), names[i]);
        shake_hands(&p, 1000);
        expect_ready(&p);
        assert_true(tls_is_named(p.to, "a") && tls_is_named(p.from, "b"));
        assert_false(tls_is_named(p.to, "b") || tls_is_named(p.from, "a"));
        assert_string_equal(tls_identity(p.to), "");
        expect_conversation(&p, 5000);
        part(&p);
    }
}

/* What is said is not seen on its way, and no two connections say it alike. */
static void test_hidden(void **state)
{
    char first[200];
    const char *at;
    (void)state;
    for (int i = 0; i < 2; i++) {
        pair p = two_by_key("0", keys[0]);
        shake_hands(&p, 1000);
        assert_true(tls_write(p.from, "a word to the wise", 18));
        size_t count = tls_unsent(p.from, &at);
        assert_true(count > 18 && count < sizeof first);
        assert_null(memmem(at, count, "wise", 4));
        assert_true(i == 0 || memcmp(first, at, count) != 0);
        memcpy(first, at, count);
        part(&p);
    }
}

/* ---- those who do not ---- */

static void test_wrong_key(void **state)
{
    (void)state;
    pair p = two_by_key("1", keys[0]);
    shake_hands(&p, 1000);
    expect_failed(p.to, "different secrets");
    assert_true(tls_was_wrong_key(p.to));
    expect_failed(p.from, "different secrets");
    assert_string_equal(tls_identity(p.to), "");
    part(&p);
}

static void test_unknown_identity(void **state)
{
    static const char *const nobody[] = {"2", "", "11"};
    (void)state;
    for (size_t i = 0; i < sizeof nobody / sizeof nobody[0]; i++) {
        pair p = two_by_key(nobody[i], keys[1]);
        shake_hands(&p, 1000);
        assert_false(tls_is_ready(p.from) || tls_is_ready(p.to));
        assert_string_equal(tls_identity(p.to), "");
        assert_false(tls_was_wrong_key(p.to));
        part(&p);
    }
}

/* A server with a certificate, but without the key, is not who was dialed by a key. */
static void test_cert_is_no_key(void **state)
{
    (void)state;
    tls_settings listens = by_cert("b", "ours");
    listens.asks_for_cert = false;
    pair p = {.dials = tls_open(&by_key, complaint), .listens = tls_open(&listens, complaint)};
    p.from = tls_dial_by_key(p.dials, "1", keys[1]);
    p.to = tls_accept(p.listens);
    shake_hands(&p, 1000);
    expect_failed(p.from, "certificate");
    forget(&listens);
    part(&p);
}

/* Not even if its certificate is trusted. */
static void test_trusted_cert_is_no_key(void **state)
{
    (void)state;
    tls_settings listens = by_cert("b", "ours"),
                 dials = {.ca = strdup(certificates_path("ours", "crt"))};
    listens.asks_for_cert = false;
    pair p = {.dials = tls_open(&dials, complaint), .listens = tls_open(&listens, complaint)};
    p.from = tls_dial_by_key(p.dials, "1", keys[1]);
    p.to = tls_accept(p.listens);
    shake_hands(&p, 1000);
    expect_failed(p.from, "does not know the secret");
    forget(&dials);
    forget(&listens);
    part(&p);
}

/* Only a name that is meant as one counts. */
static void test_subject_is_no_name(void **state)
{
    (void)state;
    pair p = two_by_cert(by_cert("bare", "ours"), by_cert("b", "ours"), "b");
    shake_hands(&p, 1000);
    expect_ready(&p);
    assert_false(tls_is_named(p.to, "a"));
    part(&p);
    p = two_by_cert(by_cert("b", "ours"), by_cert("bare", "ours"), "a");
    shake_hands(&p, 1000);
    expect_failed(p.from, "mismatch");
    part(&p);
}

/* What somebody else has left in OpenSSL's queue of errors is no failure of this stream. */
static void test_errors_of_others(void **state)
{
    char none[1];
    (void)state;
    pair p = two_by_key("0", keys[0]);
    shake_hands(&p, 1000);
    ERR_raise(ERR_LIB_USER, ERR_R_PASSED_INVALID_ARGUMENT);
    assert_int_equal(tls_read(p.to, none, 1), 0);
    ERR_raise(ERR_LIB_USER, ERR_R_PASSED_INVALID_ARGUMENT);
    assert_true(tls_write(p.to, "yes", 3));
    expect_ready(&p);
    part(&p);
}

static void test_wrong_authority(void **state)
{
    (void)state;
    pair p = two_by_cert(by_cert("a", "ours"), by_cert("fake", "ours"), "b");
    shake_hands(&p, 1000);
    expect_failed(p.from, "issuer");
    part(&p);
    p = two_by_cert(by_cert("fake", "ours"), by_cert("b", "ours"), "b");
    shake_hands(&p, 1000);
    expect_failed(p.to, "issuer");
    part(&p);
}

static void test_wrong_name(void **state)
{
    static const char *const names[] = {"a", "127.0.0.2", "bb"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pair p = two_by_cert(by_cert("a", "ours"), by_cert("b", "ours"), names[i]);
        shake_hands(&p, 1000);
        expect_failed(p.from, "mismatch");
        part(&p);
    }
}

static void test_no_cert(void **state)
{
    (void)state;
    tls_settings silent = {.ca = strdup(certificates_path("ours", "crt"))};
    pair p = two_by_cert(silent, by_cert("b", "ours"), "b");
    shake_hands(&p, 1000);
    expect_failed(p.to, "shows no certificate");
    part(&p);
}

static void test_no_tls(void **state)
{
    static const char *const said[] = {"GET / HTTP/1.1\r\n\r\n", "*1\r\n$4\r\nPING\r\n",
                                       "\x16\x03\x01\xff\xff\x01", "SSH-2.0-OpenSSH\r\n"};
    char none[1];
    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        tls_party *party = tls_open(&by_key, complaint);
        tls_stream *s = tls_accept(party);
        assert_true(tls_feed(s, said[i], strlen(said[i])));
        assert_int_equal(tls_read(s, none, 1), 0);
        expect_failed(s, "does not speak TLS");
        tls_hang_up(s);
        tls_close(party);
    }
}

/* Every bit that is changed on its way is noticed, and nothing of the record is believed. */
static void test_changed(void **state)
{
    char bytes[200];
    const char *at;
    (void)state;
    for (size_t i = 5;; i++) {
        pair p = two_by_key("0", keys[0]);
        shake_hands(&p, 1000);
        assert_true(tls_write(p.from, "pay one", 7));
        size_t count = tls_unsent(p.from, &at);
        assert_true(count < sizeof bytes);
        if (i == count) {
            part(&p);
            break;
        }
        memcpy(bytes, at, count);
        bytes[i] ^= 1;
        assert_true(tls_feed(p.to, bytes, count));
        assert_int_equal(tls_read(p.to, heard, MUCH), 0);
        expect_failed(p.to, "changed on their way");
        part(&p);
    }
}

/* What was said once is not believed a second time; nor out of turn. */
static void test_repeated(void **state)
{
    char bytes[200];
    const char *at;
    (void)state;
    pair p = two_by_key("0", keys[0]);
    shake_hands(&p, 1000);
    assert_true(tls_write(p.from, "pay one", 7));
    size_t count = tls_unsent(p.from, &at);
    memcpy(bytes, at, count);
    assert_int_equal(hand_over(p.from, p.to, 1000, 0), 7);
    assert_true(tls_feed(p.to, bytes, count));
    assert_int_equal(tls_read(p.to, heard, MUCH), 0);
    expect_failed(p.to, "changed on their way");
    part(&p);
}

/* An earlier version of TLS gets nowhere, unless it is asked for. */
static void test_version(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        tls_settings listens = by_cert("b", "ours");
        listens.asks_for_cert = false;
        listens.takes_tls12 = allowed;
        tls_party *party = tls_open(&listens, complaint);
        tls_stream *s = tls_accept(party);
        SSL_CTX *old = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_max_proto_version(old, TLS1_2_VERSION);
        SSL *client = SSL_new(old);
        BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
        SSL_set_bio(client, in, out);
        for (int i = 0; i < 4; i++) {
            char *at;
            const char *its;
            char none[1];
            SSL_connect(client);
            long count = BIO_get_mem_data(out, &at);
            tls_feed(s, at, (size_t)count);
            assert_int_equal(BIO_reset(out), 1);
            tls_read(s, none, 1);
            size_t more = tls_unsent(s, &its);
            if (more > 0)
                BIO_write(in, its, (int)more);
            tls_sent(s, more);
        }
        assert_int_equal(tls_is_ready(s), allowed);
        if (!allowed)
            expect_failed(s, "unsupported protocol");
        SSL_free(client);
        SSL_CTX_free(old);
        tls_hang_up(s);
        tls_close(party);
        forget(&listens);
    }
}

/* ---- files ---- */

static void expect_refused(tls_settings s, const char *why)
{
    tls_party *p = tls_open(&s, complaint);
    assert_null(p);
    if (strstr(complaint, why) == NULL)
        fail_msg("'%s' does not say '%s'", complaint, why);
    forget(&s);
}

static void test_files(void **state)
{
    (void)state;
    FILE *file = fopen(certificates_path("no", "crt"), "w");
    fputs("nothing", file);
    fclose(file);
    tls_settings s = by_cert("a", "ours");
    free((char *)s.key);
    s.key = strdup(certificates_path("b", "key"));
    expect_refused(s, "b.key");
    expect_refused(by_cert("no", "ours"), "no.crt");
    expect_refused(by_cert("missing", "ours"), "missing.crt: No such file");
    expect_refused(by_cert("a", "no"), "cannot use the authority");
    unlink(certificates_path("no", "crt"));
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_by_key, NULL, "two with one key");
    suite_add(&s, test_longest_identity, NULL, "the longest identity");
    suite_add(&s, test_sent_in_parts, NULL, "what is sent in parts");
    suite_add(&s, test_nothing_is_left, NULL, "nothing is left of a stream");
    suite_add(&s, test_by_cert, NULL, "two with certificates");
    suite_add(&s, test_hidden, NULL, "what is said is not seen");
    suite_add(&s, test_wrong_key, NULL, "another key");
    suite_add(&s, test_unknown_identity, NULL, "an identity that nobody knows");
    suite_add(&s, test_cert_is_no_key, NULL, "a certificate instead of the key");
    suite_add(&s, test_trusted_cert_is_no_key, NULL, "a certificate that is trusted, instead");
    suite_add(&s, test_subject_is_no_name, NULL, "a subject is no name");
    suite_add(&s, test_errors_of_others, NULL, "errors of others");
    suite_add(&s, test_wrong_authority, NULL, "another authority");
    suite_add(&s, test_wrong_name, NULL, "another name");
    suite_add(&s, test_no_cert, NULL, "no certificate");
    suite_add(&s, test_no_tls, NULL, "no TLS");
    suite_add(&s, test_changed, NULL, "every bit that is changed");
    suite_add(&s, test_repeated, NULL, "what is said again");
    suite_add(&s, test_version, NULL, "TLS 1.2");
    suite_add(&s, test_files, NULL, "files that are of no use");
    certificates_make();
    int failures = suite_run(&s, "tls");
    certificates_remove();
    return failures;
}
