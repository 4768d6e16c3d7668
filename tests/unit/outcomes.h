/*
 * All outcomes of small programs: every process runs its body once, as the entry of a lock that it
 * never leaves, and what it has read stays in its own memory.
 */
#ifndef BATON_OUTCOMES_H
#define BATON_OUTCOMES_H

#include "../../check/explore.h"

typedef void body(void *memory, uint32_t lock, uint32_t process);
typedef void on_outcome(const config *end, void *context);

/*
 * Calls `each` for every configuration in which all bodies have been run. memory_at(p's own) is
 * what process p sees of the memory. Returns the most accesses that a body made.
 */
uint32_t each_outcome(size_t bytes, void (*init)(void *, uint32_t, baton_waiting), body *program,
                      uint32_t processes, bool c11, on_outcome *each, void *context);

#endif
