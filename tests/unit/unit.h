/* What the unit tests share: cmocka, tests made at run time, and sets of locks in fresh memory. */
#ifndef BATON_UNIT_H
#define BATON_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "baton/lock.h"

enum { MOST_TESTS = 512 };

/* A list of tests, each with a name and an argument (*state). */
typedef struct suite {
    struct CMUnitTest test[MOST_TESTS];
    size_t tests;
} suite;

__attribute__((format(printf, 4, 5))) void suite_add(suite *s, CMUnitTestFunction run,
                                                     const void *argument, const char *name, ...);
/* Runs them all; returns the number of failures. */
int suite_run(suite *s, const char *name);

/* Makes locks in memory of their own, to be freed with free(). */
baton_locks *make_locks(const baton_locks_spec *spec);

#endif
