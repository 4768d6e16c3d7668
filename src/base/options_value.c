/* What the values of options mean, and what is said of those that mean nothing. See options.h. */
#include "number.h"
#include "options.h"

#include <assert.h>
#include <string.h>

/* ---- complaints ---- */

enum { NOUN_BYTES = 64 };

/* What a value of that row is: "number from 1 to 64". */
static const char *noun_of(const option_row *row, char text[NOUN_BYTES])
{
    unsigned long long least = row->least;
    unsigned long long max = row->max;
    if (row->noun != NULL)
        return row->noun;
    if (row->kind == OPTION_SECONDS)
        snprintf(text, NOUN_BYTES, "number from %g to %.12g", (double)least / 1000,
                 (double)max / 1000);
    else if (max != 0)
        snprintf(text, NOUN_BYTES, "number from %llu to %llu", least, max);
    else if (least != 0)
        snprintf(text, NOUN_BYTES, "number from %llu on", least);
    else
        return "number";
    return text;
}

static options_verdict refuse_value(const command_line *line, const option_row *row,
                                    const char *value)
{
    char text[NOUN_BYTES];
    if (row->kind == OPTION_LIST) {
        options_wrong(line, "--%s can be given %llu times at most", row->name,
                      (unsigned long long)row->max);
        return OPTIONS_WRONG;
    }
    if (row->choices == NULL) {
        options_wrong(line, "'%s' is no %s; --%s takes %s", value, noun_of(row, text), row->name,
                      row->unit != NULL ? row->unit : "one");
        return OPTIONS_WRONG;
    }
    fprintf(stderr, "%s: '%s' is neither ", line->program, value);
    for (const char *at = row->choices;; at++) {
        size_t bytes = strcspn(at, "|");
        fprintf(stderr, "'%.*s'", (int)bytes, at);
        at += bytes;
        if (*at == '\0')
            break;
        fputs(" nor ", stderr);
    }
    fprintf(stderr, "; --%s is one of these; see '%s --help'\n", row->name, line->program);
    return OPTIONS_WRONG;
}

/* ---- values ---- */

static void put_number(void *field, size_t bytes, uint64_t number)
{
    switch (bytes) {
    case sizeof(uint8_t):
        *(uint8_t *)field = (uint8_t)number;
        break;
    case sizeof(uint16_t):
        *(uint16_t *)field = (uint16_t)number;
        break;
    case sizeof(uint32_t):
        *(uint32_t *)field = (uint32_t)number;
        break;
    default:
        assert(bytes == sizeof(uint64_t));
        *(uint64_t *)field = number;
    }
}

/* The place of the value among "disk|memory", from 0; false if it is none of these. */
static bool find_choice(const char *choices, const char *value, uint64_t *place)
{
    size_t length = strlen(value);
    *place = 0;
    for (const char *at = choices;; at++, ++*place) {
        size_t bytes = strcspn(at, "|");
        if (bytes == length && memcmp(at, value, bytes) == 0)
            return true;
        at += bytes;
        if (*at == '\0')
            return false;
    }
}

static bool put_value(const option_row *row, void *into, const char *value)
{
    char *field = (char *)into + row->at;
    uint64_t widest = row->bytes < 8 ? ((uint64_t)1 << 8 * row->bytes) - 1 : UINT64_MAX;
    uint64_t max = row->max != 0 ? row->max : widest;
    uint64_t number;
    if (row->take != NULL)
        return row->take(into, value);
    if (row->choices != NULL && !find_choice(row->choices, value, &number))
        return false;
    switch (row->kind) {
    case OPTION_TEXT:
        *(const char **)field = value;
        return true;
    case OPTION_LIST: {
        uint32_t *count = (uint32_t *)((char *)into + row->count_at);
        if (*count == row->max)
            return false;
        ((const char **)field)[(*count)++] = value;
        return true;
    }
    case OPTION_SECONDS:
        if (!parse_milliseconds(value, row->least, max, &number))
            return false;
        break;
    default:
        if (row->choices == NULL && !parse_number(value, row->least, max, &number))
            return false;
    }
    put_number(field, row->bytes, number);
    return true;
}

options_verdict option_take(const command_line *line, const option_row *row, const char *value,
                            void *into, bool is_first)
{
    if (row->kind == OPTION_LIST && is_first)
        *(uint32_t *)((char *)into + row->count_at) = 0;
    if (row->value == NULL)
        *(bool *)((char *)into + row->at) = true;
    else if (!put_value(row, into, value))
        return refuse_value(line, row, value);
    return OPTIONS_FINE;
}
