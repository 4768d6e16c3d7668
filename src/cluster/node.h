/*
 * A node of a cluster, without sockets: its locks, each a replica (src/replica) with what it keeps
 * on the disk (src/resource), its failure detector, and the roles of local sessions. It is a
 * backend of sessions (lock_backend.h), which talk to it as to the registers of one server.
 *
 * No protocol here: events go to replicas, and what these want done is done, in the order that
 * wme.h asks for. All that happens between two calls of node_turn_ends is one turn: if anything in
 * it must be durable it becomes so as a whole, and nothing that was said in it is sent before, but
 * for what may leave early: that is sent first, so that other nodes' disks work while this one's
 * does.
 */
#ifndef BATON_CLUSTER_NODE_H
#define BATON_CLUSTER_NODE_H

#include "detector.h"
#include "list.h"
#include "lock_backend.h"
#include "name_table.h"
#include "peer_wire.h"
#include "peers.h"
#include "store.h"

typedef struct node_lock node_lock;

enum { NODE_WHY = 256 }; /* bytes of a sentence */

/* A place among the names of all locks. */
typedef struct name_cursor {
    size_t bytes;
    char name[STORE_MAX_NAME];
} name_cursor;

/* In milliseconds; the clock is uv_now's. */
enum {
    NODE_TICK = 50,
    NODE_BEAT = 100,
    NODE_FIRST_TIMEOUT = 400,
    NODE_MAX_TIMEOUT = 4000,
    NODE_MAX_DETACHED = 10000, /* sessions that hold something without a connection */
    NODE_REST_AFTER = 60000,   /* a lock that nobody uses does not stay in memory for longer */
    NODE_TRY_PATIENCE = 150,   /* a TRY that must fetch the token fails after so long */
    NODE_MAX_PEER_OUTPUT = PEER_MAX_BYTES + (8 << 20), /* the largest message, and others */
    NODE_ENOUGH_OUTPUT = 1 << 20, /* bytes for a peer; what need not be said now waits */
    NODE_REVOKED_AT_ONCE = 2000,  /* at a tick, sections of sessions that are gone or silent */
    NODE_HANDED_AT_ONCE = 20000,  /* locks that are looked at by a node that is about to end */
    NODE_PAUSES = 7,              /* of who repeats what it waits for: 1, 2, 4, ... 64 ticks */
};

typedef struct node_counts {
    uint64_t sections, tries, failed, resets, lost, stale, timeouts;
    uint64_t operations, ejected, sent, received, dropped;
    uint64_t turns;                        /* with the one that has begun */
    uint64_t epochs;                       /* changes, over all locks */
    uint64_t asked, unanswered, refused;   /* consensus outside; the last: it makes no sense */
    uint64_t held, waiting, longest_queue; /* now */
    durations holds, waits;
} node_counts;

/* What it shows of itself. */
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
    locks locks; /* first: found from it */
    wme_node wme;
    const peers *all;
    boot_check boot_check;
    name_cursor cursor[WME_MAX_NODES];   /* what each peer has listed */
    size_t away;                         /* locks that rejoin */
    size_t written[WME_MAX_NODES];       /* for who has forgotten all: so many buckets, */
    uint64_t written_for[WME_MAX_NODES]; /* for that asking */
    uint64_t says_after;                 /* when to log again what it waits for, */
    uint32_t says_about;                 /* if it is the same */
    uint64_t writes_after;               /* when to write down which turns it has heard of */
    char why[NODE_WHY];
    detector detector;
    store *store;
    bool drains;    /* is about to end: nobody is let in any more; */
    size_t handed;  /* it has looked at so many buckets of locks, */
    bool keeps;     /* and one of these must be looked at again: see drain.c */
    bool first_run; /* it has never been part of the cluster before */
    uint32_t max_waiters;
    uint32_t max_detached; /* NODE_MAX_DETACHED, */
    uint32_t rest_after;   /* NODE_REST_AFTER, */
    size_t max_output;     /* NODE_MAX_PEER_OUTPUT, */
    bool patrols;          /* and true, but in tests */
    const char *only;      /* the one lock that there is; NULL: as many as are used */
    uint64_t run;          /* no other run of this node has the same; see resting.c */
    uint64_t chance;
    uint64_t now;
    name_table loaded;         /* locks in memory */
    size_t resting;            /* locks that were in memory in this run, and are not now */
    bool tells[WME_MAX_NODES]; /* see resting.c */
    name_cursor told[WME_MAX_NODES], woken;
    /* Locks in memory by what they have to do: see due.c. */
    uint64_t ticks;
    uint64_t news;                     /* counted; 0: none yet */
    uint64_t link_news[WME_MAX_NODES]; /* that a link to that node has begun, or lost something */
    list_head calm, unseen;            /* all that have heard of them, and that have not */
    list_head repeats[NODE_PAUSES], idle;
    peer_syncs syncs[WME_MAX_NODES]; /* to be said */
    bool missed[WME_MAX_NODES];      /* something was dropped though the link stands */
    uint16_t deaf;                   /* nodes that are new, and ignore what they are told */
    list_head trying;                /* roles, as they have asked */
    uint32_t *queues, queue_room;    /* locks by how many wait for them: see queues.c */
    list_head asking;                /* locks: what they want to know is to be asked outside */
    bool outside_reached;            /* who is asked was there the last time */
    resp_out to_peer[WME_MAX_NODES]; /* what is said to each, until it is sent */
    size_t patient[WME_MAX_NODES];   /* so much of it, from its begin on, nobody waits for */
    resp_out early[WME_MAX_NODES];   /* the same, before the end of the turn */
    bool writes;                     /* something in this turn must be durable */
    bool reached[WME_MAX_NODES];     /* a connection to it stands */
    lock_session *speaker;           /* the session that is being served */
    const peer_snapshot *snapshot;   /* that came with the message being received */
    list_head dismissed;             /* roles that watched, and have heard; see roles.c */
    bool dismisses;
    wme_out out;
    resp_out results[WME_MAX_ACTIONS];
    list_head detached; /* sessions without a connection: linger.c */
    uint32_t detached_count;
    uint32_t revoked; /* sections, since the last tick */
    node_counts counts;
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
/* Whether clients can be told first: nobody waits for what is to be said to that peer. */
bool node_may_wait(const cluster_node *n, uint8_t peer);

/* ---- for sessions; the rest goes through the backend ---- */

/* NULL if the operation is under way: its outcome comes by a notice. Else an error reply. */
const char *node_issue(cluster_node *n, lock_session *me, byte_string name, uint64_t token,
                       const op *o);
/*
 * The session goes on with a section that it had over another connection, here or elsewhere. NULL:
 * it has heard the answer, or will. Else an error reply.
 */
const char *node_resume(cluster_node *n, lock_session *me, byte_string name, uint64_t token,
                        uint64_t now);
/* The same for an operation as it is executed; it stays the caller's. */
const char *node_issue_op(cluster_node *n, lock_session *me, byte_string name, uint64_t token,
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
bool node_holds(const lock_session *who);
/*
 * Gives tokens that nobody uses here to other nodes, each once, some at each call. True if none is
 * left, and nobody holds anything here. From the first call on nobody is let in.
 */
bool node_hand_over(cluster_node *n);

/* ---- for those who look: report.c ---- */

enum { NODE_MAX_LISTED = 1000 };

/*
 * What STATUS answers: lines of text about this node, then a row for each lock, of NODE_MAX_LISTED
 * at most. `all` says how the nodes are called.
 */
void node_report(const cluster_node *n, const peers *all, resp_out *out);
node_figures node_look(const cluster_node *n);
/* The part of these that every lock service counts. */
lock_counts node_lock_counts(const node_figures *f);

#endif
