/*
 * What everything has in common that several processes find in memory they map: parts that begin on
 * cache lines, and a header with a checksum. Sizes are computed here, and never overflow unseen.
 */
#ifndef BATON_REG_LAYOUT_H
#define BATON_REG_LAYOUT_H

#define BATON_REG_SHORT_NAMES
#include "baton/reg.h"

/* *end += count * each, rounded up to whole cache lines; false if that is no size_t. */
static inline bool extend(size_t *end, size_t count, size_t each)
{
    size_t part;
    return !__builtin_mul_overflow(count, each, &part) &&
           !__builtin_add_overflow(part, BATON_CACHE_LINE - 1, &part) &&
           !__builtin_add_overflow(*end, part / BATON_CACHE_LINE * BATON_CACHE_LINE, end);
}

/* FNV-1a over the bytes from `begin` to `end`. Finds damage, not malice. */
static inline uint64_t checksum_of(const void *begin, const void *end)
{
    uint64_t sum = 0xcbf29ce484222325ULL;
    for (const unsigned char *byte = begin; byte < (const unsigned char *)end; byte++)
        sum = (sum ^ *byte) * 0x100000001b3ULL;
    return sum;
}

#endif
