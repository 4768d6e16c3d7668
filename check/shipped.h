/* The locks that ship, as subjects of the explorer. */
#ifndef BATON_CHECK_SHIPPED_H
#define BATON_CHECK_SHIPPED_H

#include "baton/check.h"

enum { MAX_SHIPPED = 16 };

/* Fills in the subjects; returns how many. */
size_t shipped_subjects(baton_check_subject subjects[MAX_SHIPPED]);

#endif
