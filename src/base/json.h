/*
 * Writes JSON, nicely indented. The caller opens and closes in order; commas and escapes are seen
 * to. A key is NULL inside an array.
 */
#ifndef BATON_BASE_JSON_H
#define BATON_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json {
    FILE *out;
    int depth;
    bool empty; /* nothing yet in what was opened last */
} json;

json json_start(FILE *out);
void json_open(json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(json *j, char bracket);                 /* '}' or ']' */
void json_string(json *j, const char *key, const char *value);
void json_integer(json *j, const char *key, uint64_t value);
void json_real(json *j, const char *key, double value);
void json_bool(json *j, const char *key, bool value);
void json_null(json *j, const char *key);

#endif
