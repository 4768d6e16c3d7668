/*
 * Tokens that never come back, not even after a restart: a small file says up to which number they
 * may have been given out. It is written ahead, and synced, before any of them is.
 */
#ifndef BATON_NET_TOKENS_H
#define BATON_NET_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tokens {
    char file[512];
    uint64_t reserved; /* numbers below this one may be given out */
} tokens;

/*
 * Reads the file, or makes it; `*first` is the first number to give out. False if that fails: then
 * `complaint` says why.
 */
bool tokens_open(tokens *t, const char *file, uint64_t *first, char complaint[256]);
/* Sees to it that there are plenty beyond `next`; false if the file cannot be written. */
bool tokens_reserve(tokens *t, uint64_t next);
/* Whether so few are left that nobody should be let in until the file can be written again. */
bool tokens_are_short(const tokens *t, uint64_t next);

#endif
