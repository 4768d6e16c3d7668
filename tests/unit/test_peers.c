/* Lists of peers: good ones, and every way to get one wrong. */
#include "peers.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static peers p;
static char words[PEERS_COMPLAINT];

static void test_good(void **state)
{
    (void)state;
    assert_true(
        peers_parse(&p, "b=10.0.0.2:7701,c=host-3.example:65535,a=[fe80::1%eth0]:1", "c", words));
    assert_string_equal(words, "");
    assert_int_equal(p.nodes, 3);
    assert_int_equal(p.me, 2);
    assert_string_equal(p.node[0].id, "a");
    assert_string_equal(p.node[0].host, "fe80::1%eth0");
    assert_int_equal(p.node[0].port, 1);
    assert_string_equal(p.node[1].id, "b");
    assert_string_equal(p.node[1].host, "10.0.0.2");
    assert_int_equal(p.node[1].port, 7701);
    assert_string_equal(p.node[2].host, "host-3.example");
    assert_int_equal(p.node[2].port, 65535);
    assert_int_equal(peers_find(&p, "b", 1), 1);
    assert_int_equal(peers_find(&p, "bb", 2), 3);
    assert_int_equal(peers_find(&p, "", 0), 3);
    assert_true(peers_parse(&p, "a=h:1", "a", words));
    assert_string_equal(words, "");
}

/* Order and addresses do not matter to it, ids do. */
static void test_digest(void **state)
{
    uint8_t digest[PROOF_BYTES];
    (void)state;
    assert_true(peers_parse(&p, "a=h:1,b=h:2,c=h:3", "a", words));
    memcpy(digest, p.digest, sizeof digest);
    assert_true(peers_parse(&p, "c=x:1,a=y:2,b=z:3", "b", words));
    assert_memory_equal(digest, p.digest, sizeof digest);
    static const char *const others[] = {"a=h:1,b=h:2", "a=h:1,b=h:2,d=h:3", "a=h:1,bc=h:2",
                                         "a=h:1,b=h:2,c=h:3,d=h:4", "a=h:1"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_true(peers_parse(&p, others[i], "a", words));
        assert_memory_not_equal(digest, p.digest, sizeof digest);
    }
    /* SHA-256 of "a\nb\nc\n": another version of this program must find the same. */
    char hex[PROOF_HEX + 1];
    proof_to_hex(digest, hex);
    assert_string_equal(hex, "880553fca8fcea94e325ee2cfb48e5a985cc797f39a14cc6d3cedecfeb2ae4d2");
}

/* Without one the digest is that of the ids alone, as above. */
static void test_engine(void **state)
{
    static const char *const names[] = {"etcd", "etcd/a", "etcd/b",
                                        "etcd/abcdefghijklmnopqrstuvwx"};
    static const char *const wrong[] = {
        "",     "paxos",    "etcd/",    "etcd/A", "etcdx",
        "raft", "etcd/a b", "etcd/a/b", "Etcd/a", "etcd/abcdefghijklmnopqrstuvwxy"};
    uint8_t digests[5][PROOF_BYTES];
    (void)state;
    assert_true(peers_parse(&p, "a=h:1,b=h:2,c=h:3", "a", words));
    assert_string_equal(p.engine, "paxos");
    assert_memory_equal(p.ids, p.digest, PROOF_BYTES);
    memcpy(digests[4], p.ids, PROOF_BYTES);
    for (int i = 0; i < 4; i++) {
        assert_true(peers_set_engine(&p, names[i]));
        assert_string_equal(p.engine, names[i]);
        assert_memory_equal(p.ids, digests[4], PROOF_BYTES);
        memcpy(digests[i], p.digest, PROOF_BYTES);
    }
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(digests[i], digests[j], PROOF_BYTES);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(peers_set_engine(&p, wrong[i]));
    assert_string_equal(p.engine, names[3]);
    /* SHA-256 of "a\nb\nc\nconsensus etcd\n" */
    char hex[PROOF_HEX + 1];
    proof_to_hex(digests[0], hex);
    assert_string_equal(hex, "988b815383716dba1451746a06b294ce9fe865d95649bcde1ebbb768ed82725c");
}

/* Bound to a word it is another one, for each word and each list. */
static void test_bound(void **state)
{
    uint8_t seen[4][PROOF_BYTES];
    static const char *const lists[] = {"a=h:1,b=h:2", "a=h:1,b=h:2", "a=h:1", "a=h:1,b=h:2"};
    static const char *const word[] = {"account", "stock", "account", NULL};
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_true(peers_parse(&p, lists[i], "a", words));
        if (word[i] != NULL)
            peers_bind(&p, word[i]);
        memcpy(seen[i], p.digest, PROOF_BYTES);
        assert_memory_equal(p.ids, p.digest, PROOF_BYTES); /* a hello says it */
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(seen[i], seen[j], PROOF_BYTES);
    }
    assert_true(peers_parse(&p, "b=h:7,a=h:8", "b", words));
    peers_bind(&p, "account");
    assert_memory_equal(seen[0], p.digest, PROOF_BYTES);
}

static void test_warning(void **state)
{
    (void)state;
    assert_true(peers_parse(&p, "a=h:1,b=h:2,c=h:3,d=h:4", "d", words));
    assert_string_equal(words, "4 nodes bear no more failures than 3; an odd number is better");
    assert_int_equal(p.nodes, 4);
}

typedef struct wrong {
    const char *list, *me, *why;
} wrong;

#define LONG_ID "abcdefghijklmnopqrstuvwxyz0123456" /* 33 */

static const wrong wrongs[] = {
    {"", "a", "the list of peers is empty"},
    {"a=h:1,", "a", "an empty entry"},
    {",a=h:1", "a", "an empty entry"},
    {"a=h:1,,b=h:2", "a", "an empty entry"},
    {"a", "a", "'a' has no id; write ID=HOST:PORT"},
    {"h:1", "a", "'h:1' has no id"},
    {"=h:1", "a", "'=h:1' has no good id"},
    {"A=h:1", "a", "'A=h:1' has no good id"},
    {"a_b=h:1", "a", "has no good id"},
    {" a=h:1", "a", "has no good id"},
    {LONG_ID "=h:1", "a", "has no good id"},
    {"a=h", "a", "'a=h' has no port"},
    {"a=", "a", "'a=' has no port"},
    {"a=:1", "a", "'a=:1' has no good host"},
    {"a=[]:1", "a", "has no good host"},
    {"a=::1:1", "a", "has no good host"},
    {"a=h h:1", "a", "has no good host"},
    {"a=h/x:1", "a", "has no good host"},
    {"a=h:", "a", "'a=h:' has no good port"},
    {"a=h:0", "a", "no good port; a port is a number from 1 to 65535"},
    {"a=h:65536", "a", "no good port"},
    {"a=h:000001", "a", "no good port"},
    {"a=h:-1", "a", "no good port"},
    {"a=h:1x", "a", "no good port"},
    {"a=h:1,b=h:2,a=h:3", "a", "the id 'a' is in the list of peers twice"},
    {"a=h:1,b=H:1", "a", "the nodes 'a' and 'b' have the same address, H:1"},
    {"a=h:1,b=h:2", "c", "this node, 'c', is not in the list of peers"},
    {"a=h:1,b=h:2", "", "'' is no good id"},
    {"a=h:1,b=h:2", "A", "'A' is no good id"},
    {"a=h:1,b=h:2,c=h:3,d=h:4,e=h:5,f=h:6,g=h:7,h=h:8,i=h:9,j=h:10", "a", "more than 9 nodes"},
};

static void test_wrong(void **state)
{
    const wrong *w = *state;
    assert_false(peers_parse(&p, w->list, w->me, words));
    if (strstr(words, w->why) == NULL)
        fail_msg("'%s' does not say '%s'", words, w->why);
}

/* However long an entry is, the complaint is not. */
static void test_long(void **state)
{
    char list[2000];
    (void)state;
    snprintf(list, sizeof list, "a=%01000d:1", 0);
    assert_false(peers_parse(&p, list, "a", words));
    assert_non_null(strstr(words, "has no good host; write a name"));
    memset(list, 'a', sizeof list - 1);
    list[sizeof list - 1] = '\0';
    assert_false(peers_parse(&p, list, "a", words));
    assert_false(peers_parse(&p, "a=h:1", list, words));
    snprintf(list, sizeof list, "a=%0253d:1,b=h:2,c=%0253d:2", 0, 0);
    assert_true(peers_parse(&p, list, "a", words));
    assert_int_equal(strlen(p.node[2].host), PEERS_MAX_HOST);
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_good, NULL, "a good list");
    suite_add(&s, test_digest, NULL, "its digest");
    suite_add(&s, test_engine, NULL, "its engine");
    suite_add(&s, test_bound, NULL, "bound to a word");
    suite_add(&s, test_warning, NULL, "a warning for an even number");
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++)
        suite_add(&s, test_wrong, &wrongs[i], "refused: '%.40s'", wrongs[i].list);
    suite_add(&s, test_long, NULL, "long entries");
    return suite_run(&s, "peers");
}
