/* Configurations that were seen, packed, each once, numbered in the order in which they came. */
#ifndef BATON_BASE_SEEN_H
#define BATON_BASE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct seen_set seen_set;

seen_set *seen_new(void);
void seen_free(seen_set *s);
/* The number of this string of bytes; *fresh says whether it came for the first time. */
uint32_t seen_add(seen_set *s, const uint8_t *bytes, size_t count, bool *fresh);
const uint8_t *seen_get(const seen_set *s, uint32_t number);
uint32_t seen_count(const seen_set *s);
/* By which it finds them. */
uint64_t seen_hash(const uint8_t *bytes, size_t count);

/* realloc and calloc that end the program with a message instead of returning NULL. */
void *must_alloc(void *old, size_t bytes);
/* Fresh memory that begins at a multiple of `line`; bytes is one too. */
void *must_align(size_t line, size_t bytes);
void *must_zero(size_t count, size_t each);

#endif
