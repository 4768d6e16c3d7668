/* Text that somebody else has written, made fit for a terminal and for JSON. */
#ifndef BATON_CLI_TEXT_H
#define BATON_CLI_TEXT_H

#include <stddef.h>

/* Replaces control characters, and bytes that are no UTF-8, by '?'. */
void text_clean(char *text);

/* How many bytes of clean text its first `columns` characters take. */
size_t text_bytes(const char *text, size_t columns);

/* How many characters clean text has. */
size_t text_columns(const char *text);

#endif
