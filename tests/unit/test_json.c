/* JSON as it is written, to the last blank: tools compare it, and people read it. */
#include "json.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void write_json(json *j);

static void expect(write_json *writes, const char *expected)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    json j = json_start(out);
    writes(&j);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void write_all(json *j)
{
    json_open(j, NULL, '{');
    json_string(j, "text", "a");
    json_integer(j, "most", UINT64_MAX);
    json_real(j, "real", 0.125);
    json_real(j, "none", NAN);
    json_real(j, "endless", INFINITY);
    json_bool(j, "yes", true);
    json_bool(j, "no", false);
    json_null(j, "null");
    json_open(j, "list", '[');
    json_integer(j, NULL, 1);
    json_open(j, NULL, '{');
    json_close(j, '}');
    json_integer(j, NULL, 2);
    json_close(j, ']');
    json_integer(j, "last", 0);
    json_close(j, '}');
}

static void test_all(void **state)
{
    (void)state;
    expect(write_all, "{\n"
                      "  \"text\": \"a\",\n"
                      "  \"most\": 18446744073709551615,\n"
                      "  \"real\": 0.125,\n"
                      "  \"none\": null,\n"
                      "  \"endless\": null,\n"
                      "  \"yes\": true,\n"
                      "  \"no\": false,\n"
                      "  \"null\": null,\n"
                      "  \"list\": [\n"
                      "    1,\n"
                      "    {},\n"
                      "    2\n"
                      "  ],\n"
                      "  \"last\": 0\n"
                      "}\n");
}

static void write_escapes(json *j)
{
    json_open(j, NULL, '[');
    json_string(j, NULL, "a\"b\\c");
    json_string(j, NULL, "\x01 \n \x1f \x20 \x7f");
    json_string(j, NULL, "gr\xc3\xbc\xc3\x9f");
    json_string(j, NULL, "");
    json_open(j, NULL, '{');
    json_null(j, "k\"ey\t");
    json_close(j, '}');
    json_close(j, ']');
}

static void test_escapes(void **state)
{
    (void)state;
    expect(write_escapes, "[\n"
                          "  \"a\\\"b\\\\c\",\n"
                          "  \"\\u0001 \\u000a \\u001f \x20 \x7f\",\n"
                          "  \"gr\xc3\xbc\xc3\x9f\",\n"
                          "  \"\",\n"
                          "  {\n"
                          "    \"k\\\"ey\\u0009\": null\n"
                          "  }\n"
                          "]\n");
}

int main(void)
{
    static suite s;
    suite_add(&s, test_all, NULL, "everything there is, indented");
    suite_add(&s, test_escapes, NULL, "what must be escaped, and what must not");
    return suite_run(&s, "json");
}
