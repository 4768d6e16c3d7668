/* What leaves a node when, over a connection that the test has the other end of. */
#include "log.h"
#include "peer_connection.h"
#include "unit.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PEER = 1, MUCH = 1 << 20 }; /* bytes, more than fit into a socket */

static uv_loop_t loop;
static cluster_node node;
static peers all;
static links l;
static int other; /* the end of the peer, */
static peers its;
static peer_tls its_tls;
static tls_stream *its_stream; /* and what it hears over it */
static char cipher_bytes[4 * MUCH];
static char read_bytes[2 * MUCH];
static char much[MUCH + 1];

static peer_connection *to_peer(void)
{
    return &l.to[PEER];
}

/* What one side has to send goes to the other, without a socket. */
static void hand_over(tls_stream *from, tls_stream *to)
{
    char plain[1];
    const char *at;
    size_t count = tls_unsent(from, &at);
    assert_true(tls_feed(to, at, count));
    tls_sent(from, count);
    assert_int_equal(tls_read(to, plain, sizeof plain), 0);
}

static void shake_hands(tls_stream *dials, tls_stream *listens)
{
    for (int i = 0; i < 3; i++) {
        hand_over(dials, listens);
        hand_over(listens, dials);
    }
    assert_true(tls_is_ready(dials) && tls_is_ready(listens));
}

static int set_up(void **state)
{
    int ends[2];
    const peer_credentials by = {.secret = {"a secret", 8}};
    char complaint[COMPLAINT];
    (void)state;
    assert_true(peers_parse(&all, "a=h:1,b=h:2", "a", complaint));
    assert_true(peers_parse(&its, "a=h:1,b=h:2", "b", complaint));
    memset(&node, 0, sizeof node);
    node.all = &all;
    node.wme = (wme_node){.nodes = 2};
    node.reached[PEER] = true;
    memset(&l, 0, sizeof l);
    l.loop = &loop;
    l.node = &node;
    l.all = &all;
    l.ends = true; /* so nobody is dialed */
    peer_connection *to = to_peer();
    *to = (peer_connection){.of = &l, .dials = true, .open = true, .peer = PEER};
    to->hello.state = PEER_HELLO_DONE;
    to->hello.other = PEER;
    assert_true(peer_tls_open(&l.tls, &all, &by, complaint));
    assert_true(peer_tls_open(&its_tls, &its, &by, complaint));
    to->tls = peer_tls_dial(&l.tls, PEER);
    its_stream = peer_tls_accept(&its_tls);
    shake_hands(to->tls, its_stream);
    uv_loop_init(&loop);
    uv_tcp_init(&loop, &to->socket);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return -1;
    to->socket.data = to->write.data = to;
    other = ends[1];
    return uv_tcp_open(&to->socket, ends[0]);
}

static int tear_down(void **state)
{
    (void)state;
    link_hang_up(to_peer(), "the test is over");
    for (int i = 0; i < 10 && to_peer()->open; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    resp_free(&node.to_peer[PEER]);
    resp_free(&node.early[PEER]);
    if (other >= 0)
        close(other);
    tls_hang_up(its_stream);
    peer_tls_close(&l.tls);
    peer_tls_close(&its_tls);
    return uv_loop_close(&loop);
}

static void say(const char *text)
{
    resp_raw(&node.to_peer[PEER], text, strlen(text));
}

static void say_early(const char *text)
{
    resp_raw(&node.early[PEER], text, strlen(text));
}

/* All that has arrived, as text. */
static const char *arrived(void)
{
    size_t count = 0;
    for (ssize_t more = 1; more > 0;) {
        uv_run(&loop, UV_RUN_NOWAIT);
        more = recv(other, cipher_bytes, sizeof cipher_bytes, MSG_DONTWAIT);
        if (more > 0)
            assert_true(tls_feed(its_stream, cipher_bytes, (size_t)more));
    }
    for (size_t got;
         (got = tls_read(its_stream, read_bytes + count, sizeof read_bytes - 1 - count)) > 0;)
        count += got;
    assert_false(tls_failed(its_stream));
    read_bytes[count] = '\0';
    return read_bytes;
}

/* The peer takes nothing for a while: more is under way than fits. */
static void stuff(void)
{
    for (size_t i = 0; i < MUCH; i++)
        much[i] = (char)('a' + i % 23);
    say_early(much);
    links_send_early(&l);
    assert_true(to_peer()->writes);
}

/* It takes all that was under way. */
static void take(void)
{
    assert_int_equal(strlen(arrived()), MUCH);
    assert_memory_equal(read_bytes, much, MUCH);
    assert_false(to_peer()->writes);
}

static void end_turn(void)
{
    links_send_early(&l);
    links_send(&l);
    links_send_rest(&l);
}

/* ---- the order within a turn ---- */

static void test_turn(void **state)
{
    (void)state;
    assert_true(links_idle(&l));
    say_early("early ");
    assert_false(links_idle(&l));
    say("then ");
    links_send_early(&l);
    assert_string_equal(arrived(), "early ");
    say_early("early, too ");
    links_send(&l);
    assert_string_equal(arrived(), "early, too then ");
    assert_true(links_idle(&l));
    say("last");
    node.patient[PEER] = 4;
    assert_false(links_idle(&l));
    links_send_early(&l);
    links_send(&l);
    assert_string_equal(arrived(), "");
    links_send_rest(&l);
    assert_string_equal(arrived(), "last");
    node.patient[PEER] = 4; /* of what is said now, it is not all */
    say("first and more");
    links_send(&l);
    assert_string_equal(arrived(), "first and more");
}

static void test_stranger_is_told_nothing(void **state)
{
    (void)state;
    to_peer()->hello.state = PEER_HELLO_WAITS;
    say_early("early");
    say("then");
    end_turn();
    assert_string_equal(arrived(), "");
    assert_int_equal(node.early[PEER].bytes, 5);
    assert_int_equal(node.to_peer[PEER].bytes, 4);
}

/* ---- a connection that is slow ---- */

/* What is said meanwhile waits until the bytes before it have left, all of them. */
static void test_one_write_at_a_time(void **state)
{
    (void)state;
    stuff();
    assert_false(links_idle(&l));
    say("behind");
    end_turn();
    assert(node.to_peer[PEER].bytes == 6); /* else libuv's queue is damaged: it cannot be closed */
    end_turn();
    assert_false(links_idle(&l));
    take();
    assert_false(links_idle(&l));
    end_turn();
    assert_string_equal(arrived(), "behind");
    assert_true(links_idle(&l));
}

/* Whoever has waited for longer is first; the early ones, if it is the same. */
static void test_longest_wait_is_first(void **state)
{
    (void)state;
    stuff();
    end_turn();
    say("said ");
    end_turn();
    say_early("early ");
    end_turn();
    take();
    end_turn();
    assert_string_equal(arrived(), "said early ");
    stuff();
    end_turn();
    say_early("early ");
    end_turn();
    say("said ");
    end_turn();
    take();
    links_send_early(&l);
    assert_string_equal(arrived(), "early ");
    end_turn();
    assert_string_equal(arrived(), "said ");
    stuff();
    end_turn();
    say("said ");
    say_early("early ");
    end_turn();
    take();
    end_turn();
    assert_string_equal(arrived(), "early said ");
    say("said ");
    say_early("early "); /* nobody waits any more */
    end_turn();
    assert_string_equal(arrived(), "early said ");
}

/* ---- a connection that is lost ---- */

static void test_lost(void **state)
{
    (void)state;
    link_begin(to_peer(), to_peer()->tls);
    stuff();
    say("never");
    close(other);
    other = -1;
    for (int i = 0; i < 10 && to_peer()->open; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    assert_false(to_peer()->open);
    assert_false(to_peer()->writes);
    assert_false(node.reached[PEER]);
    assert_int_equal(node.to_peer[PEER].bytes, 0); /* it is lost with the connection */
    say("nor this"); /* nothing is written to a socket that is not there */
    end_turn();
    assert_int_equal(node.to_peer[PEER].bytes, 8);
}

int main(void)
{
    static suite s;
    log_set_level(LOG_ERROR);
    suite_add(&s, test_turn, NULL, "early, then what is waited for, then the rest");
    suite_add(&s, test_stranger_is_told_nothing, NULL, "whoever has not proved itself");
    suite_add(&s, test_one_write_at_a_time, NULL, "one write at a time");
    suite_add(&s, test_longest_wait_is_first, NULL, "the longest wait is first");
    suite_add(&s, test_lost, NULL, "a lost connection is not reached");
    for (size_t i = 0; i < s.tests; i++) {
        s.test[i].setup_func = set_up;
        s.test[i].teardown_func = tear_down;
    }
    return suite_run(&s, "links");
}
