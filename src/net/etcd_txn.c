/* See etcd_txn.h. */
#include "etcd_txn.h"

#include "resp.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- base64 ---- */

static char *to_base64(etcd_bytes from)
{
    char *text = malloc((from.bytes + 2) / 3 * 4 + 1);
    if (text != NULL)
        EVP_EncodeBlock((unsigned char *)text, from.at, (int)from.bytes);
    return text;
}

/* NULL if it is none, too long, or there is no memory. */
static void *from_base64(const char *text, size_t length, size_t *bytes)
{
    size_t end = 0; /* signs that stand for nothing */
    while (end < 2 && end < length && text[length - 1 - end] == '=')
        end++;
    if (length == 0 || length % 4 != 0 || length / 4 * 3 > ETCD_MOST_VALUE ||
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") !=
            length - end)
        return NULL;
    unsigned char *value = malloc(length / 4 * 3);
    if (value != NULL && EVP_DecodeBlock(value, (const unsigned char *)text, (int)length) < 0) {
        free(value);
        value = NULL;
    }
    *bytes = length / 4 * 3 - end;
    return value;
}

/* ---- asking ---- */

char *etcd_ask(etcd_bytes key, uint64_t epoch, etcd_bytes value)
{
    char version[24];
    char *text = NULL;
    char *name = to_base64(key);
    char *data = to_base64(value);
    snprintf(version, sizeof version, "%llu", (unsigned long long)epoch - 1);
    json_t *all = NULL;
    if (name != NULL && data != NULL)
        all = json_pack("{s:[{s:s, s:s, s:s, s:s}], s:[{s:{s:s, s:s}}], s:[{s:{s:s}}]}", "compare",
                        "target", "VERSION", "result", "EQUAL", "key", name, "version", version,
                        "success", "request_put", "key", name, "value", data, "failure",
                        "request_range", "key", name);
    if (all != NULL)
        text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    free(name);
    free(data);
    return text;
}

/* ---- being answered ---- */

static bool complain(char words[ETCD_COMPLAINT], const char *what)
{
    snprintf(words, ETCD_COMPLAINT, "%s", what);
    return false;
}

/* The first of a list, of objects; NULL if there is not exactly one. */
static json_t *only(json_t *list)
{
    json_t *first = json_array_size(list) == 1 ? json_array_get(list, 0) : NULL;
    return json_is_object(first) ? first : NULL;
}

static bool is_key(json_t *text, etcd_bytes key)
{
    size_t bytes = 0;
    void *its = json_is_string(text)
                    ? from_base64(json_string_value(text), json_string_length(text), &bytes)
                    : NULL;
    bool same = its != NULL && bytes == key.bytes && memcmp(its, key.at, bytes) == 0;
    free(its);
    return same;
}

/* The key as it is, with its version and value. */
static bool read_pair(json_t *pair, etcd_bytes key, etcd_answer *a, char words[ETCD_COMPLAINT])
{
    json_t *version = json_object_get(pair, "version");
    json_t *value = json_object_get(pair, "value");
    resp_word digits = {json_string_value(version), json_string_length(version)};
    if (!is_key(json_object_get(pair, "key"), key))
        return complain(words, "an answer about another key");
    if (digits.at == NULL || !resp_number(digits, 1, INT64_MAX, &a->version))
        return complain(words, "an answer without a good version");
    if (value != NULL && !json_is_string(value))
        return complain(words, "an answer whose value is no string");
    if (json_string_length(value) == 0)
        return true; /* that this is no decision is found out by who reads it */
    a->value = from_base64(json_string_value(value), json_string_length(value), &a->value_bytes);
    return a->value != NULL || complain(words, "an answer whose value is not base64, or too long");
}

static bool read_range(json_t *range, etcd_bytes key, uint64_t epoch, etcd_answer *a,
                       char words[ETCD_COMPLAINT])
{
    json_t *pairs = json_object_get(range, "kvs");
    if (!json_is_object(range))
        return complain(words, "an answer that shows no key");
    if (pairs != NULL && json_array_size(pairs) != 0) {
        json_t *pair = only(pairs);
        if (pair == NULL)
            return complain(words, "an answer that shows something else than one key");
        if (!read_pair(pair, key, a, words))
            return false;
    } else if (pairs != NULL && !json_is_array(pairs)) {
        return complain(words, "an answer whose keys are no list");
    }
    a->verdict = outside_judge(epoch, a->version);
    if (a->verdict == OUTSIDE_MINE) /* then it should have been taken */
        return complain(words, "an answer that contradicts itself");
    return true;
}

static bool read_answer(json_t *all, etcd_bytes key, uint64_t epoch, etcd_answer *a,
                        char words[ETCD_COMPLAINT])
{
    json_t *succeeded = json_object_get(all, "succeeded");
    json_t *response = only(json_object_get(all, "responses"));
    if (response == NULL || (succeeded != NULL && !json_is_boolean(succeeded)))
        return complain(words, "an answer to something else");
    if (!json_is_true(succeeded))
        return read_range(json_object_get(response, "response_range"), key, epoch, a, words);
    if (!json_is_object(json_object_get(response, "response_put")))
        return complain(words, "an answer that does not say what was put");
    a->version = epoch - 1;
    a->verdict = OUTSIDE_MINE;
    return true;
}

bool etcd_read(etcd_bytes text, etcd_bytes key, uint64_t epoch, etcd_answer *a,
               char words[ETCD_COMPLAINT])
{
    *a = (etcd_answer){0};
    if (text.bytes > ETCD_MOST_ANSWER)
        return complain(words, "an answer that is too long");
    json_t *all = json_loadb(text.at, text.bytes, JSON_REJECT_DUPLICATES, NULL);
    bool fine = all != NULL ? read_answer(all, key, epoch, a, words)
                            : complain(words, "an answer that is no JSON");
    json_decref(all);
    if (fine)
        return true;
    free(a->value);
    *a = (etcd_answer){0};
    return false;
}

char *etcd_read_error(etcd_bytes text)
{
    json_t *all = json_loadb(text.at, text.bytes, 0, NULL);
    const char *words = json_string_value(json_object_get(all, "message"));
    char *copy = words != NULL ? strndup(words, ETCD_COMPLAINT - 1) : NULL;
    json_decref(all);
    return copy;
}
