/*
 * The parser of replies under libFuzzer. Whatever comes in, what it says must be true: texts lie
 * within what was used, more bytes never change a verdict, and limits are kept.
 */
#include "resp_reply.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

enum { MAX_ALONE = 1000 };

static void check_value(const reply_value *v, const char *bytes, size_t used, size_t max,
                        int64_t max_elements)
{
    if (v->kind == REPLY_SIMPLE || v->kind == REPLY_ERROR || v->kind == REPLY_BULK) {
        require(v->text.at >= bytes && v->text.at + v->text.bytes <= bytes + used);
        require(v->text.bytes <= max);
    }
    if (v->kind == REPLY_ARRAY || v->kind == REPLY_MAP || v->kind == REPLY_PUSH)
        require(v->number >= 0 && v->number <= max_elements);
}

static resp_parsed check(const char *bytes, size_t count, const resp_limits *limits)
{
    resp_reply reply;
    resp_parsed p = resp_reply_parse(bytes, count, limits, &reply);
    if (p.verdict == RESP_COMPLETE) {
        require(p.used > 0 && p.used <= count && p.used <= limits->command_bytes);
        require(reply.elements <= REPLY_MAX_ELEMENTS);
        check_value(&reply.value, bytes, p.used, limits->word_bytes, REPLY_MAX_ELEMENTS);
        for (uint32_t i = 0; i < reply.elements; i++) {
            check_value(&reply.element[i], bytes, p.used, limits->word_bytes, REPLY_MAX_WITHIN);
            require(reply.element[i].kind != REPLY_PUSH);
        }
        if (reply.elements > 0)
            require(reply.value.number == (int64_t)reply.elements);
        resp_reply_fails_with(&reply.value, "STALE");
    }
    require((p.verdict == RESP_BAD) == (p.complaint != NULL));
    return p;
}

/* The same bytes value by value, as `baton locks` and `baton status` read them. */
static void check_alone(const char *bytes, size_t count, const resp_limits *limits)
{
    reply_value v;
    resp_parsed p = {.verdict = RESP_COMPLETE};
    for (size_t at = 0; p.verdict == RESP_COMPLETE; at += p.used) {
        p = resp_value_parse(bytes + at, count - at, limits, MAX_ALONE, &v);
        require((p.verdict == RESP_BAD) == (p.complaint != NULL));
        if (p.verdict != RESP_COMPLETE)
            return;
        require(p.used > 0 && p.used <= count - at);
        check_value(&v, bytes + at, p.used, limits->word_bytes, MAX_ALONE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    resp_limits limits = {.word_bytes = 64, .command_bytes = 512};
    /* A copy of just that size, so that a read beyond its end is seen. */
    char *bytes = malloc(size > 0 ? size : 1);
    if (bytes == NULL)
        return 0;
    if (size > 0)
        memcpy(bytes, data, size);
    check_alone(bytes, size, &limits);
    resp_parsed whole = check(bytes, size, &limits);
    require(whole.verdict != RESP_MORE || size <= limits.command_bytes);
    for (size_t part = 0; part < size && part < 600; part++) {
        char *cut = malloc(part > 0 ? part : 1);
        if (cut == NULL)
            break;
        memcpy(cut, bytes, part);
        resp_parsed p = check(cut, part, &limits);
        if (p.verdict == RESP_COMPLETE)
            require(whole.verdict == RESP_COMPLETE && whole.used == p.used);
        if (p.verdict == RESP_BAD)
            require(whole.verdict == RESP_BAD);
        free(cut);
    }
    free(bytes);
    return 0;
}
