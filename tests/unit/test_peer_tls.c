/* TLS between nodes: who is whom, by the secret and by certificates. */
#include "certificates.h"
#include "peer_tls.h"
#include "unit.h"

#include <string.h>

static const char list[] = "a=h:1,b=h:2,c=h:3";
enum { A, B, C };

/* A node, and what it shows. */
typedef struct side {
    peers of;
    peer_tls tls;
    tls_stream *stream;
} side;

static side dialer, listener;

static void join(side *s, const char *me, peer_credentials by)
{
    char words[COMPLAINT];
    assert_true(peers_parse(&s->of, list, me, words));
    assert_true(peer_tls_open(&s->tls, &s->of, &by, words));
}

static void hand_over(tls_stream *from, tls_stream *to)
{
    char none[1];
    const char *at;
    size_t count = tls_unsent(from, &at);
    tls_feed(to, at, count);
    tls_sent(from, count);
    assert_int_equal(tls_read(to, none, 1), 0);
}

static void connect_as(const char *me, uint8_t whom, peer_credentials by, const char *other,
                       peer_credentials by_other)
{
    join(&dialer, me, by);
    join(&listener, other, by_other);
    dialer.stream = peer_tls_dial(&dialer.tls, whom);
    listener.stream = peer_tls_accept(&listener.tls);
    for (int i = 0; i < 3; i++) {
        hand_over(dialer.stream, listener.stream);
        hand_over(listener.stream, dialer.stream);
    }
}

static int part(void **state)
{
    (void)state;
    tls_hang_up(dialer.stream);
    tls_hang_up(listener.stream);
    peer_tls_close(&dialer.tls);
    peer_tls_close(&listener.tls);
    dialer = listener = (side){0};
    return 0;
}

static bool both_ready(void)
{
    return tls_is_ready(dialer.stream) && tls_is_ready(listener.stream);
}

static bool dialer_takes_it_for(uint8_t peer)
{
    return peer_tls_is(&dialer.tls, dialer.stream, true, peer);
}

static bool listener_takes_it_for(uint8_t peer)
{
    return peer_tls_is(&listener.tls, listener.stream, false, peer);
}

static peer_credentials secret(const char *text)
{
    return (peer_credentials){.secret = {text, strlen(text)}};
}

static peer_credentials cert(const char *name, const char *ca)
{
    return (peer_credentials){.cert = certificates_path(name, "crt"),
                              .key = certificates_path(name, "key"),
                              .ca = certificates_path(ca, "crt")};
}

static void test_secret(void **state)
{
    (void)state;
    connect_as("a", B, secret("one secret"), "b", secret("one secret"));
    assert_true(both_ready());
    assert_true(dialer_takes_it_for(B));
    assert_true(listener_takes_it_for(A));
    assert_false(listener_takes_it_for(B));
    assert_false(listener_takes_it_for(C));
}

static void test_no_secret(void **state)
{
    (void)state;
    connect_as("c", A, (peer_credentials){0}, "a", (peer_credentials){0});
    assert_true(both_ready());
    assert_true(listener_takes_it_for(C));
    assert_false(listener_takes_it_for(B));
}

static void test_other_secret(void **state)
{
    static const char *const others[] = {"another", "one secre", "one secret ", ""};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        connect_as("a", B, secret(others[i]), "b", secret("one secret"));
        assert_false(both_ready());
        assert_false(listener_takes_it_for(A));
        assert_string_equal(tls_why(listener.stream), "the two sides have different secrets");
        part(NULL);
    }
    connect_as("a", B, secret("one secret"), "b", (peer_credentials){0});
    assert_false(both_ready());
}

/* Whoever reaches another node than it dialed is heard, so that it can be told; as itself only. */
static void test_other_node_answers(void **state)
{
    (void)state;
    connect_as("a", B, secret("one secret"), "c", secret("one secret"));
    assert_true(both_ready());
    assert_false(listener_takes_it_for(A));
}

/* Dials b by the key of an identity, as docs/protocol.md has it, and says that it is another. */
static void dial_by(const char *of, const char *identity)
{
    uint8_t key[TLS_KEY_BYTES];
    proof_make((proof_secret){"one secret", 10}, of, strlen(of), key);
    join(&dialer, "a", secret("one secret"));
    join(&listener, "b", secret("one secret"));
    dialer.stream = tls_dial_by_key(dialer.tls.party, identity, key);
    listener.stream = peer_tls_accept(&listener.tls);
    for (int i = 0; i < 3; i++) {
        hand_over(dialer.stream, listener.stream);
        hand_over(listener.stream, dialer.stream);
    }
}

/* A key that has leaked opens one connection. */
static void test_key_of_each_two(void **state)
{
    (void)state;
    dial_by("baton node a b", "baton node a b");
    assert_true(both_ready());
    part(NULL);
    dial_by("baton node a b", "baton node c b");
    assert_true(tls_failed(listener.stream));
    part(NULL);
    dial_by("baton client", "baton client"); /* which is no node's */
    assert_true(tls_failed(listener.stream));
}

static void test_certificates(void **state)
{
    (void)state;
    connect_as("a", B, cert("a", "ours"), "b", cert("b", "ours"));
    assert_true(both_ready());
    assert_true(dialer_takes_it_for(B));
    assert_true(listener_takes_it_for(A));
    assert_false(dialer_takes_it_for(C));
    assert_false(listener_takes_it_for(B));
}

static void test_certificate_of_another(void **state)
{
    (void)state;
    connect_as("c", B, cert("a", "ours"), "b", cert("b", "ours"));
    assert_true(both_ready());
    assert_false(listener_takes_it_for(C));
    part(NULL);
    connect_as("a", B, cert("a", "ours"), "b", cert("fake", "ours"));
    assert_false(both_ready());
    part(NULL);
    connect_as("a", B, (peer_credentials){0}, "b", cert("b", "ours"));
    assert_false(both_ready());
    assert_false(listener_takes_it_for(A));
}

static void test_bad_files(void **state)
{
    (void)state;
    char words[COMPLAINT];
    peer_credentials missing = cert("missing", "ours");
    assert_true(peers_parse(&dialer.of, list, "a", words));
    assert_false(peer_tls_open(&dialer.tls, &dialer.of, &missing, words));
    assert_non_null(strstr(words, "missing.crt"));
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_secret, NULL, "one secret");
    suite_add(&s, test_no_secret, NULL, "no secret");
    suite_add(&s, test_other_secret, NULL, "another secret");
    suite_add(&s, test_other_node_answers, NULL, "another node answers");
    suite_add(&s, test_key_of_each_two, NULL, "a key for each two nodes");
    suite_add(&s, test_certificates, NULL, "certificates");
    suite_add(&s, test_certificate_of_another, NULL, "a certificate of another");
    suite_add(&s, test_bad_files, NULL, "files that are of no use");
    for (size_t i = 0; i < s.tests; i++)
        s.test[i].teardown_func = part;
    certificates_make();
    int failures = suite_run(&s, "peer_tls");
    certificates_remove();
    return failures;
}
