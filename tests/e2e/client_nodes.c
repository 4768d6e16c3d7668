/* The client and the nodes of a cluster: one of these hangs, or is killed, and nothing is lost. */
#include "client_world.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int cluster_set_up(void **unused)
{
    (void)unused;
    start_cluster();
    return 0;
}

int cluster_tear_down(void **unused)
{
    (void)unused;
    stop_cluster();
    return 0;
}

static void await_true(const atomic_bool *what)
{
    for (int i = 0; i < PATIENCE_MS && !*what; i++)
        rest(1);
    assert_true(*what);
}

/* ---- waits ---- */

typedef struct waiter {
    baton_client *client;
    const char *name;
    uint64_t token;
    int result;
    atomic_bool begins;
} waiter;

static void *wait_for_it(void *context)
{
    waiter *w = context;
    w->begins = true;
    w->result = baton_client_lock(w->client, w->name, PATIENCE_MS, &w->token);
    return NULL;
}

static void hang_where_it_waits(baton_client *c, const char *name)
{
    baton_client *holder = open_at(nodes_from(2), (baton_client_options){0});
    uint64_t token = lock(holder, name);
    waiter w = {.client = c, .name = name};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &w), 0);
    await_true(&w.begins);
    rest(300); /* so that it waits */
    kill(node[0], SIGSTOP);
    baton_client_exit(holder, name, token); /* or it is ejected: it has left either way */
    pthread_join(thread, NULL);
    kill(node[0], SIGCONT);
    assert_int_equal(w.result, BATON_OK);
    assert_int_equal(baton_client_exit(c, name, w.token), BATON_OK);
    baton_client_close(holder);
}

void wait_at_a_node_that_hangs(void **unused)
{
    (void)unused;
    baton_client *c = open_at(nodes_from(0), (baton_client_options){.patience_ms = 1000});
    hang_where_it_waits(c, "waits");
    baton_client_close(c);
    c = open_at(nodes_from(0),
                (baton_client_options){.patience_ms = 1000, .lease_ms = 60000}); /* a long one */
    hang_where_it_waits(c, "waits");
    baton_client_close(c);
}

/* The main line has moved to another node since; the line that waits is one from before. */
void wait_beside_a_line_elsewhere(void **unused)
{
    (void)unused;
    baton_client *c = open_at(nodes_from(0), (baton_client_options){.patience_ms = 1000});
    uint64_t token, tried;
    assert_int_equal(baton_client_try(c, "main", &tried), BATON_OK);
    token = lock(c, "kept"); /* at the first node, too */
    kill(node[0], SIGSTOP);
    assert_int_not_equal(baton_client_exit(c, "main", tried), BATON_OK);
    tried = lock(c, "other");
    kill(node[0], SIGCONT);
    baton_client_exit(c, "kept", token); /* its line is the next to be used */
    hang_where_it_waits(c, "waits beside");
    baton_client_close(c);
}

/* ---- sections ---- */

typedef struct worker {
    baton_client *client;
    uint64_t token;
    atomic_bool works, stops;
} worker;

static void *work(void *context)
{
    worker *w = context;
    while (!w->stops) {
        increment(w->client, "works", w->token);
        w->works = true;
    }
    return NULL;
}

/* An operation is under way when the node hangs, so that no renewal can be answered before it. */
void operation_at_a_node_that_hangs(void **unused)
{
    (void)unused;
    const baton_client_options options = {.lease_ms = 6000, .patience_ms = 60000};
    worker w = {.client = open_at(nodes_from(0), options)};
    pthread_t thread;
    w.token = lock(w.client, "works");
    assert_int_equal(pthread_create(&thread, NULL, work, &w), 0);
    await_true(&w.works);
    kill(node[0], SIGSTOP);
    rest(50);
    w.stops = true;
    pthread_join(thread, NULL); /* its outcome is not known */
    assert_int_equal(increment(w.client, "works", w.token), BATON_OK);
    kill(node[0], SIGCONT);
    assert_true(baton_client_count(w.client).lost == 0);
    assert_int_equal(baton_client_exit(w.client, "works", w.token), BATON_OK);
    baton_client_close(w.client);
}

enum { MANY = 60 };

typedef struct section {
    char name[24];
    uint64_t token;
} section;

static void enter_many(baton_client *c, section *all, int count, const char *what)
{
    for (int i = 0; i < count; i++) {
        snprintf(all[i].name, sizeof all[i].name, "%s-%d", what, i);
        all[i].token = lock(c, all[i].name);
    }
}

/* Each goes on: an operation says so, or the section is lost. */
static void check_many(baton_client *c, const section *all, int count)
{
    int lost = 0;
    for (int i = 0; i < count; i++)
        lost += increment(c, all[i].name, all[i].token) != BATON_OK;
    assert_int_equal(lost, 0);
}

void many_leave_a_node_that_hangs(void **unused)
{
    (void)unused;
    section all[MANY];
    baton_client *c = open_at(nodes_from(0), (baton_client_options){.lease_ms = 6000});
    enter_many(c, all, MANY, "many");
    kill(node[0], SIGSTOP);
    rest(2500); /* so that this is noticed: an operation that is under way has no outcome */
    check_many(c, all, MANY);
    kill(node[0], SIGCONT);
    baton_client_close(c);
}

/* ---- descriptors ---- */

/* All that there are from now on. Returns how many it has taken. */
static int take_descriptors(int *all, int max)
{
    int count = 0;
    while (count < max && (all[count] = dup(STDIN_FILENO)) >= 0)
        count++;
    assert_int_equal(errno, EMFILE);
    return count;
}

void no_descriptor_is_spare(void **unused)
{
    (void)unused;
    section waited[10], tried[10];
    struct rlimit before, scarce;
    enum { SCARCE = 128 };
    int taken[SCARCE];
    baton_client *c = open_at(nodes_from(0), (baton_client_options){.lease_ms = 10000});
    enter_many(c, waited, 10, "waited");
    for (int i = 0; i < 10; i++) { /* all over one line */
        snprintf(tried[i].name, sizeof tried[i].name, "tried-%d", i);
        tried[i].token = try_until_free(c, tried[i].name);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    scarce = before;
    scarce.rlim_cur = SCARCE;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &scarce), 0);
    int count = take_descriptors(taken, SCARCE);
    kill(node[0], SIGKILL);
    waitpid(node[0], NULL, 0);
    rest(100);
    check_many(c, waited, 10);
    check_many(c, tried, 10);
    while (count > 0)
        close(taken[--count]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    revive_node(0);
    baton_client_close(c);
}
