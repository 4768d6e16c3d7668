/* Base64: the vectors of RFC 4648, everything there and back, and what is none. */
#include "base64.h"
#include "chance.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static const char *const vectors[][2] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
};

static void test_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char *text = base64_encode(vectors[i][0], strlen(vectors[i][0]));
        assert_string_equal(text, vectors[i][1]);
        free(text);
    }
}

static void test_there_and_back(void **state)
{
    uint64_t chance = 1;
    uint8_t bytes[64];
    (void)state;
    for (size_t length = 1; length <= sizeof bytes; length++) {
        for (size_t i = 0; i < length; i++)
            bytes[i] = (uint8_t)draw(&chance);
        size_t count = 0;
        char *text = base64_encode(bytes, length);
        assert_null(base64_decode(text, strlen(text), length - 1, &count));
        void *back = base64_decode(text, strlen(text), length, &count);
        assert_int_equal(count, length);
        assert_memory_equal(back, bytes, length);
        free(back);
        free(text);
    }
}

static void test_none(void **state)
{
    static const char *const none[] = {
        "",     "Zg",   "Zg=",  "Z===", "Zm9v=",    "Zm=v",    "Zm9v\nZg==", "Zm9-",
        "Zm9 ", "Zh==", "Zm9=", "====", "Zg==Zg==", "Zm9vZm9", "Zg\0=",      "A==="};
    size_t count;
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(base64_decode(none[i], strlen(none[i]), 100, &count));
    assert_null(base64_decode("Zm\0v", 4, 100, &count));
}

int main(void)
{
    static suite s;
    suite_add(&s, test_vectors, NULL, "the vectors of RFC 4648");
    suite_add(&s, test_there_and_back, NULL,
              "random bytes there and back, and no longer than asked");
    suite_add(&s, test_none, NULL, "what is no base64");
    return suite_run(&s, "base64");
}
