/*
 * What the algorithm files of this room share: the short names of registers, and a check for debug
 * builds. It must stay free of libc, since the read/write locks also run on bare cores.
 */
#ifndef BATON_LOCK_INTERNAL_H
#define BATON_LOCK_INTERNAL_H

#define BATON_REG_SHORT_NAMES
#include "baton/lock.h"

#ifdef BATON_DEBUG_CHECKS
/* Says what went wrong on standard error and aborts. */
_Noreturn void baton_misuse(const char *what);
#define expect(condition, what) ((condition) ? (void)0 : baton_misuse(what))
#define note_inside(me, value)  ((me)->inside = (value))
#else
#define expect(condition, what) ((void)0)
#define note_inside(me, value)  ((void)0)
#endif

#endif
