/* Hello and proof between two nodes. Nothing is allocated here but what is to be sent. */
#include "peer_auth.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const resp_limits limits = {.word_bytes = PROOF_HEX, .command_bytes = PEER_AUTH_MAX};
static const char greeting[] = "BATON";

/* ---- words ---- */

/* Ends it, and tells the other side why. */
__attribute__((format(printf, 3, 4))) static void refuse(peer_auth *a, resp_out *out,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): not true, says clang-tidy 14 only */
    vsnprintf(a->complaint, sizeof a->complaint, format, arguments);
    va_end(arguments);
    a->state = PEER_AUTH_REFUSED;
    resp_error(out, "ERR %.200s", a->complaint);
}

/* Bytes that no node says at this point. */
static void refuse_stranger(peer_auth *a, resp_out *out)
{
    if (a->dials)
        refuse(a, out, "what answers at the address of '%s' is no node of a cluster; see --peers",
               a->of->node[a->other].id);
    else
        refuse(a, out, "this port is for the nodes of a cluster, and that was none");
}

static const char *own_id(const peer_auth *a)
{
    return a->of->node[a->of->me].id;
}

static const char *other_id(const peer_auth *a)
{
    return a->other < a->of->nodes ? a->of->node[a->other].id : "the other node";
}

static bool speaks_paxos(const peer_auth *a)
{
    return strcmp(a->of->engine, "paxos") == 0;
}

/* ---- what is said ---- */

static void say_hello(const peer_auth *a, resp_out *out)
{
    char cluster[PROOF_HEX + 1];
    char nonce[PROOF_HEX + 1];
    bool paxos = speaks_paxos(a);
    proof_to_hex(a->of->ids, cluster);
    proof_to_hex(a->own_nonce, nonce);
    resp_array(out, paxos ? 6 : 7);
    resp_text(out, greeting);
    resp_text(out, "2");
    resp_text(out, own_id(a));
    resp_text(out, cluster);
    resp_text(out, nonce);
    resp_text(out, a->secret.at != NULL ? "secret" : "open");
    if (!paxos)
        resp_text(out, a->of->engine);
}
static_assert(PEER_AUTH_VERSION == 2, "as it is said");

typedef struct text {
    uint8_t at[256];
    size_t bytes;
} text;

/* With its length before it, so that no two lists of pieces are one text. */
static void add(text *t, const void *piece, size_t bytes)
{
    assert(bytes <= UINT8_MAX && t->bytes + 1 + bytes <= sizeof t->at);
    t->at[t->bytes++] = (uint8_t)bytes;
    memcpy(t->at + t->bytes, piece, bytes);
    t->bytes += bytes;
}

static void add_text(text *t, const char *piece)
{
    add(t, piece, strlen(piece));
}

/* The proof of who dials, or of who listens. */
static void make_proof(const peer_auth *a, bool of_who_dials, uint8_t proof[PROOF_BYTES])
{
    text t = {.bytes = 0};
    add_text(&t, "baton node 1");
    add_text(&t, of_who_dials ? "dials" : "listens");
    add_text(&t, a->dials ? own_id(a) : other_id(a));
    add_text(&t, a->dials ? other_id(a) : own_id(a));
    add(&t, a->dials ? a->own_nonce : a->other_nonce, PROOF_BYTES);
    add(&t, a->dials ? a->other_nonce : a->own_nonce, PROOF_BYTES);
    add(&t, a->of->digest, PROOF_BYTES);
    proof_make(a->secret, t.at, t.bytes, proof);
}

static void say_proof(peer_auth *a, resp_out *out)
{
    uint8_t proof[PROOF_BYTES];
    char hex[PROOF_HEX + 1];
    make_proof(a, a->dials, proof);
    proof_to_hex(proof, hex);
    resp_array(out, 2);
    resp_text(out, "PROOF");
    resp_text(out, hex);
}

/* ---- what is heard ---- */

/* Who says hello; false, and refused, if it is nobody to be talked to. */
static bool identify(peer_auth *a, resp_word id, resp_out *out)
{
    uint8_t node = peers_find(a->of, id.at, id.bytes);
    if (!peers_is_id(id.at, id.bytes))
        refuse(a, out, "a hello without a good id");
    else if (node == a->of->nodes)
        refuse(a, out, "'%.*s' is not in the list of peers of '%s'", (int)id.bytes, id.at,
               own_id(a));
    else if (node == a->of->me)
        refuse(a, out, "'%s' talks to itself, or two nodes have this id; see --id and --peers",
               own_id(a));
    else if (a->dials && node != a->other)
        refuse(a, out, "'%s' was dialed and '%.*s' answers; see --id and --peers", other_id(a),
               (int)id.bytes, id.at);
    else {
        a->other = node;
        return true;
    }
    return false;
}

/* Two engines would decide differently: the same one everywhere, or nothing is said. */
static bool check_engine(peer_auth *a, const resp_command *c, resp_out *out)
{
    resp_word its = {"paxos", 5};
    if (c->words == 7)
        its = c->word[6];
    if (its.bytes == strlen(a->of->engine) && memcmp(its.at, a->of->engine, its.bytes) == 0)
        return true;
    for (size_t i = 0; i < its.bytes; i++)
        if (!isgraph((unsigned char)its.at[i]))
            its.bytes = 0;
    refuse(a, out, "'%s' decides by %s and '%s' by %.*s; give all nodes the same --consensus",
           own_id(a), a->of->engine, other_id(a), its.bytes < 40 ? (int)its.bytes : 40, its.at);
    return false;
}

/* BATON version id ids nonce secret|open [engine]; a later version may have other words behind its
 * number. */
static bool check_hello(peer_auth *a, const resp_command *c, resp_out *out)
{
    uint64_t version;
    uint8_t cluster[PROOF_BYTES];
    if (c->words < 2 || !resp_is(c->word[0], greeting) ||
        !resp_number(c->word[1], 1, UINT32_MAX, &version)) {
        refuse_stranger(a, out);
        return false;
    }
    if (version != PEER_AUTH_VERSION) {
        refuse(a, out, "version %u of the nodes' protocol is spoken by '%s', not %u",
               PEER_AUTH_VERSION, own_id(a), (unsigned)version);
        return false;
    }
    if (c->words < 6 || c->words > 7 || !proof_from_hex(c->word[3], cluster) ||
        !proof_from_hex(c->word[4], a->other_nonce)) {
        refuse(a, out, "a hello that is damaged");
        return false;
    }
    if (!proof_same(cluster, a->of->ids)) {
        refuse(a, out,
               "'%.*s' and '%s' have different lists of peers; --peers must have the same "
               "ids everywhere, and all nodes the same kind of resource",
               peers_is_id(c->word[2].at, c->word[2].bytes) ? (int)c->word[2].bytes : 0,
               c->word[2].at, own_id(a));
        return false;
    }
    if (!identify(a, c->word[2], out) || !check_engine(a, c, out))
        return false;
    bool has_secret = resp_is(c->word[5], "SECRET");
    if (has_secret == (a->secret.at != NULL) && (has_secret || resp_is(c->word[5], "OPEN")))
        return true;
    refuse(a, out, "'%s' %s a secret and '%s' %s; give all nodes the same", own_id(a),
           a->secret.at != NULL ? "has" : "has not", other_id(a),
           has_secret ? "has one" : "has none");
    return false;
}

static void hear_hello(peer_auth *a, const resp_command *c, resp_out *out)
{
    if (!check_hello(a, c, out))
        return;
    if (!a->dials)
        say_hello(a, out);
    a->state = a->secret.at == NULL ? PEER_AUTH_DONE : PEER_AUTH_PROOF;
    if (a->secret.at != NULL && a->dials)
        say_proof(a, out);
}

static void hear_proof(peer_auth *a, const resp_command *c, resp_out *out)
{
    uint8_t given[PROOF_BYTES];
    uint8_t right[PROOF_BYTES];
    if (c->words != 2 || !resp_is(c->word[0], "PROOF") || !proof_from_hex(c->word[1], given)) {
        refuse(a, out, "'%s' gave no proof of its secret", other_id(a));
        return;
    }
    make_proof(a, !a->dials, right);
    bool same = proof_same(given, right);
    explicit_bzero(right, sizeof right);
    if (!same) {
        refuse(a, out, "'%s' and '%s' have different secrets", own_id(a), other_id(a));
        return;
    }
    a->state = PEER_AUTH_DONE;
    if (!a->dials)
        say_proof(a, out);
}

/* "-ERR text": the other side's last words. Returns the bytes used, 0 if more are to come. */
static size_t hear_refusal(peer_auth *a, const char *bytes, size_t count, resp_out *out)
{
    const char *end = memchr(bytes, '\n', count < PEER_AUTH_MAX ? count : PEER_AUTH_MAX);
    if (end == NULL && count < PEER_AUTH_MAX)
        return 0;
    if (end == NULL) {
        refuse(a, out, "a refusal without end");
        return count;
    }
    const char *from = bytes + (count > 5 && memcmp(bytes, "-ERR ", 5) == 0 ? 5 : 1);
    int length = from < end ? (int)(end - from) : 0;
    int start = snprintf(a->complaint, sizeof a->complaint, "%s refuses: ", other_id(a));
    snprintf(a->complaint + start, sizeof a->complaint - (size_t)start, "%.*s", length, from);
    for (char *c = a->complaint; *c != '\0'; c++)
        if (!isprint((unsigned char)*c))
            *c = ' ';
    a->state = PEER_AUTH_REFUSED;
    return count;
}

/* ---- both ---- */

static size_t hear_one(peer_auth *a, const char *bytes, size_t count, resp_out *out)
{
    resp_command command;
    if (bytes[0] == '-')
        return hear_refusal(a, bytes, count, out);
    resp_parsed p = {.verdict = RESP_BAD};
    if (bytes[0] == '*')
        p = resp_parse(bytes, count, &limits, &command);
    if (p.verdict == RESP_MORE && count < PEER_AUTH_MAX)
        return 0;
    if (p.verdict != RESP_COMPLETE || p.used > PEER_AUTH_MAX) {
        refuse_stranger(a, out);
        return count;
    }
    if (a->state == PEER_AUTH_HELLO)
        hear_hello(a, &command, out);
    else
        hear_proof(a, &command, out);
    return p.used;
}

size_t peer_auth_receive(peer_auth *a, const char *bytes, size_t count, resp_out *out)
{
    size_t used = 0;
    while (used < count && (a->state == PEER_AUTH_HELLO || a->state == PEER_AUTH_PROOF)) {
        size_t more = hear_one(a, bytes + used, count - used, out);
        if (more == 0)
            return used;
        used += more;
    }
    return a->state == PEER_AUTH_REFUSED ? count : used;
}

static void start(peer_auth *a, const peers *of, proof_secret secret,
                  const uint8_t nonce[PROOF_BYTES])
{
    assert(secret.at == NULL || secret.bytes > 0);
    *a = (peer_auth){.of = of, .secret = secret, .state = PEER_AUTH_HELLO, .other = of->nodes};
    memcpy(a->own_nonce, nonce, PROOF_BYTES);
}

void peer_auth_listen(peer_auth *a, const peers *of, proof_secret secret,
                      const uint8_t nonce[PROOF_BYTES])
{
    start(a, of, secret, nonce);
}

void peer_auth_dial(peer_auth *a, const peers *of, proof_secret secret, uint8_t other,
                    const uint8_t nonce[PROOF_BYTES], resp_out *out)
{
    assert(other < of->nodes && other != of->me);
    start(a, of, secret, nonce);
    a->dials = true;
    a->other = other;
    say_hello(a, out);
}
