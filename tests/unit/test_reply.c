/* The parser of replies: what is read, what is refused, and at which byte it is complete. */
#include "../../src/net/resp_reply.h"
#include "unit.h"

#include <string.h>

static const resp_limits limits = {.word_bytes = 64, .command_bytes = 256};

/* Every beginning is a beginning, the whole is complete, and what comes behind does not matter. */
static resp_reply whole(const char *text)
{
    static char bytes[512];
    resp_reply reply;
    size_t count = strlen(text);
    for (size_t part = 0; part < count; part++)
        assert_int_equal(resp_reply_parse(text, part, &limits, &reply).verdict, RESP_MORE);
    memcpy(bytes, text, count);
    memcpy(bytes + count, ":7\r\n", 4);
    resp_parsed p = resp_reply_parse(bytes, count + 4, &limits, &reply);
    assert_int_equal(p.verdict, RESP_COMPLETE);
    assert_int_equal(p.used, count);
    return reply;
}

static void refused(const char *text)
{
    resp_reply reply;
    resp_parsed p = resp_reply_parse(text, strlen(text), &limits, &reply);
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
    refused("*1\r\n>1\r\n:1\r\n");
    refused("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_values),
        cmocka_unit_test(with_elements),
        cmocka_unit_test(nonsense),
        cmocka_unit_test(too_much),
    };
    return cmocka_run_group_tests_name("reply", tests, NULL, NULL);
}
