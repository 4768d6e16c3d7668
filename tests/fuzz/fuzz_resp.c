/*
 * The parser of commands under libFuzzer. Whatever comes in, what it says must be true: words lie
 * within what was used, more bytes never change a verdict, and limits are kept.
 */
#include "resp.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static resp_parsed check(const char *bytes, size_t count, const resp_limits *limits)
{
    resp_command command;
    resp_parsed p = resp_parse(bytes, count, limits, &command);
    if (p.verdict == RESP_COMPLETE) {
        require(p.used > 0 && p.used <= count);
        require(command.words <= RESP_MAX_WORDS);
        for (uint32_t i = 0; i < command.words; i++) {
            const resp_word *w = &command.word[i];
            require(w->at >= bytes && w->at + w->bytes <= bytes + p.used);
            require(w->bytes <= limits->word_bytes);
        }
    }
    require((p.verdict == RESP_BAD) == (p.complaint != NULL));
    return p;
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
    resp_parsed whole = check(bytes, size, &limits);
    require(whole.verdict != RESP_MORE || size <= limits.command_bytes);
    for (size_t part = 0; part < size && part < 600; part++) {
        char *cut = malloc(part + 1);
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
