/* The wire: reads commands, writes replies. */
#include "resp.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static resp_parsed bad(const char *complaint)
{
    return (resp_parsed){.verdict = RESP_BAD, .complaint = complaint};
}

static resp_parsed more(void)
{
    return (resp_parsed){.verdict = RESP_MORE};
}

static resp_parsed complete(size_t used)
{
    return (resp_parsed){.verdict = RESP_COMPLETE, .used = used};
}

/*
 * The number between the sign at `*at` and the end of its line; moves `*at` behind it. `what` is
 * the complaint if there is no such number. A line of this kind is short: no more than LONGEST
 * bytes.
 */
static resp_parsed read_count(const char *bytes, size_t count, size_t *at, size_t max,
                              size_t *number, const char *what)
{
    enum { LONGEST = 20 };
    size_t start = *at + 1;
    size_t here = start;
    *number = 0;
    for (; here < count && bytes[here] != '\r'; here++) {
        if (!isdigit((unsigned char)bytes[here]) || here - start >= LONGEST)
            return bad(what);
        size_t next;
        if (__builtin_mul_overflow(*number, (size_t)10, &next) ||
            __builtin_add_overflow(next, (size_t)(bytes[here] - '0'), number) || *number > max)
            return bad(what);
    }
    if (here + 1 >= count)
        return more();
    if (here == start || bytes[here + 1] != '\n')
        return bad(what);
    *at = here + 2;
    return complete(0);
}

static resp_parsed parse_array(const char *bytes, size_t count, const resp_limits *limits,
                               resp_command *command)
{
    size_t at = 0;
    size_t words;
    resp_parsed p = read_count(bytes, count, &at, RESP_MAX_WORDS, &words,
                               "ERR Protocol error: invalid multibulk length");
    if (p.verdict != RESP_COMPLETE)
        return p;
    for (size_t i = 0; i < words; i++) {
        size_t length;
        if (at >= count)
            return more();
        if (bytes[at] != '$')
            return bad("ERR Protocol error: expected '$'");
        p = read_count(bytes, count, &at, limits->word_bytes, &length,
                       "ERR Protocol error: invalid bulk length");
        if (p.verdict != RESP_COMPLETE)
            return p;
        if (at + length + 2 > limits->command_bytes)
            return bad("ERR Protocol error: too big a command");
        if (count - at < length + 2)
            return more();
        if (bytes[at + length] != '\r' || bytes[at + length + 1] != '\n')
            return bad("ERR Protocol error: a bulk string does not end where it should");
        command->word[i] = (resp_word){bytes + at, length};
        at += length + 2;
    }
    command->words = (uint32_t)words;
    return complete(at);
}

static resp_parsed parse_line(const char *bytes, size_t count, const resp_limits *limits,
                              resp_command *command)
{
    size_t max = count < limits->command_bytes ? count : limits->command_bytes;
    const char *end = memchr(bytes, '\n', max);
    if (end == NULL)
        return count > max ? bad("ERR Protocol error: too big inline request") : more();
    size_t length = (size_t)(end - bytes);
    size_t at = 0;
    for (;;) {
        while (at < length && isspace((unsigned char)bytes[at]))
            at++;
        if (at == length)
            return complete(length + 1);
        size_t start = at;
        while (at < length && !isspace((unsigned char)bytes[at]))
            at++;
        if (command->words == RESP_MAX_WORDS || at - start > limits->word_bytes)
            return bad("ERR Protocol error: too many words, or too long a word");
        command->word[command->words++] = (resp_word){bytes + start, at - start};
    }
}

resp_parsed resp_parse(const char *bytes, size_t count, const resp_limits *limits,
                       resp_command *command)
{
    command->words = 0;
    if (count == 0)
        return more();
    resp_parsed p = bytes[0] == '*' ? parse_array(bytes, count, limits, command)
                                    : parse_line(bytes, count, limits, command);
    if (p.verdict == RESP_MORE && count > limits->command_bytes)
        return bad("ERR Protocol error: too big a command");
    return p;
}

bool resp_is(resp_word word, const char *text)
{
    size_t i = 0;
    for (; i < word.bytes && text[i] != '\0'; i++)
        if (toupper((unsigned char)word.at[i]) != text[i])
            return false;
    return i == word.bytes && text[i] == '\0';
}

bool resp_number(resp_word word, uint64_t least, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    if (word.bytes == 0 || word.bytes > 20)
        return false;
    for (size_t i = 0; i < word.bytes; i++) {
        if (!isdigit((unsigned char)word.at[i]) ||
            __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(word.at[i] - '0'), &value))
            return false;
    }
    if (value < least || value > max)
        return false;
    *number = value;
    return true;
}

/* ---- writing ---- */

void resp_free(resp_out *out)
{
    free(out->at);
    out->at = NULL;
    out->bytes = out->capacity = 0;
}

/* Room for so many more bytes; false, and overflow, if there is none. */
static bool make_room(resp_out *out, size_t count)
{
    size_t wanted;
    if (out->overflow || __builtin_add_overflow(out->bytes, count, &wanted) ||
        (out->max != 0 && wanted > out->max)) {
        out->overflow = true;
        return false;
    }
    if (wanted <= out->capacity)
        return true;
    size_t capacity = out->capacity == 0 ? 256 : out->capacity;
    while (capacity < wanted)
        capacity *= 2;
    char *grown = realloc(out->at, capacity);
    if (grown == NULL) {
        out->overflow = true;
        return false;
    }
    out->at = grown;
    out->capacity = capacity;
    return true;
}

void resp_raw(resp_out *out, const void *bytes, size_t count)
{
    if (count == 0 || !make_room(out, count))
        return;
    memcpy(out->at + out->bytes, bytes, count);
    out->bytes += count;
}

void resp_ok(resp_out *out)
{
    resp_raw(out, "+OK\r\n", 5);
}

void resp_simple(resp_out *out, const char *text)
{
    resp_raw(out, "+", 1);
    resp_raw(out, text, strlen(text));
    resp_raw(out, "\r\n", 2);
}

void resp_error(resp_out *out, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): not true, says clang-tidy 14 only */
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c != '\0'; c++)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
    resp_raw(out, "-", 1);
    resp_raw(out, text, strlen(text));
    resp_raw(out, "\r\n", 2);
}

/* A sign, a number, the end of the line: most of what is ever sent, so by hand. */
static void signed_line(resp_out *out, char sign, int64_t number)
{
    char line[24];
    char *end = line + sizeof line;
    char *at = end;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    *--at = '\n';
    *--at = '\r';
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        *--at = '-';
    *--at = sign;
    resp_raw(out, at, (size_t)(end - at));
}

void resp_integer(resp_out *out, int64_t number)
{
    signed_line(out, ':', number);
}

void resp_bulk(resp_out *out, const void *bytes, size_t count)
{
    signed_line(out, '$', (int64_t)count);
    resp_raw(out, bytes, count);
    resp_raw(out, "\r\n", 2);
}

void resp_text(resp_out *out, const char *text)
{
    resp_bulk(out, text, strlen(text));
}

void resp_null(resp_out *out)
{
    if (out->third)
        resp_raw(out, "_\r\n", 3);
    else
        resp_raw(out, "$-1\r\n", 5);
}

void resp_array(resp_out *out, uint32_t count)
{
    signed_line(out, '*', count);
}

void resp_map(resp_out *out, uint32_t pairs)
{
    if (out->third)
        signed_line(out, '%', pairs);
    else
        signed_line(out, '*', 2 * (int64_t)pairs);
}

void resp_push(resp_out *out, uint32_t count)
{
    signed_line(out, '>', count);
}
