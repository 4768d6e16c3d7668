/* What two nodes say first. Nothing is allocated here but what is to be sent. */
#include "peer_hello.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const resp_limits limits = {.word_bytes = PROOF_HEX, .command_bytes = PEER_HELLO_MAX};
static const char greeting[] = "BATON";

/* ---- words ---- */

/* Ends it, and tells the other side why. */
__attribute__((format(printf, 3, 4))) static void refuse(peer_hello *h, resp_out *out,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): not true, says clang-tidy 14 only */
    vsnprintf(h->complaint, sizeof h->complaint, format, arguments);
    va_end(arguments);
    h->state = PEER_HELLO_REFUSED;
    resp_error(out, "ERR %.200s", h->complaint);
}

/* Bytes that no node says at this point. */
static void refuse_stranger(peer_hello *h, resp_out *out)
{
    if (h->dials)
        refuse(h, out, "what answers at the address of '%s' is no node of a cluster; see --peers",
               h->of->node[h->other].id);
    else
        refuse(h, out, "this port is for the nodes of a cluster, and that was none");
}

static const char *own_id(const peer_hello *h)
{
    return h->of->node[h->of->me].id;
}

static const char *other_id(const peer_hello *h)
{
    return h->other < h->of->nodes ? h->of->node[h->other].id : "the other node";
}

static bool speaks_paxos(const peer_hello *h)
{
    return strcmp(h->of->engine, "paxos") == 0;
}

/* ---- what is said ---- */

static void say_hello(const peer_hello *h, resp_out *out)
{
    char cluster[PROOF_HEX + 1];
    bool paxos = speaks_paxos(h);
    proof_to_hex(h->of->ids, cluster);
    resp_array(out, paxos ? 4 : 5);
    resp_text(out, greeting);
    resp_text(out, "3");
    resp_text(out, own_id(h));
    resp_text(out, cluster);
    if (!paxos)
        resp_text(out, h->of->engine);
}
static_assert(PEER_HELLO_VERSION == 3, "as it is said");

/* ---- what is heard ---- */

/* Who says hello; false, and refused, if it is nobody to be talked to. */
static bool identify(peer_hello *h, resp_word id, resp_out *out)
{
    uint8_t node = peers_find(h->of, id.at, id.bytes);
    if (!peers_is_id(id.at, id.bytes))
        refuse(h, out, "a hello without a good id");
    else if (node == h->of->nodes)
        refuse(h, out, "'%.*s' is not in the list of peers of '%s'", (int)id.bytes, id.at,
               own_id(h));
    else if (node == h->of->me)
        refuse(h, out, "'%s' talks to itself, or two nodes have this id; see --id and --peers",
               own_id(h));
    else if (h->dials && node != h->other)
        refuse(h, out, "'%s' was dialed and '%.*s' answers; see --id and --peers", other_id(h),
               (int)id.bytes, id.at);
    else {
        h->other = node;
        return true;
    }
    return false;
}

/* Two engines would decide differently: the same one everywhere, or nothing is said. */
static bool check_engine(peer_hello *h, const resp_command *c, resp_out *out)
{
    resp_word its = {"paxos", 5};
    if (c->words == 5)
        its = c->word[4];
    if (its.bytes == strlen(h->of->engine) && memcmp(its.at, h->of->engine, its.bytes) == 0)
        return true;
    for (size_t i = 0; i < its.bytes; i++)
        if (!isgraph((unsigned char)its.at[i]))
            its.bytes = 0;
    refuse(h, out, "'%s' decides by %s and '%s' by %.*s; give all nodes the same --consensus",
           own_id(h), h->of->engine, other_id(h), its.bytes < 40 ? (int)its.bytes : 40, its.at);
    return false;
}

/* A later version may have other words behind its number. */
static bool check_hello(peer_hello *h, const resp_command *c, resp_out *out)
{
    uint64_t version;
    uint8_t cluster[PROOF_BYTES];
    if (c->words < 2 || !resp_is(c->word[0], greeting) ||
        !resp_number(c->word[1], 1, UINT32_MAX, &version)) {
        refuse_stranger(h, out);
        return false;
    }
    if (version != PEER_HELLO_VERSION) {
        refuse(h, out, "version %u of the nodes' protocol is spoken by '%s', not %u",
               PEER_HELLO_VERSION, own_id(h), (unsigned)version);
        return false;
    }
    if (c->words < 4 || c->words > 5 || !proof_from_hex(c->word[3], cluster)) {
        refuse(h, out, "a hello that is damaged");
        return false;
    }
    if (!proof_same(cluster, h->of->ids)) {
        refuse(h, out,
               "'%.*s' and '%s' have different lists of peers; --peers must have the same "
               "ids everywhere, and all nodes the same kind of resource",
               peers_is_id(c->word[2].at, c->word[2].bytes) ? (int)c->word[2].bytes : 0,
               c->word[2].at, own_id(h));
        return false;
    }
    return identify(h, c->word[2], out) && check_engine(h, c, out);
}

static void hear_hello(peer_hello *h, const resp_command *c, resp_out *out)
{
    if (!check_hello(h, c, out))
        return;
    if (!h->dials)
        say_hello(h, out);
    h->state = PEER_HELLO_DONE;
}

/* "-ERR text": the other side's last words. Returns the bytes used, 0 if more are to come. */
static size_t hear_refusal(peer_hello *h, const char *bytes, size_t count, resp_out *out)
{
    const char *end = memchr(bytes, '\n', count < PEER_HELLO_MAX ? count : PEER_HELLO_MAX);
    if (end == NULL && count < PEER_HELLO_MAX)
        return 0;
    if (end == NULL) {
        refuse(h, out, "a refusal without end");
        return count;
    }
    const char *from = bytes + (count > 5 && memcmp(bytes, "-ERR ", 5) == 0 ? 5 : 1);
    int length = from < end ? (int)(end - from) : 0;
    int start = snprintf(h->complaint, sizeof h->complaint, "%s refuses: ", other_id(h));
    snprintf(h->complaint + start, sizeof h->complaint - (size_t)start, "%.*s", length, from);
    for (char *c = h->complaint; *c != '\0'; c++)
        if (!isprint((unsigned char)*c))
            *c = ' ';
    h->state = PEER_HELLO_REFUSED;
    return count;
}

/* ---- both ---- */

static size_t hear_one(peer_hello *h, const char *bytes, size_t count, resp_out *out)
{
    resp_command command;
    if (bytes[0] == '-')
        return hear_refusal(h, bytes, count, out);
    resp_parsed p = {.verdict = RESP_BAD};
    if (bytes[0] == '*')
        p = resp_parse(bytes, count, &limits, &command);
    if (p.verdict == RESP_MORE && count < PEER_HELLO_MAX)
        return 0;
    if (p.verdict != RESP_COMPLETE || p.used > PEER_HELLO_MAX) {
        refuse_stranger(h, out);
        return count;
    }
    hear_hello(h, &command, out);
    return p.used;
}

size_t peer_hello_receive(peer_hello *h, const char *bytes, size_t count, resp_out *out)
{
    size_t used = 0;
    while (used < count && h->state == PEER_HELLO_WAITS) {
        size_t more = hear_one(h, bytes + used, count - used, out);
        if (more == 0)
            return used;
        used += more;
    }
    return h->state == PEER_HELLO_REFUSED ? count : used;
}

void peer_hello_listen(peer_hello *h, const peers *of)
{
    *h = (peer_hello){.of = of, .other = of->nodes};
}

void peer_hello_dial(peer_hello *h, const peers *of, uint8_t other, resp_out *out)
{
    assert(other < of->nodes && other != of->me);
    *h = (peer_hello){.of = of, .dials = true, .other = other};
    say_hello(h, out);
}
