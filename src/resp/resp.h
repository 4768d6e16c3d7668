/*
 * The wire: RESP, the protocol of Redis, versions 2 and 3. Pure: bytes in, words out; words in,
 * bytes out. Lengths are checked against limits before anything is believed.
 */
#ifndef BATON_RESP_RESP_H
#define BATON_RESP_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what clients send ---- */

enum { RESP_MAX_WORDS = 32 };

/* How much a command may be. */
typedef struct resp_limits {
    size_t word_bytes;    /* of one word */
    size_t command_bytes; /* of a whole command as it is sent */
} resp_limits;

/* A word lies in the bytes that were parsed, and is not ended by a zero. */
typedef struct resp_word {
    const char *at;
    size_t bytes;
} resp_word;

typedef struct resp_command {
    resp_word word[RESP_MAX_WORDS];
    uint32_t words; /* 0: an empty line, to be skipped */
} resp_command;

typedef enum resp_verdict {
    RESP_COMPLETE,
    RESP_MORE, /* what is there is the beginning of a command */
    RESP_BAD,  /* and will never be one; see `complaint` */
} resp_verdict;

typedef struct resp_parsed {
    resp_verdict verdict;
    size_t used;           /* bytes of a complete command */
    const char *complaint; /* of a bad one, as an error reply without its sign and end */
} resp_parsed;

/*
 * Reads one command from the beginning of the bytes: an array of bulk strings, or a line of words
 * as people type it.
 */
resp_parsed resp_parse(const char *bytes, size_t count, const resp_limits *limits,
                       resp_command *command);

/* Whether a word is that text, upper or lower case; `text` is upper case. */
bool resp_is(resp_word word, const char *text);
/* A whole number from least to most, as decimal digits; false if the word is anything else. */
bool resp_number(resp_word word, uint64_t least, uint64_t max, uint64_t *number);

/* ---- what clients get ---- */

/* Bytes to be sent, growing up to a limit. All zero: empty, without limit. Freed by resp_free. */
typedef struct resp_out {
    char *at;
    size_t bytes, capacity;
    size_t max;    /* 0: no limit */
    bool overflow; /* more than that was wanted, or memory: the bytes are not complete */
    bool third;    /* protocol 3 is spoken */
} resp_out;

void resp_free(resp_out *out);
void resp_raw(resp_out *out, const void *bytes, size_t count);
void resp_ok(resp_out *out);
void resp_simple(resp_out *out, const char *text);
/* "CODE text": control characters in it become spaces. */
__attribute__((format(printf, 2, 3))) void resp_error(resp_out *out, const char *format, ...);
void resp_integer(resp_out *out, int64_t number);
void resp_bulk(resp_out *out, const void *bytes, size_t count);
void resp_text(resp_out *out, const char *text);
void resp_null(resp_out *out);
void resp_array(resp_out *out, uint32_t count);
/* A map of so many pairs; in protocol 2 an array of twice as many. */
void resp_map(resp_out *out, uint32_t pairs);
/* Only in protocol 3. */
void resp_push(resp_out *out, uint32_t count);

#endif
