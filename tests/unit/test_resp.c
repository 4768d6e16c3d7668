/* The wire: commands as they may come, in pieces too, and replies byte by byte. */
#include "resp.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const resp_limits limits = {.word_bytes = 16, .command_bytes = 64};

static resp_parsed parse(const char *bytes, size_t count, resp_command *command)
{
    return resp_parse(at_the_edge(bytes, count), count, &limits, command);
}

/* A command as bytes, and as words with '|' between them; NULL: it is bad. */
typedef struct spoken {
    const char *bytes;
    size_t count;
    const char *words;
} spoken;

#define SPOKEN(text, words)           \
    {                                 \
        text, sizeof(text) - 1, words \
    }

static const spoken commands[] = {
    SPOKEN("*1\r\n$4\r\nPING\r\n", "PING"),
    SPOKEN("*2\r\n$3\r\nTRY\r\n$1\r\na\r\n", "TRY|a"),
    SPOKEN("*2\r\n$3\r\nTRY\r\n$0\r\n\r\n", "TRY|"),
    SPOKEN("*2\r\n$3\r\nTRY\r\n$4\r\n\r\n\r\n\r\n", "TRY|\r\n\r\n"),
    SPOKEN("*0\r\n", ""),
    SPOKEN("PING\r\n", "PING"),
    SPOKEN("  TRY   a \n", "TRY|a"),
    SPOKEN("\r\n", ""),
    SPOKEN("\n", ""),
    SPOKEN("*1\r\n$16\r\n0123456789abcdef\r\n", "0123456789abcdef"),
    SPOKEN("*1\r\n$17\r\n0123456789abcdefg\r\n", NULL),
    SPOKEN("0123456789abcdefg\r\n", NULL),
    SPOKEN("*-1\r\n", NULL),
    SPOKEN("*\r\n", NULL),
    SPOKEN("*1x\r\n", NULL),
    SPOKEN("*33\r\n", NULL),
    SPOKEN("*99999999999999999999999\r\n", NULL),
    SPOKEN("*1\r\n:1\r\n", NULL),
    SPOKEN("*1\r\n$\r\n", NULL),
    SPOKEN("*1\r\n$-1\r\n", NULL),
    SPOKEN("*1\r\n$18446744073709551617\r\n", NULL),
    SPOKEN("*1\r\n$4\r\nPINGxx", NULL),
    SPOKEN("*1\rx", NULL),
    SPOKEN("*1\r\n$4\r\nPINGx\n", NULL),
    SPOKEN("*1\r\n$4\r\nPING\rx", NULL),
    SPOKEN("*1\r\n$4\rxPING\r\n", NULL),
    SPOKEN("*01\r\n$00000000000000000004\r\nPING\r\n", "PING"), /* as long as a number may be */
    SPOKEN("*1\r\n$000000000000000000004\r\nPING\r\n", NULL),
    SPOKEN("*3\r\n$16\r\n0123456789abcdef\r\n$16\r\n0123456789abcdef\r\n$8\r\n01234567\r\n",
           "0123456789abcdef|0123456789abcdef|01234567"), /* as long as a command may be */
    SPOKEN("*3\r\n$16\r\n0123456789abcdef\r\n$16\r\n0123456789abcdef\r\n$9\r\n", NULL),
    SPOKEN("0123456789abcdef\r\n", "0123456789abcdef"),
    SPOKEN("a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6\n",
           "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|t|u|v|w|x|y|z|1|2|3|4|5|6"), /* 32 words */
    SPOKEN("x                                                             \r\n", "x"),
    SPOKEN("x                                                              \r\n", NULL),
    SPOKEN(
        "*5\r\n$16\r\n0123456789abcdef\r\n$16\r\n0123456789abcdef\r\n$16\r\n0123456789abcdef\r\n",
        NULL),
    SPOKEN("x                                                                                ",
           NULL),
};

static void expect_words(const resp_command *command, const char *words)
{
    char text[256] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < command->words; i++) {
        if (i > 0)
            text[length++] = '|';
        memcpy(text + length, command->word[i].at, command->word[i].bytes);
        length += command->word[i].bytes;
    }
    assert_int_equal(length, strlen(words));
    assert_memory_equal(text, words, length);
}

static void test_command(void **state)
{
    const spoken *s = *state;
    resp_command command;
    resp_parsed p = parse(s->bytes, s->count, &command);
    if (s->words == NULL) {
        assert_int_equal(p.verdict, RESP_BAD);
        assert_non_null(p.complaint);
        return;
    }
    assert_int_equal(p.verdict, RESP_COMPLETE);
    assert_int_equal(p.used, s->count);
    expect_words(&command, s->words);
    /* Every beginning of it wants more, and what comes behind it does not matter. */
    for (size_t part = 0; part < s->count; part++)
        assert_int_equal(parse(s->bytes, part, &command).verdict, RESP_MORE);
    char longer[128];
    memcpy(longer, s->bytes, s->count);
    memset(longer + s->count, '*', 20);
    p = parse(longer, s->count + 20, &command);
    assert_int_equal(p.verdict, RESP_COMPLETE);
    assert_int_equal(p.used, s->count);
}

static void test_words(void **state)
{
    uint64_t number = 7;
    (void)state;
    assert_true(resp_is((resp_word){"tRy", 3}, "TRY"));
    assert_false(resp_is((resp_word){"TR", 2}, "TRY"));
    assert_false(resp_is((resp_word){"TRYX", 4}, "TRY"));
    assert_false(resp_is((resp_word){"", 0}, "TRY"));
    assert_true(resp_number((resp_word){"0", 1}, 0, 9, &number));
    assert_int_equal(number, 0);
    assert_true(resp_number((resp_word){"18446744073709551615", 20}, 0, UINT64_MAX, &number));
    assert_true(number == UINT64_MAX);
    number = 7;
    static const char *const bad[] = {
        "", "-1", "+1", " 1", "1 ", "x", "18446744073709551616", "10", "000000000000000000001"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(resp_number((resp_word){bad[i], strlen(bad[i])}, 0, 9, &number));
    assert_int_equal(number, 7);
    assert_true(resp_number((resp_word){"9", 1}, 9, 9, &number));
    assert_false(resp_number((resp_word){"8", 1}, 9, 9, &number));
    assert_int_equal(number, 9);
}

static void expect_out(resp_out *out, const char *bytes)
{
    assert_false(out->overflow);
    assert_int_equal(out->bytes, strlen(bytes));
    assert_memory_equal(out->at, bytes, out->bytes);
    out->bytes = 0;
}

static void test_replies(void **state)
{
    resp_out out = {0};
    (void)state;
    resp_ok(&out);
    resp_simple(&out, "PONG");
    expect_out(&out, "+OK\r\n+PONG\r\n");
    resp_integer(&out, 0);
    resp_integer(&out, -17);
    resp_integer(&out, INT64_MIN);
    resp_integer(&out, INT64_MAX);
    expect_out(&out, ":0\r\n:-17\r\n:-9223372036854775808\r\n:9223372036854775807\r\n");
    resp_bulk(&out, "", 0);
    resp_text(&out, "a\r\nb");
    expect_out(&out, "$0\r\n\r\n$4\r\na\r\nb\r\n");
    resp_error(&out, "ERR no '%s'", "line\r\nbreaks");
    expect_out(&out, "-ERR no 'line  breaks'\r\n");
    resp_null(&out);
    resp_map(&out, 2);
    expect_out(&out, "$-1\r\n*4\r\n");
    out.third = true;
    resp_null(&out);
    resp_map(&out, 2);
    resp_push(&out, 3);
    resp_array(&out, 1);
    expect_out(&out, "_\r\n%2\r\n>3\r\n*1\r\n");
    resp_free(&out);
}

static void test_overflow(void **state)
{
    resp_out out = {.max = 10};
    (void)state;
    resp_raw(&out, "0123456789", 10);
    assert_false(out.overflow);
    resp_raw(&out, "x", 1);
    assert_true(out.overflow);
    assert_int_equal(out.bytes, 10);
    resp_ok(&out); /* and it stays so */
    assert_int_equal(out.bytes, 10);
    resp_free(&out);
}

/* Twice as much each time: what is written byte by byte costs no more than its bytes. */
static void test_room(void **state)
{
    resp_out out = {0};
    (void)state;
    for (size_t i = 1; i <= 2000; i++) {
        resp_raw(&out, "x", 1);
        assert_int_equal(out.capacity, i <= 256 ? 256 : i <= 512 ? 512 : i <= 1024 ? 1024 : 2048);
    }
    resp_free(&out);
    assert_null(out.at);
    assert_int_equal(out.bytes, 0);
    resp_raw(&out, "again", 5);
    expect_out(&out, "again");
    resp_free(&out);
}

int main(void)
{
    suite s = {0};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        suite_add(&s, test_command, &commands[i], "command %zu", i);
    suite_add(&s, test_words, NULL, "words and numbers");
    suite_add(&s, test_replies, NULL, "replies");
    suite_add(&s, test_room, NULL, "room for more");
    suite_add(&s, test_overflow, NULL, "a limit on output");
    return suite_run(&s, "resp");
}
