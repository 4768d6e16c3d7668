/* UTF-8 (RFC 3629), as far as it takes to leave out what is none. A character is one column. */
#include "text.h"

#include <stdbool.h>
#include <stdint.h>

/* How many bytes the character at `c` has; 0 if it is not fit to print. Ends at a '\0'. */
static size_t printable(const unsigned char *c)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c[0] < 0x80)
        return c[0] >= ' ' && c[0] != 127 ? 1 : 0;
    size_t bytes = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : c[0] >= 0xc0 ? 2 : 0;
    if (bytes == 0 || c[0] >= 0xf8)
        return 0;
    uint32_t point = c[0] & (0x7fU >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (c[i] & 0x3fU);
    }
    bool fits = point >= least[bytes] && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    return fits && point >= 0xa0 ? bytes : 0; /* 0x80 to 0x9f are control characters */
}

void text_clean(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c != '\0';) {
        size_t bytes = printable(c);
        if (bytes == 0)
            *c = '?';
        c += bytes == 0 ? 1 : bytes;
    }
}

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

size_t text_bytes(const char *text, size_t columns)
{
    size_t bytes = 0;
    for (; text[bytes] != '\0'; bytes++)
        if (begins_character(text[bytes]) && columns-- == 0)
            break;
    return bytes;
}

size_t text_columns(const char *text)
{
    size_t columns = 0;
    for (; *text != '\0'; text++)
        columns += begins_character(*text);
    return columns;
}
