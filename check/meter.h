/* Remote references of the watched process, counted while model.c moves. */
#ifndef BATON_CHECK_METER_H
#define BATON_CHECK_METER_H

#include "model.h"

void meter_begin(uint32_t process);
/* Process p has made the access. */
void meter_access(config *c, uint32_t p, const point *at, bool writes);
/* Its look at a condition has come to its end; `last` is the last access of the look. */
void meter_look(config *c, uint32_t p, const point *last, bool passed, figures *f);
void meter_passage_over(config *c, uint32_t p, figures *f);

#endif
