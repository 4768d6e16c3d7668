/* See peer_tls.h. */
#include "peer_tls.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Who dials whom, as it is said to the other side; ids have no spaces. */
static void name_both(char identity[TLS_MAX_IDENTITY + 1], const char *dials, const char *listens)
{
    snprintf(identity, TLS_MAX_IDENTITY + 1, "baton node %s %s", dials, listens);
}
static_assert(sizeof "baton node  " + 2 * (size_t)PEERS_MAX_ID <= TLS_MAX_IDENTITY, "it fits");

/*
 * The secret's key for an identity. Any will do here: who knows the secret is a node, and its hello
 * says which, so that it can be told what is wrong with its list of peers.
 */
static bool make_key(const peer_tls *t, const char *identity, uint8_t key[TLS_KEY_BYTES])
{
    static_assert((int)PROOF_BYTES == (int)TLS_KEY_BYTES, "a proof is a key");
    if (strncmp(identity, "baton node ", 11) != 0)
        return false;
    proof_make(t->by.secret, identity, strlen(identity), key);
    return true;
}

static bool find_key(void *context, const char *identity, uint8_t key[TLS_KEY_BYTES])
{
    return make_key(context, identity, key);
}

bool peer_tls_open(peer_tls *t, const peers *all, const peer_credentials *by,
                   char complaint[COMPLAINT])
{
    *t = (peer_tls){.all = all, .by = *by};
    if (by->secret.at == NULL)
        t->by.secret = (proof_secret){"", 0};
    tls_settings settings = {.find_key = find_key, .context = t};
    if (by->cert != NULL)
        settings =
            (tls_settings){.cert = by->cert, .key = by->key, .ca = by->ca, .asks_for_cert = true};
    t->party = tls_open(&settings, complaint);
    return t->party != NULL;
}

void peer_tls_close(peer_tls *t)
{
    tls_close(t->party);
    t->party = NULL;
}

tls_stream *peer_tls_dial(const peer_tls *t, uint8_t peer)
{
    char identity[TLS_MAX_IDENTITY + 1];
    uint8_t key[TLS_KEY_BYTES];
    if (t->by.cert != NULL)
        return tls_dial(t->party, t->all->node[peer].id);
    name_both(identity, t->all->node[t->all->me].id, t->all->node[peer].id);
    make_key(t, identity, key);
    tls_stream *made = tls_dial_by_key(t->party, identity, key);
    explicit_bzero(key, sizeof key);
    return made;
}

tls_stream *peer_tls_accept(const peer_tls *t)
{
    return tls_accept(t->party);
}

bool peer_tls_is(const peer_tls *t, const tls_stream *s, bool dialed, uint8_t peer)
{
    char identity[TLS_MAX_IDENTITY + 1];
    if (t->by.cert != NULL)
        return tls_is_named(s, t->all->node[peer].id);
    if (dialed)
        return tls_is_ready(s); /* by the key for that node, and no other */
    name_both(identity, t->all->node[peer].id, t->all->node[t->all->me].id);
    return strcmp(tls_identity(s), identity) == 0;
}
