/* Writes JSON (RFC 8259). Knows nothing about what it writes. */
#include "json.h"

#include <math.h>

static void quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

static void new_line(json *j)
{
    fprintf(j->out, "\n%*s", 2 * j->depth, "");
}

/* What comes before a value: comma, line, key. */
static void before(json *j, const char *key)
{
    if (!j->empty)
        fputc(',', j->out);
    if (j->depth > 0)
        new_line(j);
    j->empty = false;
    if (key != NULL) {
        quoted(j->out, key);
        fputs(": ", j->out);
    }
}

json json_start(FILE *out)
{
    return (json){.out = out, .depth = 0, .empty = true};
}

void json_open(json *j, const char *key, char bracket)
{
    before(j, key);
    fputc(bracket, j->out);
    j->depth++;
    j->empty = true;
}

void json_close(json *j, char bracket)
{
    j->depth--;
    if (!j->empty)
        new_line(j);
    j->empty = false;
    fputc(bracket, j->out);
    if (j->depth == 0)
        fputc('\n', j->out);
}

void json_string(json *j, const char *key, const char *value)
{
    before(j, key);
    quoted(j->out, value);
}

void json_integer(json *j, const char *key, uint64_t value)
{
    before(j, key);
    fprintf(j->out, "%llu", (unsigned long long)value);
}

void json_real(json *j, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(j, key);
        return;
    }
    before(j, key);
    fprintf(j->out, "%.6g", value);
}

void json_bool(json *j, const char *key, bool value)
{
    before(j, key);
    fputs(value ? "true" : "false", j->out);
}

void json_null(json *j, const char *key)
{
    before(j, key);
    fputs("null", j->out);
}
