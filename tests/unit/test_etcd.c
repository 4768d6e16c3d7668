/* What is asked of etcd, and what its answers mean: all kinds of them, and all that are none. */
#include "../../src/net/etcd_txn.h"
#include "../../src/net/etcd_urls.h"
#include "unit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const etcd_bytes key = {"baton/l", 7}; /* YmF0b24vbA== */
static char words[ETCD_COMPLAINT];

static bool read_text(const char *text, uint64_t epoch, etcd_answer *a)
{
    words[0] = '\0';
    return etcd_read((etcd_bytes){text, strlen(text)}, key, epoch, a, words);
}

/* ---- asking ---- */

/* The text that the path of keys and numbers leads to. */
static const char *at(json_t *all, const char *list, const char *object, const char *field)
{
    json_t *first = json_array_get(json_object_get(all, list), 0);
    return json_string_value(
        json_object_get(object != NULL ? json_object_get(first, object) : first, field));
}

static void test_ask(void **state)
{
    static const uint8_t value[] = {0, 255, 16, '"'};
    char *text = etcd_ask(key, 8, (etcd_bytes){value, sizeof value});
    json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    (void)state;
    assert_string_equal(at(all, "compare", NULL, "target"), "VERSION");
    assert_string_equal(at(all, "compare", NULL, "result"), "EQUAL");
    assert_string_equal(at(all, "compare", NULL, "version"), "7");
    assert_string_equal(at(all, "compare", NULL, "key"), "YmF0b24vbA==");
    assert_string_equal(at(all, "success", "request_put", "key"), "YmF0b24vbA==");
    assert_string_equal(at(all, "success", "request_put", "value"), "AP8QIg==");
    assert_string_equal(at(all, "failure", "request_range", "key"), "YmF0b24vbA==");
    assert_int_equal(json_object_size(all), 3);
    json_decref(all);
    free(text);
}

/* ---- answers ---- */

#define HEADER "{\"header\":{\"cluster_id\":\"15118495548433857066\",\"revision\":\"2\"},"
#define SHOWS(pairs)                                                                    \
    HEADER "\"responses\":[{\"response_range\":{\"header\":{\"revision\":\"2\"}," pairs \
           ",\"count\":\"1\"}}]}"
#define PAIR(version, value)                                                               \
    "\"kvs\":[{\"key\":\"YmF0b24vbA==\",\"create_revision\":\"2\",\"mod_revision\":\"2\"," \
    "\"version\":" version ",\"value\":" value "}]"

typedef struct answered {
    const char *name, *text;
    uint64_t epoch;
    outside_verdict verdict;
    uint64_t version;
    const char *value;
} answered;

#define TAKEN \
    HEADER    \
    "\"succeeded\":true,\"responses\":[{\"response_put\":{\"header\":{\"revision\":\"2\"}}}]}"

static const answered good[] = {
    {"taken", TAKEN, 1, OUTSIDE_MINE, 0, NULL},
    {"taken later", TAKEN, 900, OUTSIDE_MINE, 899, NULL},
    {"decided before", SHOWS(PAIR("\"1\"", "\"YmFy\"")), 1, OUTSIDE_THIS, 1, "bar"},
    {"decided before, said to be so",
     "{\"succeeded\":false,\"responses\":[{\"response_range\":{" PAIR("\"6\"", "\"YmE=\"") "}}]}",
     6, OUTSIDE_THIS, 6, "ba"},
    {"decided before, by nothing", SHOWS(PAIR("\"1\"", "\"\"")), 1, OUTSIDE_THIS, 1, NULL},
    {"one later", SHOWS(PAIR("\"2\"", "\"Yg==\"")), 1, OUTSIDE_LATER, 2, "b"},
    {"much later", SHOWS(PAIR("\"9223372036854775807\"", "\"YmFy\"")), 7, OUTSIDE_LATER, INT64_MAX,
     "bar"},
    {"two missing", SHOWS(PAIR("\"5\"", "\"YmFy\"")), 7, OUTSIDE_FORGOTTEN, 5, "bar"},
    {"no such key",
     HEADER "\"responses\":[{\"response_range\":{\"header\":{\"revision\":\"4\"}}}]}", 2,
     OUTSIDE_FORGOTTEN, 0, NULL},
    {"no such key, in a list", SHOWS("\"kvs\":[]"), 9, OUTSIDE_FORGOTTEN, 0, NULL},
};

static void test_good(void **state)
{
    const answered *g = *state;
    etcd_answer a;
    if (!read_text(g->text, g->epoch, &a))
        fail_msg("%s: %s", g->name, words);
    assert_int_equal(a.verdict, g->verdict);
    assert_int_equal(a.version, g->version);
    assert_int_equal(a.value_bytes, g->value != NULL ? strlen(g->value) : 0);
    if (g->value != NULL)
        assert_memory_equal(a.value, g->value, a.value_bytes);
    free(a.value);
}

/* All for epoch 2. None of them may be taken for a decision, nor for a key that is not there. */
static const char *const bad[][2] = {
    {"", "no JSON"},
    {"Not Found\n", "no JSON"},
    {"{", "no JSON"},
    {"{}garbage", "no JSON"},
    {"{\"succeeded\":true,\"succeeded\":true}", "no JSON"},
    {"{\"a\":\"\\u0000\"}", "no JSON"},
    {"[]", "something else"},
    {"3", "no JSON"},
    {"{}", "something else"},
    {"{\"succeeded\":true}", "something else"},
    {"{\"succeeded\":true,\"responses\":[]}", "something else"},
    {"{\"succeeded\":true,\"responses\":{}}", "something else"},
    {"{\"succeeded\":true,\"responses\":[3]}", "something else"},
    {"{\"succeeded\":true,\"responses\":[{},{}]}", "something else"},
    {"{\"succeeded\":\"true\",\"responses\":[{\"response_put\":{}}]}", "something else"},
    {"{\"succeeded\":1,\"responses\":[{\"response_put\":{}}]}", "something else"},
    {"{\"succeeded\":null,\"responses\":[{\"response_put\":{}}]}", "something else"},
    {"{\"succeeded\":true,\"responses\":[{}]}", "what was put"},
    {"{\"succeeded\":true,\"responses\":[{\"response_put\":true}]}", "what was put"},
    {"{\"succeeded\":true,\"responses\":[{\"response_range\":{}}]}", "what was put"},
    {"{\"responses\":[{\"response_put\":{}}]}", "shows no key"},
    {"{\"responses\":[{\"response_range\":[]}]}", "shows no key"},
    {"{\"responses\":[{\"response_range\":null}]}", "shows no key"},
    {SHOWS("\"kvs\":{}"), "no list"},
    {SHOWS("\"kvs\":null"), "no list"},
    {SHOWS("\"kvs\":\"\""), "no list"},
    {SHOWS("\"kvs\":[3]"), "something else than one key"},
    {SHOWS("\"kvs\":[{},{}]"), "something else than one key"},
    {SHOWS("\"kvs\":[{}]"), "another key"},
    {SHOWS("\"kvs\":[{\"key\":\"YmF0b24vbQ==\",\"version\":\"2\",\"value\":\"YmFy\"}]"),
     "another key"},
    {SHOWS("\"kvs\":[{\"key\":\"YmF0b24v\",\"version\":\"2\",\"value\":\"YmFy\"}]"), "another key"},
    {SHOWS("\"kvs\":[{\"key\":3,\"version\":\"2\",\"value\":\"YmFy\"}]"), "another key"},
    {SHOWS("\"kvs\":[{\"key\":\"YmF0b24vbA==\",\"value\":\"YmFy\"}]"), "good version"},
    {SHOWS(PAIR("2", "\"YmFy\"")), "good version"},
    {SHOWS(PAIR("null", "\"YmFy\"")), "good version"},
    {SHOWS(PAIR("\"0\"", "\"YmFy\"")), "good version"},
    {SHOWS(PAIR("\"\"", "\"YmFy\"")), "good version"},
    {SHOWS(PAIR("\"-2\"", "\"YmFy\"")), "good version"},
    {SHOWS(PAIR("\"2x\"", "\"YmFy\"")), "good version"},
    {SHOWS(PAIR("\"9223372036854775808\"", "\"YmFy\"")), "good version"},
    {SHOWS(PAIR("\"2\"", "3")), "no string"},
    {SHOWS(PAIR("\"2\"", "\"YmF\"")), "base64"},
    {SHOWS(PAIR("\"2\"", "\"Y===\"")), "base64"},
    {SHOWS(PAIR("\"2\"", "\"YmF-\"")), "base64"},
    {SHOWS(PAIR("\"2\"", "\"Ym=y\"")), "base64"},
    {SHOWS(PAIR("\"2\"", "\"YmFy\\nYmFy\\n==\"")), "base64"},
    {SHOWS(PAIR("\"2\"", "\" YmF\"")), "base64"},
    {SHOWS(PAIR("\"1\"", "\"YmFy\"")), "contradicts itself"}, /* it should have been taken */
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        etcd_answer a = {.value = words};
        if (read_text(bad[i][0], 2, &a) || strstr(words, bad[i][1]) == NULL)
            fail_msg("%s: '%s', not '%s'", bad[i][0], words, bad[i][1]);
        assert_null(a.value);
    }
}

/* For the first epoch there may be no key; but then it would have been put. */
static void test_nothing_there(void **state)
{
    etcd_answer a;
    (void)state;
    assert_false(read_text(SHOWS("\"kvs\":[]"), 1, &a));
    assert_non_null(strstr(words, "contradicts itself"));
}

/* What is cut off anywhere is no answer. */
static void test_cut(void **state)
{
    static const char whole[] = SHOWS(PAIR("\"1\"", "\"YmFy\""));
    (void)state;
    for (size_t bytes = 0; bytes < sizeof whole - 1; bytes++) {
        etcd_answer a;
        char *part = malloc(bytes + 1);
        memcpy(part, whole, bytes);
        assert_false(etcd_read((etcd_bytes){part, bytes}, key, 1, &a, words));
        free(part);
    }
}

/* ---- large ones ---- */

/* An answer that shows a value of so many bytes. */
static char *shows_long(size_t bytes)
{
    static const char before[] = "{\"responses\":[{\"response_range\":{\"kvs\":[{\"key\":"
                                 "\"YmF0b24vbA==\",\"version\":\"1\",\"value\":\"";
    static const char after[] = "\"}]}}]}";
    size_t signs = bytes / 3 * 4;
    char *text = malloc(sizeof before + signs + sizeof after);
    strcpy(text, before);
    memset(text + sizeof before - 1, 'A', signs);
    strcpy(text + sizeof before - 1 + signs, after);
    return text;
}

static void test_large(void **state)
{
    etcd_answer a;
    char *text = shows_long(ETCD_MOST_VALUE);
    (void)state;
    assert_true(strlen(text) < ETCD_MOST_ANSWER);
    assert_true(read_text(text, 1, &a));
    assert_int_equal(a.value_bytes, ETCD_MOST_VALUE);
    free(a.value);
    free(text);
    text = shows_long(ETCD_MOST_VALUE + 3);
    assert_false(read_text(text, 1, &a));
    assert_non_null(strstr(words, "too long"));
    free(text);
    text = shows_long(ETCD_MOST_ANSWER);
    assert_false(read_text(text, 1, &a));
    assert_string_equal(words, "an answer that is too long");
    free(text);
}

static void test_deep(void **state)
{
    static char text[100000];
    etcd_answer a;
    (void)state;
    memset(text, '[', sizeof text - 1);
    assert_false(read_text(text, 1, &a));
}

/* Whatever was asked for comes back as it was. */
static void test_round_trip(void **state)
{
    uint8_t value[300];
    (void)state;
    for (size_t bytes = 1; bytes < sizeof value; bytes++) {
        for (size_t i = 0; i < bytes; i++)
            value[i] = (uint8_t)(bytes * 7 + i * 31);
        char *asked = etcd_ask(key, 1, (etcd_bytes){value, bytes});
        json_t *all = json_loads(asked, 0, NULL);
        char text[1024];
        snprintf(text, sizeof text,
                 "{\"responses\":[{\"response_range\":{\"kvs\":[{\"key\":\"%s\",\"version\":\"1\","
                 "\"value\":\"%s\"}]}}]}",
                 at(all, "compare", NULL, "key"), at(all, "success", "request_put", "value"));
        etcd_answer a;
        assert_true(read_text(text, 1, &a));
        assert_int_equal(a.value_bytes, bytes);
        assert_memory_equal(a.value, value, bytes);
        free(a.value);
        json_decref(all);
        free(asked);
    }
}

/* ---- the rest ---- */

static void test_error(void **state)
{
    static const char text[] =
        "{\"error\":\"x\",\"message\":\"etcdserver: no leader\",\"code\":14}";
    static const char *const none[] = {"", "Not Found", "[]", "{}", "{\"message\":3}"};
    (void)state;
    char *said = etcd_read_error((etcd_bytes){text, sizeof text - 1});
    assert_string_equal(said, "etcdserver: no leader");
    free(said);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_null(etcd_read_error((etcd_bytes){none[i], strlen(none[i])}));
}

static void test_judge(void **state)
{
    (void)state;
    for (uint64_t epoch = 1; epoch < 6; epoch++)
        for (uint64_t values = 0; values < 8; values++) {
            outside_verdict v = outside_judge(epoch, values);
            if (values + 1 < epoch)
                assert_int_equal(v, OUTSIDE_FORGOTTEN);
            else if (values + 1 == epoch)
                assert_int_equal(v, OUTSIDE_MINE);
            else
                assert_int_equal(v, values == epoch ? OUTSIDE_THIS : OUTSIDE_LATER);
        }
}

static void test_urls(void **state)
{
    etcd_urls u;
    char complaint[ETCD_URLS_COMPLAINT];
    (void)state;
    assert_true(etcd_urls_parse(&u, "http://a:2379,https://[::1]:1/,http://b", complaint));
    assert_int_equal(u.count, 3);
    assert_string_equal(u.url[0], "http://a:2379");
    assert_string_equal(u.url[1], "https://[::1]:1");
    assert_string_equal(u.url[2], "http://b");
    static const char *const wrong[] = {
        "",           ",",           "http://a,",    "a:2379",         "://a",
        "http://",    "file:///x",   "http://a:0x1", "http://a:65536", "http://a b",
        "http://u@a", "http://:p@a", "http://a/v3",  "http://a?x",     "http://a#x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (etcd_urls_parse(&u, wrong[i], complaint) ||
            strstr(complaint, "no address of etcd") == NULL)
            fail_msg("'%s' was taken, or '%s' said", wrong[i], complaint);
}

int main(void)
{
    static suite s;
    suite_add(&s, test_ask, NULL, "what is asked");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        suite_add(&s, test_good, &good[i], "%s", good[i].name);
    suite_add(&s, test_bad, NULL, "what is no answer");
    suite_add(&s, test_nothing_there, NULL, "nothing there, in the first epoch");
    suite_add(&s, test_cut, NULL, "half an answer");
    suite_add(&s, test_large, NULL, "large answers");
    suite_add(&s, test_deep, NULL, "a deep one");
    suite_add(&s, test_round_trip, NULL, "values come back as they were");
    suite_add(&s, test_error, NULL, "what etcd complains of");
    suite_add(&s, test_judge, NULL, "what the number of values means");
    suite_add(&s, test_urls, NULL, "addresses");
    return suite_run(&s, "etcd");
}
