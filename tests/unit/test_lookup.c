/* Names looked up by a resolver that answers, fails, or is silent, as the test wishes. */
#include "lookup.h"
#include "unit.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the resolver, in place of the system's ---- */

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool silent;        /* it does not return */
static int fails;          /* with that error */
static uint32_t addresses; /* that it has; the first one is ... */
static uint8_t first;
static int asked, asking, most_asking;

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **found)
{
    struct addrinfo *all = NULL;
    pthread_mutex_lock(&guard);
    asked++;
    if (++asking > most_asking)
        most_asking = asking;
    pthread_cond_broadcast(&changed);
    while (silent)
        pthread_cond_wait(&changed, &guard);
    bool fine = strcmp(host, "etcd.test") == 0 && hints->ai_socktype == SOCK_STREAM && fails == 0;
    for (uint32_t i = addresses; fine && i > 0; i--) {
        struct addrinfo *one = calloc(1, sizeof *one + sizeof(struct sockaddr_in));
        struct sockaddr_in *at = (struct sockaddr_in *)(void *)(one + 1);
        at->sin_family = AF_INET;
        at->sin_port = htons((uint16_t)atoi(port));
        at->sin_addr.s_addr = htonl(0x0a000000U + first + i - 1);
        one->ai_addr = (struct sockaddr *)at;
        one->ai_addrlen = sizeof *at;
        one->ai_next = all;
        all = one;
    }
    asking--;
    *found = all;
    int error = fine ? 0 : fails;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&guard);
    return error;
}

void freeaddrinfo(struct addrinfo *all)
{
    while (all != NULL) {
        struct addrinfo *next = all->ai_next;
        free(all);
        all = next;
    }
}

static void set_silent(bool whether)
{
    pthread_mutex_lock(&guard);
    silent = whether;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&guard);
}

static void set_answer(int error, uint32_t count, uint8_t from)
{
    pthread_mutex_lock(&guard);
    fails = error;
    addresses = count;
    first = from;
    pthread_mutex_unlock(&guard);
}

/* Until no thread is within it. */
static void wait_until_idle(void)
{
    pthread_mutex_lock(&guard);
    while (asking > 0)
        pthread_cond_wait(&changed, &guard);
    pthread_mutex_unlock(&guard);
}

static int read_count(const int *count)
{
    pthread_mutex_lock(&guard);
    int value = *count;
    pthread_mutex_unlock(&guard);
    return value;
}

/* ---- who asks ---- */

typedef struct asker {
    uv_loop_t loop;
    lookup names;
    int told;
    uint32_t count;
    char address[64]; /* the first, if there is one */
    char why[64];     /* "" if there is no reason */
} asker;

static void told(void *context, const lookup_answer *a, const char *why)
{
    asker *k = context;
    k->told++;
    k->count = a->count;
    k->address[0] = '\0';
    if (a->count > 0)
        uv_ip_name((const struct sockaddr *)&a->address[0], k->address, sizeof k->address);
    snprintf(k->why, sizeof k->why, "%s", why != NULL ? why : "");
}

static asker *open_asker(const char *host)
{
    asker *k = calloc(1, sizeof *k);
    uv_loop_init(&k->loop);
    assert_true(lookup_open(&k->names, &k->loop, host, 7701, told, k));
    pthread_mutex_lock(&guard);
    asked = most_asking = 0;
    pthread_mutex_unlock(&guard);
    return k;
}

static void ask(asker *k)
{
    int before = k->told;
    lookup_ask(&k->names);
    assert_int_equal(k->told, before); /* not from within */
    while (k->told == before) {
        uv_run(&k->loop, UV_RUN_NOWAIT);
        uv_sleep(1);
    }
    assert_int_equal(k->told, before + 1);
}

static void close_asker(asker *k)
{
    int before = k->told;
    lookup_close(&k->names);
    uv_run(&k->loop, UV_RUN_DEFAULT); /* it ends, whatever the resolver does */
    assert_int_equal(uv_loop_close(&k->loop), 0);
    assert_int_equal(k->told, before);
    free(k);
}

/* Also after a test that has failed, which must not keep the others waiting. */
static int answer_again(void **state)
{
    (void)state;
    set_silent(false);
    wait_until_idle();
    return 0;
}

/* ---- tests ---- */

static void test_found(void **state)
{
    asker *k = open_asker("etcd.test");
    (void)state;
    set_answer(0, 2, 7);
    ask(k);
    assert_int_equal(k->count, 2);
    assert_string_equal(k->address, "10.0.0.7");
    assert_string_equal(k->why, "");
    assert_int_equal(ntohs(((struct sockaddr_in *)&k->names.last.address[1])->sin_port), 7701);
    set_answer(0, 1, 9); /* it has moved */
    ask(k);
    assert_int_equal(k->count, 1);
    assert_string_equal(k->address, "10.0.0.9");
    close_asker(k);
}

static void test_many(void **state)
{
    asker *k = open_asker("etcd.test");
    (void)state;
    set_answer(0, 100, 1);
    ask(k);
    assert_int_equal(k->count, LOOKUP_MAX_ADDRESSES);
    close_asker(k);
}

static void test_numbers(void **state)
{
    static const char *const numbers[] = {"10.1.2.3", "::1", "fe80::1"};
    (void)state;
    set_silent(true);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        asker *k = open_asker(numbers[i]);
        ask(k);
        assert_int_equal(k->count, 1);
        assert_string_equal(k->address, numbers[i]);
        assert_string_equal(k->why, "");
        close_asker(k);
    }
    assert_int_equal(read_count(&asked), 0);
    set_silent(false);
}

static void test_unknown(void **state)
{
    asker *k = open_asker("etcd.test");
    (void)state;
    set_answer(EAI_NONAME, 0, 0);
    ask(k);
    assert_int_equal(k->count, 0);
    assert_string_equal(k->why, gai_strerror(EAI_NONAME));
    set_answer(0, 0, 0);
    ask(k);
    assert_int_equal(k->count, 0);
    assert_string_equal(k->why, "it has no address");
    close_asker(k);
}

/* It was found once: an answer that is none does not make it unknown. */
static void test_fails_later(void **state)
{
    asker *k = open_asker("etcd.test");
    (void)state;
    set_answer(0, 2, 7);
    ask(k);
    set_answer(EAI_AGAIN, 0, 0);
    ask(k);
    assert_int_equal(k->count, 2);
    assert_string_equal(k->address, "10.0.0.7");
    assert_string_equal(k->why, gai_strerror(EAI_AGAIN));
    assert_int_equal(read_count(&asked), 2);
    close_asker(k);
}

/* One thread, however often somebody asks; the old answer, if there is one. */
static void test_silent(void **state)
{
    asker *k = open_asker("etcd.test");
    (void)state;
    set_answer(0, 1, 7);
    set_silent(true);
    ask(k);
    lookup_ask(&k->names);
    assert_int_equal(uv_timer_get_due_in(&k->names.patience), LOOKUP_PATIENCE);
    ask(k);
    assert_int_equal(k->count, 0);
    assert_string_equal(k->why, "the resolver does not answer");
    assert_int_equal(read_count(&asked), 1);
    set_silent(false);
    wait_until_idle();
    ask(k);
    assert_string_equal(k->address, "10.0.0.7");
    set_silent(true);
    ask(k);
    assert_string_equal(k->why, "the resolver does not answer");
    assert_string_equal(k->address, "10.0.0.7");
    for (int i = 0; i < 20; i++) {
        lookup_ask(&k->names);
        assert_int_equal(uv_timer_get_due_in(&k->names.patience), 0); /* it is late already */
        ask(k);
    }
    assert_string_equal(k->address, "10.0.0.7");
    assert_int_equal(read_count(&most_asking), 1);
    set_silent(false);
    wait_until_idle();
    close_asker(k);
}

/* Whoever asks while somebody waits is told with that one. */
static void test_twice(void **state)
{
    asker *k = open_asker("etcd.test");
    (void)state;
    set_answer(0, 1, 7);
    lookup_ask(&k->names);
    ask(k);
    assert_int_equal(read_count(&asked), 1);
    close_asker(k);
}

/* The thread is on its own, and takes what is left with it. */
static void test_closed(void **state)
{
    (void)state;
    set_answer(0, 1, 7);
    for (int i = 0; i < 50; i++) {
        asker *k = open_asker("etcd.test");
        lookup_ask(&k->names); /* the thread may be anywhere */
        close_asker(k);
    }
    asker *k = open_asker("etcd.test");
    set_silent(true);
    lookup_ask(&k->names);
    close_asker(k);
    set_silent(false);
    wait_until_idle();
}

/* Threads: those that run, and those that have ended and are still waited for. */
static int stacks(void)
{
    char line[256];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        count++;
    fclose(maps);
    return count;
}

/* Nobody waits for a thread that has ended, so it must leave nothing. */
static void test_threads_are_gone(void **state)
{
    (void)state;
    enum { OFTEN = 300 };
    asker *k = open_asker("etcd.test");
    set_answer(0, 1, 1);
    for (int i = 0; i < 20; i++)
        ask(k);
    int before = stacks();
    for (int i = 0; i < OFTEN; i++)
        ask(k);
    assert_true(stacks() < before + OFTEN); /* a stack and its guard for each, otherwise */
    close_asker(k);
}

int main(void)
{
    static suite s;
    suite_add(&s, test_found, NULL, "a name is found, and found anew");
    suite_add(&s, test_many, NULL, "more addresses than are used");
    suite_add(&s, test_numbers, NULL, "numbers need no resolver");
    suite_add(&s, test_unknown, NULL, "a name that nobody knows");
    suite_add(&s, test_fails_later, NULL, "the last good answer, when the resolver fails");
    suite_add(&s, test_silent, NULL, "the last good answer, when the resolver is silent");
    suite_add(&s, test_twice, NULL, "two who ask at a time");
    suite_add(&s, test_threads_are_gone, NULL, "threads leave nothing");
    suite_add(&s, test_closed, NULL, "closed while a thread asks");
    for (size_t i = 0; i < s.tests; i++)
        s.test[i].teardown_func = answer_again;
    return suite_run(&s, "lookup");
}
