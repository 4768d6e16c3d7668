/* What the unit tests share. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

void suite_add(suite *s, CMUnitTestFunction run, const void *argument, const char *name, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, name);
    int length = vasprintf(&text, name, arguments);
    va_end(arguments);
    if (length < 0 || s->tests == MOST_TESTS)
        abort();
    s->test[s->tests++] = (struct CMUnitTest){
        .name = text, .test_func = run, .initial_state = (void *)(uintptr_t)argument};
}

int suite_run(suite *s, const char *name)
{
    int failures = _cmocka_run_group_tests(name, s->test, s->tests, NULL, NULL);
    for (size_t i = 0; i < s->tests; i++)
        free((char *)(uintptr_t)s->test[i].name);
    return failures;
}

baton_locks *make_locks(const baton_locks_spec *spec)
{
    size_t bytes;
    baton_locks *locks;
    assert_int_equal(baton_locks_size(spec, &bytes), BATON_OK);
    void *memory = aligned_alloc(BATON_CACHE_LINE, bytes);
    assert_non_null(memory);
    assert_int_equal(baton_locks_create(spec, memory, bytes, &locks), BATON_OK);
    return locks;
}
