/*
 * All outcomes of small programs: every process runs its body once, and what it has read stays in
 * its own memory.
 */
#ifndef BATON_OUTCOMES_H
#define BATON_OUTCOMES_H

#include "baton/check.h"

typedef void body(void *memory, uint32_t lock, uint32_t process);
typedef void on_outcome(const baton_check_outcome *outcome, void *context);

/*
 * Calls `each` at every way in which all bodies can have been run. Returns the most accesses that a
 * body made.
 */
uint32_t each_outcome(size_t bytes, void (*init)(void *, uint32_t, baton_waiting), body *program,
                      uint32_t processes, bool c11, on_outcome *each, void *context);

#endif
