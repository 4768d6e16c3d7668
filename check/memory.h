/*
 * Memory of a configuration: accesses to registers under sc or c11. model.c uses it; see
 * docs/check.md for what c11 means here.
 */
#ifndef BATON_CHECK_MEMORY_H
#define BATON_CHECK_MEMORY_H

#include "model.h"

void memory_begin(const scope *plan, config *first);
/* How many ways there are to make the access. */
uint32_t memory_choices(const config *c, uint32_t p, const point *at);
/* Makes it; false if there is no such choice after all. */
bool memory_access(config *c, uint32_t p, const point *at, uint32_t choice, baton_word *answer,
                   bool *writes);
/* Process p has woken who sleeps at the register. */
void memory_futex_wake(config *c, uint32_t p, uint32_t reg);
void memory_fence(config *c, uint32_t p, memory_order order);
/* c11: drops messages that no process can read any more. */
void memory_forget(config *c);
/*
 * Notes how the register is used. False if it was taken for one that everybody uses in order, and
 * is not: then less is known of it than is needed, and the search must be made again.
 */
bool memory_keeps_order(uint32_t p, const point *at);
/* While on, uses are noted and nothing is made of them; what was noted before is forgotten. */
void memory_scout(bool on);
/* No room for another message or value. */
bool memory_is_full(const config *c);

/* Process p leaves the critical section of the lock; does it know what was written in the last? */
void memory_section_over(config *c, uint32_t p, uint32_t lock);
bool memory_knows_section(const config *c, uint32_t p, uint32_t lock);

#endif
