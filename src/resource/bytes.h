/*
 * Numbers and strings as bytes, for the disk and for other nodes: a number is seven bits to a byte,
 * least first, in as few bytes as it needs; a string is its length and itself. Who reads believes
 * nothing: the first thing that cannot be makes the reader bad, and all after it empty.
 */
#ifndef BATON_RESOURCE_BYTES_H
#define BATON_RESOURCE_BYTES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct byte_string {
    const uint8_t *at;
    size_t bytes;
} byte_string;

static inline bool same_bytes(byte_string a, byte_string b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.at, b.at, a.bytes) == 0);
}

/* ---- writing, into room that is known to suffice ---- */

enum { MAX_NUMBER_BYTES = 10 };

typedef struct byte_writer {
    uint8_t *at;
    size_t used, capacity;
} byte_writer;

static inline void put_raw(byte_writer *w, const void *bytes, size_t count)
{
    assert(count <= w->capacity - w->used);
    if (count > 0)
        memcpy(w->at + w->used, bytes, count);
    w->used += count;
}

static inline void put_number(byte_writer *w, uint64_t number)
{
    uint8_t bytes[MAX_NUMBER_BYTES];
    size_t count = 0;
    for (; number > 127; number >>= 7)
        bytes[count++] = (uint8_t)(number | 128);
    bytes[count++] = (uint8_t)number;
    put_raw(w, bytes, count);
}

static inline void put_string(byte_writer *w, byte_string string)
{
    put_number(w, string.bytes);
    put_raw(w, string.at, string.bytes);
}

/* ---- reading ---- */

typedef struct byte_reader {
    const uint8_t *at;
    size_t left;
    bool bad;
} byte_reader;

static inline byte_string take_raw(byte_reader *r, size_t count)
{
    if (r->bad || count > r->left) {
        r->bad = true;
        return (byte_string){0};
    }
    byte_string taken = {r->at, count};
    r->at += count;
    r->left -= count;
    return taken;
}

/* A number up to `most`. */
static inline uint64_t take_number(byte_reader *r, uint64_t max)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        byte_string next = take_raw(r, 1);
        if (r->bad)
            return 0;
        uint64_t bits = next.at[0] & 127;
        bool too_long =
            (bits == 0 && shift > 0 && next.at[0] < 128) || bits << shift >> shift != bits;
        number |= bits << shift;
        if (too_long)
            break;
        if (next.at[0] < 128) {
            r->bad = number > max;
            return r->bad ? 0 : number;
        }
    }
    r->bad = true;
    return 0;
}

static inline byte_string take_string(byte_reader *r, size_t max)
{
    return take_raw(r, (size_t)take_number(r, max));
}

/* Whether all was read, and all was good. */
static inline bool all_read(const byte_reader *r)
{
    return !r->bad && r->left == 0;
}

/* ---- sums ---- */

/*
 * A checksum that goes on from `sum`. Each step can be undone, so damage within eight bytes is
 * always seen, and any other but once in 2^64.
 */
static inline uint64_t sum_bytes(uint64_t sum, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    sum ^= count;
    while (count > 0) {
        uint64_t word = 0;
        size_t now = count < sizeof word ? count : sizeof word;
        memcpy(&word, at, now);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
        sum ^= sum >> 29;
        at += now;
        count -= now;
    }
    sum *= 0xbf58476d1ce4e5b9ULL;
    return sum ^ sum >> 32;
}

#endif
