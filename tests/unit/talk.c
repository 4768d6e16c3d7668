#include "talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void post(lock_session *to, notice *n)
{
    talker *t = (talker *)(void *)to;
    n->next = NULL;
    *t->last = n;
    t->last = &n->next;
}

void talk_begin(talker *t, service *of)
{
    *t = (talker){.first = NULL};
    t->last = &t->first;
    session_start(&t->session, of, &t->traffic, post);
}

void talk_end(talker *t, uint64_t now)
{
    session_end(&t->session, now);
    while (t->first != NULL) {
        notice *n = t->first;
        t->first = n->next;
        free(n);
    }
    session_free(&t->session);
}

/* All that was said, and forgotten with the next call. */
static const char *heard(talker *t)
{
    static char text[1 << 17];
    resp_out *out = &t->session.out;
    assert_true(out->bytes < sizeof text);
    memcpy(text, out->bytes > 0 ? out->at : "", out->bytes);
    text[out->bytes] = '\0';
    assert_int_equal(strlen(text), out->bytes); /* none of it is a zero */
    out->bytes = 0;
    return text;
}

static const char *say(talker *t, uint64_t now, const char *bytes, size_t count)
{
    assert_int_equal(session_feed(&t->session, bytes, count, now), count);
    return heard(t);
}

void talk(talker *t, uint64_t now, const char *commands, const char *answer)
{
    assert_string_equal(say(t, now, commands, strlen(commands)), answer);
}

static size_t put_word(char *bytes, const char *word, size_t length)
{
    size_t head = (size_t)sprintf(bytes, "$%zu\r\n", length);
    memcpy(bytes + head, word, length);
    memcpy(bytes + head + length, "\r\n", 2);
    return head + length + 2;
}

static const char *say_words(talker *t, uint64_t now, const char *words)
{
    char bytes[8192];
    int count = 1;
    for (const char *c = words; *c != '\0'; c++)
        count += *c == '|';
    size_t used = (size_t)sprintf(bytes, "*%d\r\n", count);
    for (; count-- > 0; words += strcspn(words, "|") + (count > 0))
        used += put_word(bytes + used, words, strcspn(words, "|"));
    return say(t, now, bytes, used);
}

void talk_words(talker *t, uint64_t now, const char *words, const char *answer)
{
    assert_string_equal(say_words(t, now, words), answer);
}

void talk_say(talker *t, uint64_t now, const char *words)
{
    say_words(t, now, words);
}

void talk_hear(talker *t, uint64_t now, const char *answer)
{
    while (t->first != NULL) {
        notice *n = t->first;
        t->first = n->next;
        if (t->first == NULL)
            t->last = &t->first;
        session_notice(n, now);
    }
    assert_string_equal(heard(t), answer);
}

void talk_time(talker *t, uint64_t now, const char *answer)
{
    session_time(&t->session, now);
    assert_string_equal(heard(t), answer);
}

void talk_begins(talker *t, uint64_t now, const char *commands, const char *answer)
{
    const char *text = say(t, now, commands, strlen(commands));
    if (strncmp(text, answer, strlen(answer)) != 0)
        assert_string_equal(text, answer);
}

uint64_t talk_token(talker *t, uint64_t now, const char *commands)
{
    const char *text = say(t, now, commands, strlen(commands));
    assert_true(text[0] == ':' && text[1] != '-');
    return strtoull(text + 1, NULL, 10);
}

/* ---- rules ---- */

/* The command with so many words; answered in a session of its own. */
static const char *answer_to(service *of, const char *name, uint32_t words)
{
    char bytes[1024];
    size_t used = (size_t)sprintf(bytes, "*%u\r\n", words);
    talker t;
    talk_begin(&t, of);
    for (uint32_t i = 0; i < words; i++)
        used += put_word(bytes + used, i == 0 ? name : "1", i == 0 ? strlen(name) : 1);
    const char *answer = say(&t, 0, bytes, used);
    talk_end(&t, 0);
    return answer;
}

void talk_rules(service *of, const talk_rule *rules, size_t count)
{
    const char *secret = of->secret;
    for (const talk_rule *r = rules; r < rules + count; r++) {
        char wrong[128];
        snprintf(wrong, sizeof wrong, "-ERR wrong number of arguments for '%s'\r\n", r->name);
        of->secret = NULL;
        if (r->least > 1)
            assert_string_equal(answer_to(of, r->name, r->least - 1), wrong);
        assert_string_not_equal(answer_to(of, r->name, r->least), wrong);
        if (r->max < RESP_MAX_WORDS)
            assert_string_equal(answer_to(of, r->name, r->max + 1), wrong);
        assert_string_not_equal(answer_to(of, r->name, r->max), wrong);
        of->secret = "secret";
        assert_string_equal(answer_to(of, r->name, r->least),
                            r->stranger != NULL ? r->stranger
                                                : "-NOAUTH Authentication required.\r\n");
    }
    of->secret = secret;
}
