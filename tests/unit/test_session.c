/* Sessions and the registers of one server, by a clock that the test moves; no socket. */
#include "registry.h"
#include "shard.h"
#include "talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static service of;
static talker a, b, c;
static uint64_t remembered;
static bool remembers;
static char audited[256];

static bool change_lease(service *s, uint64_t from, uint64_t to)
{
    (void)s;
    assert_int_not_equal(from, to);
    assert_int_equal(remembered, from);
    if (remembers || to == 0) /* for which there is nothing to write */
        remembered = to;
    return remembered == to;
}

static void audit(service *s, const char *from, const char *what, resp_word lock)
{
    (void)s;
    snprintf(audited, sizeof audited, "%s %s %.*s", from, what, (int)lock.bytes, lock.at);
}

static void more_figures(service *s, resp_out *out)
{
    (void)s;
    resp_raw(out, "more:1\r\n", 8);
}

static int set_up(void **unused)
{
    (void)unused;
    of = (service){.locks = registry_new(1, 2),
                   .limits = {.word_bytes = 512, .command_bytes = 8192},
                   .max_name = 300,
                   .max_output = 4096,
                   .longest_lease = 5000,
                   .change_lease = change_lease,
                   .audit = audit};
    remembers = true;
    remembered = 0;
    audited[0] = '\0';
    talk_begin(&a, &of);
    talk_begin(&b, &of);
    talk_begin(&c, &of);
    strcpy(a.session.who.from, "here");
    return of.locks != NULL ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    talk_end(&a, 0);
    talk_end(&b, 0);
    talk_end(&c, 0);
    bool clean = of.locks->backend->count_locks(of.locks) == 0;
    registry_free(of.locks);
    return clean ? 0 : -1;
}

/* ---- commands ---- */

static void test_rules(void **unused)
{
    static const char hello[] = "-NOAUTH HELLO must be called with the client already "
                                "authenticated, or with AUTH <user> <password>\r\n";
    static const char wrong[] =
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    static const talk_rule rules[] = {
        {"TRY", 2, 3, NULL},
        {"LOCK", 2, 4, NULL},
        {"EXIT", 3, 4, NULL},
        {"RENEW", 1, 3, NULL},
        {"PING", 1, 2, "+PONG\r\n"},
        {"LOCKS", 1, 4, NULL},
        {"INFO", 1, 2, NULL},
        {"RELEASE", 3, 3, NULL},
        {"SELECT", 2, 2, NULL},
        {"HELLO", 1, 7, hello},
        {"AUTH", 2, 3, wrong},
        {"QUIT", 1, 1, "+OK\r\n"},
        {"CLIENT", 2, RESP_MAX_WORDS, NULL},
        {"COMMAND", 1, RESP_MAX_WORDS, NULL},
        {"CONFIG", 2, RESP_MAX_WORDS, NULL},
    };
    (void)unused;
    talk_rules(&of, rules, sizeof rules / sizeof *rules);
}

static void test_wrong_words(void **unused)
{
    char long_name[400] = "TRY|";
    char longer[400] = "TRY|";
    (void)unused;
    memset(long_name + 4, 'n', 300);
    memset(longer + 4, 'n', 301);
    talk_words(&a, 0, long_name, ":1\r\n");
    talk_words(&a, 0, longer, "-NAME a name has 1 to 300 bytes\r\n");
    talk_words(&a, 0, "TRY|", "-NAME a name has 1 to 300 bytes\r\n");
    static const char *const wrong[][2] = {
        {"TRY x y", "-ERR tries that were refused are a number up to 4294967295\r\n"},
        {"TRY x 4294967296", "-ERR tries that were refused are a number up to 4294967295\r\n"},
        {"LOCK x y", "-ERR a timeout is a number of milliseconds, 0 for no end\r\n"},
        {"LOCK x 4294967296", "-ERR a timeout is a number of milliseconds, 0 for no end\r\n"},
        {"LOCK x 0 y", "-ERR tries that were refused are a number up to 4294967295\r\n"},
        {"EXIT x 0", "-ERR a token is the number that TRY or LOCK gave\r\n"},
        {"EXIT x 1 y", "-ERR tries that were refused are a number up to 4294967295\r\n"},
        {"RELEASE x 0", "-ERR a token is the number that LOCKS shows\r\n"},
        {"RENEW 5001", "-ERR a lease is a number of milliseconds from 0, for none, to 5000\r\n"},
        {"RENEW 5000 y", "-ERR tries that were refused are a number up to 4294967295\r\n"},
        {"HELLO 1", "-NOPROTO unsupported protocol version\r\n"},
        {"HELLO 4", "-NOPROTO unsupported protocol version\r\n"},
        {"HELLO 3 AUTH user", "-ERR Syntax error in HELLO\r\n"},
        {"HELLO 3 SETNAME", "-ERR Syntax error in HELLO\r\n"},
        {"HELLO 3 MORE x", "-ERR Syntax error in HELLO\r\n"},
        {"HELLO 3 AUTH user secret",
         "-ERR AUTH <password> called without any password configured\r\n"},
        {"AUTH CHALLENGE", "-ERR AUTH <password> called without any password configured\r\n"},
        {"NONSENSE x", "-ERR unknown command 'NONSENSE'\r\n"},
        {"STATUS", "-ERR unknown command 'STATUS'\r\n"}, /* of nodes */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[128];
        snprintf(line, sizeof line, "%s\r\n", wrong[i][0]);
        talk(&b, 0, line, wrong[i][1]);
    }
    assert_int_equal(session_deadline(&b.session), 0); /* and nothing of that has happened */
    assert_int_equal(of.locks->backend->count(of.locks).tries, 1);
    char unknown[128];
    char told[128];
    snprintf(unknown, sizeof unknown, "%080d\r\n", 1);
    snprintf(told, sizeof told, "-ERR unknown command '%064d'\r\n", 0);
    talk(&b, 0, unknown, told);
}

static void test_hello(void **unused)
{
    char expected[256];
    (void)unused;
    snprintf(expected, sizeof expected,
             "*8\r\n$6\r\nserver\r\n$5\r\nbaton\r\n$7\r\nversion\r\n$%zu\r\n%s\r\n$5\r\nproto\r\n"
             ":2\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n",
             strlen(baton_version()), baton_version());
    talk(&a, 0, "HELLO\r\n", expected);
    talk(&a, 0, "HELLO 2 SETNAME me\r\n", expected);
    talk_begins(&a, 0, "HELLO 3\r\n", "%4\r\n$6\r\nserver\r\n");
    talk_begins(&a, 0, "HELLO\r\n", "%4\r\n$6\r\nserver\r\n"); /* it stays */
    talk(&a, 0, "CONFIG GET x\r\n", "%0\r\n");
    talk(&a, 0, "HELLO 2\r\n", expected);
    of.secret = "secret";
    talker d;
    talk_begin(&d, &of);
    talk(&d, 0, "HELLO 3 AUTH user wrong\r\n",
         "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    talk(&d, 0, "INFO\r\n", "-NOAUTH Authentication required.\r\n");
    talk_begins(&d, 0, "HELLO 3 SETNAME me AUTH user secret\r\n", "%4\r\n");
    talk(&d, 0, "PING\r\n", "+PONG\r\n");
    talk(&d, 0, "PING x\r\n", "$1\r\nx\r\n");
    talk(&d, 0, "SELECT 0\r\n", "+OK\r\n");
    talk(&d, 0, "AUTH wrong\r\n",
         "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    talk(&d, 0, "INFO\r\n", "-NOAUTH Authentication required.\r\n"); /* as before AUTH */
    talk(&d, 0, "AUTH user secret\r\n", "+OK\r\n");
    talk(&d, 0, "AUTH secre\r\n",
         "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    talk(&d, 0, "AUTH secretsecret\r\n",
         "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    talk_end(&d, 0);
}

static void make_proof(const talker *t, char proof[PROOF_HEX + 1])
{
    char hex[PROOF_HEX + 1];
    proof_to_hex(t->session.challenge, hex);
    assert_true(proof_answer(of.secret, (resp_word){hex, PROOF_HEX}, proof));
}

/* A proof is of one challenge, and each of these has one answer. */
static void test_challenge(void **unused)
{
    (void)unused;
    char proof[PROOF_HEX + 1];
    char command[128];
    of.secret = "secret";
    talker d;
    talk_begin(&d, &of);
    talk(&d, 0, "AUTH PROOF x\r\n",
         "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    talk_begins(&d, 0, "AUTH CHALLENGE\r\n", "$64\r\n");
    make_proof(&d, proof);
    snprintf(command, sizeof command, "AUTH OTHER %s\r\n", proof);
    talk(&d, 0, command, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    talk_begins(&d, 0, "AUTH CHALLENGE\r\n", "$64\r\n");
    make_proof(&d, proof);
    snprintf(command, sizeof command, "AUTH PROOF %s\r\n", proof);
    talk(&d, 0, command, "+OK\r\n");
    talk(&d, 0, command, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    talk_end(&d, 0);
}

static void test_quits(void **unused)
{
    (void)unused;
    static const char two[] = "QUIT\r\nPING\r\n";
    assert_int_equal(session_feed(&a.session, two, strlen(two), 0), 6);
    assert_true(a.session.quits && a.session.ends);
    talk_begins(&b, 0, "*1\r\n!\r\n", "-ERR");
    assert_true(b.session.ends && !b.session.quits);
}

/* Half a command stays for later, and an empty one is none. */
static void test_parts(void **unused)
{
    (void)unused;
    static const char parts[] = "\r\nPING\r\nPI";
    assert_int_equal(session_feed(&a.session, parts, strlen(parts), 0), strlen(parts) - 2);
    talk(&a, 0, "", "+PONG\r\n");
    assert_int_equal(traffic_read(&a.traffic.received), 1);
    assert_int_equal(traffic_read(&a.traffic.sent), 1);
}

/* ---- entering ---- */

static void test_loser_is_told(void **unused)
{
    (void)unused;
    talk(&a, 0, "TRY x\r\n", ":1\r\n");
    talk(&b, 0, "TRY x 7\r\n", ":-1\r\n");
    talk_begins(&c, 0, "HELLO 3\r\n", "%4\r\n");
    talk(&c, 0, "TRY x\r\n", ":-1\r\n");
    talk(&a, 0, "EXIT x 2\r\n", "-STALE the section with token 2 is over, or was never yours\r\n");
    talk(&a, 0, "EXIT x 1 2\r\n", ":1\r\n");
    talk_hear(&b, 0, ""); /* pushes are for protocol 3 */
    talk_hear(&c, 0, ">3\r\n$5\r\nreset\r\n$1\r\nx\r\n:2\r\n");
    assert_int_equal(traffic_read(&b.traffic.sent), 1);
    assert_int_equal(traffic_read(&b.traffic.refused), 7);
    assert_int_equal(traffic_read(&c.traffic.sent), 3);
    assert_int_equal(traffic_read(&a.traffic.refused), 2);
    talk(&a, 0, "EXIT x 1\r\n", "-STALE the section with token 1 is over, or was never yours\r\n");
    talk(&b, 0, "TRY x\r\n", ":4\r\n"); /* it was forgotten twice, and begins anew */
}

/* A command behind a wait is read after it; the answer counts when it comes. */
static void test_waits(void **unused)
{
    (void)unused;
    static const char two[] = "LOCK x 100\r\nPING\r\n";
    talk(&a, 0, "LOCK x\r\n", ":1\r\n");
    assert_int_equal(session_feed(&b.session, two, strlen(two), 10), 12);
    assert_int_equal(traffic_read(&b.traffic.sent), 0);
    assert_int_equal(session_deadline(&b.session), 110);
    talk_time(&b, 109, "");
    talk(&a, 60, "EXIT x 1\r\n", ":1\r\n");
    talk_hear(&b, 60, ":2\r\n");
    assert_int_equal(traffic_read(&b.traffic.sent), 1);
    assert_int_equal(session_deadline(&b.session), 0);
    talk(&b, 61, "PING\r\n", "+PONG\r\n");
    talk(&b, 62, "LOCK x\r\n", "-TWICE this session holds the lock already\r\n");
    talk(&b, 62, "PING\r\n", "+PONG\r\n"); /* nor does it wait for that */
    talk_begins(&c, 70, "HELLO 3\r\n", "%4\r\n");
    talk(&c, 70, "LOCK x 50\r\n", "");
    talk_time(&c, 119, "");
    assert_int_equal(traffic_read(&c.traffic.sent), 1);
    talk_time(&c, 120, "_\r\n");
    assert_int_equal(traffic_read(&c.traffic.sent), 2);
    talk(&a, 130, "LOCK x 50\r\n", "");
    talk_time(&a, 180, "$-1\r\n");
    talk(&b, 200, "EXIT x 2\r\n", ":1\r\n"); /* nobody is let in who waits no more */
    talk_hear(&a, 200, "");
    talk_hear(&c, 200, "");
}

static void test_crowd(void **unused)
{
    (void)unused;
    talker d;
    talk_begin(&d, &of);
    talk(&a, 0, "LOCK x\r\n", ":1\r\n");
    talk(&b, 0, "LOCK x\r\n", "");
    talk(&c, 0, "LOCK x\r\n", "");
    talk(&d, 0, "LOCK x\r\n", "-CROWD too many wait for this lock already\r\n");
    assert_true(talk_token(&d, 0, "LOCK y\r\n") > 0);
    talk_end(&b, 0); /* its place is free */
    talk_begin(&b, &of);
    talk(&d, 0, "LOCK x\r\n", "");
    talk_end(&a, 0);
    talk_begin(&a, &of);
    talk_hear(&c, 0, ":2\r\n"); /* in the order in which they came */
    talk_hear(&d, 0, "");
    talk_end(&d, 0);
}

/* ---- leases, and force ---- */

static void test_lease(void **unused)
{
    (void)unused;
    talk_begins(&a, 0, "HELLO 3\r\n", "%4\r\n");
    talk(&a, 0, "RENEW 1000 3\r\n", ":1000\r\n");
    assert_int_equal(remembered, 1000);
    assert_int_equal(traffic_read(&a.traffic.refused), 3);
    talk(&a, 0, "TRY x\r\n", ":1\r\n");
    talk(&b, 0, "LOCK x\r\n", "");
    talk(&a, 500, "RENEW\r\n", ":1000\r\n");
    talk_time(&a, 1499, "");
    talk_time(&a, 1500, ">3\r\n$4\r\nlost\r\n$1\r\nx\r\n:1\r\n");
    talk_hear(&b, 1500, ":2\r\n");
    assert_int_equal(session_deadline(&a.session), 2500); /* it may come back */
    remembers = false;
    talk(&a, 1600, "RENEW 2000\r\n",
         "-CLOSED the server cannot write its file of tokens; see its log\r\n");
    assert_int_equal(session_deadline(&a.session), 2600);
    talk(&a, 1700, "RENEW 0\r\n", ":0\r\n");
    assert_int_equal(session_deadline(&a.session), 0);
}

/* The sooner of both is when it must look at the clock. */
static void test_deadlines(void **unused)
{
    (void)unused;
    talk(&a, 0, "TRY x\r\n", ":1\r\n");
    talk(&b, 0, "RENEW 1000\r\n", ":1000\r\n");
    talk(&b, 0, "LOCK x 300\r\n", "");
    assert_int_equal(session_deadline(&b.session), 300);
    talk_time(&b, 300, "$-1\r\n");
    assert_int_equal(session_deadline(&b.session), 1000);
    talk(&b, 300, "LOCK x 2000\r\n", "");
    assert_int_equal(session_deadline(&b.session), 1300);
}

static void test_force(void **unused)
{
    (void)unused;
    talk_begins(&b, 0, "HELLO 3\r\n", "%4\r\n");
    talk(&b, 0, "TRY x\r\n", ":1\r\n");
    talk(&c, 0, "LOCK x\r\n", "");
    talk(&a, 0, "RELEASE x 2\r\n", ":0\r\n");
    talk(&a, 0, "RELEASE y 1\r\n", ":0\r\n");
    assert_string_equal(audited, "");
    talk(&a, 0, "RELEASE x 1\r\n", ":1\r\n");
    assert_string_equal(audited, "here released by force, token 1 x");
    talk_hear(&b, 0, ">3\r\n$4\r\nlost\r\n$1\r\nx\r\n:1\r\n");
    talk_hear(&c, 0, ":2\r\n");
    char line[128];
    char told[128];
    snprintf(line, sizeof line, "LOCK %080d\r\n", 1);
    unsigned long long token = talk_token(&b, 0, line);
    snprintf(line, sizeof line, "RELEASE %080d %llu\r\n", 1, token);
    snprintf(told, sizeof told, "here released by force, token %llu %080d", token, 1);
    of.audit = NULL;
    talk(&a, 0, "RELEASE x 2\r\n", ":1\r\n");
    of.audit = audit;
    talk(&a, 0, line, ":1\r\n");
    assert_string_equal(audited, told);
}

static void test_closed(void **unused)
{
    (void)unused;
    static const char closed[] =
        "-CLOSED the server cannot write its file of tokens; see its log\r\n";
    talk(&a, 0, "TRY x\r\n", ":1\r\n");
    atomic_store(&of.closed, true);
    talk(&b, 0, "TRY y\r\n", closed);
    talk(&b, 0, "LOCK y\r\n", closed);
    talk(&b, 0, "PING\r\n", "+PONG\r\n"); /* it does not wait */
    talk(&a, 0, "EXIT x 1\r\n", ":1\r\n");
}

/* What an earlier server has granted may still be held: nobody gets in before that is over. */
static void test_hold_back(void **unused)
{
    (void)unused;
    lock_session before = {.from = "before"};
    of.locks->backend->join(&before);
    assert_string_equal(before.from, "before"); /* what is kept has room of its own */
    registry_hold_back(of.locks, &before);
    talk(&a, 0, "TRY x\r\n", ":-1\r\n");
    talk(&b, 0, "LOCK x\r\n", "");
    talk(&c, 0, "LOCK x\r\n", "");
    talk(&a, 0, "EXIT x 1\r\n", "-STALE the section with token 1 is over, or was never yours\r\n");
    registry_open(of.locks, &before, 500);
    talk_hear(&b, 500, ":2\r\n");
    talk(&b, 500, "EXIT x 2\r\n", ":1\r\n");
    talk_hear(&c, 500, ":3\r\n");
    assert_true(talk_token(&a, 500, "TRY y\r\n") > 0);
    assert_true(registry_next_generation(of.locks) >= 4);
    lock_counts counts = of.locks->backend->count(of.locks);
    assert_int_equal(counts.sections, 3);
    assert_int_equal(counts.holds.total, 0); /* not theirs to count */
}

/* ---- for those who look ---- */

static const char too_many[] =
    "-ERR too many locks to list at once; use LOCKS pattern CURSOR 0\r\n";

static void test_locks_are_listed(void **unused)
{
    (void)unused;
    talk(&a, 100, "LOCKS\r\n", "*0\r\n");
    talk(&a, 100, "TRY xx\r\n", ":1\r\n");
    talk(&b, 100, "LOCK xx\r\n", "");
    talk(&c, 100, "TRY xx\r\n", ":-1\r\n");
    static const char row[] = "*5\r\n$2\r\nxx\r\n:1\r\n$4\r\nhere\r\n:50\r\n:1\r\n";
    char all[128];
    char none[600];
    snprintf(all, sizeof all, "*1\r\n%s", row);
    talk(&c, 150, "LOCKS\r\n", all);
    talk(&c, 150, "LOCKS x?\r\n", all);
    talk(&c, 150, "LOCKS y*\r\n", "*0\r\n");
    talk(&c, 150, "LOCKS y\r\n", "*0\r\n");
    talk(&c, 150, "LOCKS *\r\n", all);
    talk(&c, 100, "LOCKS\r\n", "*1\r\n*5\r\n$2\r\nxx\r\n:1\r\n$4\r\nhere\r\n:0\r\n:1\r\n");
    talk(&c, 50, "LOCKS\r\n", "*1\r\n*5\r\n$2\r\nxx\r\n:1\r\n$4\r\nhere\r\n:0\r\n:1\r\n");
    snprintf(none, sizeof none, "LOCKS %0255d\r\n", 0);
    talk(&c, 150, none, "*0\r\n");
    snprintf(none, sizeof none, "LOCKS %0256d\r\n", 0);
    talk(&c, 150, none, "-ERR the pattern is too long\r\n");
    of.max_output = 2 * (sizeof row - 1);
    talk(&c, 150, "LOCKS\r\n", all);
    of.max_output -= 2;
    talk(&c, 150, "LOCKS\r\n", too_many);
    of.max_output = 4096;
    snprintf(all, sizeof all, "*2\r\n:0\r\n*1\r\n%s", row);
    talk(&c, 150, "LOCKS * CURSOR 0\r\n", all);
    talk(&c, 150, "locks x* cursor 0\r\n", all);
    talk(&c, 150, "LOCKS y* CURSOR 0\r\n", "*2\r\n:0\r\n*0\r\n");
    talk(&c, 150, "LOCKS * CURSOR 9223372036854775807\r\n", "*2\r\n:0\r\n*0\r\n");
    static const char *const wrong[] = {"LOCKS * CURSOR\r\n", "LOCKS * CURSOR x\r\n",
                                        "LOCKS * CURSOR -1\r\n", "LOCKS * AFTER 0\r\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        talk(&c, 150, wrong[i],
             "-ERR LOCKS pattern CURSOR takes 0, or the number in the last answer\r\n");
}

enum { PARTS_OF = 3000 }; /* locks part0, part1, ... */
static uint8_t seen_part[PARTS_OF];

/* Under the lock of a shard: nothing is asserted here. */
static void see_part(const lock_row *row, void *context)
{
    char name[32];
    unsigned number;
    (void)context;
    snprintf(name, sizeof name, "%.*s", (int)row->name_bytes, row->name);
    if (sscanf(name, "part%u", &number) == 1)
        seen_part[number]++;
}

static void hold_many(talker *t, const char *name, unsigned count)
{
    char line[64];
    for (unsigned i = 0; i < count; i++) {
        snprintf(line, sizeof line, "TRY %s%u\r\n", name, i);
        assert_true(talk_token(t, 0, line) > 0);
    }
}

/* No command looks at all locks of many, and however they come and go none of them is left out. */
static void test_locks_in_parts(void **unused)
{
    enum { MOST = 100, OTHERS = 30000 };
    (void)unused;
    hold_many(&a, "part", PARTS_OF);
    talk(&c, 0, "LOCKS\r\n", too_many);
    memset(seen_part, 0, sizeof seen_part);
    uint64_t place = 0;
    unsigned parts = 0;
    do {
        lock_page page = of.locks->backend->each(of.locks, place, MOST, see_part, NULL);
        assert_true(page.looked_at <= 2 * MOST);
        place = page.next;
        if (++parts == 5)
            hold_many(&b, "other", OTHERS);
        if (parts == 50)
            talk_end(&b, 0);
    } while (place != 0);
    assert_true(parts > 50);
    talk_begin(&b, &of);
    for (unsigned i = 0; i < PARTS_OF; i++)
        assert_int_equal(seen_part[i], 1);
}

/* Whoever asks for many things gives others their turn before it goes on. */
static void test_lists_cost_their_share(void **unused)
{
    static const char *const lists[] = {"LOCKS nothing\r\n", "LOCKS nothing CURSOR 0\r\n",
                                        "INFO\r\n"};
    (void)unused;
    of.max_output = 1 << 20; /* else parts would be short */
    hold_many(&a, "few", SESSION_SHARE / 2);
    for (int many = 0; many < 2; many++) {
        for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
            char said[64];
            snprintf(said, sizeof said, "%sPING\r\n", lists[i]);
            size_t used = session_feed(&c.session, said, strlen(said), 0);
            assert_int_equal(used, many ? strlen(lists[i]) : strlen(said));
            assert_int_equal(c.session.unfinished, many);
            c.session.out.bytes = 0;
        }
        if (!many)
            hold_many(&a, "more", SESSION_SHARE);
    }
}

static void test_figures(void **unused)
{
    char text[512];
    char answer[600];
    (void)unused;
    talk(&a, 0, "TRY x\r\n", ":1\r\n");
    talk(&b, 1, "LOCK x\r\n", "");
    talk(&c, 2, "LOCK x 100\r\n", "");
    talk_time(&c, 102, "$-1\r\n");
    talk(&c, 103, "TRY x\r\n", ":-1\r\n");
    assert_true(talk_token(&c, 103, "TRY y\r\n") > 0);
    talk(&a, 110, "EXIT x 1\r\n", ":1\r\n");
    talk_hear(&b, 110, ":2\r\n");
    talk(&a, 110, "EXIT x 1\r\n",
         "-STALE the section with token 1 is over, or was never yours\r\n");
    talk(&a, 111, "RELEASE x 2\r\n", ":1\r\n");
    talk_hear(&c, 111, "");
    talk(&a, 120, "LOCK y\r\n", "");
    talk(&b, 120, "LOCK y\r\n", "");
    lock_counts n = of.locks->backend->count(of.locks);
    assert_int_equal(n.longest_queue, 2);
    assert_int_equal(n.timeouts, 1);
    assert_int_equal(n.holds.total, 110 + 1);
    assert_int_equal(n.waits.total, 109);
    assert_int_equal(of.locks->backend->count_locks(of.locks), 1);
    int length =
        snprintf(text, sizeof text,
                 "# Baton\r\nversion:%s\r\nlocks:1\r\nheld:1\r\nwaiting:2\r\nsections:3\r\n"
                 "handed_on:1\r\ntries:3\r\nfailed:1\r\nresets:1\r\nlost:1\r\nstale:1\r\n",
                 baton_version());
    snprintf(answer, sizeof answer, "$%d\r\n%s\r\n", length, text);
    talk(&c, 120, "INFO\r\n", answer);
    of.info = more_figures;
    snprintf(answer, sizeof answer, "$%d\r\n%smore:1\r\n\r\n", length + 8, text);
    talk(&c, 120, "INFO all\r\n", answer);
}

/* Whoever waited and then tries has not waited for that. */
static void test_durations(void **unused)
{
    (void)unused;
    talk(&a, 0, "LOCK x\r\n", ":1\r\n");
    talk(&b, 0, "LOCK x 10\r\n", "");
    talk_time(&b, 10, "$-1\r\n");
    talk(&a, 20, "EXIT x 1\r\n", ":1\r\n");
    talk(&b, 30, "TRY x\r\n", ":3\r\n");
    talk(&b, 25, "EXIT x 3\r\n", ":1\r\n"); /* another loop's clock is a little behind */
    lock_counts n = of.locks->backend->count(of.locks);
    assert_int_equal(n.waits.count[0], 1); /* the first LOCK, which got it at once */
    assert_int_equal(n.waits.total, 0);
    assert_int_equal(n.holds.total, 20);
    assert_int_equal(n.holds.count[0], 1);
    talk(&a, 40, "LOCK x\r\n", ":5\r\n");
    talk_end(&a, 45);
    talk_begin(&a, &of);
    talk(&a, 50, "RENEW 100\r\n", ":100\r\n");
    talk(&a, 50, "LOCK x\r\n", ":7\r\n");
    talk_time(&a, 150, "");
    n = of.locks->backend->count(of.locks);
    assert_int_equal(n.holds.total, 20 + 5 + 100); /* however they end */
}

/* What a session had in many locks ends with it, and only that. */
static void test_goes_with_many(void **unused)
{
    enum { LOCKS = 3000 };
    char line[64];
    (void)unused;
    for (unsigned i = 0; i < LOCKS; i++) {
        snprintf(line, sizeof line, "TRY many%u\r\n", i);
        assert_true(talk_token(&a, 0, line) > 0);
        snprintf(line, sizeof line, i % 2 == 0 ? "TRY many%u\r\n" : "TRY own%u\r\n", i);
        talk_begins(&b, 0, line, i % 2 == 0 ? ":-" : ":");
    }
    assert_int_equal(of.locks->backend->count_locks(of.locks), LOCKS + LOCKS / 2);
    talk_begins(&b, 0, "TRY many0\r\n", ":-");
    assert_int_equal(session_end(&a.session, 0), 0);
    assert_int_equal(of.locks->backend->count(of.locks).held, LOCKS / 2);
    assert_int_equal(of.locks->backend->count_locks(of.locks), LOCKS / 2);
    for (unsigned i = 0; i < LOCKS; i++) {
        snprintf(line, sizeof line, "TRY many%u\r\n", i);
        talk_begins(&c, 0, line, ":");
    }
    assert_int_equal(of.locks->backend->count(of.locks).held, LOCKS / 2 + LOCKS);
    talk(&c, 0, "RENEW 70\r\n", ":70\r\n");
    assert_int_equal(session_end(&c.session, 0), 70);
    assert_int_equal(session_end(&c.session, 0), 0);
    talk_hear(&b, 0, "");
}

/* ---- tables ---- */

/* Roles keep their numbers while there are more and more; the memory is given back. */
static void test_roles(void **unused)
{
    enum { LOCKS = 3, WHO = 3000 };
    static lock_session who[WHO];
    shard *s = aligned_alloc(BATON_CACHE_LINE, sizeof *s);
    record *of_lock[LOCKS];
    (void)unused;
    memset(s, 0, sizeof *s);
    s->number = 5;
    assert_true(shard_start(s, 1));
    for (uint32_t i = 0; i < WHO; i++)
        memset(roles_of(&who[i]), 0xff, sizeof(session_roles));
    for (uint32_t i = 0; i < LOCKS; i++)
        of_lock[i] = add_record(s, "abc" + i, 1, i);
    uint32_t few = s->capacity;
    for (uint32_t i = 0; i < LOCKS * WHO; i++) {
        assert_int_equal(find_role(s, of_lock[i % LOCKS], &who[i / LOCKS]), NOTHING);
        assert_int_equal(get_role(s, of_lock[i % LOCKS], &who[i / LOCKS]), i);
        s->member[i].request = i;
    }
    for (uint32_t i = 0; i < LOCKS * WHO; i++) {
        assert_int_equal(find_role(s, of_lock[i % LOCKS], &who[i / LOCKS]), i);
        assert_int_equal(get_role(s, of_lock[i % LOCKS], &who[i / LOCKS]), i);
        assert_int_equal(s->member[i].request, i);
    }
    assert_int_equal(s->roles, LOCKS * WHO);
    assert_int_equal(of_lock[0]->roles, WHO);
    shard_tidy(s);
    assert_true(s->capacity >= LOCKS * WHO);
    for (uint32_t i = 0; i < WHO; i++) { /* from the middle of the list of each session */
        drop_role(s, i * LOCKS + 1);
        drop_role(s, i * LOCKS + 2);
        assert_int_equal(roles_of(&who[i])->first[5], i * LOCKS);
        assert_int_equal(s->role[i * LOCKS].next, NOTHING);
        assert_int_equal(s->role[i * LOCKS].previous, NOTHING);
    }
    for (uint32_t i = 0; i < WHO; i++) {
        assert_int_equal(find_role(s, of_lock[1], &who[i]), NOTHING);
        drop_role(s, i * LOCKS);
        assert_int_equal(roles_of(&who[i])->first[5], NOTHING);
    }
    assert_int_equal(s->roles + of_lock[0]->roles, 0);
    shard_tidy(s);
    assert_int_equal(s->capacity, few);
    for (uint32_t i = 0; i < 2 * few; i++) { /* and it grows again */
        uint32_t number = get_role(s, of_lock[0], &who[i]);
        assert_int_equal(number, i);
        assert_int_equal(s->member[number].request, 0);
    }
    shard_tidy(s);
    assert_int_equal(s->capacity, 2 * few);
    for (uint32_t i = 0; i < 2 * few; i++)
        assert_int_equal(find_role(s, of_lock[0], &who[i]), i);
    drop_record(s, of_lock[1]);
    assert_null(find_record(s, "b", 1, 1));
    assert_ptr_equal(find_record(s, "a", 1, 0), of_lock[0]);
    shard_free(s);
    free(s);
}

/* What is not much more than a shard begins with is kept: it may be needed again. */
static void test_few_roles_are_kept(void **unused)
{
    enum { WHO = 64 * 64 }; /* as many as there may be room for */
    static lock_session who[WHO + 1];
    shard *s = aligned_alloc(BATON_CACHE_LINE, sizeof *s);
    (void)unused;
    memset(s, 0, sizeof *s);
    assert_true(shard_start(s, 1));
    record *lock = add_record(s, "a", 1, 0);
    for (uint32_t more = 0; more <= 1; more++) {
        for (uint32_t i = 0; i < WHO + more; i++) {
            memset(roles_of(&who[i]), 0xff, sizeof(session_roles));
            assert_int_not_equal(get_role(s, lock, &who[i]), NOTHING);
        }
        for (uint32_t i = 0; i < WHO + more; i++)
            drop_role(s, find_role(s, lock, &who[i]));
        shard_tidy(s);
        assert_int_equal(s->capacity, more == 0 ? WHO : 64);
    }
    shard_free(s);
    free(s);
}

int main(void)
{
    static suite s;
    suite_add(&s, test_rules, NULL, "how many words a command has, and who may say it");
    suite_add(&s, test_wrong_words, NULL, "words that make no sense");
    suite_add(&s, test_hello, NULL, "HELLO, and AUTH by password");
    suite_add(&s, test_challenge, NULL, "AUTH by proof");
    suite_add(&s, test_quits, NULL, "the last words of a session");
    suite_add(&s, test_parts, NULL, "half a command, and none");
    suite_add(&s, test_loser_is_told, NULL, "who has failed is told when it is free");
    suite_add(&s, test_waits, NULL, "waits, with and without an end");
    suite_add(&s, test_crowd, NULL, "no more wait than may");
    suite_add(&s, test_lease, NULL, "a lease ends what is held");
    suite_add(&s, test_deadlines, NULL, "the sooner of wait and lease");
    suite_add(&s, test_force, NULL, "released by force");
    suite_add(&s, test_closed, NULL, "closed: nobody is let in");
    suite_add(&s, test_hold_back, NULL, "grants that are held back");
    suite_add(&s, test_locks_are_listed, NULL, "LOCKS");
    suite_add(&s, test_locks_in_parts, NULL, "LOCKS in parts, of many that come and go");
    suite_add(&s, test_lists_cost_their_share, NULL, "lists cost their share of a turn");
    suite_add(&s, test_figures, NULL, "INFO");
    suite_add(&s, test_durations, NULL, "how long was held and waited");
    suite_add(&s, test_goes_with_many, NULL, "a session with many locks goes");
    suite_add(&s, test_roles, NULL, "roles keep their numbers, and give memory back");
    suite_add(&s, test_few_roles_are_kept, NULL, "room for few roles is kept");
    for (size_t i = 0; i < s.tests; i++) {
        s.test[i].setup_func = set_up;
        s.test[i].teardown_func = tear_down;
    }
    return suite_run(&s, "sessions");
}
