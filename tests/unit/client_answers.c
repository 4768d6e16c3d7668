/* What a server may answer to each command, and what the client makes of it. */
#include "false_nodes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

/* ---- one answer that is odd ---- */

static const char *_Atomic odd_verb, *_Atomic odd_reply;

static bool say_odd(void *context, asked *what)
{
    (void)context;
    if (!is_odd || !is(what, odd_verb))
        return false;
    is_odd = false; /* once */
    return say(what, odd_reply);
}

/* The next command of that kind is answered so. */
static void answer_next(const char *verb, const char *reply)
{
    actors[0].answers = say_odd;
    odd_verb = verb;
    odd_reply = reply;
    is_odd = true;
}

typedef struct answered {
    const char *verb, *reply;
    int result;
    int error; /* errno, if the result has one */
    bool kept; /* the connection goes on */
} answered;

/* ---- try and lock ---- */

static void check_request(const answered *row, int number)
{
    char name[24], other[24];
    uint64_t mine;
    snprintf(name, sizeof name, "row-%d", number);
    snprintf(other, sizeof other, "after-%d", number);
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    uint64_t held = lock(c, "held"); /* so that there is a line to wait over */
    assert_int_equal(baton_client_exit(c, "held", held), BATON_OK);
    int before = connections();
    answer_next(row->verb, row->reply);
    errno = 0;
    int result = strcmp(row->verb, "TRY") == 0 ? baton_client_try(c, name, &mine)
                                               : baton_client_lock(c, name, PATIENCE_MS, &mine);
    int error = errno;
    assert_int_equal(result, row->result);
    if (row->error != 0)
        assert_int_equal(error, row->error);
    if (result == BATON_OK)
        assert_int_equal(baton_client_exit(c, name, mine), BATON_OK);
    assert_int_equal(baton_client_try(c, other, &mine), BATON_OK);
    assert_int_equal(baton_client_exit(c, other, mine), BATON_OK);
    mine = lock(c, other);
    assert_int_equal(baton_client_exit(c, other, mine), BATON_OK);
    assert_int_equal(connections() - before, row->kept ? 0 : 1);
    assert_true(baton_client_count(c).lost == 0);
    baton_client_close(c);
}

void answers_to_try_and_lock(void **unused)
{
    (void)unused;
    static const answered rows[] = {
        {"TRY", ":7\r\n", BATON_OK, 0, true},
        {"TRY", ":-7\r\n", BATON_BUSY, 0, true},
        {"TRY", "-ERR no\r\n", BATON_REFUSED, 0, true},
        {"TRY", "-CLOSED no\r\n", BATON_CLOSED, 0, true},
        {"TRY", "-CROWD no\r\n", BATON_CLOSED, 0, true},
        {"TRY", "-OOM no\r\n", BATON_CLOSED, 0, true},
        {"TRY", "-NAME no\r\n", BATON_BAD_NAME, 0, true},
        {"TRY", "-NOTREADY no\r\n", BATON_UNREACHABLE, EAGAIN, false},
        {"TRY", "-DRAINING no\r\n", BATON_UNREACHABLE, EAGAIN, false},
        {"TRY", ":0\r\n", BATON_UNREACHABLE, EPROTO, false},
        {"TRY", "_\r\n", BATON_UNREACHABLE, EPROTO, false},
        {"TRY", "+OK\r\n", BATON_UNREACHABLE, EPROTO, false},
        {"TRY", "!!\r\n", BATON_UNREACHABLE, EPROTO, false},
        {"LOCK", ":7\r\n", BATON_OK, 0, true},
        {"LOCK", "_\r\n", BATON_BUSY, 0, true},
        {"LOCK", "-ERR no\r\n", BATON_REFUSED, 0, true},
        {"LOCK", "-CLOSED no\r\n", BATON_CLOSED, 0, true},
        {"LOCK", "-NAME no\r\n", BATON_BAD_NAME, 0, true},
        {"LOCK", "-NOTREADY no\r\n", BATON_UNREACHABLE, EAGAIN, false},
        {"LOCK", ":-7\r\n", BATON_UNREACHABLE, EPROTO, false},
        {"LOCK", ":0\r\n", BATON_UNREACHABLE, EPROTO, false},
        {"LOCK", "+OK\r\n", BATON_UNREACHABLE, EPROTO, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_request(&rows[i], (int)i);
}

/* Nowhere else to go: what is held is not given up for the sake of another lock. */
void refusal_beside_a_section(void **unused)
{
    (void)unused;
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    uint64_t kept, more;
    assert_int_equal(baton_client_try(c, "kept", &kept), BATON_OK);
    answer_next("TRY", "-DRAINING it is about to end\r\n");
    assert_int_equal(baton_client_try(c, "more", &more), BATON_CLOSED);
    answer_next("TRY", "-NOTREADY it is rejoining\r\n");
    assert_int_equal(baton_client_try(c, "more", &more), BATON_CLOSED);
    assert_true(baton_client_holds(c, "kept", kept));
    assert_int_equal(baton_client_try(c, "more", &more), BATON_OK);
    assert_int_equal(connections(), 1);
    baton_client_close(c);
}

/* ---- exit and operations ---- */

void answers_to_exit(void **unused)
{
    (void)unused;
    static const answered rows[] = {
        {"EXIT", ":1\r\n", BATON_OK, 0, true},    {"EXIT", "-STALE no\r\n", BATON_LOST, 0, true},
        {"EXIT", ":0\r\n", BATON_LOST, 0, false}, {"EXIT", ":2\r\n", BATON_LOST, 0, false},
        {"EXIT", "_\r\n", BATON_LOST, 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t mine;
        baton_client *c = open_at(actors[0].path, (baton_client_options){0});
        int before = connections();
        assert_int_equal(baton_client_try(c, "left", &mine), BATON_OK);
        answer_next("EXIT", rows[i].reply);
        assert_int_equal(baton_client_exit(c, "left", mine), rows[i].result);
        assert_int_equal(baton_client_exit(c, "left", mine), BATON_LOST); /* left either way */
        assert_int_equal(baton_client_try(c, "left", &mine), BATON_OK);
        assert_int_equal(connections() - before, rows[i].kept ? 0 : 1);
        assert_true(baton_client_count(c).entries == 2);
        baton_client_close(c);
    }
}

static int issue(baton_client *c, const char *name, uint64_t mine, baton_client_reply *reply)
{
    const baton_client_word words[] = {{"GET", 3}, {"key", 3}};
    return baton_client_issue(c, name, mine, words, 2, reply);
}

void answers_to_operations(void **unused)
{
    (void)unused;
    static const answered rows[] = {
        {"ISSUE", "$3\r\na\nb\r\n", BATON_OK, 0, true},
        {"ISSUE", "_\r\n", BATON_OK, 0, true},
        {"ISSUE", "-ERR no\r\n", BATON_OK, 0, true}, /* what is wrong is for who has issued it */
        {"ISSUE", "*2\r\n:1\r\n$1\r\nx\r\n", BATON_OK, 0, true},
        {"ISSUE", "-STALE no\r\n", BATON_LOST, 0, true},
        {"ISSUE", "-EJECTED no\r\n", BATON_LOST, 0, true},
        {"ISSUE", "-LOST no\r\n", BATON_UNREACHABLE, ECANCELED, true},
        {"ISSUE", "!!\r\n", BATON_UNREACHABLE, EPROTO, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        baton_client_reply reply;
        uint64_t mine;
        baton_client *c = open_at(actors[0].path, (baton_client_options){0});
        assert_int_equal(baton_client_try(c, "works", &mine), BATON_OK);
        answer_next("ISSUE", rows[i].reply);
        errno = 0;
        int result = issue(c, "works", mine, &reply);
        int error = errno;
        assert_int_equal(result, rows[i].result);
        if (rows[i].error != 0)
            assert_int_equal(error, rows[i].error);
        if (result == BATON_OK) {
            assert_true(reply.bytes == strlen(rows[i].reply));
            assert_string_equal(reply.at, rows[i].reply);
        } else {
            assert_null(reply.at);
        }
        free(reply.at);
        assert_int_equal(baton_client_holds(c, "works", mine), rows[i].kept);
        baton_client_close(c);
    }
}

/* ---- replies of any size ---- */

static atomic_size_t bulk_bytes;

static bool say_much(void *context, asked *what)
{
    const actor *me = context;
    if (!is(what, "ISSUE"))
        return false;
    size_t bytes = bulk_bytes;
    char *text = malloc(bytes + 64);
    assert_non_null(text);
    int head = snprintf(text, 32, "$%zu\r\n", bytes);
    for (size_t i = 0; i < bytes; i++)
        text[(size_t)head + i] = (char)('a' + i % 26);
    strcpy(text + (size_t)head + bytes, "\r\n");
    false_server_say(me->server, what->over, text);
    free(text);
    return true;
}

void replies_of_any_size(void **unused)
{
    (void)unused;
    static const struct {
        size_t bytes;
        int result;
    } rows[] = {{1, BATON_OK},
                {4080, BATON_OK},
                {4090, BATON_OK},
                {5000, BATON_OK},
                {20000, BATON_OK},
                {65536, BATON_OK},
                {65537, BATON_UNREACHABLE},
                {200000, BATON_UNREACHABLE}};
    actors[0].answers = say_much;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        baton_client_reply reply;
        uint64_t mine;
        baton_client *c = open_at(actors[0].path, (baton_client_options){0});
        assert_int_equal(baton_client_try(c, "much", &mine), BATON_OK);
        bulk_bytes = rows[i].bytes;
        assert_int_equal(issue(c, "much", mine, &reply), rows[i].result);
        if (rows[i].result == BATON_OK) {
            const char *first = strchr(reply.at, '\n') + 1;
            assert_true(reply.bytes == (size_t)(first - reply.at) + bulk_bytes + 2);
            for (size_t n = 0; n < bulk_bytes; n++)
                assert_int_equal(first[n], 'a' + n % 26);
            assert_string_equal(first + bulk_bytes, "\r\n");
        }
        free(reply.at);
        baton_client_close(c);
    }
}

/* ---- arguments ---- */

void operations_that_are_none(void **unused)
{
    (void)unused;
    enum { MOST = 29, BYTES = 60000 };
    static char large[BYTES + 1];
    baton_client_word words[MOST + 1];
    baton_client_reply reply;
    uint64_t mine;
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    assert_int_equal(baton_client_try(c, "works", &mine), BATON_OK);
    for (int i = 0; i <= MOST; i++)
        words[i] = (baton_client_word){"w", 1};
    assert_int_equal(baton_client_issue(c, "works", mine, words, MOST, &reply), BATON_OK);
    free(reply.at);
    assert_int_equal(baton_client_issue(c, "works", mine, words, MOST + 1, &reply),
                     BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_issue(c, "works", mine, words, 0, &reply), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_issue(c, "works", mine, NULL, 1, &reply), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_issue(c, "works", mine, words, 1, NULL), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_issue(c, "", mine, words, 1, &reply), BATON_BAD_NAME);
    words[1].at = NULL;
    assert_int_equal(baton_client_issue(c, "works", mine, words, 2, &reply), BATON_BAD_ARGUMENT);
    memset(large, 'x', BYTES);
    words[1] = (baton_client_word){large, BYTES - 1};
    assert_int_equal(baton_client_issue(c, "works", mine, words, 2, &reply), BATON_OK);
    free(reply.at);
    words[1].bytes = BYTES;
    assert_int_equal(baton_client_issue(c, "works", mine, words, 2, &reply), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_issue(c, "works", mine + 1, words, 1, &reply), BATON_LOST);
    assert_int_equal(baton_client_issue(c, "other", mine, words, 1, &reply), BATON_LOST);
    assert_true(baton_client_holds(c, "works", mine));
    baton_client_close(c);
}

void no_client(void **unused)
{
    (void)unused;
    uint64_t mine;
    char name[BATON_CLIENT_NAME_BYTES];
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    assert_int_equal(baton_client_open(NULL, &c), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_open(&(baton_client_options){0}, &c), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_open(&(baton_client_options){.address = actors[0].path}, NULL),
                     BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_try(NULL, "a", &mine), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_lock(NULL, "a", 1, &mine), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_lock(c, "a", 1, NULL), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_lock(c, NULL, 1, &mine), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_exit(NULL, "a", 1), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_exit(c, NULL, 1), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_exit(c, "a", 1), BATON_LOST);
    assert_int_equal(baton_client_lost(NULL, name, &mine), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_lost(c, NULL, &mine), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_lost(c, name, NULL), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_lost(c, name, &mine), BATON_BUSY);
    assert_int_equal(baton_client_fd(NULL), -1);
    assert_false(baton_client_holds(NULL, "a", 1));
    assert_false(baton_client_holds(c, NULL, 1));
    assert_int_equal(baton_client_lease_left_ms(NULL, "a", 1), 0);
    assert_int_equal(baton_client_lease_left_ms(c, NULL, 1), 0);
    assert_false(baton_client_is_cluster(NULL));
    assert_true(baton_client_is_cluster(c));
    assert_true(baton_client_count(NULL).messages == 0);
    assert_int_equal(baton_client_try(c, "a", &mine), BATON_OK);
    assert_int_equal(baton_client_lock(c, "a", 0, &mine), BATON_BUSY); /* as a try */
    assert_int_equal(baton_client_count(c).tries, 2);
    assert_int_equal(baton_client_count(c).refused_here, 1);
    baton_client_close(c);
    baton_client_close(NULL);
}

/* ---- where it connects ---- */

void addresses_that_lead_nowhere(void **unused)
{
    (void)unused;
    char longest[300];
    memset(longest, 'x', sizeof longest - 1);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    const struct {
        const char *address;
        int error;
    } rows[] = {
        {"nonsense", EINVAL},          {"nonsense:", EINVAL}, {":1", EINVAL},
        {"127.0.0.1:1", ECONNREFUSED}, {"[::1]:1", 0},        {"/nowhere/at/all", ENOENT},
        {longest, ENAMETOOLONG},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        baton_client *c = NULL;
        errno = 0;
        assert_int_equal(baton_client_open(&(baton_client_options){.address = rows[i].address}, &c),
                         BATON_UNREACHABLE);
        if (rows[i].error != 0) /* a machine may have no such addresses at all */
            assert_int_equal(errno, rows[i].error);
        assert_null(c);
    }
}

static bool answer_nothing(void *context, asked *what)
{
    (void)context, (void)what;
    return false;
}

/* As long as the path of a socket may be. */
void longest_path(void **unused)
{
    (void)unused;
    char longest[120];
    struct sockaddr_un address;
    node_path("", longest, sizeof longest);
    size_t bytes = strlen(longest);
    memset(longest + bytes, 'x', sizeof longest - bytes);
    longest[sizeof address.sun_path - 1] = '\0';
    false_server *far = false_server_start(longest, answer_nothing, NULL);
    baton_client *c = NULL;
    assert_int_equal(baton_client_open(&(baton_client_options){.address = longest}, &c), BATON_OK);
    baton_client_close(c);
    false_server_end(far);
}

/* ---- what is said first ---- */

typedef struct opening {
    const char *verb, *reply;
    int result, error;
} opening;

static int open_once(baton_client_options options, baton_client **c)
{
    options.address = actors[0].path;
    options.patience_ms = PATIENCE_MS;
    errno = 0;
    return baton_client_open(&options, c);
}

void answers_to_who_connects(void **unused)
{
    (void)unused;
#define SAYS(key, value) "%1\r\n" key value
#define SERVER           "$6\r\nserver\r\n"
#define BATON            "$5\r\nbaton\r\n"
    static const opening rows[] = {
        {"HELLO", SAYS(SERVER, BATON), BATON_OK, 0},
        {"HELLO", "-ERR no\r\n", BATON_REFUSED, 0},
        {"HELLO", "-ERR max number of clients reached\r\n", BATON_CLOSED, 0},
        {"HELLO", "+OK\r\n", BATON_REFUSED, 0},
        {"HELLO", "%0\r\n", BATON_REFUSED, 0},
        {"HELLO", SAYS(SERVER, "$5\r\nredis\r\n"), BATON_REFUSED, 0},
        {"HELLO", SAYS(SERVER, ":1\r\n"), BATON_REFUSED, 0},
        {"HELLO", SAYS("$5\r\nbaton\r\n", SERVER), BATON_REFUSED, 0},
        {"HELLO", SAYS(SERVER, BATON) ":1\r\n", BATON_REFUSED, 0},
        {"HELLO", "!!\r\n", BATON_REFUSED, 0},
        {"RENEW", "-ERR too long\r\n", BATON_REFUSED, 0},
        {"RENEW", "-CLOSED it cannot write\r\n", BATON_CLOSED, 0},
        {"RENEW", "+OK\r\n", BATON_REFUSED, 0},
        {"RENEW", "!!\r\n", BATON_REFUSED, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        baton_client *c = NULL;
        answer_next(rows[i].verb, rows[i].reply);
        int result = open_once((baton_client_options){.lease_ms = 60000}, &c);
        assert_int_equal(result, rows[i].result);
        if (result == BATON_OK)
            assert_false(baton_client_is_cluster(c)); /* it does not say so */
        else
            assert_null(c);
        baton_client_close(c);
    }
}

static bool challenge(void *context, asked *what)
{
    (void)context;
    if (!is(what, "AUTH"))
        return false;
    asked_of++;
    if (strcmp(what->name, "CHALLENGE") == 0 && !is_odd)
        return say(what, "$64\r\n0123456789abcdef0123456789abcdef"
                         "0123456789abcdef0123456789abcdef\r\n");
    return say(what, odd_reply);
}

/* The password is not sent, whatever the server says. */
void answers_to_who_proves(void **unused)
{
    (void)unused;
    static const struct {
        bool to_challenge;
        const char *reply;
        int result;
    } rows[] = {
        {false, "+OK\r\n", BATON_OK},
        {false, "-ERR wrong\r\n", BATON_REFUSED},
        {false, "!!\r\n", BATON_REFUSED},
        {true, "-ERR what\r\n", BATON_REFUSED},
        {true, "+OK\r\n", BATON_REFUSED},
        {true, "$3\r\nabc\r\n", BATON_REFUSED},
        {true, ":1\r\n", BATON_REFUSED},
        {true, "!!\r\n", BATON_REFUSED},
        {true, "-ERR max number of clients reached\r\n", BATON_CLOSED},
    };
    actors[0].answers = challenge;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        baton_client *c = NULL;
        odd_reply = rows[i].reply;
        is_odd = rows[i].to_challenge;
        asked_of = 0;
        assert_int_equal(open_once((baton_client_options){.password = "open sesame"}, &c),
                         rows[i].result);
        assert_int_equal(asked_of, rows[i].to_challenge ? 1 : 2);
        baton_client_close(c);
    }
}

static bool be_silent(void *context, asked *what)
{
    (void)context;
    return is_odd && is(what, "HELLO");
}

/* Each gets its part of the patience, and the next is asked. */
void server_that_is_silent_at_first(void **unused)
{
    (void)unused;
    baton_client *c = NULL;
    baton_client_options options = {.address = actors[0].path, .patience_ms = 100};
    actors[0].answers = be_silent;
    is_odd = true;
    assert_int_equal(baton_client_open(&options, &c), BATON_UNREACHABLE);
    assert_int_equal(errno, ETIMEDOUT);
    assert_null(c);
    options.address = list;
    options.patience_ms = 2000;
    assert_int_equal(baton_client_open(&options, &c), BATON_OK);
    assert_int_equal(false_server_count(actors[1].server), 1);
    baton_client_close(c);
}

static bool cut_off(void *context, asked *what)
{
    (void)context;
    what->cuts = is(what, "HELLO");
    return what->cuts;
}

/* Whatever errno was when the process called. */
void error_from_before_means_nothing(void **unused)
{
    (void)unused;
    static const int before[] = {0, EAGAIN, EINTR};
    actors[0].answers = cut_off;
    for (int i = 0; i < 3; i++) {
        baton_client *c = NULL;
        errno = before[i];
        assert_int_equal(baton_client_open(&(baton_client_options){.address = actors[0].path}, &c),
                         BATON_UNREACHABLE);
        assert_int_equal(errno, ECONNRESET);
    }
}
