/*
 * A node of a cluster, without sockets: its locks, each a replica (src/replica) with what it keeps
 * on the disk (src/resource), its failure detector, and the seats of local sessions. It is a
 * registry, so sessions (src/net) talk to it as they talk to the registers of one server.
 *
 * No protocol here: events go to replicas, and what these want done is done, in the order that
 * wme.h asks for. All that happens between two calls of node_turn_ends is one turn: if anything in
 * it must be durable it becomes so as a whole, and nothing that was said in it is sent before, but
 * for what may leave early: that is sent first, so that other nodes' disks work while this one's
 * does.
 */
#ifndef BATON_NODE_H
#define BATON_NODE_H

#include "../net/peer_wire.h"
#include "../net/peers.h"
#include "../net/registry.h"
#include "../resource/store.h"
#include "../wme/detector.h"

#include <pthread.h>

typedef struct site site;

enum { NODE_WHY = 256 }; /* bytes of a sentence */

/* A place among the names of all locks. */
typedef struct name_cursor {
    size_t bytes;
    char name[STORE_MOST_NAME];
} name_cursor;

/* In milliseconds; the clock is uv_now's. */
enum {
    NODE_TICK = 50,
    NODE_BEAT = 100,
    NODE_FIRST_TIMEOUT = 400,
    NODE_MOST_TIMEOUT = 4000,
    NODE_MOST_GHOSTS = 10000, /* sessions that hold something without a connection */
    NODE_REST_AFTER = 60000,  /* a lock that nobody uses does not stay in memory for longer */
    NODE_TRY_PATIENCE = 150,  /* a TRY that must fetch the token fails after so long */
    NODE_MOST_PEER_OUTPUT = PEER_MOST_BYTES + (8 << 20), /* the largest message, and others */
};

typedef struct node_counts {
    uint64_t sections, tries, failed, resets, lost, stale, timeouts;
    uint64_t operations, ejected, sent, received, dropped;
    uint64_t turns;                        /* with the one that has begun */
    uint64_t epochs;                       /* changes, over all locks */
    uint64_t asked, unanswered, refused;   /* consensus outside; the last: it makes no sense */
    uint64_t held, waiting, longest_queue; /* now; the last as of the last tick */
    durations holds, waits;
} node_counts;

/* What others than the node's own thread may know of it, as of the end of its last turn. */
typedef struct node_figures {
    node_counts counts;
    store_usage store;
    uint64_t locks, resting;
    uint32_t nodes;
    uint32_t reached;     /* others that a connection to stands */
    uint32_t suspected;   /* others */
    bool majority;        /* this node and those it reaches and does not suspect are one */
    bool outside;         /* so is consensus, */
    bool outside_reached; /* and was there when it was last asked */
    char why[NODE_WHY];   /* it does not count yet, or not in all; "" if it does */
} node_figures;

typedef struct cluster_node {
    registry registry; /* first: found from it */
    wme_node wme;
    const peers *all;
    muster muster;
    name_cursor cursor[WME_MOST_NODES]; /* what each peer has listed */
    size_t away;                        /* locks that rejoin */
    uint64_t says_after;                /* when to log again what it waits for, */
    uint32_t says_about;                /* if it is the same */
    char why[NODE_WHY];
    detector detector;
    store *store;
    bool drains;    /* is about to end: nobody is let in any more */
    bool first_run; /* it has never been part of the cluster before */
    uint32_t most_waiters;
    const char *only; /* the one lock that there is; NULL: as many as are used */
    uint64_t run;     /* no other run of this node has the same; see resting.c */
    uint64_t chance;
    uint64_t now;
    site **bucket;
    size_t buckets, sites;
    size_t resting;             /* locks that were in memory in this run, and are not now */
    bool tells[WME_MOST_NODES]; /* see resting.c */
    name_cursor told[WME_MOST_NODES], woken;
    size_t next_sweep;                /* bucket */
    site *asking, *last_asking;       /* what they want to know is to be asked outside */
    bool outside_reached;             /* who is asked was there the last time */
    resp_out to_peer[WME_MOST_NODES]; /* what is said to each, until it is sent */
    resp_out early[WME_MOST_NODES];   /* the same, before the end of the turn */
    bool writes;                      /* something in this turn must be durable */
    bool reached[WME_MOST_NODES];     /* a connection to it stands */
    session_roles *speaker;           /* the session that is being served */
    const peer_snapshot *snapshot;    /* that came with the message being received */
    struct seat *dismissed;           /* watched, and has heard; see seats.c */
    bool dismisses;
    wme_out out;
    resp_out results[WME_MOST_ACTIONS];
    struct ghost *ghosts; /* sessions without a connection: linger.c */
    uint32_t ghost_count;
    node_counts counts;
    pthread_mutex_t shows; /* for: */
    node_figures shown;
} cluster_node;

/* How a node begins; what it points to stays for as long as the node. */
typedef struct node_beginning {
    const peers *all;
    store *store;   /* open, and marked as booted, */
    bool first_run; /* which it was not before */
    bool forgets;   /* the store does not outlive the process */
    bool ack_all;
    uint64_t chance; /* a seed, never the same twice */
    uint64_t now;
} node_beginning;

/* False if there is no memory, or the store fails. */
bool node_start(cluster_node *n, const node_beginning *b);
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
/*
 * The session goes on with a section that it had over another connection, here or elsewhere. NULL:
 * it has heard the answer, or will. Else an error reply.
 */
const char *node_resume(cluster_node *n, session_roles *me, byte_string name, uint64_t token,
                        uint64_t now);
/* The same for an operation as it is executed; it stays the caller's. */
const char *node_issue_op(cluster_node *n, session_roles *me, byte_string name, uint64_t token,
                          wme_op *issued);
/* Little room is left for data: operations that need some are to be refused. */
bool node_is_full(const cluster_node *n);
/* Value, epoch, sn and number of operations, as this node has them. */
bool node_read(cluster_node *n, byte_string name, byte_string key, resp_out *out);

/* ---- the beginning: joining.c ---- */

/* It is known whether this node is new. Until then it takes part in nothing. */
bool node_takes_part(const cluster_node *n);

/* ---- the end: drain.c ---- */

/* Whether the session holds a lock. */
bool node_holds(const session_roles *who);
/*
 * Gives tokens that nobody uses here to other nodes, each once. True if none is left, and nobody
 * holds anything here. From the first call on nobody is let in.
 */
bool node_hand_over(cluster_node *n);

/* ---- for those who look: report.c ---- */

enum { NODE_MOST_LISTED = 1000 };

/*
 * What STATUS answers: lines of text about this node, then a row for each lock, of NODE_MOST_LISTED
 * at most. `all` says how the nodes are called.
 */
void node_report(const cluster_node *n, const peers *all, resp_out *out);
/* Shows how things are to other threads; node_turn_ends does. */
void node_show(cluster_node *n);
/* From any thread. */
node_figures node_look(cluster_node *n);

#endif
