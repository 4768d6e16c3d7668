/* How often something took how long, in milliseconds. Whoever adds has it to himself. */
#ifndef BATON_BASE_DURATIONS_H
#define BATON_BASE_DURATIONS_H

#include <stdint.h>

enum { DURATION_BOUNDS = 13 };

/* Milliseconds, growing. */
extern const uint64_t duration_bound[DURATION_BOUNDS];

/* All zero: nothing so far. */
typedef struct durations {
    uint64_t count[DURATION_BOUNDS + 1]; /* up to this bound, beyond the last; then the rest */
    uint64_t total;                      /* milliseconds */
} durations;

void durations_add(durations *to, uint64_t ms);
/* Adds all of another. */
void durations_join(durations *to, const durations *more);

#endif
