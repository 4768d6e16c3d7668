/* What is asked of etcd, and what its answers mean: all kinds of them, and all that are none. */
#include "etcd_txn.h"
#include "etcd_urls.h"
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
    json_t *after = json_array_get(json_object_get(all, "success"), 1);
    assert_true(json_equal(after, json_array_get(json_object_get(all, "failure"), 0)));
    assert_int_equal(json_object_size(all), 3);
    json_decref(all);
    free(text);
}

/* It asks for nothing: neither would etcd write something, nor show what somebody has put there. */
static void test_ask_nothing(void **state)
{
    char *text = etcd_ask_nothing();
    json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    json_t *first = json_array_get(json_object_get(all, "failure"), 0);
    (void)state;
    assert_string_equal(at(all, "compare", NULL, "version"), "9223372036854775806");
    assert_string_equal(at(all, "success", "request_put", "key"), "YmF0b24v");
    assert_string_equal(at(all, "failure", "request_range", "key"), "YmF0b24v");
    assert_true(
        json_is_true(json_object_get(json_object_get(first, "request_range"), "count_only")));
    json_decref(all);
    free(text);
}

/* A text that was freed leaves nothing behind, but for some bytes that malloc keeps. */
static void test_ask_leaves_nothing(void **state)
{
    enum { OFTEN = 100 };
    static const uint8_t value[5000];
    size_t before = heap_bytes();
    (void)state;
    for (int i = 0; i < OFTEN; i++)
        free(etcd_ask(key, 8, (etcd_bytes){value, sizeof value}));
    assert_true(heap_bytes() <= before + OFTEN * sizeof value / 2);
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

#define PUT(last) \
    HEADER "\"succeeded\":true,\"responses\":[{\"response_put\":{\"header\":{}}}," last "]}"
#define TAKEN_AS(version) PUT("{\"response_range\":{" PAIR(version, "\"YmFy\"") "}}")
#define TAKEN             TAKEN_AS("\"1\"")

static const answered good[] = {
    {"taken", TAKEN, 1, OUTSIDE_THIS, 1, "bar"},
    {"taken later", TAKEN_AS("\"900\""), 900, OUTSIDE_THIS, 900, "bar"},
    {"decided before", SHOWS(PAIR("\"1\"", "\"YmFy\"")), 1, OUTSIDE_THIS, 1, "bar"},
    {"decided before, said to be so",
     HEADER
     "\"succeeded\":false,\"responses\":[{\"response_range\":{" PAIR("\"6\"", "\"YmE=\"") "}}]}",
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
    {"{\"responses\":[{},{}]}", "something else"},
    {"{\"succeeded\":\"true\",\"responses\":[{\"response_put\":{}}]}", "something else"},
    {"{\"succeeded\":1,\"responses\":[{\"response_put\":{}}]}", "something else"},
    {"{\"succeeded\":null,\"responses\":[{\"response_put\":{}}]}", "something else"},
    {"{\"succeeded\":true,\"responses\":[{\"response_put\":{}}]}", "something else"},
    {"{\"succeeded\":true,\"responses\":[{\"response_put\":{}},3]}", "something else"},
    {"{\"succeeded\":true,\"responses\":[{},{}]}", "what was put"},
    {"{\"succeeded\":true,\"responses\":[{\"response_put\":true},{}]}", "what was put"},
    {"{\"succeeded\":true,\"responses\":[{\"response_range\":{}},{}]}", "what was put"},
    {PUT("{}"), "shows no key"},
    {PUT("{\"response_put\":{}}"), "shows no key"},
    {PUT("{\"response_range\":{}}"), "contradicts itself"}, /* and nothing is there */
    {PUT("{\"response_range\":{\"kvs\":[{\"key\":\"YmF0b24vbQ==\",\"version\":\"2\"}]}}"),
     "another key"},                           /* the answer to somebody else */
    {TAKEN_AS("\"1\""), "contradicts itself"}, /* an earlier one */
    {TAKEN_AS("\"3\""), "contradicts itself"},
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

/* Who says so, and of which revision. Who does not tell is no etcd. */
static void test_header(void **state)
{
    static const char form[] = "{\"header\":{\"cluster_id\":%s,\"revision\":%s},"
                               "\"responses\":[{\"response_range\":{}}]}";
    static const char *const none[] = {
        "3", "null", "\"\"", "\"0\"", "\"-1\"", "\"x\"", "\"18446744073709551616\"", "{}"};
    etcd_answer a;
    char text[200];
    (void)state;
    assert_true(read_text(TAKEN, 1, &a));
    assert_true(a.cluster == 15118495548433857066U);
    assert_int_equal(a.revision, 2);
    free(a.value);
    assert_false(read_text("{\"responses\":[{\"response_range\":{}}]}", 9, &a));
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        snprintf(text, sizeof text, form, none[i], "\"2\"");
        assert_false(read_text(text, 9, &a));
        assert_non_null(strstr(words, "from which etcd"));
        snprintf(text, sizeof text, form, "\"2\"", none[i]);
        assert_false(read_text(text, 9, &a));
        assert_non_null(strstr(words, "of which revision"));
    }
}

/* Whether an answer from that cluster, at that revision, is believed. */
static bool believed(etcd_memory *m, uint64_t asked_at, uint64_t cluster, uint64_t revision)
{
    etcd_answer a = {.cluster = cluster, .revision = revision};
    words[0] = '\0';
    return etcd_remember(m, asked_at, &a, words);
}

static void test_remember(void **state)
{
    etcd_memory m = {0};
    (void)state;
    assert_true(believed(&m, 0, 7, 10));
    assert_false(believed(&m, 10, 8, 11));
    assert_non_null(strstr(words, "another cluster of etcd, 8 and not 7"));
    assert_true(believed(&m, 10, 7, 10)); /* nothing has changed meanwhile */
    assert_true(believed(&m, 10, 7, 15));
    assert_true(believed(&m, 10, 7, 12)); /* asked before that, and answered later */
    assert_int_equal(m.revision, 15);
    assert_false(believed(&m, 15, 7, 14));
    assert_non_null(strstr(words, "from revision 15 to 14"));
    assert_int_equal(m.revision, 15);
    assert_false(believed(&m, 15, 7, 16)); /* something else was written there meanwhile */
    assert_non_null(strstr(words, "from revision 15 to 14"));
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
    static const char before[] = HEADER "\"responses\":[{\"response_range\":{\"kvs\":[{\"key\":"
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
    char *text = shows_long(ETCD_MAX_VALUE);
    (void)state;
    assert_true(strlen(text) < ETCD_MAX_ANSWER);
    assert_true(read_text(text, 1, &a));
    assert_int_equal(a.value_bytes, ETCD_MAX_VALUE);
    free(a.value);
    free(text);
    text = shows_long(ETCD_MAX_VALUE + 3); /* somebody's, but no decision */
    assert_true(read_text(text, 1, &a));
    assert_int_equal(a.verdict, OUTSIDE_THIS);
    assert_null(a.value);
    free(text);
    text = shows_long(3);
    size_t bytes = strlen(text);
    text = realloc(text, ETCD_MAX_ANSWER + 2); /* blanks behind it are no harm, up to the limit */
    assert_non_null(text);
    memset(text + bytes, ' ', ETCD_MAX_ANSWER + 1 - bytes);
    text[ETCD_MAX_ANSWER + 1] = '\0';
    assert_false(read_text(text, 1, &a));
    text[ETCD_MAX_ANSWER] = '\0';
    assert_true(read_text(text, 1, &a));
    free(a.value);
    free(text);
    text = shows_long(ETCD_MAX_ANSWER);
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
                 HEADER "\"responses\":[{\"response_range\":{\"kvs\":[{\"key\":\"%s\","
                        "\"version\":\"1\",\"value\":\"%s\"}]}}]}",
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

/* ---- addresses ---- */

static void test_urls(void **state)
{
    etcd_urls u;
    char complaint[ETCD_URLS_COMPLAINT];
    (void)state;
    assert_true(etcd_urls_parse(&u,
                                "http://a:2379,https://[::1]:1/,http://b,HTTPS://C-1.d_e.:65535/,"
                                "http://10.0.0.7:2379,http://[::ffff:10.0.0.7]",
                                complaint));
    assert_int_equal(u.count, 6);
    assert_string_equal(u.url[0].text, "http://a:2379");
    assert_string_equal(u.url[1].text, "https://[::1]:1");
    assert_string_equal(u.url[2].text, "http://b");
    assert_string_equal(u.url[3].text, "https://C-1.d_e.:65535");
    assert_string_equal(u.url[4].text, "http://10.0.0.7:2379");
    assert_string_equal(u.url[5].text, "http://[::ffff:10.0.0.7]");
    static const char *const hosts[] = {"a", "::1", "b", "C-1.d_e.", "10.0.0.7", "::ffff:10.0.0.7"};
    static const uint16_t ports[] = {2379, 1, 80, 65535, 2379, 80};
    static const bool named[] = {true, false, true, true, false, false};
    for (uint32_t i = 0; i < u.count; i++) {
        assert_string_equal(u.url[i].host, hosts[i]);
        assert_int_equal(u.url[i].port, ports[i]);
        assert_int_equal(u.url[i].named, named[i]);
    }
}

/* What is wrong, and the words that say so. */
static const char *const no_urls[][2] = {
    {"", "write http"},
    {",", "write http"},
    {"http://a,", "write http"},
    {"a:2379", "write http"},
    {"://a", "write http"},
    {"file:///x", "write http"},
    {"unix://a", "write http"},
    {"http:a", "write http"},
    {"http:/a:1", "write http"},
    {" http://a:1", "write http"},
    {"http://", "name or an address"},
    {"http:///a", "name or an address"},
    {"http:////a:1", "name or an address"},
    {"http://:1", "name or an address"},
    {"http://a b", "name or an address"},
    {"http://a:1 ", "port is a number"},
    {"http://%61:1", "name or an address"},
    {"http://a\\b:1", "name or an address"},
    {"http://\xc3\xa9:1", "name or an address"},
    {"http://.a:1", "name or an address"},
    {"http://a..b:1", "name or an address"},
    {"http://.", "name or an address"},
    {"http://10.0.0.256:1", "name or an address"},
    {"http://10.0.7:1", "name or an address"},
    {"http://2379", "name or an address"},
    {"http://::1", "square brackets"},
    {"http://fe80::1:2379", "square brackets"},
    {"http://[::1", "square brackets"},
    {"http://[]:1", "square brackets"},
    {"http://[a]:1", "square brackets"},
    {"http://[10.0.0.7]:1", "square brackets"},
    {"http://[fe80::1%25eth0]:1", "square brackets"},
    {"http://[::1]2379", "port is a number"},
    {"http://a:", "port is a number"},
    {"http://a:/", "port is a number"},
    {"http://a:0", "port is a number"},
    {"http://a:0x1", "port is a number"},
    {"http://a:+1", "port is a number"},
    {"http://a:65536", "port is a number"},
    {"http://a:18446744073709551617", "port is a number"},
    {"http://a:1x", "port is a number"},
    {"http://u@a", "users and passwords"},
    {"http://@a", "users and passwords"},
    {"http://u:p@a:1", "users and passwords"},
    {"http://:p@a", "users and passwords"},
    {"http://a:1@b:2", "users and passwords"},
    {"http://a/v3", "behind its port"},
    {"http://a:1//", "behind its port"},
    {"http://a?x", "behind its port"},
    {"http://a:1?", "behind its port"},
    {"http://a:1/?", "behind its port"},
    {"http://a#x", "behind its port"},
    {"http://a:1#", "behind its port"},
    {"http://a:1/#", "behind its port"},
    {"http://a:1/@", "behind its port"},
    {"http://a:1;http://b:1", "port is a number"},
};

static void test_no_urls(void **state)
{
    etcd_urls u;
    char complaint[ETCD_URLS_COMPLAINT];
    (void)state;
    for (size_t i = 0; i < sizeof no_urls / sizeof no_urls[0]; i++)
        if (etcd_urls_parse(&u, no_urls[i][0], complaint) ||
            strstr(complaint, "no address of etcd") == NULL ||
            strstr(complaint, no_urls[i][1]) == NULL)
            fail_msg("'%s' was taken, or '%s' said", no_urls[i][0], complaint);
}

/* A complaint shows the address that it is about, and not those behind it. */
static void test_complaint_names_one(void **state)
{
    etcd_urls u;
    char complaint[ETCD_URLS_COMPLAINT];
    char list[ETCD_MAX_URL + 40] = "http://";
    (void)state;
    assert_false(etcd_urls_parse(&u, "http://a:1,http://b:x,http://c:1", complaint));
    assert_non_null(strstr(complaint, "'http://b:x'"));
    memset(list + 7, 'a', ETCD_MAX_URL - 6);
    strcpy(list + ETCD_MAX_URL + 1, ",http://second");
    assert_false(etcd_urls_parse(&u, list, complaint));
    assert_non_null(strstr(complaint, "too long"));
    assert_null(strstr(complaint, "second"));
}

int main(void)
{
    static suite s;
    suite_add(&s, test_ask_nothing, NULL, "what is asked only to be answered");
    suite_add(&s, test_ask, NULL, "what is asked");
    suite_add(&s, test_ask_leaves_nothing, NULL, "what is asked leaves nothing behind");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        suite_add(&s, test_good, &good[i], "%s", good[i].name);
    suite_add(&s, test_bad, NULL, "what is no answer");
    suite_add(&s, test_nothing_there, NULL, "nothing there, in the first epoch");
    suite_add(&s, test_header, NULL, "which etcd it is, and of which revision");
    suite_add(&s, test_remember, NULL, "another etcd is not believed, nor one that has gone back");
    suite_add(&s, test_cut, NULL, "half an answer");
    suite_add(&s, test_large, NULL, "large answers");
    suite_add(&s, test_deep, NULL, "a deep one");
    suite_add(&s, test_round_trip, NULL, "values come back as they were");
    suite_add(&s, test_error, NULL, "what etcd complains of");
    suite_add(&s, test_judge, NULL, "what the number of values means");
    suite_add(&s, test_urls, NULL, "addresses");
    suite_add(&s, test_no_urls, NULL, "what is no address");
    suite_add(&s, test_complaint_names_one, NULL, "a complaint names one address");
    return suite_run(&s, "etcd");
}
