/*
 * How often something took how long, for percentiles. Values are whole numbers, such as
 * nanoseconds. Each power of two is cut into 64 buckets, so a percentile is too large by 1.6 % at
 * most, and adding takes as long for the first value as for the billionth.
 */
#ifndef BATON_BENCH_HISTOGRAM_H
#define BATON_BENCH_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_CUTS = 64,   /* buckets of a power of two */
    HISTOGRAM_EXACT = 128, /* smaller values have a bucket each */
    HISTOGRAM_POWERS = 36, /* up to 2^41: 36 minutes in ns; what is larger counts as that */
    HISTOGRAM_BUCKETS = HISTOGRAM_CUTS * HISTOGRAM_POWERS,
};

/* All zero: nothing so far. */
typedef struct histogram {
    uint64_t bucket[HISTOGRAM_BUCKETS];
    uint64_t count, total, largest;
} histogram;

void histogram_add(histogram *to, uint64_t value);
/* Adds all of another. */
void histogram_join(histogram *to, const histogram *more);
/* The value that this share of all, from 0 to 1, do not exceed; 0 if there are none. */
uint64_t histogram_at(const histogram *of, double share);

#endif
