/* What the unit tests share. */
#include "unit.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void suite_add(suite *s, CMUnitTestFunction run, const void *argument, const char *name, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, name);
    int length = vasprintf(&text, name, arguments);
    va_end(arguments);
    if (length < 0 || s->tests == MAX_TESTS)
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

size_t heap_bytes(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

const char *at_the_edge(const void *bytes, size_t count)
{
    enum { ROOM = 65536 };
    static char *room;
    if (room == NULL) {
        room = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED || mprotect(room + ROOM, ROOM, PROT_NONE) != 0)
            abort();
    }
    if (count > ROOM)
        abort();
    return count == 0 ? room + ROOM : memcpy(room + ROOM - count, bytes, count);
}
