/*
 * WME: a replicated resource that only the holder of a lock may change, after the wme paper with
 * errata 17 to 31. One stub per node and lock. Pure: it knows no clock, no socket, no disk and no
 * thread; each function here takes one event, and appends what is to be done to `out`.
 *
 *   slot     what the owner of the token makes, numbered by sn within an epoch: an operation
 *            (INVOKE), or the token given to another (GRANTED)
 *   epoch    from one agreement to the next. Within an epoch there is one token and one sequence
 *            of slots; consensus ends it, and only a suspicion begins that
 *   number   of an operation: 1, 2, 3, ... over all epochs
 *   token    of a stay inside: epoch and entry in one number, larger than that of every earlier
 *            stay; the fencing number
 *
 * stub.c is the normal phase (figures 1 and 4), epoch.c the epoch change (figure 2), users.c who is
 * next, catchup.c how a node that missed something gets it, rejoin.c how one that has lost what it
 * knew comes to count again.
 */
#ifndef BATON_WME_WME_H
#define BATON_WME_WME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WME_MAX_NODES = 9,
    WME_MAX_OP = 65536,     /* bytes of an operation */
    WME_MAX_LOG = 16,       /* operations kept for nodes that missed them */
    WME_MAX_EARLY = 4,      /* messages kept until those before them have come */
    WME_MAX_OVERTAKING = 8, /* local users let in while another node waits for the token */
    WME_MAX_RESUMING = 8,   /* users that wait to resume at one node; one of them can, at most */
    WME_MAX_ACTIONS = 96,   /* of one step */
    WME_ENTRY_BITS = 40,    /* of a token; the epoch has the others */
};
#define WME_MAX_EPOCH ((1ULL << (63 - WME_ENTRY_BITS)) - 2) /* a token is no negative number */
#define WME_MAX_NONCE (UINT64_MAX / 2)

/* ---- operations ---- */

/*
 * An operation. Shared by all who keep it, gone when the last of them drops it; who makes it is the
 * first.
 */
typedef struct wme_op {
    void (*free)(struct wme_op *op);
    uint32_t holders;
    uint32_t bytes;
    uint64_t id;    /* epoch and sn of its first slot, as wme_op_id makes it; set by the stub */
    uint8_t origin; /* node; set by the stub */
    uint8_t data[];
} wme_op;

wme_op *wme_op_keep(wme_op *op); /* NULL stays NULL */
void wme_op_drop(wme_op *op);

/* ---- what nodes agree on ---- */

/*
 * The state of a lock as of a slot: what a node persists, tells in an epoch change, and what
 * consensus decides. `last` is kept by whoever has the record for longer than a step.
 */
typedef struct wme_record {
    uint64_t epoch;
    uint64_t sn;                     /* of the last slot */
    uint64_t ops;                    /* number of the last operation */
    uint64_t op_sn;                  /* its slot; 0 if it was in an earlier epoch */
    wme_op *last;                    /* it; NULL only if op_sn is 0 */
    uint64_t granted[WME_MAX_NODES]; /* last request of each node that was granted */
    uint64_t asked[WME_MAX_NODES];   /* request of each node in the queue */
    uint8_t queue[WME_MAX_NODES];    /* nodes that ask, first come first */
    uint8_t queued;
    uint8_t owner;  /* of the token */
    uint64_t entry; /* stays inside in this epoch, as of the last GRANTED; the owner counts on */
} wme_record;

/* Copies, keeps the operation of the one and drops that of the other. */
void wme_record_set(wme_record *to, const wme_record *from);

/* ---- messages ---- */

typedef enum wme_kind {
    /* the normal phase */
    WME_REQUEST,
    WME_GRANTED,
    WME_INVOKE,
    WME_ACK,
    WME_DOINVOKE,
    /* the epoch change */
    WME_NEWEP,
    /* catching up */
    WME_SYNC,  /* this is how far I am; who is ahead answers */
    WME_STATE, /* this is where we are, and what leads there */
    /* rejoining */
    WME_WHERE, /* I have lost what I knew; where are you? */
    WME_HERE,
    /* consensus on the end of an epoch */
    WME_PREPARE,
    WME_PROMISE,
    WME_ACCEPT,
    WME_ACCEPTED,
    WME_REFUSED,
    WME_DECIDED,
    WME_KINDS
} wme_kind;

/* Which fields a kind has is said beside them. Operations are borrowed from who has the message. */
typedef struct wme_message {
    wme_kind kind;
    uint64_t epoch;    /* WHERE: from which on the sender counts, 0 if it does not know that yet */
    uint64_t sn;       /* GRANTED INVOKE ACK DOINVOKE SYNC */
    uint64_t request;  /* REQUEST GRANTED; WHERE HERE: the nonce of the asking */
    uint64_t entry;    /* GRANTED: stays inside so far in this epoch */
    uint64_t executed; /* ACK NEWEP SYNC STATE: operations that the sender has executed */
    uint64_t stable;   /* INVOKE: operations that all have executed */
    uint64_t ballot;   /* of consensus */
    uint64_t accepted; /* PROMISE: ballot of the record, 0 for none; REFUSED: what was promised */
    uint8_t to;        /* GRANTED: the new owner */
    bool again;        /* ACK: repeated, for want of news */
    bool replaces;     /* NEWEP: the owner is suspected, and the sender named in its place */
    bool resumes;      /* NEWEP: a user of the sender's waits to resume */
    bool snapshot;     /* STATE: the resource as a whole comes along, not operations */
    uint8_t count;     /* STATE: operations in `ops`, the last of them has number `executed` */
    wme_op *op;        /* INVOKE */
    wme_record record; /* NEWEP STATE PROMISE ACCEPT DECIDED */
    wme_op *ops[WME_MAX_LOG];
    /* STATE with snapshot: both are filled in by who has the resource, when it sends this. */
    uint64_t answered[WME_MAX_NODES]; /* id of the last operation of each origin executed in it */
    void *resource;
} wme_message;

/* ---- what is to be done ---- */

typedef struct wme_user wme_user;

typedef enum wme_verb {
    WME_SEND,    /* `message` to each node of `to` */
    WME_PERSIST, /* the lock's durable part and the resource, as the whole step leaves them, are
                    safe before anything of it is sent or told, but for what is `early`. A step
                    without it needs no disk: what it did to the resource may be lost */
    WME_EXECUTE, /* run `op`, number `number`; its result is the outcome for `user`, if not NULL */
    WME_INSTALL, /* the resource of the message just received replaces the own */
    WME_RECALL,  /* that resource has executed `op` already: answer `user` from what it remembers */
    WME_CRIT,    /* `user` is inside, with `token` */
    WME_KEPT, /* `user` is still inside, in a new epoch, and can resume from there with `token` */
    WME_REM,  /* `user` is outside, as it wished */
    WME_EJECTED, /* `user` is outside; what it had issued and got no outcome for was not executed */
    WME_SUSPENDED, /* to all users here: no majority is in reach, no outcome to be had for now */
    WME_RESUMED,
    WME_PROPOSE,  /* to consensus on the end of record.epoch: `message.record` */
    WME_DECISION, /* from consensus: `message.record` */
} wme_verb;

typedef struct wme_action {
    wme_verb verb;
    bool early;  /* SEND: may leave while this step, not an earlier one, is not durable yet; so
                    the sender may crash, and come back without knowledge of it */
    uint16_t to; /* a bit for each node */
    wme_user *user;
    wme_op *op;
    uint64_t number;
    uint64_t token;
    wme_message message;
} wme_action;

/*
 * All of a step, to be done before the next event: first what changes the resource, then the disk,
 * then the rest; each in this order. What is early is best sent while the disk works. Keeps the
 * operations that it names.
 */
typedef struct wme_out {
    uint32_t count;
    wme_action actions[WME_MAX_ACTIONS];
} wme_out;

/* Forgets all; drops the operations. An out of zeroes is empty. */
void wme_out_clear(wme_out *out);

/* ---- a node, and its users ---- */

/* Why something was not done. */
typedef enum wme_refusal {
    WME_FINE,
    WME_UNKNOWN_SENDER,
    WME_MALFORMED,     /* a field that cannot be */
    WME_ABSURD_EPOCH,  /* beyond WME_MAX_EPOCH */
    WME_OVERSIZED,     /* an operation beyond WME_MAX_OP */
    WME_NOT_THE_OWNER, /* a slot from somebody who has no token */
    WME_NOT_INSIDE,    /* the user is not inside, or has something going already */
    WME_TWICE,         /* the user waits already, or is inside */
    WME_OUTSIDE,       /* consensus is outside, and no message is part of it */
    WME_REFUSALS
} wme_refusal;

/* What all stubs of a node share. Changed by who runs the node, between steps. */
typedef struct wme_node {
    uint8_t me;
    uint8_t nodes;
    bool ack_all;       /* WME-1: everybody acknowledges to everybody; else WME-2, to the owner */
    bool outside;       /* consensus is not among the nodes: see replica.h */
    uint16_t suspected; /* nodes, a bit for each */
    uint64_t refused[WME_REFUSALS]; /* counted */
} wme_node;

typedef enum wme_phase { WME_OUT, WME_WAITING, WME_INSIDE } wme_phase;

/* One who uses a lock. All zero at first; belongs to who runs the node, stays while not WME_OUT. */
struct wme_user {
    wme_user *next, *previous; /* in the queue */
    wme_phase phase;
    uint64_t token;
    uint64_t resumes; /* while it waits: the token of the section that it goes on with, or 0 */
};

/* ---- the stub ---- */

typedef enum wme_state {
    WME_IDLE,
    WME_REQUESTING,
    WME_TOKEN_HELD,
    WME_CS_IDLE,
    WME_CS_ISSUING,
} wme_state;

typedef struct wme_early {
    wme_kind kind;
    uint8_t from, to;
    uint64_t epoch, sn, request, entry, stable;
    wme_op *op;
} wme_early;

/*
 * One node's part of a lock. Belongs to who runs the node; only the functions below change it. A
 * lock that is only held, or only known, must be small: what it needs for operations, for an epoch
 * change and for messages out of order has memory of its own while it is there.
 *
 *   executed == now.ops        everything was run on the local resource
 *   executed == now.ops - 1    all but the last operation, which is `open`: not known to be
 *                              acknowledged by a majority
 */
typedef struct wme_stub {
    wme_record now; /* the durable part */
    uint64_t executed;
    wme_state state;
    bool blocked;   /* in an epoch change */
    bool leaves;    /* the user inside has said exit, or is gone; waits for the end of the change */
    bool suspended; /* no majority is in reach */
    bool proposed;
    uint8_t overtaking; /* local users let in since another node began to wait */
    uint64_t request;   /* the last one of this node */
    wme_op *issued;     /* while CS_ISSUING */

    uint16_t acks;       /* for the open operation */
    uint16_t early_acks; /* for slot now.sn + 1 */
    uint16_t gathered;   /* nodes whose NEWEP for this epoch was counted */
    wme_record *best;    /* of these; NULL if there are none */
    bool replaced;       /* one of these suspects the owner, */
    bool owner_speaks;   /* which is among them */
    uint16_t resuming;   /* of these: where a user waits to resume */

    /* While it has lost what it knew: rejoin.c. Else `away` is 0. */
    uint64_t away;        /* the nonce of its asking; `gathered` are those who have answered it */
    uint64_t newest;      /* epoch that they are in */
    uint64_t counts_from; /* no earlier epoch is adopted; 0: not enough have answered */
    uint16_t others_away; /* nodes that were so when last heard of */

    wme_op **log; /* operation k at k % WME_MAX_LOG, for log_from <= k <= now.ops; or NULL */
    uint64_t log_from;
    uint64_t known[WME_MAX_NODES]; /* operations that each node is known to have executed */
    wme_early *early;              /* WME_MAX_EARLY of them; NULL if there are none */
    uint8_t next_early;            /* the one to be replaced next */

    wme_user *first, *last; /* users that wait, first come first */
    wme_user *inside;       /* NULL with CS_*: it is gone */
} wme_stub;

/*
 * The lock as it is before anybody has used it anywhere; only at a node that runs for the first
 * time.
 */
void wme_start(wme_stub *stub, const wme_node *node, uint8_t first_owner);
/*
 * After a restart: `durable` as of the last persist (or as wme_start makes it, if there is none),
 * and `executed`, the operations that the resource has executed. Comes back through an epoch
 * change.
 */
void wme_restart(wme_stub *stub, wme_node *node, const wme_record *durable, uint64_t executed,
                 wme_out *out);
/*
 * After a restart of a node that has lost what it knew of the lock: it counts for nothing before it
 * has rejoined, and nothing is persisted until then. `nonce`: never the same twice, 1 to
 * WME_MAX_NONCE.
 */
void wme_rejoin(wme_stub *stub, wme_node *node, uint64_t nonce, wme_out *out);
/*
 * Whether nothing goes on here, so that `now` and `executed` say all that there is to know; and the
 * stub from these, as if it had been there all the time. They need not be durable: who crashes in
 * between begins by wme_restart.
 */
bool wme_may_rest(const wme_stub *stub, const wme_node *node);
/*
 * Whether something is awaited from other nodes. Only then must wme_tick be called, now and then,
 * if links lose nothing while they last: a link that begins is another reason to.
 */
bool wme_waits(const wme_stub *stub);
/* Whether a SYNC would lead to nothing. */
bool wme_may_sleep_on(const wme_record *now, uint64_t executed, const wme_message *sync);
void wme_wake(wme_stub *stub, const wme_node *node, const wme_record *now, uint64_t executed);
/* Drops what it keeps. */
void wme_end(wme_stub *stub);

wme_refusal wme_try(wme_stub *stub, wme_node *node, wme_user *user, wme_out *out);
/*
 * Like wme_try, for a user whose section, of that token, was at another node, or here before a
 * restart: it goes on with it, under a new token, if nobody was inside since, and is told
 * WME_EJECTED otherwise. First in the queue. Who asks vouches that the section was not given up:
 * its node has kept it, or is dead.
 */
wme_refusal wme_resume(wme_stub *stub, wme_node *node, wme_user *user, uint64_t token,
                       wme_out *out);
wme_refusal wme_issue(wme_stub *stub, wme_node *node, wme_user *user, wme_op *op, wme_out *out);
wme_refusal wme_exit(wme_stub *stub, wme_node *node, wme_user *user, wme_out *out);
/* The user is gone, wherever it was; it hears nothing any more and may be freed. */
void wme_leave(wme_stub *stub, wme_node *node, wme_user *user, wme_out *out);
/*
 * The same, though its section was not given up: it may want to resume it elsewhere. Whoever enters
 * next does so in another epoch, and then it cannot.
 */
void wme_revoke(wme_stub *stub, wme_node *node, wme_user *user, wme_out *out);
/*
 * This node is about to go: gives the token to `to`, though that has not asked, if it is here and
 * nobody is inside. False if it was not given.
 */
bool wme_yield(wme_stub *stub, wme_node *node, uint8_t to, wme_out *out);

/*
 * A message of the first ten kinds; sender and message are looked at before anything is believed.
 */
void wme_receive(wme_stub *stub, wme_node *node, uint8_t from, const wme_message *m, wme_out *out);
/* The same for any kind, for the modules that read the others. */
wme_refusal wme_check(const wme_node *node, uint8_t from, const wme_message *m);
wme_refusal wme_check_record(const wme_node *node, const wme_record *r);
/* Consensus for the current epoch has decided. */
void wme_decided(wme_stub *stub, wme_node *node, const wme_record *decision, wme_out *out);
/* node->suspected has changed. */
void wme_suspicion(wme_stub *stub, wme_node *node, wme_out *out);
/* Some time has passed: repeats what may have been lost. */
void wme_tick(wme_stub *stub, wme_node *node, wme_out *out);
/*
 * A message of another epoch than the stub's came for consensus: help the sender, or ask for help.
 */
void wme_other_epoch(wme_stub *stub, wme_node *node, uint8_t from, uint64_t epoch, wme_out *out);

/* Whether this message allows the stub to vote for its sender. */
bool wme_stands_in(const wme_stub *stub, const wme_node *node, const wme_message *m);

static inline uint8_t wme_majority(const wme_node *node)
{
    return (uint8_t)(node->nodes / 2 + 1);
}

static inline uint64_t wme_op_id(uint64_t epoch, uint64_t sn)
{
    return epoch << WME_ENTRY_BITS | sn;
}

#endif
