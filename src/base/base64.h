/* Base64 (RFC 4648, section 4): with padding, without line breaks. */
#ifndef BATON_BASE_BASE64_H
#define BATON_BASE_BASE64_H

#include <stddef.h>

/* Text, ended by a zero, to be freed; NULL if there is no memory. */
char *base64_encode(const void *bytes, size_t count);
/*
 * Bytes, to be freed, and how many in *count; NULL if the text is no base64, stands for more than
 * `max` bytes, or there is no memory. Of the bits that stand for nothing all must be 0.
 */
void *base64_decode(const char *text, size_t length, size_t max, size_t *count);

#endif
