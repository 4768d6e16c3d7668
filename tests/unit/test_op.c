/* Operations of the key-value resource: what words are one, and what bytes. */
#include "op.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

static char longest_key[OP_MAX_KEY + 2];
static char longest_value[OP_MAX_VALUE + 2];

/* ---- words ---- */

/* Words with '|' between them; NULL: fine, or what the complaint begins with. */
typedef struct said {
    const char *words;
    const char *complaint;
} said;

static const said sayings[] = {
    {"", "ERR no such operation"}, /* one empty word */
    {"FLY", "ERR no such operation"},
    {"SET", "ERR wrong number of arguments: SET key value"},
    {"SET|k", "ERR wrong number of arguments: SET key value"},
    {"SET|k|v", NULL},
    {"set|k|v", NULL},
    {"SET|k|", NULL},
    {"SET||v", "ERR the key is empty"},
    {"SET|k|v|x", "ERR wrong number of arguments: SET key value"},
    {"GET|k", NULL},
    {"GET", "ERR wrong number of arguments: GET key"},
    {"GET|k|v", "ERR wrong number of arguments: GET key"},
    {"GET|", "ERR the key is empty"},
    {"DEL|k", NULL},
    {"DEL", "ERR wrong number of arguments: DEL key"},
    {"INCR|k", NULL},
    {"INCR|k|5", NULL},
    {"INCR|k|-9223372036854775808", NULL},
    {"INCR|k|9223372036854775807", NULL},
    {"INCR|k|9223372036854775808", "ERR not an integer"},
    {"INCR|k|-9223372036854775809", "ERR not an integer"},
    {"INCR|k|1.5", "ERR not an integer"},
    {"INCR|k|", "ERR not an integer"},
    {"INCR|k|-", "ERR not an integer"},
    {"INCR|k|+1", "ERR not an integer"},
    {"INCR|k|01", "ERR not an integer"},
    {"INCR|k|-0", "ERR not an integer"},
    {"INCR|k|0", NULL},
    {"INCR", "ERR wrong number of arguments: INCR key [by]"},
    {"INCR|k|1|2", "ERR wrong number of arguments: INCR key [by]"},
    {"CAS|k|old|new", NULL},
    {"CAS|k|NX|new", NULL},
    {"CAS|k|nx|new", NULL},
    {"CAS|k|EQ|NX|new", NULL},
    {"CAS|k|EQ||", NULL},
    {"CAS|k|NE|old|new", "ERR with five words, the third must be EQ"},
    {"CAS|k|old", "ERR wrong number of arguments: CAS key old new"},
    {"CAS|k|EQ|old|new|x", "ERR wrong number of arguments: CAS key old new"},
    {"CAS||old|new", "ERR the key is empty"},
    {"SCAN", NULL},
    {"SCAN|", NULL},
    {"SCAN|k", NULL},
    {"SCAN|k|1", NULL},
    {"SCAN|k|1000", NULL},
    {"SCAN|k|0", "ERR the count must be a number from 1 to 1000"},
    {"SCAN|k|1001", "ERR the count must be a number from 1 to 1000"},
    {"SCAN|k|x", "ERR the count must be a number from 1 to 1000"},
    {"SCAN|k|1|x", "ERR wrong number of arguments: SCAN [from [count]]"},
};

static const char *parse(const char *text, op *parsed)
{
    resp_word words[8];
    uint32_t count = 0;
    for (;;) {
        size_t length = strcspn(text, "|");
        words[count++] = (resp_word){text, length};
        text += length;
        if (*text++ == '\0')
            return op_parse(words, count, parsed);
    }
}

static op parsed_op(const char *text)
{
    op parsed;
    assert_null(parse(text, &parsed));
    return parsed;
}

static void expect_text(byte_string string, const char *text)
{
    assert_int_equal(string.bytes, strlen(text));
    assert_memory_equal(string.at, text, string.bytes);
}

static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++) {
        op parsed;
        const char *complaint = parse(sayings[i].words, &parsed);
        const char *expected = sayings[i].complaint;
        bool right = expected == NULL
                         ? complaint == NULL
                         : complaint != NULL && strncmp(complaint, expected, strlen(expected)) == 0;
        if (!right)
            fail_msg("'%s': %s", sayings[i].words, complaint == NULL ? "fine" : complaint);
    }
    op parsed;
    assert_non_null(op_parse(NULL, 0, &parsed));
}

static void test_meaning(void **state)
{
    (void)state;
    op o = parsed_op("CAS|k|NX|new");
    assert_true(o.absent);
    expect_text(o.value, "new");
    o = parsed_op("CAS|k|EQ|NX|new");
    assert_false(o.absent);
    expect_text(o.old, "NX");
    expect_text(o.value, "new");
    o = parsed_op("CAS|k|EQ|new");
    assert_false(o.absent);
    expect_text(o.old, "EQ");
    assert_int_equal(parsed_op("INCR|k").by, 1);
    assert_true(parsed_op("INCR|k|-9223372036854775808").by == INT64_MIN);
    assert_int_equal(parsed_op("SCAN").count, OP_USUAL_SCAN);
    assert_int_equal(parsed_op("SCAN|k|7").count, 7);
    expect_text(parsed_op("SCAN|k|7").key, "k");
}

static const char *set_with(size_t key, size_t value)
{
    op parsed;
    resp_word words[] = {{"SET", 3}, {longest_key, key}, {longest_value, value}};
    return op_parse(words, 3, &parsed);
}

static void test_lengths(void **state)
{
    (void)state;
    assert_null(set_with(OP_MAX_KEY, OP_MAX_VALUE));
    assert_string_equal(set_with(OP_MAX_KEY + 1, 1), "ERR the key is too long: at most 500 bytes");
    assert_string_equal(set_with(1, OP_MAX_VALUE + 1),
                        "ERR the value is too long: at most 32000 bytes");
    op parsed;
    resp_word words[] = {{"CAS", 3},
                         {longest_key, OP_MAX_KEY},
                         {"EQ", 2},
                         {longest_value, OP_MAX_VALUE},
                         {longest_value, OP_MAX_VALUE}};
    assert_null(op_parse(words, 5, &parsed));
    wme_op *largest = op_encode(&parsed);
    assert_true(largest->bytes <= WME_MAX_OP);
    op decoded;
    assert_true(op_decode(largest->data, largest->bytes, &decoded));
    wme_op_drop(largest);
    words[3].bytes++;
    assert_non_null(op_parse(words, 5, &parsed));
}

/* ---- bytes ---- */

static void expect_same(const op *a, const op *b)
{
    assert_int_equal(a->verb, b->verb);
    assert_true(same_bytes(a->key, b->key));
    assert_true(same_bytes(a->old, b->old));
    assert_true(same_bytes(a->value, b->value));
    assert_int_equal(a->absent, b->absent);
    assert_true(a->by == b->by);
    assert_int_equal(a->count, b->count);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++) {
        op parsed;
        op decoded;
        if (parse(sayings[i].words, &parsed) != NULL)
            continue;
        wme_op *made = op_encode(&parsed);
        assert_true(op_decode(made->data, made->bytes, &decoded));
        expect_same(&parsed, &decoded);
        /* No part of it is an operation, nor is it with something behind it. */
        for (uint32_t cut = 0; cut < made->bytes; cut++)
            assert_false(op_decode(made->data, cut, &decoded));
        wme_op *longer = op_new(made->bytes + 1);
        memcpy(longer->data, made->data, made->bytes);
        longer->data[made->bytes] = 0;
        assert_false(op_decode(longer->data, longer->bytes, &decoded));
        wme_op_drop(longer);
        wme_op_drop(made);
    }
}

/* Whatever is taken for an operation has one form only, and keeps to the limits. */
static void test_any_bytes(void **state)
{
    uint64_t chance = 1;
    unsigned taken = 0;
    (void)state;
    for (unsigned round = 0; round < 300000; round++) {
        uint8_t bytes[24];
        op decoded;
        chance = chance * 6364136223846793005ULL + 1442695040888963407ULL;
        size_t count = chance >> 33 & 15;
        for (size_t i = 0; i < count; i++) {
            chance = chance * 6364136223846793005ULL + 1442695040888963407ULL;
            bytes[i] = (uint8_t)(chance >> 60 < 13 ? chance >> 40 & 7 : chance >> 40);
        }
        if (!op_decode(bytes, count, &decoded))
            continue;
        taken++;
        assert_true(decoded.key.bytes <= OP_MAX_KEY && decoded.value.bytes <= OP_MAX_VALUE);
        wme_op *made = op_encode(&decoded);
        assert_int_equal(made->bytes, count);
        assert_memory_equal(made->data, bytes, count);
        wme_op_drop(made);
    }
    assert_true(taken > 100);
}

static void test_numbers(void **state)
{
    const uint64_t numbers[] = {0, 1, 127, 128, 16383, 16384, UINT64_MAX / 2, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint8_t bytes[MAX_NUMBER_BYTES];
        byte_writer w = {.at = bytes, .capacity = sizeof bytes};
        put_number(&w, numbers[i]);
        byte_reader r = {.at = bytes, .left = w.used};
        assert_true(take_number(&r, UINT64_MAX) == numbers[i]);
        assert_true(all_read(&r));
        r = (byte_reader){.at = bytes, .left = w.used};
        if (numbers[i] > 0)
            take_number(&r, numbers[i] - 1);
        assert_int_equal(r.bad, numbers[i] > 0);
    }
    byte_reader padded = {.at = (const uint8_t *)"\x81\x00", .left = 2};
    take_number(&padded, UINT64_MAX);
    assert_true(padded.bad);
    byte_reader beyond = {.at = (const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
                          .left = 10};
    take_number(&beyond, UINT64_MAX);
    assert_true(beyond.bad);
}

/* ---- results ---- */

static void test_results(void **state)
{
    byte_string null = {(const uint8_t *)"$-1\r\n", 5};
    byte_string exact = {(const uint8_t *)longest_value, OP_MAX_KEPT};
    byte_string more = {(const uint8_t *)longest_value, OP_MAX_KEPT + 1};
    (void)state;
    resp_out out = {.third = true};
    op_reply(&out, null);
    assert_memory_equal(out.at, "_\r\n", 3);
    resp_free(&out);
    out.third = false;
    op_reply(&out, null);
    assert_int_equal(out.bytes, 5);
    assert_memory_equal(out.at, null.at, 5);
    resp_free(&out);
    assert_true(same_bytes(op_kept(exact), exact));
    assert_memory_equal(op_kept(more).at, "-TOOLONG ", 9);
    assert_true(op_kept(more).bytes <= OP_MAX_KEPT);
}

int main(void)
{
    static suite s;
    memset(longest_key, 'k', sizeof longest_key);
    memset(longest_value, 'v', sizeof longest_value);
    suite_add(&s, test_words, NULL, "what words are an operation");
    suite_add(&s, test_meaning, NULL, "what they mean");
    suite_add(&s, test_lengths, NULL, "keys and values as long as can be, and longer");
    suite_add(&s, test_round_trip, NULL, "every operation as bytes and back, and no part of it");
    suite_add(&s, test_any_bytes, NULL, "bytes by chance");
    suite_add(&s, test_numbers, NULL, "numbers as bytes");
    suite_add(&s, test_results, NULL, "results that are remembered, and null");
    return suite_run(&s, "operations");
}
