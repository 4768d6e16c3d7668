/* Configurations that were seen, packed, each once, numbered in the order in which they came. */
#ifndef BATON_CHECK_STORE_H
#define BATON_CHECK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct store store;

store *store_new(void);
void store_free(store *s);
/* The number of this string of bytes; *fresh says whether it came for the first time. */
uint32_t store_add(store *s, const uint8_t *bytes, size_t count, bool *fresh);
const uint8_t *store_get(const store *s, uint32_t number);
uint32_t store_count(const store *s);

/* realloc and calloc that end the program with a message instead of returning NULL. */
void *must_alloc(void *old, size_t bytes);
/* Fresh memory that begins at a multiple of `line`; bytes is one too. */
void *must_align(size_t line, size_t bytes);
void *must_zero(size_t count, size_t each);

#endif
