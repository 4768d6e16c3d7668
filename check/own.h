/*
 * A process's own memory between its calls: the subject's memory as this process left it, and which
 * objects it has given up. Each different one is kept once and has a number.
 */
#ifndef BATON_CHECK_OWN_H
#define BATON_CHECK_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `arena` is where the calls run; as it is now it becomes number 0, with nothing given up. */
void own_begin(char *arena, size_t bytes);
void own_end(void);
/* Puts a memory into the arena; takes what is there and gives its number. */
void own_load(uint32_t number);
uint32_t own_save(void);

/* Of what is in the arena now. Objects are known by their first byte. */
bool own_give_up(uint32_t start, uint32_t bytes); /* false: no more can be kept in mind */
void own_take(uint32_t start);
bool own_has_given_up(uint32_t byte);

#endif
