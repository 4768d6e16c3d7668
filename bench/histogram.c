/* Buckets whose width grows with the value; see histogram.h. */
#include "histogram.h"

#include <math.h>
#include <stddef.h>

/*
 * Values below 128 have a bucket each. Above, a value is shifted until it is from 64 to 127: the
 * buckets of one shift stand behind those of the shift before it.
 */
static size_t place_of(uint64_t value)
{
    const uint64_t most = ((uint64_t)HISTOGRAM_CUTS << (HISTOGRAM_POWERS - 1)) - 1;
    value = value < most ? value : most;
    unsigned shift = 0;
    while (value >> shift >= HISTOGRAM_EXACT)
        shift++;
    return (size_t)shift * HISTOGRAM_CUTS + (size_t)(value >> shift);
}

/* The largest value of a bucket. */
static uint64_t largest_at(size_t place)
{
    size_t shift = place < HISTOGRAM_EXACT ? 0 : place / HISTOGRAM_CUTS - 1;
    return ((uint64_t)(place - shift * HISTOGRAM_CUTS + 1) << shift) - 1;
}

void histogram_add(histogram *to, uint64_t value)
{
    to->bucket[place_of(value)]++;
    to->count++;
    to->total += value;
    to->largest = value > to->largest ? value : to->largest;
}

void histogram_join(histogram *to, const histogram *more)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        to->bucket[i] += more->bucket[i];
    to->count += more->count;
    to->total += more->total;
    to->largest = more->largest > to->largest ? more->largest : to->largest;
}

uint64_t histogram_at(const histogram *of, double share)
{
    double wanted = ceil(share * (double)of->count);
    uint64_t rank = wanted < 1 ? 1 : (uint64_t)wanted;
    uint64_t so_far = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        so_far += of->bucket[i];
        if (so_far >= rank && of->bucket[i] > 0)
            return largest_at(i) < of->largest ? largest_at(i) : of->largest;
    }
    return of->largest;
}
