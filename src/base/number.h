/* Numbers on command lines, for every command of the house. */
#ifndef BATON_BASE_NUMBER_H
#define BATON_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* A whole number from `least` to `most`; false if the text is anything else, *value left alone. */
bool parse_number(const char *text, uint64_t least, uint64_t max, uint64_t *value);

/* Seconds with at most three decimals, such as 2.5, as milliseconds; the same otherwise. */
bool parse_milliseconds(const char *text, uint64_t least_ms, uint64_t max_ms, uint64_t *ms);

#endif
