/*
 * A node of a cluster, without sockets: its locks, each a replica (src/replica) with what it keeps
 * on the disk (src/resource), its failure detector, and the seats of local sessions. It is a
 * registry, so sessions (src/net) talk to it as they talk to the registers of one server.
 *
 * No protocol here: events go to replicas, and what these want done is done, in the order that
 * wme.h asks for. All that happens between two calls of node_turn_ends is one turn: it becomes
 * durable as a whole, and nothing that was said in it is sent before.
 */
#ifndef BATON_NODE_H
#define BATON_NODE_H

#include "../net/peer_wire.h"
#include "../net/registry.h"
#include "../resource/store.h"
#include "../wme/detector.h"

#include <pthread.h>

typedef struct site site;

/* In milliseconds; the clock is uv_now's. */
enum {
    NODE_TICK = 50,
    NODE_BEAT = 100,
    NODE_FIRST_TIMEOUT = 400,
    NODE_MOST_TIMEOUT = 4000,
    NODE_TRY_PATIENCE = 150, /* a TRY that must fetch the token fails after so long */
    NODE_MOST_PEER_OUTPUT = PEER_MOST_BYTES + (8 << 20), /* the largest message, and others */
};

typedef struct node_counts {
    uint64_t sections, tries, failed, resets, lost, stale, timeouts;
    uint64_t operations, ejected, sent, received, dropped, turns;
    durations holds, waits;
} node_counts;

typedef struct cluster_node {
    registry registry; /* first: found from it */
    wme_node wme;
    detector detector;
    store *store;
    bool first_run; /* it has never been part of the cluster before */
    uint32_t most_waiters;
    uint64_t chance;
    uint64_t now;
    site **bucket;
    size_t buckets, places;
    size_t next_sweep;                /* bucket */
    resp_out to_peer[WME_MOST_NODES]; /* what is said to each, until it is sent */
    bool reached[WME_MOST_NODES];     /* a connection to it stands */
    session_roles *speaker;           /* the session that is being served */
    const peer_snapshot *snapshot;    /* that came with the message being received */
    struct seat *dismissed;           /* watched, and has heard; see seats.c */
    bool dismisses;
    wme_out out;
    resp_out results[WME_MOST_ACTIONS];
    node_counts counts;
    pthread_t thread;        /* that runs the node */
    pthread_mutex_t showing; /* for `shown` */
    registry_counts shown;   /* to other threads: as of the last tick */
} cluster_node;

/* `s` is open, and marked as booted by who calls this; `first_run` as it was before. */
bool node_start(cluster_node *n, uint8_t me, uint8_t nodes, bool ack_all, store *s, bool first_run,
                uint64_t chance, uint64_t now);
void node_end(cluster_node *n);

/* ---- events ---- */

/* What a peer says; `said` stays the caller's. */
void node_receive(cluster_node *n, uint8_t from, const peer_said *said, uint64_t now);
/* A connection to that peer stands from now on, or does not. */
void node_reached(cluster_node *n, uint8_t peer, bool reached);
/* To be called every NODE_TICK. */
void node_tick(cluster_node *n, uint64_t now);
/* False if the disk failed: nothing of this turn may be sent, and nothing works any more. */
bool node_turn_ends(cluster_node *n);

/* ---- for sessions; the rest goes through the registry ---- */

/* NULL if the operation is under way: its outcome comes by a notice. Else an error reply. */
const char *node_issue(cluster_node *n, session_roles *me, byte_string name, uint64_t token,
                       const op *o);
/* Value, epoch, sn and number of operations, as this node has them. */
bool node_read(cluster_node *n, byte_string name, byte_string key, resp_out *out);
/* Lines of text about this node: `baton status`. */
void node_report(const cluster_node *n, resp_out *out);

#endif
