/*
 * The client when there is no memory for the next thing: each allocation of a call fails once. The
 * call says so, nothing is left of it, and the next one succeeds.
 */
#include "false_nodes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- memory; the linker puts this in place of the system's ---- */

static _Thread_local int fails_at; /* which allocation of this thread, from 1; 0: none */

static bool fails(void)
{
    if (fails_at == 0 || --fails_at > 0)
        return false;
    errno = ENOMEM;
    return true;
}

#define IN_PLACE_OF(name, parameters, arguments)         \
    void *__real_##name parameters;                      \
    void *__wrap_##name parameters;                      \
    void *__wrap_##name parameters                       \
    {                                                    \
        return fails() ? NULL : __real_##name arguments; \
    }
IN_PLACE_OF(malloc, (size_t bytes), (bytes))
IN_PLACE_OF(calloc, (size_t count, size_t bytes), (count, bytes))
IN_PLACE_OF(realloc, (void *old, size_t bytes), (old, bytes))
IN_PLACE_OF(strdup, (const char *text), (text))
IN_PLACE_OF(strndup, (const char *text, size_t bytes), (text, bytes))

/* ---- calls ---- */

typedef int call(baton_client *c);

static uint64_t mine;

static int open_and_close(baton_client *none)
{
    (void)none;
    char addresses[200]; /* nobody is at the first */
    baton_client *c;
    snprintf(addresses, sizeof addresses, "127.0.0.1:1,%s", actors[0].path);
    const baton_client_options options = {
        .address = addresses, .lease_ms = 60000, .patience_ms = PATIENCE_MS};
    int result = baton_client_open(&options, &c);
    int error = errno;
    assert_true((c != NULL) == (result == BATON_OK));
    baton_client_close(c);
    errno = error;
    return result;
}

static int try(baton_client *c)
{
    return baton_client_try(c, "tried", &mine);
}

static int wait(baton_client *c)
{
    return baton_client_lock(c, "waited", PATIENCE_MS, &mine);
}

static int try_and_issue(baton_client *c)
{
    if (!baton_client_holds(c, "tried", mine)) {
        int result = try(c);
        if (result != BATON_OK)
            return result;
    }
    int result = increment(c, "tried", mine);
    assert_true(baton_client_holds(c, "tried", mine));
    return result;
}

/* One allocation after the other fails. How many there are. */
static int fail_each(call *calls)
{
    for (int number = 1;; number++) {
        baton_client *c = NULL;
        if (calls != open_and_close)
            c = open_at(actors[0].path, (baton_client_options){0});
        mine = 0;
        errno = 0;
        fails_at = number;
        int result = calls(c);
        int error = errno;
        bool all_succeed = fails_at > 0;
        fails_at = 0;
        if (!all_succeed) {
            assert_true(result == BATON_SYSTEM || result == BATON_UNREACHABLE);
            assert_int_equal(error, ENOMEM);
            result = calls(c);
        }
        assert_int_equal(result, BATON_OK);
        baton_client_close(c);
        if (all_succeed)
            return number - 1;
    }
}

/* ---- tests ---- */

static const struct {
    call *calls;
    int least; /* allocations */
} rows[] = {{open_and_close, 8}, {try, 2}, {wait, 5}, {try_and_issue, 3}};

static void fail_all(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(fail_each(rows[i].calls) >= rows[i].least);
}

static void each_allocation_fails(void **unused)
{
    (void)unused;
    fail_all();
}

static void nothing_is_left_of_failures(void **unused)
{
    (void)unused;
    enum { ROUNDS = 20, LEAST_LEAK = 24 };
    for (int i = 0; i < 2 * ROUNDS; i++) /* until malloc has what it keeps for the next time */
        fail_all();
    size_t before = heap_bytes();
    for (int i = 0; i < ROUNDS; i++)
        fail_all();
    assert_true(heap_bytes() < before + ROUNDS * LEAST_LEAK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_allocation_fails, false_set_up, false_tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_left_of_failures, false_set_up, false_tear_down),
    };
    return cmocka_run_group_tests_name("client_memory", tests, nodes_begin, nodes_end);
}
