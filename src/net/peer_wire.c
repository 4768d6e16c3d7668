/* Messages between nodes, as bytes and back: words and limits here, fields in peer_walk.c. */
#include "peer_wire.h"
#include "peer_walk.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_BEFORE_BLOBS = 3 }; /* kind, name, numbers */
static_assert(WORDS_BEFORE_BLOBS + (int)WALK_MOST_BLOBS <= (int)RESP_MOST_WORDS, "one command");
static_assert((int)WALK_MOST_NUMBERS * (int)WALK_MOST_NUMBER_BYTES + (int)PEER_MOST_NAME +
                      (int)RESP_MOST_WORDS * 16 <=
                  (int)PEER_MOST_REST,
              "all but operations and snapshot, with the signs of RESP");
static_assert((int)PEER_MOST_OPS * (int)WME_MOST_OP <= (int)PEER_MOST_SNAPSHOT, "see limits_for");

static_assert(3 + (int)PEER_MOST_LISTED <= (int)RESP_MOST_WORDS, "one command");
static_assert((int)PEER_MOST_LISTED * ((int)PEER_MOST_NAME + 16) + 64 <= (int)PEER_MOST_SMALL,
              "a list is no large message");

/* ---- reading ---- */

static resp_parsed bad(const char *complaint)
{
    return (resp_parsed){.verdict = RESP_BAD, .complaint = complaint};
}

/* Only a STATE may be large; it is known by its first word, long before it is all there. */
static resp_limits limits_for(const char *bytes, size_t count)
{
    static const char state[] = "$5\r\nSTATE\r\n";
    const char *word = memchr(bytes, '$', count < 8 ? count : 8);
    bool large = word != NULL && (size_t)(bytes + count - word) >= sizeof state - 1 &&
                 memcmp(word, state, sizeof state - 1) == 0;
    if (large)
        return (resp_limits){PEER_MOST_SNAPSHOT, PEER_MOST_BYTES};
    return (resp_limits){WME_MOST_OP, PEER_MOST_SMALL};
}

static resp_parsed read_complaint(const char *bytes, size_t count, peer_said *said)
{
    const char *end =
        memchr(bytes, '\n', count < PEER_MOST_COMPLAINT ? count : PEER_MOST_COMPLAINT);
    if (end == NULL && count >= PEER_MOST_COMPLAINT)
        return bad("ERR a complaint without end");
    if (end == NULL)
        return (resp_parsed){.verdict = RESP_MORE};
    size_t used = (size_t)(end - bytes) + 1;
    said->verb = PEER_COMPLAINT;
    said->words = (resp_word){bytes + 1, used - 2};
    if (said->words.bytes > 0 && end[-1] == '\r')
        said->words.bytes--;
    return (resp_parsed){.verdict = RESP_COMPLETE, .used = used};
}

static bool find_kind(resp_word name, wme_kind *kind)
{
    for (uint32_t k = 0; k < WME_KINDS; k++)
        if (resp_is(name, peer_kind_name((wme_kind)k))) {
            *kind = (wme_kind)k;
            return true;
        }
    return false;
}

static const char *read_message(const resp_command *command, uint8_t nodes, peer_said *said)
{
    said->verb = PEER_MESSAGE;
    if (!find_kind(command->word[0], &said->message.kind))
        return "ERR a message of no known kind";
    if (command->words < WORDS_BEFORE_BLOBS)
        return "ERR a message without a name, or without numbers";
    said->words = command->word[1];
    if (said->words.bytes < 1 || said->words.bytes > PEER_MOST_NAME)
        return "ERR the name of a lock is empty or too long";
    resp_word numbers = command->word[2];
    walk w = {.reads = true, .nodes = nodes, .most_blobs = command->words - WORDS_BEFORE_BLOBS};
    if (w.most_blobs > WALK_MOST_BLOBS)
        return "ERR more words than any message has";
    w.at = numbers.at;
    w.end = numbers.at + numbers.bytes;
    memcpy(w.blob, &command->word[WORDS_BEFORE_BLOBS], w.most_blobs * sizeof w.blob[0]);
    walk_message(&w, &said->message, &said->snapshot);
    if (w.at != w.end)
        walk_complain(&w, "ERR more numbers than such a message has");
    if (w.blobs != w.most_blobs)
        walk_complain(&w, "ERR more words than such a message has");
    return w.complaint;
}

/* ---- who is there, and which locks ---- */

/* Exactly so many numbers, a space between. */
static bool read_numbers(resp_word word, uint64_t *number, int count)
{
    const char *at = word.at;
    const char *end = word.at + word.bytes;
    for (int i = 0; i < count; i++) {
        const char *first = at;
        for (number[i] = 0; at < end && *at >= '0' && *at <= '9'; at++)
            if (__builtin_mul_overflow(number[i], (uint64_t)10, &number[i]) ||
                __builtin_add_overflow(number[i], (uint64_t)(*at - '0'), &number[i]))
                return false;
        if (at == first || (*first == '0' && at > first + 1))
            return false;
        if (i + 1 < count && (at == end || *at++ != ' '))
            return false;
    }
    return at == end;
}

static const char *read_muster(const resp_command *command, peer_said *said)
{
    uint64_t number[5];
    said->verb = PEER_MUSTER;
    if (command->words != 2 || !read_numbers(command->word[1], number, 5) || number[0] > 1 ||
        number[2] == 0 || number[3] > MUSTER_SETTLED || number[4] > 1)
        return "ERR a muster that makes no sense";
    said->muster = (muster_message){.asks = number[0] == 1,
                                    .nonce = number[1],
                                    .boot = number[2],
                                    .state = (muster_state)number[3],
                                    .other = number[4] == 1};
    return NULL;
}

static const char *read_list(const resp_command *command, uint32_t before, peer_said *said)
{
    peer_list *l = &said->list;
    uint64_t end = 0;
    said->verb = before == 2 ? PEER_LIST : PEER_LISTED;
    l->names = command->words - before;
    if (command->words < before || l->names > (before == 2 ? 1 : PEER_MOST_LISTED) ||
        !read_numbers(command->word[1], &l->nonce, 1) ||
        (before == 3 && (!read_numbers(command->word[2], &end, 1) || end > 1)))
        return "ERR a list that makes no sense";
    l->end = end == 1;
    for (uint32_t i = 0; i < l->names; i++) {
        l->name[i] = command->word[before + i];
        if (l->name[i].bytes < 1 || l->name[i].bytes > PEER_MOST_NAME)
            return "ERR the name of a lock is empty or too long";
    }
    return NULL;
}

static const char *read_command(const resp_command *command, uint8_t nodes, peer_said *said)
{
    if (resp_is(command->word[0], "MUSTER"))
        return read_muster(command, said);
    if (resp_is(command->word[0], "LIST"))
        return read_list(command, 2, said);
    if (resp_is(command->word[0], "LISTED"))
        return read_list(command, 3, said);
    return read_message(command, nodes, said);
}

resp_parsed peer_read(const char *bytes, size_t count, uint8_t nodes, peer_said *said)
{
    assert(nodes >= 1 && nodes <= WME_MOST_NODES);
    memset(said, 0, sizeof *said);
    if (count == 0)
        return (resp_parsed){.verdict = RESP_MORE};
    if (bytes[0] == '-')
        return read_complaint(bytes, count, said);
    if (bytes[0] != '*')
        return bad("ERR nodes speak in arrays of bulk strings");
    resp_command command;
    resp_limits limits = limits_for(bytes, count);
    resp_parsed p = resp_parse(bytes, count, &limits, &command);
    if (p.verdict == RESP_MORE && count >= limits.command_bytes)
        return bad("ERR Protocol error: too big a command"); /* a full buffer is never waited for */
    if (p.verdict != RESP_COMPLETE)
        return p;
    if (command.words == 0)
        return bad("ERR a message of no words");
    if (resp_is(command.word[0], "HEARTBEAT"))
        return command.words == 1 ? p : bad("ERR more words than a heartbeat has");
    const char *complaint = read_command(&command, nodes, said);
    if (complaint == NULL)
        return p;
    peer_said_drop(said);
    return bad(complaint);
}

void peer_said_drop(peer_said *said)
{
    wme_message *m = &said->message;
    wme_op_drop(m->op);
    wme_op_drop(m->record.last);
    for (uint8_t i = 0; i < m->count; i++)
        wme_op_drop(m->ops[i]);
    memset(said, 0, sizeof *said);
}

/* ---- writing ---- */

const char *peer_say(resp_out *out, uint8_t nodes, resp_word name, const wme_message *m)
{
    char numbers[WALK_MOST_NUMBERS * WALK_MOST_NUMBER_BYTES];
    wme_message copy = *m;
    walk w = {.nodes = nodes, .to = numbers};
    assert(nodes >= 1 && nodes <= WME_MOST_NODES && m->kind < WME_KINDS);
    assert(name.bytes >= 1 && name.bytes <= PEER_MOST_NAME);
    walk_message(&w, &copy, NULL);
    if (w.complaint != NULL)
        return w.complaint;
    size_t before = out->bytes;
    bool was_full = out->overflow;
    resp_array(out, WORDS_BEFORE_BLOBS + w.blobs);
    resp_text(out, peer_kind_name(m->kind));
    resp_bulk(out, name.at, name.bytes);
    resp_bulk(out, numbers, (size_t)(w.to - numbers) - 1); /* without the last space */
    for (uint32_t i = 0; i < w.blobs; i++)
        resp_bulk(out, w.blob[i].at, w.blob[i].bytes);
    if (!out->overflow)
        return NULL;
    out->bytes = before;
    out->overflow = was_full;
    return "ERR no room for what is to be sent";
}

void peer_say_heartbeat(resp_out *out)
{
    static const char whole[] = "*1\r\n$9\r\nHEARTBEAT\r\n";
    if (out->most == 0 || out->bytes + sizeof whole - 1 <= out->most) /* never a part of it */
        resp_raw(out, whole, sizeof whole - 1);
}

/* All of it, or nothing. */
static void finish(resp_out *out, size_t before, bool was_full)
{
    if (!out->overflow || was_full)
        return;
    out->bytes = before;
    out->overflow = was_full;
}

void peer_say_muster(resp_out *out, const muster_message *m)
{
    char numbers[64];
    size_t before = out->bytes;
    bool was_full = out->overflow;
    snprintf(numbers, sizeof numbers, "%d %" PRIu64 " %" PRIu64 " %d %d", m->asks, m->nonce,
             m->boot, m->state, m->other);
    resp_array(out, 2);
    resp_text(out, "MUSTER");
    resp_text(out, numbers);
    finish(out, before, was_full);
}

static void say_list(resp_out *out, const peer_list *l, bool answers)
{
    char nonce[24];
    size_t before = out->bytes;
    bool was_full = out->overflow;
    snprintf(nonce, sizeof nonce, "%" PRIu64, l->nonce);
    resp_array(out, (answers ? 3 : 2) + l->names);
    resp_text(out, answers ? "LISTED" : "LIST");
    resp_text(out, nonce);
    if (answers)
        resp_text(out, l->end ? "1" : "0");
    for (uint32_t i = 0; i < l->names; i++)
        resp_bulk(out, l->name[i].at, l->name[i].bytes);
    finish(out, before, was_full);
}

void peer_say_list(resp_out *out, const peer_list *l)
{
    say_list(out, l, false);
}

void peer_say_listed(resp_out *out, const peer_list *l)
{
    say_list(out, l, true);
}
