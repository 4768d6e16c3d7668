/* Base64: four signs of six bits each for three bytes. */
#include "base64.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    char *text = malloc((count + 2) / 3 * 4 + 1);
    char *to = text;
    if (text == NULL)
        return NULL;
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t bits = (uint32_t)from[i] << 16;
        if (left > 1)
            bits |= (uint32_t)from[i + 1] << 8;
        if (left > 2)
            bits |= from[i + 2];
        *to++ = alphabet[bits >> 18];
        *to++ = alphabet[bits >> 12 & 63];
        *to++ = left > 1 ? alphabet[bits >> 6 & 63] : '=';
        *to++ = left > 2 ? alphabet[bits & 63] : '=';
    }
    *to = '\0';
    return text;
}

/* Which sign of the alphabet it is, or 64 if it is none. */
static uint32_t value_of(char sign)
{
    const char *found = sign != '\0' ? strchr(alphabet, sign) : NULL;
    return found != NULL ? (uint32_t)(found - alphabet) : 64;
}

void *base64_decode(const char *text, size_t length, size_t max, size_t *count)
{
    size_t padding = 0;
    if (length == 0 || length % 4 != 0)
        return NULL;
    while (padding < 2 && text[length - 1 - padding] == '=')
        padding++;
    size_t bytes = length / 4 * 3 - padding;
    if (bytes > max)
        return NULL;
    uint8_t *decoded = malloc(bytes);
    uint32_t bits = 0;
    uint32_t held = 0; /* bits that have not become a byte yet */
    size_t made = 0;
    for (size_t i = 0; i < length - padding && decoded != NULL; i++) {
        uint32_t value = value_of(text[i]);
        if (value == 64) {
            free(decoded);
            return NULL;
        }
        bits = bits << 6 | value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            decoded[made++] = (uint8_t)(bits >> held);
            bits &= (1U << held) - 1;
        }
    }
    if (bits != 0) {
        free(decoded);
        return NULL;
    }
    *count = bytes;
    return decoded;
}
