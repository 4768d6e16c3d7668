/* See etcd_txn.h. */
#include "etcd_txn.h"
#include "base64.h"
#include "resp.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIGNS = (ETCD_MAX_VALUE + 2) / 3 * 4 }; /* of base64 */

/* ---- asking ---- */

/* If version(key) = version then put(key, value); then show what is there, or only that it is. */
static char *make_text(etcd_bytes key, uint64_t version, etcd_bytes value, bool count_only)
{
    char digits[24];
    char *text = NULL;
    char *name = base64_encode(key.at, key.bytes);
    char *data = base64_encode(value.at, value.bytes);
    json_t *all = NULL;
    snprintf(digits, sizeof digits, "%" PRIu64, version);
    if (name != NULL && data != NULL)
        all = json_pack("{s:[{s:s, s:s, s:s, s:s}], s:[{s:{s:s, s:s}}, {s:{s:s, s:b}}],"
                        " s:[{s:{s:s, s:b}}]}",
                        "compare", "target", "VERSION", "result", "EQUAL", "key", name, "version",
                        digits, "success", "request_put", "key", name, "value", data,
                        "request_range", "key", name, "count_only", count_only, "failure",
                        "request_range", "key", name, "count_only", count_only);
    if (all != NULL)
        text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    free(name);
    free(data);
    return text;
}

char *etcd_ask(etcd_bytes key, uint64_t epoch, etcd_bytes value)
{
    return make_text(key, epoch - 1, value, false);
}

char *etcd_ask_nothing(void)
{
    return make_text((etcd_bytes){"baton/", 6}, ETCD_NEVER - 1, (etcd_bytes){"?", 1}, true);
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
                    ? base64_decode(json_string_value(text), json_string_length(text),
                                    ETCD_MAX_VALUE, &bytes)
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
    size_t signs = json_string_length(value);
    if (signs == 0 || signs > MAX_SIGNS)
        return true; /* that this is no decision is found out by who reads it */
    a->value = base64_decode(json_string_value(value), signs, ETCD_MAX_VALUE, &a->value_bytes);
    return a->value != NULL || complain(words, "an answer whose value is not base64");
}

/* The key as it is after the request. */
static bool read_range(json_t *range, etcd_bytes key, etcd_answer *a, char words[ETCD_COMPLAINT])
{
    json_t *pairs = json_object_get(range, "kvs");
    if (!json_is_object(range))
        return complain(words, "an answer that shows no key");
    if (pairs != NULL && !json_is_array(pairs))
        return complain(words, "an answer whose keys are no list");
    if (json_array_size(pairs) == 0)
        return true; /* there is none */
    json_t *pair = only(pairs);
    if (pair == NULL)
        return complain(words, "an answer that shows something else than one key");
    return read_pair(pair, key, a, words);
}

static bool read_count(json_t *text, uint64_t *count)
{
    resp_word digits = {json_string_value(text), json_string_length(text)};
    return digits.at != NULL && resp_number(digits, 1, UINT64_MAX, count);
}

/* Who answers, and how much it has: whoever leaves that out is no etcd. */
static bool read_header(json_t *header, etcd_answer *a, char words[ETCD_COMPLAINT])
{
    return (read_count(json_object_get(header, "cluster_id"), &a->cluster) &&
            read_count(json_object_get(header, "revision"), &a->revision)) ||
           complain(words, "an answer that does not say from which etcd, and of which revision");
}

/*
 * What is shown last counts, not what etcd says that it did: a proxy that repeats an answer, or
 * gives it to somebody else, would make two believe that theirs was taken.
 */
static bool read_answer(json_t *all, etcd_bytes key, uint64_t epoch, etcd_answer *a,
                        char words[ETCD_COMPLAINT])
{
    json_t *succeeded = json_object_get(all, "succeeded");
    json_t *responses = json_object_get(all, "responses");
    bool put = json_is_true(succeeded);
    json_t *first = json_array_get(responses, 0);
    json_t *last = json_array_get(responses, put);
    if ((succeeded != NULL && !json_is_boolean(succeeded)) || !json_is_object(last) ||
        json_array_size(responses) != 1U + put)
        return complain(words, "an answer to something else");
    if (put && !json_is_object(json_object_get(first, "response_put")))
        return complain(words, "an answer that does not say what was put");
    if (!read_range(json_object_get(last, "response_range"), key, a, words))
        return false;
    a->verdict = outside_judge(epoch, a->version);
    if (a->verdict == OUTSIDE_MINE || (put && a->verdict != OUTSIDE_THIS))
        return complain(words, "an answer that contradicts itself");
    return true;
}

bool etcd_read(etcd_bytes text, etcd_bytes key, uint64_t epoch, etcd_answer *a,
               char words[ETCD_COMPLAINT])
{
    *a = (etcd_answer){0};
    if (text.bytes > ETCD_MAX_ANSWER)
        return complain(words, "an answer that is too long");
    json_t *all = json_loadb(text.at, text.bytes, JSON_REJECT_DUPLICATES, NULL);
    bool fine = all != NULL ? read_answer(all, key, epoch, a, words) &&
                                  read_header(json_object_get(all, "header"), a, words)
                            : complain(words, "an answer that is no JSON");
    json_decref(all);
    if (fine)
        return true;
    free(a->value);
    *a = (etcd_answer){0};
    return false;
}

bool etcd_remember(etcd_memory *m, uint64_t asked_at, const etcd_answer *a,
                   char words[ETCD_COMPLAINT])
{
    if (m->cluster != 0 && a->cluster != m->cluster) {
        snprintf(words, ETCD_COMPLAINT,
                 "another cluster of etcd, %" PRIx64 " and not %" PRIx64 ": correct --consensus, "
                 "or restart this node if it is meant",
                 a->cluster, m->cluster);
        return false;
    }
    if (a->revision < asked_at && m->back_to == 0) {
        m->back_from = asked_at;
        m->back_to = a->revision;
    }
    if (m->back_to != 0) {
        snprintf(words, ETCD_COMPLAINT,
                 "etcd has gone back from revision %" PRIu64 " to %" PRIu64 ", and may have "
                 "forgotten decisions: see operations.md, and restart this node",
                 m->back_from, m->back_to);
        return false;
    }
    m->cluster = a->cluster;
    if (a->revision > m->revision)
        m->revision = a->revision;
    return true;
}

char *etcd_read_error(etcd_bytes text)
{
    json_t *all = json_loadb(text.at, text.bytes, 0, NULL);
    const char *words = json_string_value(json_object_get(all, "message"));
    char *copy = words != NULL ? strndup(words, ETCD_COMPLAINT - 1) : NULL;
    json_decref(all);
    return copy;
}
