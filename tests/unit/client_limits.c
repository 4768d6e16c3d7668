/* How much there may be of everything: lines, idle ones, bytes that nobody reads, wakings. */
#include "false_nodes.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_LINES = 1024, MOST_IDLE = 16 };

/* ---- lines ---- */

/* Both ends of each connection are in this process. False if it cannot have so many. */
static bool allow_descriptors(rlim_t count)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur >= count)
        return true;
    if (limit.rlim_max < count)
        return false;
    limit.rlim_cur = count;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static void lock_number(baton_client *c, int number, int result, uint64_t *mine)
{
    char name[24];
    snprintf(name, sizeof name, "line-%d", number);
    assert_int_equal(baton_client_lock(c, name, PATIENCE_MS, mine), result);
}

static void leave_number(baton_client *c, int number, uint64_t mine)
{
    char name[24];
    snprintf(name, sizeof name, "line-%d", number);
    assert_int_equal(baton_client_exit(c, name, mine), BATON_OK);
}

void as_many_lines_as_may_be(void **unused)
{
    (void)unused;
    static uint64_t mine[MOST_LINES];
    uint64_t tried;
    if (!allow_descriptors(2 * MOST_LINES + 200))
        skip();
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    for (int i = 1; i < MOST_LINES; i++) /* beside the main one */
        lock_number(c, i, BATON_OK, &mine[i]);
    lock_number(c, 0, BATON_FULL, &mine[0]);
    assert_int_equal(connections(), MOST_LINES);
    assert_int_equal(baton_client_try(c, "tried", &tried), BATON_OK);
    leave_number(c, 1, mine[1]);
    lock_number(c, 0, BATON_OK, &mine[0]); /* over the line that is free now */
    assert_int_equal(connections(), MOST_LINES);
    baton_client_close(c);
}

static void await_open(int which, int most)
{
    for (int i = 0; i < PATIENCE_MS && false_server_open(actors[which].server) > most; i++)
        rest(1);
    assert_int_equal(false_server_open(actors[which].server), most);
}

static bool refuse_more(void *context, asked *what)
{
    (void)context;
    return is_odd && is(what, "HELLO") && say(what, "-ERR no more\r\n");
}

/* What has come to nothing does not count. */
void lines_that_cannot_be_made(void **unused)
{
    (void)unused;
    uint64_t mine;
    actors[0].answers = refuse_more;
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    is_odd = true;
    for (int i = 0; i < 20; i++)
        lock_number(c, i, BATON_REFUSED, &mine);
    size_t before = heap_bytes();
    for (int i = 0; i < MOST_LINES; i++)
        lock_number(c, i, BATON_REFUSED, &mine);
    await_open(0, 1);
    assert_true(heap_bytes() < before + (size_t)MOST_LINES * 24); /* nor does it leave anything */
    is_odd = false;
    lock_number(c, 0, BATON_OK, &mine);
    baton_client_close(c);
}

/* Those that are kept are used again; the others are closed. */
void few_lines_are_kept_idle(void **unused)
{
    (void)unused;
    enum { MANY = 3 * MOST_IDLE };
    uint64_t mine[MANY];
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    for (int i = 0; i < MANY; i++)
        lock_number(c, i, BATON_OK, &mine[i]);
    assert_int_equal(connections(), 1 + MANY);
    for (int i = 0; i < MANY; i++)
        leave_number(c, i, mine[i]);
    await_open(0, 1 + MOST_IDLE);
    for (int i = 0; i < MOST_IDLE; i++)
        lock_number(c, i, BATON_OK, &mine[i]);
    assert_int_equal(connections(), 1 + MANY);
    lock_number(c, MOST_IDLE, BATON_OK, &mine[MOST_IDLE]);
    assert_int_equal(connections(), 2 + MANY);
    baton_client_close(c);
    await_open(0, 0);
}

/* ---- memory and descriptors ---- */

static bool lose_some(void *context, asked *what)
{
    (void)context;
    if (is(what, "ISSUE") && strcmp(what->name, "lost") == 0) {
        add_push(what, "lost");
        strcat(what->reply, "-LOST taken away\r\n");
        return true;
    }
    what->cuts = is(what, "ISSUE") && strcmp(what->name, "cut") == 0;
    return what->cuts;
}

/* Something of everything: tries, waits, operations, losses, sections that move, pushes. */
static void use_once(void)
{
    uint64_t mine;
    char addresses[400];
    snprintf(addresses, sizeof addresses, "%s,127.0.0.1:1,[::1]:1", list);
    baton_client *c = open_at(addresses, (baton_client_options){.lease_ms = 60000});
    for (int i = 0; i < 3; i++) {
        assert_int_equal(baton_client_try(c, "tried", &mine), BATON_OK);
        assert_int_equal(increment(c, "tried", mine), BATON_OK);
        assert_int_equal(baton_client_exit(c, "tried", mine), BATON_OK);
    }
    mine = lock(c, "lost");
    assert_int_equal(increment(c, "lost", mine), BATON_UNREACHABLE);
    mine = lock(c, "cut");
    assert_int_equal(increment(c, "cut", mine), BATON_UNREACHABLE);
    assert_int_equal(baton_client_exit(c, "cut", mine), BATON_OK); /* elsewhere */
    lock(c, "waited");
    assert_int_equal(baton_client_try(c, "tried", &mine), BATON_OK);
    baton_client_close(c);
    for (int i = 0; i < BOTH; i++)
        await_open(i, 0);
}

void nothing_is_left(void **unused)
{
    (void)unused;
    enum { ROUNDS = 100, LEAST_LEAK = 24 };
    actors[0].answers = lose_some;
    for (int i = 0; i < 2 * ROUNDS; i++) /* until malloc has what it keeps for the next time */
        use_once();
    size_t before = heap_bytes();
    for (int i = 0; i < ROUNDS; i++)
        use_once();
    assert_true(heap_bytes() < before + ROUNDS * LEAST_LEAK);
}

static void pass_through(baton_client *c, int first, int count)
{
    char name[24];
    uint64_t mine;
    for (int i = first; i < first + count; i++) {
        snprintf(name, sizeof name, "passed-%d", i);
        assert_int_equal(baton_client_try(c, name, &mine), BATON_OK);
        assert_int_equal(increment(c, name, mine), BATON_OK);
        assert_int_equal(baton_client_exit(c, name, mine), BATON_OK);
    }
}

/* Of a lock that nobody has anything to do with any more, nothing is kept. */
void names_are_forgotten(void **unused)
{
    (void)unused;
    enum { SOME = 500, MANY = 5000, LEAST_LEAK = 24 };
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    pass_through(c, 0, SOME);
    size_t before = heap_bytes();
    pass_through(c, SOME, MANY);
    assert_true(heap_bytes() < before + (size_t)MANY * LEAST_LEAK);
    baton_client_close(c);
}

/* ---- a server that is slow to read ---- */

enum { WRITERS = 12, LARGE = 59000 };

typedef struct writer {
    baton_client *client;
    char name[24];
    uint64_t token;
    int result;
} writer;

static baton_client *_Atomic writes;
static atomic_ullong all_given; /* messages of that client when all has been given to it */

/* It reads on when everything has been given to the client, which is more than a socket takes. */
static bool read_slowly(void *context, asked *what)
{
    (void)context;
    if (!is_odd || !is(what, "ISSUE"))
        return false;
    is_odd = false;
    for (int i = 0; i < PATIENCE_MS && baton_client_count(writes).messages < all_given; i++)
        rest(1);
    return false;
}

static void *write_much(void *context)
{
    static char large[LARGE];
    writer *w = context;
    const baton_client_word words[] = {{"SET", 3}, {"key", 3}, {large, LARGE}};
    baton_client_reply reply = {0};
    w->result = baton_client_issue(w->client, w->name, w->token, words, 3, &reply);
    if (w->result == BATON_OK && strcmp(reply.at, ":1\r\n") != 0)
        w->result = BATON_REFUSED;
    free(reply.at);
    return NULL;
}

void server_that_reads_slowly(void **unused)
{
    (void)unused;
    static writer all[WRITERS];
    pthread_t thread[WRITERS];
    writes = open_at(actors[0].path, (baton_client_options){.patience_ms = PATIENCE_MS});
    actors[0].answers = read_slowly;
    for (int i = 0; i < WRITERS; i++) { /* all over one line */
        all[i] = (writer){.client = writes};
        snprintf(all[i].name, sizeof all[i].name, "writes-%d", i);
        assert_int_equal(baton_client_try(writes, all[i].name, &all[i].token), BATON_OK);
    }
    all_given = baton_client_count(writes).messages + WRITERS;
    is_odd = true;
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, write_much, &all[i]), 0);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(all[i].result, BATON_OK);
    }
    assert_int_equal(connections(), 1);
    baton_client_close(writes);
}

/* ---- a thread that sleeps ---- */

static atomic_int sleeps; /* of keepers: nobody else here uses epoll */

/* In front of the system's. */
int epoll_wait(int at, struct epoll_event *events, int max, int timeout)
{
    typedef int wait(int, struct epoll_event *, int, int);
    wait *by_the_system = (wait *)dlsym(RTLD_NEXT, "epoll_wait");
    sleeps++;
    return by_the_system(at, events, max, timeout);
}

/* It is woken for what comes, and for room to send only while there is something to be sent. */
static void expect_sleep(baton_client *c)
{
    enum { FEW = 20 };
    int before = sleeps;
    uint64_t said = baton_client_count(c).messages;
    rest(200);
    assert_true(sleeps < before + FEW);
    assert_true(baton_client_count(c).messages == said);
}

void keeper_sleeps_when_nothing_is_due(void **unused)
{
    (void)unused;
    static const uint32_t leases[] = {0, 600 * 1000};
    for (int i = 0; i < 2; i++) {
        uint64_t tried;
        baton_client *c = open_at(list, (baton_client_options){.lease_ms = leases[i]});
        uint64_t waited = lock(c, "waited");
        assert_int_equal(baton_client_try(c, "tried", &tried), BATON_OK);
        expect_sleep(c);
        assert_int_equal(baton_client_exit(c, "waited", waited), BATON_OK);
        expect_sleep(c); /* with a line that is idle */
        baton_client_close(c);
    }
}

/* Who calls reads the answer, too: that needs no other thread. */
void keeper_sleeps_beside_who_calls(void **unused)
{
    (void)unused;
    enum { CALLS = 300, FEW = 20 };
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    uint64_t mine = lock(c, "held");
    int before = sleeps;
    for (int i = 0; i < CALLS; i++) {
        uint64_t tried;
        assert_int_equal(baton_client_try(c, "tried", &tried), BATON_OK);
        assert_int_equal(increment(c, "held", mine), BATON_OK);
        assert_int_equal(baton_client_exit(c, "tried", tried), BATON_OK);
    }
    assert_true(sleeps < before + FEW);
    baton_client_close(c);
}

/* A connection that has ended here does not end while a child has a copy of it. */
void keeper_sleeps_beside_a_child(void **unused)
{
    (void)unused;
    enum { WAITING_LINE = 1 };
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    uint64_t mine = lock(c, "held");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(PATIENCE_MS / 1000); /* if nobody ends it */
        pause();
        _exit(0);
    }
    false_server_say(actors[0].server, WAITING_LINE, "!!\r\n"); /* which makes no sense */
    await_lost(c, "held", mine);
    expect_sleep(c);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    baton_client_close(c);
}
