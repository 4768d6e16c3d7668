/*
 * Wrong passwords, by the address that they came from: each makes the next one wait longer. All
 * sessions of a server share one table; any loop may ask.
 */
#ifndef BATON_SESSION_GUESSES_H
#define BATON_SESSION_GUESSES_H

#include "baton/lock.h"

enum { GUESS_ADDRESSES = 256, GUESSES_FREE = 3 };

/* Milliseconds: the pause after the first guess that is not free, and the longest wait. */
enum { GUESS_PAUSE = 100, GUESS_LONGEST = 2000 };

/* Addresses with the same hash share a slot, and wait for each other: a matter of a second. */
typedef struct guesses {
    baton_tas lock;
    uint64_t count; /* of all */
    struct {
        uint32_t wrong;
        uint64_t since; /* when the last one was wrong */
        uint64_t next;  /* when the next may be looked at */
    } slot[GUESS_ADDRESSES];
} guesses;

void guesses_start(guesses *of);
/* When a password from there may be looked at: now, or later. Milliseconds. */
uint64_t guesses_turn(guesses *of, const char *from, uint64_t now);
/* One was wrong. */
void guesses_wrong(guesses *of, const char *from, uint64_t now);
/* How many were wrong so far. */
uint64_t guesses_count(guesses *of);

#endif
