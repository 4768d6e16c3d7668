/* Reads a list of peers; every complaint names the entry and says what would be right. */
#include "peers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- words ---- */

__attribute__((format(printf, 2, 3))) static bool complain(char words[PEERS_COMPLAINT],
                                                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): not true, says clang-tidy 14 only */
    vsnprintf(words, PEERS_COMPLAINT, format, arguments);
    va_end(arguments);
    return false;
}

/* An entry of the list, as much of it as is shown. */
typedef struct entry {
    const char *at;
    size_t bytes;
} entry;

static int shown(entry e)
{
    return e.bytes < 80 ? (int)e.bytes : 80;
}

/* ---- one node ---- */

bool peers_is_id(const char *id, size_t bytes)
{
    if (bytes < 1 || bytes > PEERS_MAX_ID)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (!(id[i] >= 'a' && id[i] <= 'z') && !(id[i] >= '0' && id[i] <= '9') && id[i] != '-')
            return false;
    return true;
}

static bool is_host(const char *host, size_t bytes, const char *signs)
{
    if (bytes < 1 || bytes > PEERS_MAX_HOST)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        char lower = (char)(host[i] | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(host[i] >= '0' && host[i] <= '9') &&
            (host[i] == '\0' || strchr(signs, host[i]) == NULL))
            return false;
    }
    return true;
}

static bool read_port(const char *at, size_t bytes, uint16_t *port)
{
    uint64_t number;
    if (bytes > 5 || !resp_number((resp_word){at, bytes}, 1, UINT16_MAX, &number))
        return false;
    *port = (uint16_t)number;
    return true;
}

/* HOST:PORT or [HOST]:PORT */
static bool read_address(entry e, entry address, peers_node *node, char words[PEERS_COMPLAINT])
{
    const char *colon = memrchr(address.at, ':', address.bytes);
    if (colon == NULL)
        return complain(words, "'%.*s' has no port; write ID=HOST:PORT", shown(e), e.at);
    const char *host = address.at;
    size_t bytes = (size_t)(colon - host);
    const char *signs = ".-_";
    if (bytes >= 2 && host[0] == '[' && colon[-1] == ']') {
        host++;
        bytes -= 2;
        signs = ":.%-_";
    }
    if (!is_host(host, bytes, signs))
        return complain(words,
                        "'%.*s' has no good host; write a name, an IPv4 address, or an IPv6 "
                        "address in brackets",
                        shown(e), e.at);
    if (!read_port(colon + 1, address.bytes - (size_t)(colon + 1 - address.at), &node->port))
        return complain(words, "'%.*s' has no good port; a port is a number from 1 to 65535",
                        shown(e), e.at);
    memcpy(node->host, host, bytes);
    node->host[bytes] = '\0';
    return true;
}

static bool read_node(entry e, peers_node *node, char words[PEERS_COMPLAINT])
{
    const char *equals = memchr(e.at, '=', e.bytes);
    if (e.bytes == 0)
        return complain(words, "there is an empty entry in the list of peers");
    if (equals == NULL)
        return complain(words, "'%.*s' has no id; write ID=HOST:PORT", shown(e), e.at);
    size_t id = (size_t)(equals - e.at);
    if (!peers_is_id(e.at, id))
        return complain(words, "'%.*s' has no good id; an id is 1 to %d of a to z, 0 to 9 and '-'",
                        shown(e), e.at, PEERS_MAX_ID);
    memcpy(node->id, e.at, id);
    node->id[id] = '\0';
    return read_address(e, (entry){equals + 1, e.bytes - id - 1}, node, words);
}

/* ---- all of them ---- */

static bool is_new(const peers *p, const peers_node *node, char words[PEERS_COMPLAINT])
{
    for (uint8_t i = 0; i < p->nodes; i++) {
        const peers_node *other = &p->node[i];
        if (strcmp(other->id, node->id) == 0)
            return complain(words, "the id '%s' is in the list of peers twice", node->id);
        if (other->port == node->port && strcasecmp(other->host, node->host) == 0)
            return complain(words, "the nodes '%s' and '%s' have the same address, %.100s:%u",
                            other->id, node->id, node->host, node->port);
    }
    return true;
}

static bool read_list(peers *p, const char *list, char words[PEERS_COMPLAINT])
{
    if (*list == '\0')
        return complain(words, "the list of peers is empty; write a=HOST:PORT,b=HOST:PORT,...");
    for (const char *at = list; at != NULL;) {
        const char *comma = strchr(at, ',');
        entry e = {at, comma != NULL ? (size_t)(comma - at) : strlen(at)};
        if (p->nodes == WME_MAX_NODES)
            return complain(words, "there are more than %d nodes; take 3, 5 or 7", WME_MAX_NODES);
        peers_node *node = &p->node[p->nodes];
        if (!read_node(e, node, words) || !is_new(p, node, words))
            return false;
        p->nodes++;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const peers_node *)a)->id, ((const peers_node *)b)->id);
}

/* `engine`: a line in the end, or nothing. */
static void make_digest(const peers *p, const char *engine, uint8_t digest[PROOF_BYTES])
{
    char text[WME_MAX_NODES * (PEERS_MAX_ID + 1) + PEERS_MAX_ENGINE + 16];
    size_t bytes = 0;
    for (uint8_t i = 0; i < p->nodes; i++) {
        size_t length = strlen(p->node[i].id);
        memcpy(text + bytes, p->node[i].id, length);
        text[bytes + length] = '\n'; /* in no id: no two lists have one text */
        bytes += length + 1;
    }
    if (*engine != '\0')
        bytes += (size_t)sprintf(text + bytes, "consensus %s\n", engine); /* no id has a space */
    proof_digest(text, bytes, digest);
}

bool peers_set_engine(peers *p, const char *engine)
{
    size_t length = strlen(engine);
    bool named = strncmp(engine, "etcd/", 5) == 0;
    if (length > PEERS_MAX_ENGINE ||
        (named ? !peers_is_id(engine + 5, length - 5) : strcmp(engine, "etcd") != 0))
        return false;
    memcpy(p->engine, engine, length + 1);
    make_digest(p, engine, p->digest);
    return true;
}

static void bind_digest(uint8_t digest[PROOF_BYTES], const char *word)
{
    char text[PROOF_BYTES + PEERS_MAX_WORD];
    size_t length = strnlen(word, PEERS_MAX_WORD);
    memcpy(text, digest, PROOF_BYTES);
    memcpy(text + PROOF_BYTES, word, length);
    proof_digest(text, PROOF_BYTES + length, digest);
}

void peers_bind(peers *p, const char *word)
{
    bind_digest(p->ids, word);
    bind_digest(p->digest, word);
}

uint8_t peers_find(const peers *p, const char *id, size_t bytes)
{
    uint8_t at = 0;
    while (at < p->nodes &&
           (strlen(p->node[at].id) != bytes || memcmp(p->node[at].id, id, bytes) != 0))
        at++;
    return at;
}

bool peers_parse(peers *p, const char *list, const char *me, char words[PEERS_COMPLAINT])
{
    memset(p, 0, sizeof *p);
    words[0] = '\0';
    if (!peers_is_id(me, strlen(me)))
        return complain(words, "'%.80s' is no good id; an id is 1 to %d of a to z, 0 to 9 and '-'",
                        me, PEERS_MAX_ID);
    if (!read_list(p, list, words))
        return false;
    qsort(p->node, p->nodes, sizeof p->node[0], by_id);
    p->me = peers_find(p, me, strlen(me));
    if (p->me == p->nodes)
        return complain(words, "this node, '%s', is not in the list of peers", me);
    strcpy(p->engine, "paxos");
    make_digest(p, "", p->ids);
    memcpy(p->digest, p->ids, PROOF_BYTES);
    if (p->nodes % 2 == 0)
        complain(words, "%u nodes bear no more failures than %u; an odd number is better", p->nodes,
                 p->nodes - 1);
    return true;
}
