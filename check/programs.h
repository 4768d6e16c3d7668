/* Store & collect as programs for the explorer. */
#ifndef BATON_CHECK_PROGRAMS_H
#define BATON_CHECK_PROGRAMS_H

#include "baton/check.h"

enum { MAX_PROGRAMS = 32 };

/* Fills in the subjects; returns how many. */
size_t shipped_programs(baton_check_subject subjects[MAX_PROGRAMS]);

#endif
