/* Sleeping and waking as programs for the explorer. */
#ifndef BATON_CHECK_PARKING_H
#define BATON_CHECK_PARKING_H

#include "baton/check.h"

enum { MAX_PARKING = 8 };

/* Fills in the subjects; returns how many. */
size_t parking_programs(baton_check_subject subjects[MAX_PARKING]);

#endif
