/* See client_words.h. */
#include "client_words.h"
#include "unit.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

uint64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

void rest(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Waits until somebody answers there. */
baton_client *open_at(const char *address, baton_client_options options)
{
    baton_client *c = NULL;
    options.address = address;
    int result = baton_client_open(&options, &c);
    for (int i = 0; i < PATIENCE_MS / 10 && result == BATON_UNREACHABLE; i++) {
        rest(10);
        result = baton_client_open(&options, &c);
    }
    if (result != BATON_OK)
        fail_msg("open: %s", baton_strerror(result));
    return c;
}

uint64_t lock(baton_client *c, const char *name)
{
    uint64_t token = 0;
    assert_int_equal(baton_client_lock(c, name, PATIENCE_MS, &token), BATON_OK);
    assert_true(token > 0);
    return token;
}

int increment(baton_client *c, const char *name, uint64_t token)
{
    const baton_client_word words[] = {{"INCR", 4}, {"n", 1}};
    baton_client_reply reply;
    int result = baton_client_issue(c, name, token, words, 2, &reply);
    free(reply.at);
    return result;
}

/* The gate opens when the push has come. */
uint64_t try_until_free(baton_client *c, const char *name)
{
    uint64_t token = 0;
    int result = BATON_BUSY;
    for (int i = 0; i < PATIENCE_MS && result == BATON_BUSY; i++) {
        result = baton_client_try(c, name, &token);
        if (result == BATON_BUSY)
            rest(1);
    }
    assert_int_equal(result, BATON_OK);
    return token;
}

void await_lost(baton_client *c, const char *name, uint64_t token)
{
    char lost_name[BATON_CLIENT_NAME_BYTES];
    uint64_t lost_token;
    struct pollfd fd = {.fd = baton_client_fd(c), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
    assert_false(baton_client_holds(c, name, token));
    assert_int_equal(baton_client_lost(c, lost_name, &lost_token), BATON_OK);
    assert_string_equal(lost_name, name);
    assert_true(lost_token == token);
    assert_int_equal(baton_client_lost(c, lost_name, &lost_token), BATON_BUSY);
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(baton_client_exit(c, name, token), BATON_LOST);
}
