/* Numbers on command lines. */
#include "number.h"

#include <errno.h>
#include <stdlib.h>

bool parse_number(const char *text, uint64_t least, uint64_t max, uint64_t *value)
{
    if (text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || number < least || number > max)
        return false;
    *value = number;
    return true;
}

bool parse_milliseconds(const char *text, uint64_t least_ms, uint64_t max_ms, uint64_t *ms)
{
    if (text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long whole = strtoull(text, &end, 10);
    if (errno != 0 || whole > UINT64_MAX / 1000 - 1)
        return false;
    uint64_t value = whole * 1000;
    if (*end == '.') {
        uint64_t unit = 100;
        for (end++; *end >= '0' && *end <= '9' && unit > 0; end++, unit /= 10)
            value += (uint64_t)(*end - '0') * unit;
        if (unit == 100)
            return false; /* a point, and nothing behind it */
    }
    if (*end != '\0' || value < least_ms || value > max_ms)
        return false;
    *ms = value;
    return true;
}
