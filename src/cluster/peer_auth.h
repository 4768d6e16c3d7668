/*
 * How two nodes come to know each other, before anything else is read from a connection. Pure:
 * bytes in, bytes out; chance and clock are somebody else's.
 *
 *   who dials                                     who listens
 *   BATON 1 id ids nonce secret|open       ──►    is it one of us, and of the same cluster?
 *                                          ◄──    BATON 1 id ids nonce secret|open
 *   PROOF hmac                             ──►    does it know the secret?
 *   does the other know it?                ◄──    PROOF hmac
 *
 * Behind the last word of a hello is the engine of consensus, if it is not paxos. Without a secret
 * ("open") the PROOFs are left out. The digest of all ids, nonce and hmac are 64 digits. A proof is
 * an HMAC-SHA-256 under the secret, of: who of the two speaks, both ids, both nonces, and the
 * digest of all ids and of the engine.
 *
 *   not told      the secret is never sent, and who listens proves nothing to a stranger
 *   not replayed  each side has put a nonce of its own into what it checks
 *   not reflected the two proofs of a connection differ in who speaks, those of two connections in
 *                 who dials whom: no proof that a node makes is one that it would accept
 *
 * What comes after is not protected: who can change what goes over the connection can wait for the
 * end of this and take it over. On a network that is not trusted, run it inside TLS or a VPN.
 */
#ifndef BATON_CLUSTER_PEER_AUTH_H
#define BATON_CLUSTER_PEER_AUTH_H

#include "peers.h"

enum {
    PEER_AUTH_VERSION = 2,
    PEER_AUTH_MAX = 256, /* bytes of a command before it is over; a longer one is refused */
    PEER_AUTH_COMPLAINT = 384,
};

typedef enum peer_auth_state {
    PEER_AUTH_HELLO, /* the other's hello is waited for */
    PEER_AUTH_PROOF, /* its proof is */
    PEER_AUTH_DONE,  /* the other is `other` */
    PEER_AUTH_REFUSED,
} peer_auth_state;

/* One connection's. Belongs to it; `of` and the secret must stay until it is done or refused. */
typedef struct peer_auth {
    const peers *of;
    proof_secret secret;
    bool dials;
    peer_auth_state state;
    uint8_t other; /* node: who is dialed, or who the hello says it is; of->nodes: unknown */
    uint8_t own_nonce[PROOF_BYTES], other_nonce[PROOF_BYTES];
    char complaint[PEER_AUTH_COMPLAINT]; /* why it was refused, here or there */
} peer_auth;

/*
 * Who dials node `other` says hello; who listens waits for that. `nonce` is to be new for each
 * connection (proof_nonce). secret.at NULL: none is asked for.
 */
void peer_auth_dial(peer_auth *a, const peers *of, proof_secret secret, uint8_t other,
                    const uint8_t nonce[PROOF_BYTES], resp_out *out);
void peer_auth_listen(peer_auth *a, const peers *of, proof_secret secret,
                      const uint8_t nonce[PROOF_BYTES]);
/*
 * Takes what has come, as far as it is complete and belongs here; returns how many bytes were used.
 * When it is done, what is left is for peer_read. When it is refused, `out` has why for the other
 * side, to be sent before the connection is closed.
 */
size_t peer_auth_receive(peer_auth *a, const char *bytes, size_t count, resp_out *out);

#endif
