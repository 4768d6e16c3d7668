/*
 * The wire as a client sees it: replies and pushes of RESP 3. Pure: bytes in, values out. Lengths
 * and depths are checked against limits before anything is believed.
 */
#ifndef BATON_RESP_RESP_REPLY_H
#define BATON_RESP_RESP_REPLY_H

#include "resp.h"

enum {
    REPLY_MAX_ELEMENTS = 32,  /* of one array, map or push; a pair of a map counts as two */
    REPLY_MAX_WITHIN = 65536, /* the same for those within others, which are read over */
    REPLY_DEEPEST = 4,        /* arrays within arrays */
};

typedef enum reply_kind {
    REPLY_SIMPLE,
    REPLY_ERROR,
    REPLY_INTEGER,
    REPLY_BULK,
    REPLY_NULL,
    REPLY_ARRAY,
    REPLY_MAP,
    REPLY_PUSH,
} reply_kind;

/* The text lies in the bytes that were parsed, and is not ended by a zero. */
typedef struct reply_value {
    reply_kind kind;
    int64_t number; /* of an integer; how many elements of an array, map or push */
    resp_word text; /* of a simple string, an error or a bulk string */
} reply_value;

/* A reply, with its elements if it has any. What is in these in turn is read over. */
typedef struct resp_reply {
    reply_value value;
    uint32_t elements;
    reply_value element[REPLY_MAX_ELEMENTS];
} resp_reply;

/*
 * Reads one reply or push from the beginning of the bytes. Of the limits, `word_bytes` is for a
 * string or a line, `command_bytes` for all of it.
 */
resp_parsed resp_reply_parse(const char *bytes, size_t count, const resp_limits *limits,
                             resp_reply *reply);

/*
 * Reads one value alone, for replies of more elements than a resp_reply takes: those of an array,
 * `max_elements` at most, are the values that follow it.
 */
resp_parsed resp_value_parse(const char *bytes, size_t count, const resp_limits *limits,
                             uint64_t max_elements, reply_value *value);

/* Whether it is an error with that code, its first word. */
bool resp_reply_fails_with(const reply_value *value, const char *code);

#endif
