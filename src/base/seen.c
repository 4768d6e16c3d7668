/* A hash table of byte strings. Whole strings are compared: no two configurations are confused. */
#include "seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 24 };

struct seen_set {
    uint8_t **chunk;
    uint32_t chunks, chunk_capacity;
    size_t used;     /* of the last chunk */
    uint64_t *where; /* chunk << 32 | offset, by number; length is kept in front of the bytes */
    uint32_t count, capacity;
    uint32_t *slot; /* number + 1, by hash */
    uint64_t slots;
};

static void *must(void *memory)
{
    if (memory == NULL) {
        fputs("baton-check: out of memory; try a smaller bound, or --limit\n", stderr);
        exit(1);
    }
    return memory;
}

void *must_alloc(void *old, size_t bytes)
{
    return must(realloc(old, bytes));
}

void *must_align(size_t line, size_t bytes)
{
    return must(aligned_alloc(line, bytes));
}

void *must_zero(size_t count, size_t each)
{
    return memset(must_alloc(NULL, count * each), 0, count * each);
}

seen_set *seen_new(void)
{
    return must_zero(1, sizeof(seen_set));
}

void seen_free(seen_set *s)
{
    for (uint32_t i = 0; i < s->chunks; i++)
        free(s->chunk[i]);
    free(s->chunk);
    free(s->where);
    free(s->slot);
    free(s);
}

uint32_t seen_count(const seen_set *s)
{
    return s->count;
}

static const uint8_t *entry(const seen_set *s, uint32_t number)
{
    return s->chunk[s->where[number] >> 32] + (uint32_t)s->where[number];
}

const uint8_t *seen_get(const seen_set *s, uint32_t number)
{
    return entry(s, number) + sizeof(uint16_t);
}

/* Eight bytes at a time: short strings, many of them. */
uint64_t seen_hash(const uint8_t *bytes, size_t count)
{
    uint64_t h = 0x9e3779b97f4a7c15ULL ^ count;
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, count - i < 8 ? count - i : 8);
        h = (h ^ word) * 0xff51afd7ed558ccdULL;
        h ^= h >> 32;
    }
    return h * 0xc4ceb9fe1a85ec53ULL ^ h >> 29;
}

static void widen(seen_set *s)
{
    s->slots = s->slots == 0 ? 1 << 12 : 2 * s->slots;
    free(s->slot);
    s->slot = must_zero(s->slots, sizeof *s->slot);
    for (uint32_t n = 0; n < s->count; n++) {
        uint16_t length;
        memcpy(&length, entry(s, n), sizeof length);
        uint64_t i = seen_hash(seen_get(s, n), length);
        while (s->slot[i & (s->slots - 1)] != 0)
            i++;
        s->slot[i & (s->slots - 1)] = n + 1;
    }
}

static void append(seen_set *s, const uint8_t *bytes, size_t count)
{
    size_t needed = count + sizeof(uint16_t);
    if (s->chunks == 0 || s->used + needed > CHUNK) {
        if (s->chunks == s->chunk_capacity) {
            s->chunk_capacity = s->chunk_capacity == 0 ? 16 : 2 * s->chunk_capacity;
            s->chunk = must_alloc(s->chunk, s->chunk_capacity * sizeof *s->chunk);
        }
        s->chunk[s->chunks++] = must_alloc(NULL, CHUNK);
        s->used = 0;
    }
    if (s->count == s->capacity) {
        s->capacity = s->capacity == 0 ? 1 << 12 : 2 * s->capacity;
        s->where = must_alloc(s->where, s->capacity * sizeof *s->where);
    }
    uint8_t *to = s->chunk[s->chunks - 1] + s->used;
    uint16_t length = (uint16_t)count;
    memcpy(to, &length, sizeof length);
    memcpy(to + sizeof length, bytes, count);
    s->where[s->count++] = (uint64_t)(s->chunks - 1) << 32 | s->used;
    s->used += needed;
}

uint32_t seen_add(seen_set *s, const uint8_t *bytes, size_t count, bool *fresh)
{
    if (2 * (uint64_t)s->count >= s->slots)
        widen(s);
    for (uint64_t i = seen_hash(bytes, count);; i++) {
        uint32_t *slot = &s->slot[i & (s->slots - 1)];
        if (*slot == 0) {
            append(s, bytes, count);
            *slot = s->count;
            *fresh = true;
            return s->count - 1;
        }
        const uint8_t *there = entry(s, *slot - 1);
        uint16_t length;
        memcpy(&length, there, sizeof length);
        if (length == count && memcmp(there + sizeof length, bytes, count) == 0) {
            *fresh = false;
            return *slot - 1;
        }
    }
}
