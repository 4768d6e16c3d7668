/* Numbers on command lines. */
#include "number.h"

#include <errno.h>
#include <stdlib.h>

bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    if (text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || number < least || number > most)
        return false;
    *value = number;
    return true;
}
