/*
 * The operations of the key-value resource, from the words of a client to the bytes of a wme_op and
 * back. Pure. What a client gets wrong is said before anything is issued; what a node gets from
 * another is believed only if it could have come from op_parse.
 *
 *   SET key value            +OK
 *   GET key                  the value, or null
 *   DEL key                  :1, or :0 if there was no such key
 *   INCR key [by]            :the sum; an absent key counts as 0. An error if the value is no
 *                            number, or the sum beyond 64 bits
 *   CAS key EQ old new       :1, or :0 if the value is not `old`
 *   CAS key NX new           :1, or :0 if there is such a key
 *   CAS key old new          as EQ, for people: here an `old` that reads NX means no key
 *   SCAN [from [count]]      an array of two: the key to go on from, empty at the end; and an array
 *                            of keys and values in turn, in the order of keys, from `from` on
 *
 * Results are the bytes of a reply in protocol 2, the same at every node.
 */
#ifndef BATON_RESOURCE_OP_H
#define BATON_RESOURCE_OP_H

#include "bytes.h"
#include "resp.h"
#include "wme.h"

enum {
    OP_MAX_KEY = 500,     /* bytes: LMDB has 511 for a key, and the store puts 10 before it */
    OP_MAX_VALUE = 32000, /* so that two of them fit into one operation: CAS works on all values */
    OP_MAX_SCAN = 1000,   /* keys of one SCAN */
    OP_USUAL_SCAN = 100,
    OP_MAX_RESULT = WME_MAX_OP, /* bytes of any result; SCAN stops before */
    OP_MAX_KEPT = 1024,         /* of a result that is remembered, see op_kept */
};

typedef enum op_verb { OP_SET = 1, OP_GET, OP_DEL, OP_INCR, OP_CAS, OP_SCAN } op_verb;

/* The strings lie in what was parsed or read. */
typedef struct op {
    op_verb verb;
    byte_string key;   /* SCAN: from; may be empty */
    byte_string value; /* SET; CAS: the new one */
    byte_string old;   /* CAS */
    bool absent;       /* CAS: there must be no key, instead of an old value */
    int64_t by;        /* INCR */
    uint32_t count;    /* SCAN */
} op;

/* NULL, or what is wrong, as an error reply without its sign and end. */
const char *op_parse(const resp_word *words, uint32_t count, op *parsed);

/* As an operation to be issued; the caller has it, and drops it. NULL: no memory. */
wme_op *op_encode(const op *o);
/* False if these bytes are no operation. */
bool op_decode(const uint8_t *bytes, size_t count, op *decoded);
/* An operation of so many bytes, to be filled in. NULL: no memory. */
wme_op *op_new(uint32_t bytes);

/* A whole number of 64 bits, as INCR writes it: no sign but a minus, no zeros to the left. */
bool op_number(byte_string text, int64_t *number);

/*
 * What a node remembers of a result, for WME_RECALL: the result itself, or if it is longer than
 * OP_MAX_KEPT an error that says so. Only operations that change nothing have long results.
 */
byte_string op_kept(byte_string result);
/* A result as this client reads it: null has another form in protocol 3. */
void op_reply(resp_out *out, byte_string result);

#endif
