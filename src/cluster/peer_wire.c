/* Messages between nodes, as bytes and back: words and limits here, fields in peer_walk.c. */
#include "peer_wire.h"
#include "peer_walk.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_BEFORE_BLOBS = 3 }; /* kind, name, numbers */
static_assert(WORDS_BEFORE_BLOBS + (int)WALK_MAX_BLOBS <= (int)RESP_MAX_WORDS, "one command");
static_assert((int)WALK_MAX_NUMBERS * (int)WALK_MAX_NUMBER_BYTES + (int)PEER_MAX_NAME +
                      (int)RESP_MAX_WORDS * 16 <=
                  (int)PEER_MAX_REST,
              "all but operations and snapshot, with the signs of RESP");
static_assert((int)PEER_MAX_OPS * (int)WME_MAX_OP <= (int)PEER_MAX_SNAPSHOT, "see limits_for");

static_assert(3 + (int)PEER_MAX_LISTED <= (int)RESP_MAX_WORDS, "one command");
static_assert((int)PEER_MAX_LISTED * ((int)PEER_MAX_NAME + 16) + 64 <= (int)PEER_MAX_SMALL,
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
        return (resp_limits){PEER_MAX_SNAPSHOT, PEER_MAX_BYTES};
    return (resp_limits){WME_MAX_OP, PEER_MAX_SMALL};
}

static resp_parsed read_complaint(const char *bytes, size_t count, peer_said *said)
{
    const char *end = memchr(bytes, '\n', count < PEER_MAX_COMPLAINT ? count : PEER_MAX_COMPLAINT);
    if (end == NULL && count >= PEER_MAX_COMPLAINT)
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
    if (said->words.bytes < 1 || said->words.bytes > PEER_MAX_NAME)
        return "ERR the name of a lock is empty or too long";
    resp_word numbers = command->word[2];
    walk w = {.reads = true, .nodes = nodes, .max_blobs = command->words - WORDS_BEFORE_BLOBS};
    if (w.max_blobs > WALK_MAX_BLOBS)
        return "ERR more words than any message has";
    w.at = numbers.at;
    w.end = numbers.at + numbers.bytes;
    memcpy(w.blob, &command->word[WORDS_BEFORE_BLOBS], w.max_blobs * sizeof w.blob[0]);
    walk_message(&w, &said->message, &said->snapshot);
    if (w.at != w.end)
        walk_complain(&w, "ERR more numbers than such a message has");
    if (w.blobs != w.max_blobs)
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

static const char *read_boot(const resp_command *command, peer_said *said)
{
    uint64_t number[10];
    said->verb = PEER_BOOT;
    if (command->words != 2 || !read_numbers(command->word[1], number, 10) || number[0] > 1 ||
        number[2] == 0 || number[3] > BOOT_SETTLED || number[4] > 1 ||
        (number[5] | number[6] | number[8] | number[9]) > UINT64_MAX / 2)
        return "ERR a BOOT that makes no sense";
    said->boot_check = (boot_message){.asks = number[0] == 1,
                                      .nonce = number[1],
                                      .boot = number[2],
                                      .state = (boot_state)number[3],
                                      .other = number[4] == 1,
                                      .life = number[5],
                                      .known = number[6],
                                      .run = number[7],
                                      .begin = number[8],
                                      .turn = number[9]};
    return NULL;
}

static const char *read_heartbeat(const resp_command *command, peer_said *said)
{
    said->verb = PEER_HEARTBEAT;
    if (command->words != 2 || !read_numbers(command->word[1], &said->turn, 1) ||
        said->turn > UINT64_MAX / 2)
        return "ERR a heartbeat that makes no sense";
    return NULL;
}

static const char *read_list(const resp_command *command, uint32_t before, peer_said *said)
{
    peer_list *l = &said->list;
    uint64_t end = 0;
    said->verb = before == 2 ? PEER_LIST : PEER_LISTED;
    l->names = command->words - before;
    if (command->words < before || l->names > (before == 2 ? 1 : PEER_MAX_LISTED) ||
        !read_numbers(command->word[1], &l->nonce, 1) ||
        (before == 3 && (!read_numbers(command->word[2], &end, 1) || end > 1)))
        return "ERR a list that makes no sense";
    l->end = end == 1;
    for (uint32_t i = 0; i < l->names; i++) {
        l->name[i] = command->word[before + i];
        if (l->name[i].bytes < 1 || l->name[i].bytes > PEER_MAX_NAME)
            return "ERR the name of a lock is empty or too long";
    }
    return NULL;
}

/* As a SYNC alone must be: else a lock would come into memory for it, before it is refused. */
static bool is_sync(const uint64_t number[PEER_SYNC_NUMBERS])
{
    return number[0] >= 1 && number[0] <= WME_MAX_EPOCH && number[1] >> WME_ENTRY_BITS == 0 &&
           number[2] <= UINT64_MAX / 2;
}

static const char *read_syncs(const resp_command *command, peer_said *said)
{
    peer_syncs *s = &said->syncs;
    said->verb = PEER_SYNCS;
    s->names = command->words - 2;
    if (command->words < 3 || s->names > PEER_MAX_LISTED ||
        !read_numbers(command->word[1], s->number, (int)s->names * PEER_SYNC_NUMBERS))
        return "ERR a SYNCS that makes no sense";
    for (uint32_t i = 0; i < s->names; i++) {
        if (!is_sync(&s->number[(size_t)i * PEER_SYNC_NUMBERS]))
            return "ERR a SYNCS that makes no sense";
        s->name[i] = command->word[2 + i];
        if (s->name[i].bytes < 1 || s->name[i].bytes > PEER_MAX_NAME)
            return "ERR the name of a lock is empty or too long";
    }
    return NULL;
}

static const char *read_command(const resp_command *command, uint8_t nodes, peer_said *said)
{
    if (resp_is(command->word[0], "HEARTBEAT"))
        return read_heartbeat(command, said);
    if (resp_is(command->word[0], "BOOT"))
        return read_boot(command, said);
    if (resp_is(command->word[0], "LIST"))
        return read_list(command, 2, said);
    if (resp_is(command->word[0], "LISTED"))
        return read_list(command, 3, said);
    if (resp_is(command->word[0], "SYNCS"))
        return read_syncs(command, said);
    return read_message(command, nodes, said);
}

resp_parsed peer_read(const char *bytes, size_t count, uint8_t nodes, peer_said *said)
{
    assert(nodes >= 1 && nodes <= WME_MAX_NODES);
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
    char numbers[WALK_MAX_NUMBERS * WALK_MAX_NUMBER_BYTES];
    wme_message copy = *m;
    walk w = {.nodes = nodes, .to = numbers};
    assert(nodes >= 1 && nodes <= WME_MAX_NODES && m->kind < WME_KINDS);
    assert(name.bytes >= 1 && name.bytes <= PEER_MAX_NAME);
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

/* All of it, or nothing. */
static void finish(resp_out *out, size_t before, bool was_full)
{
    if (!out->overflow || was_full)
        return;
    out->bytes = before;
    out->overflow = was_full;
}

static void say_numbers(resp_out *out, const char *verb, const char *numbers)
{
    size_t before = out->bytes;
    bool was_full = out->overflow;
    resp_array(out, 2);
    resp_text(out, verb);
    resp_text(out, numbers);
    finish(out, before, was_full);
}

void peer_say_heartbeat(resp_out *out, uint64_t turn)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, turn);
    say_numbers(out, "HEARTBEAT", number);
}

void peer_say_boot(resp_out *out, const boot_message *m)
{
    char numbers[192];
    snprintf(numbers, sizeof numbers,
             "%d %" PRIu64 " %" PRIu64 " %d %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
             " %" PRIu64,
             m->asks, m->nonce, m->boot, m->state, m->other, m->life, m->known, m->run, m->begin,
             m->turn);
    say_numbers(out, "BOOT", numbers);
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

/* ---- how far several locks are ---- */

void peer_syncs_add(peer_syncs *s, resp_word name, const wme_message *sync)
{
    uint64_t *number = &s->number[(size_t)s->names * PEER_SYNC_NUMBERS];
    assert(s->names < PEER_MAX_LISTED && sync->kind == WME_SYNC);
    s->name[s->names++] = name;
    number[0] = sync->epoch;
    number[1] = sync->sn;
    number[2] = sync->executed;
}

wme_message peer_syncs_at(const peer_syncs *s, uint32_t at)
{
    const uint64_t *number = &s->number[(size_t)at * PEER_SYNC_NUMBERS];
    assert(at < s->names);
    return (wme_message){
        .kind = WME_SYNC, .epoch = number[0], .sn = number[1], .executed = number[2]};
}

const char *peer_say_syncs(resp_out *out, const peer_syncs *s)
{
    char numbers[PEER_MAX_LISTED * PEER_SYNC_NUMBERS * WALK_MAX_NUMBER_BYTES + 1];
    size_t length = 0;
    size_t before = out->bytes;
    bool was_full = out->overflow;
    assert(s->names > 0 && s->names <= PEER_MAX_LISTED);
    for (uint32_t i = 0; i < s->names * PEER_SYNC_NUMBERS; i++)
        length += (size_t)snprintf(numbers + length, sizeof numbers - length, "%" PRIu64 " ",
                                   s->number[i]);
    resp_array(out, 2 + s->names);
    resp_text(out, "SYNCS");
    resp_bulk(out, numbers, length - 1); /* without the last space */
    for (uint32_t i = 0; i < s->names; i++)
        resp_bulk(out, s->name[i].at, s->name[i].bytes);
    if (!out->overflow)
        return NULL;
    finish(out, before, was_full);
    return "ERR no room for what is to be sent";
}
