/* Operations of the key-value resource: words, bytes. */
#include "op.h"

#include <stdlib.h>

_Static_assert(OP_MAX_KEY + 2 * OP_MAX_VALUE + 64 <= WME_MAX_OP, "every operation fits");
_Static_assert(OP_MAX_KEY + OP_MAX_VALUE + OP_MAX_KEY + 128 <= OP_MAX_RESULT,
               "a SCAN has room for one key at least");
_Static_assert(OP_MAX_KEY == 500 && OP_MAX_VALUE == 32000 && OP_MAX_SCAN == 1000,
               "the complaints below say so");

/* ---- from words ---- */

static byte_string string_of(resp_word word)
{
    return (byte_string){(const uint8_t *)word.at, word.bytes};
}

/* Key and value of what was parsed. */
static const char *check_strings(const op *o)
{
    if (o->key.bytes == 0 && o->verb != OP_SCAN)
        return "ERR the key is empty";
    if (o->key.bytes > OP_MAX_KEY)
        return "ERR the key is too long: at most 500 bytes";
    if (o->value.bytes > OP_MAX_VALUE || o->old.bytes > OP_MAX_VALUE)
        return "ERR the value is too long: at most 32000 bytes";
    return NULL;
}

static const char *parse_set(const resp_word *words, uint32_t count, op *o)
{
    if (count != 3)
        return "ERR wrong number of arguments: SET key value";
    o->value = string_of(words[2]);
    return NULL;
}

static const char *parse_incr(const resp_word *words, uint32_t count, op *o)
{
    if (count != 2 && count != 3)
        return "ERR wrong number of arguments: INCR key [by]";
    o->by = 1;
    if (count == 3 && !op_number(string_of(words[2]), &o->by))
        return "ERR not an integer, or beyond 64 bits: INCR key [by]";
    return NULL;
}

static const char *parse_cas(const resp_word *words, uint32_t count, op *o)
{
    if (count == 5 && !resp_is(words[2], "EQ"))
        return "ERR with five words, the third must be EQ: CAS key EQ old new";
    if (count != 4 && count != 5)
        return "ERR wrong number of arguments: CAS key old new | CAS key EQ old new | CAS key NX "
               "new";
    o->absent = count == 4 && resp_is(words[2], "NX");
    if (!o->absent)
        o->old = string_of(words[count - 2]);
    o->value = string_of(words[count - 1]);
    return NULL;
}

static const char *parse_scan(const resp_word *words, uint32_t count, op *o)
{
    uint64_t number = OP_USUAL_SCAN;
    if (count > 3)
        return "ERR wrong number of arguments: SCAN [from [count]]";
    if (count == 3 && !resp_number(words[2], 1, OP_MAX_SCAN, &number))
        return "ERR the count must be a number from 1 to 1000: SCAN [from [count]]";
    o->count = (uint32_t)number;
    return NULL;
}

const char *op_parse(const resp_word *words, uint32_t count, op *parsed)
{
    const char *wrong = NULL;
    *parsed = (op){0};
    if (count == 0)
        return "ERR no operation: SET, GET, DEL, INCR, CAS or SCAN";
    if (count > 1)
        parsed->key = string_of(words[1]);
    if (resp_is(words[0], "SET")) {
        parsed->verb = OP_SET;
        wrong = parse_set(words, count, parsed);
    } else if (resp_is(words[0], "GET")) {
        parsed->verb = OP_GET;
        wrong = count == 2 ? NULL : "ERR wrong number of arguments: GET key";
    } else if (resp_is(words[0], "DEL")) {
        parsed->verb = OP_DEL;
        wrong = count == 2 ? NULL : "ERR wrong number of arguments: DEL key";
    } else if (resp_is(words[0], "INCR")) {
        parsed->verb = OP_INCR;
        wrong = parse_incr(words, count, parsed);
    } else if (resp_is(words[0], "CAS")) {
        parsed->verb = OP_CAS;
        wrong = parse_cas(words, count, parsed);
    } else if (resp_is(words[0], "SCAN")) {
        parsed->verb = OP_SCAN;
        wrong = parse_scan(words, count, parsed);
    } else {
        return "ERR no such operation; there are SET, GET, DEL, INCR, CAS and SCAN";
    }
    return wrong != NULL ? wrong : check_strings(parsed);
}

bool op_number(byte_string text, int64_t *number)
{
    size_t first = text.bytes > 0 && text.at[0] == '-';
    int64_t value = 0;
    if (text.bytes == first || text.bytes > 20 ||
        (text.at[first] == '0' && (text.bytes > 1 || first > 0)))
        return false;
    for (size_t i = first; i < text.bytes; i++) {
        int digit = text.at[i] - '0'; /* taken away: there is one more negative number */
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value))
            return false;
    }
    if (first == 0 && __builtin_sub_overflow(0, value, &value))
        return false;
    *number = value;
    return true;
}

/* ---- as bytes ---- */

static void free_op(wme_op *o)
{
    free(o);
}

wme_op *op_new(uint32_t bytes)
{
    wme_op *made = malloc(sizeof *made + bytes);
    if (made != NULL)
        *made = (wme_op){.free = free_op, .holders = 1, .bytes = bytes};
    return made;
}

/* The verb; the key; and what else the verb has. */
wme_op *op_encode(const op *o)
{
    size_t max = 1 + 4 * (size_t)MAX_NUMBER_BYTES + o->key.bytes + o->old.bytes + o->value.bytes;
    wme_op *made = op_new((uint32_t)max);
    if (made == NULL)
        return NULL;
    byte_writer w = {.at = made->data, .capacity = max};
    put_number(&w, o->verb);
    put_string(&w, o->key);
    if (o->verb == OP_INCR)
        put_number(&w, (uint64_t)o->by);
    if (o->verb == OP_SCAN)
        put_number(&w, o->count);
    if (o->verb == OP_CAS)
        put_number(&w, o->absent);
    if (o->verb == OP_CAS && !o->absent)
        put_string(&w, o->old);
    if (o->verb == OP_SET || o->verb == OP_CAS)
        put_string(&w, o->value);
    made->bytes = (uint32_t)w.used;
    return made;
}

bool op_decode(const uint8_t *bytes, size_t count, op *decoded)
{
    byte_reader r = {.at = bytes, .left = count};
    *decoded = (op){0};
    decoded->verb = (op_verb)take_number(&r, OP_SCAN);
    decoded->key = take_string(&r, OP_MAX_KEY);
    if (decoded->verb == OP_INCR)
        decoded->by = (int64_t)take_number(&r, UINT64_MAX);
    if (decoded->verb == OP_SCAN)
        decoded->count = (uint32_t)take_number(&r, OP_MAX_SCAN);
    if (decoded->verb == OP_CAS)
        decoded->absent = take_number(&r, 1) == 1;
    if (decoded->verb == OP_CAS && !decoded->absent)
        decoded->old = take_string(&r, OP_MAX_VALUE);
    if (decoded->verb == OP_SET || decoded->verb == OP_CAS)
        decoded->value = take_string(&r, OP_MAX_VALUE);
    if (!all_read(&r) || decoded->verb < OP_SET)
        return false;
    return decoded->verb == OP_SCAN ? decoded->count > 0 : decoded->key.bytes > 0;
}

/* ---- results ---- */

static byte_string string_text(const char *text)
{
    return (byte_string){(const uint8_t *)text, strlen(text)};
}

byte_string op_kept(byte_string result)
{
    if (result.bytes <= OP_MAX_KEPT)
        return result;
    return string_text("-TOOLONG executed, but its result was too long to be remembered; "
                       "it has changed nothing, ask again\r\n");
}

void op_reply(resp_out *out, byte_string result)
{
    if (same_bytes(result, string_text("$-1\r\n")))
        resp_null(out);
    else
        resp_raw(out, result.at, result.bytes);
}
