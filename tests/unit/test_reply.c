/* The parser of replies: what is read, what is refused, and at which byte it is complete. */
#include "resp_reply.h"
#include "unit.h"

#include <string.h>

static const resp_limits limits = {.word_bytes = 64, .command_bytes = 256};

static resp_parsed parse(const char *text, size_t count, resp_reply *reply)
{
    return resp_reply_parse(at_the_edge(text, count), count, &limits, reply);
}

static resp_parsed parse_value(const char *text, size_t count, reply_value *value)
{
    return resp_value_parse(at_the_edge(text, count), count, &limits, 40, value);
}

/* Every beginning is a beginning, the whole is complete, and what comes behind does not matter. */
static resp_reply whole(const char *text)
{
    static char bytes[512];
    resp_reply reply;
    size_t count = strlen(text);
    for (size_t part = 0; part < count; part++)
        assert_int_equal(parse(text, part, &reply).verdict, RESP_MORE);
    memcpy(bytes, text, count);
    memcpy(bytes + count, ":7\r\n", 4);
    resp_parsed p = parse(bytes, count + 4, &reply);
    assert_int_equal(p.verdict, RESP_COMPLETE);
    assert_int_equal(p.used, count);
    return reply;
}

static void refused(const char *text)
{
    resp_reply reply;
    resp_parsed p = parse(text, strlen(text), &reply);
    assert_int_equal(p.verdict, RESP_BAD);
    assert_non_null(p.complaint);
}

static void single_values(void **unused)
{
    (void)unused;
    assert_int_equal(whole("+OK\r\n").value.kind, REPLY_SIMPLE);
    assert_int_equal(whole(":42\r\n").value.number, 42);
    assert_true(whole(":-9223372036854775807\r\n").value.number == -INT64_MAX);
    assert_int_equal(whole("_\r\n").value.kind, REPLY_NULL);
    assert_int_equal(whole("$-1\r\n").value.kind, REPLY_NULL);
    resp_reply bulk = whole("$4\r\na\r\nb\r\n");
    assert_int_equal(bulk.value.text.bytes, 4);
    assert_memory_equal(bulk.value.text.at, "a\r\nb", 4);
    resp_reply error = whole("-STALE it is over\r\n");
    assert_true(resp_reply_fails_with(&error.value, "STALE"));
    assert_false(resp_reply_fails_with(&error.value, "STAL"));
    assert_false(resp_reply_fails_with(&error.value, "NAME"));
    error = whole("-STALE\r\n"); /* without a reason */
    assert_false(resp_reply_fails_with(&error.value, "STALE"));
    error = whole("-\r\n");
    assert_false(resp_reply_fails_with(&error.value, "STALE"));
    error = whole("+STALE it is over\r\n"); /* no error at all */
    assert_false(resp_reply_fails_with(&error.value, "STALE"));
    assert_int_equal(whole(":0\r\n").value.number, 0);
    assert_int_equal(whole("$0\r\n\r\n").value.kind, REPLY_BULK);
    assert_int_equal(whole("+\r\n").value.text.bytes, 0);
}

static void with_elements(void **unused)
{
    (void)unused;
    resp_reply push = whole(">3\r\n$5\r\nreset\r\n$1\r\na\r\n:5\r\n");
    assert_int_equal(push.value.kind, REPLY_PUSH);
    assert_int_equal(push.elements, 3);
    assert_true(resp_is(push.element[0].text, "RESET"));
    assert_int_equal(push.element[2].number, 5);
    resp_reply map = whole("%2\r\n+a\r\n*2\r\n:1\r\n*1\r\n:2\r\n+b\r\n:3\r\n");
    assert_int_equal(map.elements, 4); /* what is deeper is read over */
    assert_int_equal(map.element[1].kind, REPLY_ARRAY);
    assert_int_equal(map.element[3].number, 3);
    assert_int_equal(whole("*0\r\n").elements, 0);
    whole("*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n");
    char many[256] = "*2\r\n:0\r\n*40\r\n"; /* those within may be more */
    for (int i = 0; i < 40; i++)
        strcat(many, ":1\r\n");
    assert_int_equal(whole(many).element[1].number, 40);
}

static void nonsense(void **unused)
{
    (void)unused;
    refused("HTTP/1.1 400 Bad Request\r\n");
    refused("\r\n");
    refused(":\r\n");
    refused(":1x\r\n");
    refused(":9223372036854775808\r\n");
    refused("+a\nb\r\n");
    refused("$65\r\n");
    refused("$2\r\nabc\r\n");
    refused("*33\r\n");
    refused("%17\r\n");
    refused("*-1\r\n");
    refused("*1\r\n*65537\r\n");
    refused("_x\r\n");
    refused("+a\rb\r\n");
    refused("$2\r\nabx\n");
    refused("$2\r\nab\rx");
    refused("$-2\r\n");
    refused("$-10\r\n");
    refused(":-\r\n");
    refused(":--1\r\n");
    refused("*1\r\n>1\r\n:1\r\n");
    refused("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n");
}

/* As much as may be, and one more. */
static void just_enough(void **unused)
{
    (void)unused;
    char bytes[512] = "+";
    memset(bytes + 1, 'a', 64);
    strcpy(bytes + 65, "\r\n");
    assert_int_equal(whole(bytes).value.text.bytes, 64);
    strcpy(bytes + 65, "a\r\n");
    refused(bytes);
    strcpy(bytes, "$64\r\n");
    memset(bytes + 5, 'a', 64);
    strcpy(bytes + 69, "\r\n");
    assert_int_equal(whole(bytes).value.text.bytes, 64);
    strcpy(bytes, "*32\r\n");
    for (int i = 0; i < 32; i++)
        strcat(bytes, ":1\r\n");
    assert_int_equal(whole(bytes).elements, 32);
    strcpy(bytes, "%16\r\n");
    for (int i = 0; i < 32; i++)
        strcat(bytes, ":1\r\n");
    assert_int_equal(whole(bytes).elements, 32);
    strcpy(bytes, "*4\r\n"); /* 256 bytes in all */
    for (int i = 0; i < 4; i++)
        strcat(bytes, "$56\r\n01234567890123456789012345678901234567890123456789012345\r\n");
    assert_int_equal(strlen(bytes), 256);
    assert_int_equal(whole(bytes).elements, 4);
    bytes[1] = '5';
    refused(strcat(bytes, "_\r\n"));
}

static void too_much(void **unused)
{
    (void)unused;
    char bytes[512] = "+";
    memset(bytes + 1, 'a', 70);
    refused(bytes);
    strcpy(bytes, "*9\r\n");
    for (int i = 0; i < 9; i++)
        strcat(bytes, "$40\r\n0123456789012345678901234567890123456789\r\n");
    refused(bytes);
}

/* Replies that are longer than a resp_reply, value by value. */
static void value_by_value(void **unused)
{
    (void)unused;
    static const char text[] = "*40\r\n%2\r\n$3\r\na\r\n\r\n:-7\r\n";
    static const reply_kind kinds[] = {REPLY_ARRAY, REPLY_MAP, REPLY_BULK, REPLY_INTEGER};
    static const int64_t numbers[] = {40, 4, 0, -7};
    const char *at = text;
    for (size_t i = 0; i < 4; i++) {
        reply_value value;
        resp_parsed p = parse_value(at, strlen(at), &value);
        assert_int_equal(p.verdict, RESP_COMPLETE);
        for (size_t part = 0; part < p.used; part++) {
            reply_value cut;
            assert_int_equal(parse_value(at, part, &cut).verdict, RESP_MORE);
        }
        assert_int_equal(value.kind, kinds[i]);
        assert_int_equal(value.number, numbers[i]);
        at += p.used;
    }
    reply_value value;
    assert_int_equal(parse_value("*41\r\n", 5, &value).verdict, RESP_BAD);
    assert_int_equal(parse_value("%21\r\n", 5, &value).verdict, RESP_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_values), cmocka_unit_test(with_elements),
        cmocka_unit_test(nonsense),      cmocka_unit_test(just_enough),
        cmocka_unit_test(too_much),      cmocka_unit_test(value_by_value),
    };
    return cmocka_run_group_tests_name("reply", tests, NULL, NULL);
}
