/* What the unit tests share: cmocka, tests made at run time, and sets of locks in fresh memory. */
#ifndef BATON_UNIT_H
#define BATON_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "baton/lock.h"

enum { MAX_TESTS = 512 };

/* A list of tests, each with a name and an argument (*state). */
typedef struct suite {
    struct CMUnitTest test[MAX_TESTS];
    size_t tests;
} suite;

__attribute__((format(printf, 4, 5))) void suite_add(suite *s, CMUnitTestFunction run,
                                                     const void *argument, const char *name, ...);
/* Runs them all; returns the number of failures. */
int suite_run(suite *s, const char *name);

/*
 * A copy of the bytes that ends where no memory follows: whoever reads one more of them dies. Valid
 * until the next call; 64 KB at most.
 */
const char *at_the_edge(const void *bytes, size_t count);

/* Bytes of the heap in use; 0 under sanitizers, which find by themselves what is not freed. */
size_t heap_bytes(void);

/* Makes locks in memory of their own, to be freed with free(). */
baton_locks *make_locks(const baton_locks_spec *spec);

#endif
