/*
 * Which process somebody is, in a word that no other process will ever have (in the same pid
 * namespace, until the next boot): its number and when it was started.
 */
#ifndef BATON_BOARD_LIFE_H
#define BATON_BOARD_LIFE_H

#include <stdbool.h>
#include <stdint.h>

/* The calling process; 0 if /proc does not tell. */
uint64_t life_of_this_process(void);
/* Whether that process has ended. If that cannot be found out, it has not. */
bool life_is_over(uint64_t life);
int32_t life_process(uint64_t life);
/* The pid namespace of the calling process; 0 if /proc does not tell. */
uint64_t life_name_space(void);

#endif
