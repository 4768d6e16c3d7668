/*
 * What keeps strangers out from between nodes: TLS 1.3, always. By the nodes' secret, which makes a
 * key for each two of them, or by certificates, each of which has its node's id as a name. Nodes
 * without either must all be on this machine: their key is known to everybody.
 */
#ifndef BATON_NODE_PEER_TLS_H
#define BATON_NODE_PEER_TLS_H

#include "peer_hello.h"
#include "tls.h"

/* As the command line has it; with `cert`, the secret is not used. */
typedef struct peer_credentials {
    proof_secret secret;
    const char *cert, *key, *ca; /* files in PEM */
} peer_credentials;

typedef struct peer_tls {
    tls_party *party;
    const peers *all;
    peer_credentials by;
} peer_tls;

/* False, and why. All of them are borrowed. */
bool peer_tls_open(peer_tls *t, const peers *all, const peer_credentials *by,
                   char complaint[COMPLAINT]);
void peer_tls_close(peer_tls *t);

/* NULL: out of memory. */
tls_stream *peer_tls_dial(const peer_tls *t, uint8_t peer);
tls_stream *peer_tls_accept(const peer_tls *t);
/* Whether TLS has shown that the other is that node, as it says. */
bool peer_tls_is(const peer_tls *t, const tls_stream *s, bool dialed, uint8_t peer);

#endif
