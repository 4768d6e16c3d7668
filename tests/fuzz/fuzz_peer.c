/*
 * What a node reads from its peers under libFuzzer: the hello and the proof, messages, and lists of
 * peers. The first two bytes say what is read and in which pieces it comes. Whatever comes in,
 * nothing crashes or leaks, the pieces do not matter, what is allocated is bounded, and what was
 * read can be written and read again.
 */
#include "peer_hello.h"
#include "peer_wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* ---- pieces ---- */

/* A copy of just that size, so that a read beyond its end is seen. */
static char *copy_of(const void *bytes, size_t count)
{
    char *copy = malloc(count > 0 ? count : 1);
    require(copy != NULL);
    if (count > 0)
        memcpy(copy, bytes, count);
    return copy;
}

/* How many bytes come at once, from 1 to 32, or all. */
static size_t next_piece(uint32_t *pieces, size_t left)
{
    *pieces = *pieces * 1664525 + 1013904223;
    size_t piece = 1 + (*pieces >> 27);
    return piece < left && *pieces != 0 ? piece : left;
}

/* ---- messages ---- */

static size_t op_bytes(const wme_op *op, uint8_t nodes)
{
    if (op == NULL)
        return 0;
    require(op->holders == 1 && op->bytes <= WME_MAX_OP && op->origin < nodes);
    return op->bytes;
}

static void check_said(const char *bytes, size_t used, uint8_t nodes, const peer_said *said)
{
    const wme_message *m = &said->message;
    wme_node node = {.me = 0, .nodes = nodes};
    require(said->words.bytes >= 1 && said->words.bytes <= PEER_MAX_NAME);
    require(said->words.at >= bytes && said->words.at + said->words.bytes <= bytes + used);
    require(m->kind < WME_KINDS && m->count <= WME_MAX_LOG && m->record.queued <= nodes);
    size_t data = op_bytes(m->op, nodes) + op_bytes(m->record.last, nodes);
    for (uint8_t i = 0; i < m->count; i++) {
        require(m->ops[i] != NULL);
        data += op_bytes(m->ops[i], nodes);
    }
    require(data <= used && data <= PEER_MAX_ALLOCATED);
    if (m->snapshot) {
        const peer_snapshot *s = m->resource;
        require(s == &said->snapshot && s->bytes <= used);
        require((const char *)s->at >= bytes && (const char *)s->at + s->bytes <= bytes + used);
    }
    wme_check(&node, (uint8_t)(nodes - 1), m);
}

static void check_list(const char *bytes, size_t used, const peer_list *l)
{
    require(l->names <= PEER_MAX_LISTED);
    for (uint32_t i = 0; i < l->names; i++) {
        require(l->name[i].bytes >= 1 && l->name[i].bytes <= PEER_MAX_NAME);
        require(l->name[i].at >= bytes && l->name[i].at + l->name[i].bytes <= bytes + used);
    }
}

static void check_syncs(const char *bytes, size_t used, const peer_syncs *s)
{
    require(s->names <= PEER_MAX_LISTED);
    for (uint32_t i = 0; i < s->names; i++) {
        require(s->name[i].bytes >= 1 && s->name[i].bytes <= PEER_MAX_NAME);
        require(s->name[i].at >= bytes && s->name[i].at + s->name[i].bytes <= bytes + used);
    }
}

static void write_message(resp_out *out, uint8_t nodes, const peer_said *said)
{
    if (said->verb == PEER_BOOT)
        peer_say_boot(out, &said->boot_check);
    else if (said->verb == PEER_LIST)
        peer_say_list(out, &said->list);
    else if (said->verb == PEER_LISTED)
        peer_say_listed(out, &said->list);
    else if (said->verb == PEER_SYNCS)
        require(peer_say_syncs(out, &said->syncs) == NULL);
    else
        require(peer_say(out, nodes, said->words, &said->message) == NULL);
}

/* Written, read, and written again: the same. */
static void check_again(const char *bytes, size_t count, uint8_t nodes)
{
    resp_out again = {0};
    static peer_said said;
    resp_parsed p = peer_read(bytes, count, nodes, &said);
    require(p.verdict == RESP_COMPLETE && p.used == count);
    write_message(&again, nodes, &said);
    require(again.bytes == count && memcmp(again.at, bytes, count) == 0);
    peer_said_drop(&said);
    resp_free(&again);
}

/* Reads one; what it was goes to `out`. */
static resp_parsed read_one(const char *bytes, size_t count, uint8_t nodes, resp_out *out)
{
    static peer_said said;
    resp_parsed p = peer_read(bytes, count, nodes, &said);
    require((p.verdict == RESP_BAD) == (p.complaint != NULL));
    if (p.verdict != RESP_COMPLETE)
        return p;
    require(p.used > 0 && p.used <= count);
    size_t before = out->bytes;
    if (said.verb == PEER_MESSAGE || said.verb >= PEER_BOOT) {
        if (said.verb == PEER_MESSAGE)
            check_said(bytes, p.used, nodes, &said);
        check_list(bytes, p.used, &said.list);
        check_syncs(bytes, p.used, &said.syncs);
        write_message(out, nodes, &said);
        check_again(out->at + before, out->bytes - before, nodes);
    } else if (said.verb == PEER_HEARTBEAT) {
        peer_say_heartbeat(out, said.turn);
    } else {
        require(said.words.bytes < PEER_MAX_COMPLAINT);
        resp_bulk(out, said.words.at, said.words.bytes);
    }
    peer_said_drop(&said);
    return p;
}

/* All of it, in pieces; the verdict at the end. */
static resp_verdict read_all(const uint8_t *data, size_t size, uint8_t nodes, uint32_t pieces,
                             resp_out *out)
{
    size_t used = 0;
    size_t there = 0;
    while (there < size) {
        there += next_piece(&pieces, size - there);
        for (;;) {
            char *bytes = copy_of(data + used, there - used);
            resp_parsed p = read_one(bytes, there - used, nodes, out);
            free(bytes);
            if (p.verdict == RESP_BAD)
                return RESP_BAD;
            if (p.verdict == RESP_MORE)
                break;
            used += p.used;
        }
    }
    return RESP_MORE;
}

static void fuzz_messages(const uint8_t *data, size_t size, uint8_t nodes, uint32_t pieces)
{
    resp_out whole = {0};
    resp_out cut = {0};
    resp_verdict verdict = read_all(data, size, nodes, 0, &whole);
    require(read_all(data, size, nodes, pieces, &cut) == verdict);
    require(cut.bytes == whole.bytes);
    require(cut.bytes == 0 || memcmp(cut.at, whole.at, cut.bytes) == 0);
    resp_free(&whole);
    resp_free(&cut);
}

/* ---- hello ---- */

typedef struct handshake {
    peer_hello hello;
    resp_out out;
    size_t used;
} handshake;

static void shake_hands(handshake *h, const peers *of, bool dials, const uint8_t *data, size_t size,
                        uint32_t pieces)
{
    memset(h, 0, sizeof *h);
    if (dials)
        peer_hello_dial(&h->hello, of, 1, &h->out);
    else
        peer_hello_listen(&h->hello, of);
    for (size_t there = 0; there < size;) {
        there += next_piece(&pieces, size - there);
        char *bytes = copy_of(data + h->used, there - h->used);
        h->used += peer_hello_receive(&h->hello, bytes, there - h->used, &h->out);
        free(bytes);
        require(h->used <= there);
        if (h->hello.state != PEER_HELLO_WAITS)
            break;
        require(there - h->used < PEER_HELLO_MAX);
    }
}

static void fuzz_hello(const uint8_t *data, size_t size, bool dials, uint32_t pieces)
{
    static handshake whole, cut;
    peers of;
    char words[PEERS_COMPLAINT];
    require(peers_parse(&of, "a=h:1,b=h:2,c=h:3", "a", words));
    shake_hands(&whole, &of, dials, data, size, 0);
    shake_hands(&cut, &of, dials, data, size, pieces);
    require(whole.hello.state == cut.hello.state);
    require(whole.hello.state == PEER_HELLO_REFUSED || whole.used == cut.used);
    if (whole.hello.state == PEER_HELLO_DONE) {
        require(whole.hello.other == cut.hello.other && whole.hello.other < of.nodes);
        require(whole.hello.other != of.me);
    }
    require((whole.hello.state == PEER_HELLO_REFUSED) == (whole.hello.complaint[0] != '\0'));
    require(whole.out.bytes < 1024);
    resp_free(&whole.out);
    resp_free(&cut.out);
}

/* ---- lists of peers ---- */

static void fuzz_list(const uint8_t *data, size_t size)
{
    peers p;
    char words[PEERS_COMPLAINT];
    char *list = malloc(size + 1);
    require(list != NULL);
    memcpy(list, data, size);
    list[size] = '\0';
    if (peers_parse(&p, list, "a", words)) {
        require(p.nodes >= 1 && p.nodes <= WME_MAX_NODES && p.me < p.nodes);
        for (uint8_t i = 1; i < p.nodes; i++)
            require(strcmp(p.node[i - 1].id, p.node[i].id) < 0);
    } else {
        require(words[0] != '\0' && strlen(words) < PEERS_COMPLAINT);
    }
    free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    uint32_t pieces = data[1];
    uint8_t how = data[0];
    data += 2;
    size -= 2;
    if (how >= 240)
        fuzz_list(data, size);
    else if (how >= 128)
        fuzz_hello(data, size, how & 1, pieces);
    else
        fuzz_messages(data, size, (uint8_t)(1 + how % WME_MAX_NODES), pieces);
    return 0;
}
