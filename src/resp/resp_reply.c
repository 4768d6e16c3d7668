/* The wire as a client sees it: reads replies. One loop, with a small stack of what is open. */
#include "resp_reply.h"

#include <string.h>

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

/* The line behind the sign at `at`, without its end. */
static resp_parsed read_line(const char *bytes, size_t count, size_t at, size_t max,
                             resp_word *line)
{
    size_t start = at + 1;
    size_t here = start;
    while (here < count && bytes[here] != '\r' && bytes[here] != '\n' && here - start <= max)
        here++;
    if (here - start > max)
        return bad("too long a line");
    if (here < count && bytes[here] == '\n')
        return bad("a line ends without a carriage return");
    if (here + 1 >= count)
        return more();
    if (bytes[here + 1] != '\n')
        return bad("a carriage return within a line");
    *line = (resp_word){bytes + start, here - start};
    return complete(here + 2 - at);
}

static bool read_integer(resp_word line, int64_t *number)
{
    uint64_t size;
    bool negative = line.at[0] == '-'; /* behind an empty line stands its end */
    if (negative)
        line = (resp_word){line.at + 1, line.bytes - 1};
    if (!resp_number(line, 0, INT64_MAX, &size))
        return false;
    *number = negative ? -(int64_t)size : (int64_t)size;
    return true;
}

/* How many elements follow; -1 if that is no number, or too large a one. */
static int64_t element_count(char sign, resp_word line, uint64_t max)
{
    uint64_t number;
    if (!resp_number(line, 0, max, &number))
        return -1;
    if (sign == '%')
        number *= 2;
    return number <= max ? (int64_t)number : -1;
}

static resp_parsed read_bulk(const char *bytes, size_t count, size_t at, size_t line_bytes,
                             const resp_limits *limits, reply_value *value)
{
    uint64_t length;
    size_t start = at + line_bytes;
    if (value->text.bytes == 2 && memcmp(value->text.at, "-1", 2) == 0) {
        *value = (reply_value){.kind = REPLY_NULL};
        return complete(line_bytes);
    }
    if (!resp_number(value->text, 0, limits->word_bytes, &length))
        return bad("invalid length of a string");
    if (count - start < length + 2)
        return more();
    if (bytes[start + length] != '\r' || bytes[start + length + 1] != '\n')
        return bad("a string does not end where it should");
    *value = (reply_value){.kind = REPLY_BULK, .text = {bytes + start, length}};
    return complete(line_bytes + length + 2);
}

/* One value, without the elements it may have. */
static resp_parsed read_value(const char *bytes, size_t count, size_t at, const resp_limits *limits,
                              uint64_t max_elements, reply_value *value)
{
    if (at >= count)
        return more();
    char sign = bytes[at];
    if (sign == '\0' || strchr("+-:$_*%>", sign) == NULL)
        return bad("no reply begins like that");
    *value = (reply_value){0};
    resp_parsed p = read_line(bytes, count, at, limits->word_bytes, &value->text);
    if (p.verdict != RESP_COMPLETE)
        return p;
    switch (sign) {
    case '+':
        value->kind = REPLY_SIMPLE;
        return p;
    case '-':
        value->kind = REPLY_ERROR;
        return p;
    case ':':
        value->kind = REPLY_INTEGER;
        return read_integer(value->text, &value->number) ? p : bad("invalid number");
    case '$':
        return read_bulk(bytes, count, at, p.used, limits, value);
    case '_':
        value->kind = REPLY_NULL;
        return value->text.bytes == 0 ? p : bad("a null with something in it");
    default:
        value->kind = sign == '*' ? REPLY_ARRAY : sign == '%' ? REPLY_MAP : REPLY_PUSH;
        value->number = element_count(sign, value->text, max_elements);
        return value->number >= 0 ? p : bad("invalid number of elements");
    }
}

static bool has_elements(const reply_value *value)
{
    return value->kind == REPLY_ARRAY || value->kind == REPLY_MAP || value->kind == REPLY_PUSH;
}

static resp_parsed parse(const char *bytes, size_t count, const resp_limits *limits,
                         resp_reply *reply)
{
    int64_t open[REPLY_DEEPEST]; /* elements still to come, of each level */
    uint32_t depth = 0;
    size_t at = 0;
    do {
        reply_value value;
        uint64_t max = at == 0 ? REPLY_MAX_ELEMENTS : REPLY_MAX_WITHIN;
        resp_parsed p = read_value(bytes, count, at, limits, max, &value);
        if (p.verdict != RESP_COMPLETE)
            return p;
        if (value.kind == REPLY_PUSH && at > 0)
            return bad("a push within a reply");
        if (at == 0)
            reply->value = value;
        else if (depth == 1)
            reply->element[reply->elements++] = value;
        at += p.used;
        if (at > limits->command_bytes)
            return bad("too long a reply");
        if (depth > 0)
            open[depth - 1]--;
        if (has_elements(&value)) {
            if (depth == REPLY_DEEPEST)
                return bad("too deep a reply");
            open[depth++] = value.number;
        }
        while (depth > 0 && open[depth - 1] == 0)
            depth--;
    } while (depth > 0);
    return complete(at);
}

resp_parsed resp_reply_parse(const char *bytes, size_t count, const resp_limits *limits,
                             resp_reply *reply)
{
    reply->elements = 0;
    resp_parsed p = parse(bytes, count, limits, reply);
    if (p.verdict == RESP_MORE && count > limits->command_bytes)
        return bad("too long a reply");
    return p;
}

resp_parsed resp_value_parse(const char *bytes, size_t count, const resp_limits *limits,
                             uint64_t max_elements, reply_value *value)
{
    return read_value(bytes, count, 0, limits, max_elements, value);
}

bool resp_reply_fails_with(const reply_value *value, const char *code)
{
    size_t bytes = strlen(code);
    return value->kind == REPLY_ERROR && value->text.bytes > bytes &&
           memcmp(value->text.at, code, bytes) == 0 && value->text.at[bytes] == ' ';
}
