/*
 * The nodes of a cluster, as `--peers a=HOST:PORT,b=HOST:PORT,...` lists them. Nodes are numbered
 * in the order of their ids, so the order in the list does not matter.
 */
#ifndef BATON_CLUSTER_PEERS_H
#define BATON_CLUSTER_PEERS_H

#include "proof.h"
#include "wme.h"

enum {
    PEERS_MAX_ID = 32,
    PEERS_MAX_HOST = 253, /* a name in the DNS */
    PEERS_MAX_WORD = 128, /* bytes of it that count */
    PEERS_COMPLAINT = 256,
    PEERS_MAX_ENGINE = 29, /* "etcd/" and a name of 24 */
};

typedef struct peers_node {
    char id[PEERS_MAX_ID + 1];
    char host[PEERS_MAX_HOST + 1]; /* a name or an address; of IPv6 without its brackets */
    uint16_t port;
} peers_node;

typedef struct peers {
    uint8_t nodes;
    uint8_t me;
    peers_node node[WME_MAX_NODES];
    char engine[PEERS_MAX_ENGINE + 1]; /* of consensus: "paxos", "etcd", "etcd/NAME" */
    /*
     * Of all ids. The same on all nodes of a cluster, or they do not talk to each other. Not of the
     * addresses: one may change while the cluster runs, and be another seen from elsewhere.
     */
    uint8_t ids[PROOF_BYTES];
    /* Of these, and of the engine if that is not paxos: what the cluster is. */
    uint8_t digest[PROOF_BYTES];
} peers;

/*
 * Reads a list, and which of them this node is. False, and what is wrong with it in `words`; if it
 * is true, `words` is a warning, or empty.
 */
bool peers_parse(peers *p, const char *list, const char *me, char words[PEERS_COMPLAINT]);
/* Another engine than paxos; false if that is no good name of one. */
bool peers_set_engine(peers *p, const char *engine);
/*
 * For nodes that are of another kind than `baton node`: only those bound to the same word talk to
 * each other.
 */
void peers_bind(peers *p, const char *word);
/* The number of the node of that id, or `nodes` if there is none. */
uint8_t peers_find(const peers *p, const char *id, size_t bytes);
/* Whether that can be an id: 1 to 32 of a to z, 0 to 9 and '-'. */
bool peers_is_id(const char *id, size_t bytes);

#endif
