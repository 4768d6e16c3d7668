/*
 * What two nodes say first, inside of TLS, which has shown already that the other knows the secret
 * or has a certificate (node/peer_tls.h). Pure: bytes in, bytes out.
 *
 *   who dials                         who listens
 *   BATON 3 id ids [engine]    ──►    is it one of us, and of the same cluster?
 *                              ◄──    BATON 3 id ids [engine]
 *
 * `ids` is the digest of all ids, 64 digits. The engine of consensus is said if it is not paxos.
 */
#ifndef BATON_CLUSTER_PEER_HELLO_H
#define BATON_CLUSTER_PEER_HELLO_H

#include "peers.h"

enum {
    PEER_HELLO_VERSION = 3,
    PEER_HELLO_MAX = 256, /* bytes of a command before it is over; a longer one is refused */
    PEER_HELLO_COMPLAINT = 384,
};

typedef enum peer_hello_state {
    PEER_HELLO_WAITS, /* for the other's hello */
    PEER_HELLO_DONE,  /* the other says that it is `other` */
    PEER_HELLO_REFUSED,
} peer_hello_state;

/* One connection's. Belongs to it; `of` must stay until it is done or refused. */
typedef struct peer_hello {
    const peers *of;
    bool dials;
    peer_hello_state state;
    uint8_t other; /* node: who is dialed, or who the hello says it is; of->nodes: unknown */
    char complaint[PEER_HELLO_COMPLAINT]; /* why it was refused, here or there */
} peer_hello;

/* Who dials node `other` says hello; who listens waits for that. */
void peer_hello_dial(peer_hello *h, const peers *of, uint8_t other, resp_out *out);
void peer_hello_listen(peer_hello *h, const peers *of);
/*
 * Takes what has come, as far as it is complete and belongs here; returns how many bytes were used.
 * When it is done, what is left is for peer_read. When it is refused, `out` has why for the other
 * side, to be sent before the connection is closed.
 */
size_t peer_hello_receive(peer_hello *h, const char *bytes, size_t count, resp_out *out);

#endif
