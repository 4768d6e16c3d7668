/* Many threads, one client: they take turns, in order, and lose no update. */
#include "client_world.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/* What the threads of a test share. */
static struct {
    baton_client *client;
    atomic_int next, failures;
    int order[16];
    atomic_int arrived;
    uint64_t last_token; /* guarded by the lock, as is the counter */
    long counter;
} shared;

enum { CROWD = 16, SECTIONS = 200 };

static void *wait_in_line(void *argument)
{
    int me = (int)(intptr_t)argument;
    uint64_t token;
    if (baton_client_lock(shared.client, "line", -1, &token) != BATON_OK)
        shared.failures++;
    shared.order[shared.next++] = me;
    if (baton_client_exit(shared.client, "line", token) != BATON_OK)
        shared.failures++;
    return NULL;
}

void first_come_first_served(void **unused)
{
    (void)unused;
    memset(&shared, 0, sizeof shared);
    shared.client = open_plain();
    pthread_t thread[8];
    uint64_t token = lock(shared.client, "line");
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, wait_in_line, (void *)(intptr_t)i), 0);
        rest(100); /* so that it is in line before the next */
    }
    assert_int_equal(baton_client_exit(shared.client, "line", token), BATON_OK);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(shared.failures, 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(shared.order[i], i);
    baton_client_close(shared.client);
}

static void *count_up(void *argument)
{
    bool tries = argument != NULL;
    for (int i = 0; i < SECTIONS; i++) {
        uint64_t token;
        int result;
        do {
            result = tries ? baton_client_try(shared.client, "count", &token)
                           : baton_client_lock(shared.client, "count", -1, &token);
            if (result == BATON_BUSY)
                sched_yield();
        } while (result == BATON_BUSY);
        if (result != BATON_OK || token <= shared.last_token)
            shared.failures++;
        shared.last_token = token;
        shared.counter++;
        if (baton_client_exit(shared.client, "count", token) != BATON_OK)
            shared.failures++;
    }
    return NULL;
}

/* With locks, tries, or half of them each. */
static void crowd(int tries)
{
    memset(&shared, 0, sizeof shared);
    shared.client = open_with((baton_client_options){.lease_ms = 20000});
    pthread_t thread[CROWD];
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, count_up, i < tries ? &shared : NULL), 0);
    for (int i = 0; i < CROWD; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(shared.failures, 0);
    assert_int_equal(shared.counter, CROWD * SECTIONS);
    assert_true(baton_client_count(shared.client).entries == CROWD * SECTIONS);
    baton_client_close(shared.client);
}

void crowd_that_waits(void **unused)
{
    (void)unused;
    crowd(0);
}

void crowd_that_tries(void **unused)
{
    (void)unused;
    crowd(CROWD);
}

void crowd_that_does_both(void **unused)
{
    (void)unused;
    crowd(CROWD / 2);
}

static void *try_on(void *unused)
{
    (void)unused;
    while (shared.next == 0) {
        uint64_t token;
        int result = baton_client_try(shared.client, "anew", &token);
        if (result == BATON_OK)
            baton_client_exit(shared.client, "anew", token);
        else if (result != BATON_BUSY && result != BATON_UNREACHABLE && result != BATON_LOST)
            shared.failures++;
    }
    return NULL;
}

/* All want a new connection at the same time, and share the attempt. */
void crowd_that_connects_anew(void **unused)
{
    (void)unused;
    memset(&shared, 0, sizeof shared);
    stop_server(SIGTERM); /* one that knows of no lease: when it is killed, nobody has to wait */
    start_server(NULL);
    shared.client = open_plain();
    pthread_t thread[CROWD];
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, try_on, NULL), 0);
    for (int i = 0; i < 4; i++) {
        rest(50);
        stop_server(SIGKILL);
        start_server(NULL);
    }
    shared.next = 1;
    for (int i = 0; i < CROWD; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(shared.failures, 0);
    baton_client_close(shared.client);
}
