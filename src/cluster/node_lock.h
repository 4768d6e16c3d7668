/* Locks as a node has them, and the roles of its sessions; shared by the files of this room. */
#ifndef BATON_CLUSTER_NODE_LOCK_H
#define BATON_CLUSTER_NODE_LOCK_H

#include "node.h"

typedef enum role_state {
    ROLE_LOCKS,   /* waits, as long as it takes */
    ROLE_TRIES,   /* waits for a moment */
    ROLE_WATCHES, /* has failed, and is to be told when the lock is free */
    ROLE_INSIDE,
    ROLE_ISSUES,
} role_state;

/* A session's place in a lock; belongs to the node. */
typedef struct role {
    wme_user user; /* first: found from it */
    lock_session *who;
    node_lock *of;
    role_state state;
    bool resumes; /* is answered when the operation that is under way has its outcome */
    uint32_t request;
    uint64_t token; /* that the session was told when it entered */
    uint64_t asked_at, since;
    list_link in_session, in_lock; /* among the roles of each, */
    list_link in_node;             /* and of those that try, or are dismissed */
} role;

/*
 * What a node keeps about a session: its roles, and whose it is over whatever connection (SESSION),
 * NULL if it has not said so. Without a connection it keeps what it holds until its lease is over.
 */
typedef struct cluster_session {
    list_head roles;
    char *id;
    uint64_t lingers_until;
} cluster_session;

_Static_assert(sizeof(cluster_session) <= LOCK_SESSION_KEEPS, "there must be room for it");

static inline cluster_session *kept_of(const lock_session *who)
{
    return (cluster_session *)(void *)who->kept;
}

/* What a lock waits for: see due.c. */
typedef enum lock_place {
    PLACE_NONE, /* nothing: it costs memory alone */
    PLACE_REPEATS,
    PLACE_IDLE,
} lock_place;

/* A lock. */
struct node_lock {
    name_entry entry; /* among those in memory */
    replica replica;
    store_lock kept;
    list_head roles;
    uint32_t waiters;
    uint64_t epoch;    /* that was counted */
    list_link in_all;  /* calm, or unseen */
    list_link in_time; /* as its place says */
    uint64_t heard;    /* news */
    uint64_t due;      /* tick at which it repeats, or rests */
    uint16_t suspects; /* nodes, as its replica was told */
    uint8_t pause;     /* list of repeats */
    lock_place place;
    uint64_t last_token;   /* largest that is known here */
    uint64_t *whole_after; /* when it may be sent to each node as a whole again; NULL: now */
    bool handed_over;      /* see drain.c */
    bool away;             /* it rejoins, and is counted as such */
    bool asks;             /* for a decision from outside; see src/node/engine.c */
    uint64_t ask_after;    /* not before that */
    list_link in_asking;
    uint64_t last_write; /* turn in which it last had something for the disk */
    size_t name_bytes;
    char name[];
};

/* NULL if the store or the memory fails; else found, or loaded, or new. */
node_lock *node_lock_get(cluster_node *n, const char *name, size_t bytes);
node_lock *node_lock_find(const cluster_node *n, const char *name, size_t bytes);
void node_lock_free(cluster_node *n, node_lock *p);
/* The node was not sure whether it is new when the lock began, and is now. */
void node_lock_is_new(cluster_node *n, node_lock *p);
/* Does what the last step at this lock wants done. */
void node_lock_carry_out(cluster_node *n, node_lock *p);

/* ---- resting.c ---- */
/* Puts it, which nobody has used for a while, out of memory; false if it must stay. */
bool node_lock_rests(cluster_node *n, node_lock *p);
/* Whether that lock is not in memory, and what a SYNC says of it no news: then it may stay so. */
bool node_lock_knows(const cluster_node *n, resp_word name, const wme_message *sync);
/* A connection is lost. */
void resting_lost(cluster_node *n);
/* A connection stands: that node is to be told how far all are that are not in memory. */
void resting_tell(cluster_node *n, uint8_t peer);
void resting_tick(cluster_node *n);
/* Whether somebody is being told; what wakes meanwhile is in nobody's list. */
bool resting_is_told(const cluster_node *n);
/* Those that have the token here back into memory, some at each call; true if that were all. */
bool resting_wake(cluster_node *n);
/* Calls `list` for those that are not in memory, `most` of them at most. */
void resting_list(const cluster_node *n, uint32_t max,
                  void (*list)(void *context, resp_word name, const wme_record *now,
                               uint64_t executed),
                  void *context);

/* ---- due.c ---- */
void due_start(cluster_node *n);
/* A lock comes into memory, and goes. */
void due_add(cluster_node *n, node_lock *p);
void due_remove(node_lock *p);
/* What it waits for may have changed: after each step. */
void due_sort(cluster_node *n, node_lock *p);
/* Its replica has begun, and hears who is suspected. */
void due_begins(cluster_node *n, node_lock *p);
/* Somebody here is about to use it: it knows who is suspected, however many others have to. */
void due_used(cluster_node *n, node_lock *p);
/* The others are to know that, too, as far as they care. */
void due_suspicions(cluster_node *n);
/* All are to be compared with that node, to which a link has begun; */
void due_link(cluster_node *n, uint8_t peer);
/* and this one with all. */
void due_compare(cluster_node *n, node_lock *p);
/* A SYNC, together with others; and the end of these. */
void due_say_sync(cluster_node *n, uint8_t to, resp_word name, const wme_message *sync);
void due_syncs_said(cluster_node *n, uint8_t to);
void due_tick(cluster_node *n);

/* The next lock on a walk through those in memory; NULL if there is none. */
static inline node_lock *node_lock_next(name_walk *loaded)
{
    return OWNER_OF(name_walk_next(loaded), node_lock, entry);
}

/* ---- node.c ---- */
void node_locks_each(cluster_node *n, void (*what)(cluster_node *n, node_lock *p));
/* The detector has changed its mind about somebody. */
void node_locks_suspicion(cluster_node *n);
/* Something that was to be said to that node is lost. */
void node_drops(cluster_node *n, uint8_t to);
/* Wants to know how its epoch ends; whoever asks outside takes it from the list of those. */
void node_lock_ask(cluster_node *n, node_lock *p);
node_lock *node_lock_next_asking(cluster_node *n);
/* What was decided outside about a lock. */
wme_refusal node_lock_decided(cluster_node *n, node_lock *p, const wme_record *decision);

/* ---- joining.c ---- */
/* `forgets`: as node_beginning has it. False if the store fails. */
bool join_start(cluster_node *n, bool forgets);
/* Of the data of this node; see boot_check.h. */
uint64_t join_turn(const cluster_node *n);
/* Writes down which turns of others were heard of, which nobody waits for. */
void join_heard_turns(cluster_node *n);
/* True if that was all there is to do about it. */
bool join_receive(cluster_node *n, uint8_t from, const peer_said *said);
void join_tick(cluster_node *n);
/* What it waits for, in a sentence in `text`; NULL if nothing. */
const char *join_why(const cluster_node *n, char text[NODE_WHY]);
/* NULL, or why nobody can be let in. */
const char *join_refuses(cluster_node *n);

/* ---- roles.c ---- */
role *role_find(const lock_session *who, const node_lock *of); /* NULL: it has none */
role *role_add(cluster_node *n, lock_session *who, node_lock *of, uint32_t request);
bool role_is_inside(const role *s); /* NULL is not */
/* Whether it is inside, in the section of that token. */
bool role_has(const role *s, uint64_t token);
void role_waits(cluster_node *n, role *s);
/* The session has nothing to do with the lock any more. */
void role_leave(cluster_node *n, role *s);
/* The same by time, by force, or for want of room: it did not ask for that, and may not know. */
void role_revoke(cluster_node *n, role *s);
void role_hear(cluster_node *n, const role *s, wdme_kind kind, uint64_t generation);
void role_post(lock_session *to, const notice *what, const void *text, size_t bytes);
void role_told(cluster_node *n, role *s, const wme_action *a);
void role_outcome(cluster_node *n, role *s, const resp_out *result);
/* Those who watched, and have heard. */
void roles_dismiss(cluster_node *n);
/* To all sessions that have to do with this lock. */
void roles_push(const node_lock *p, const char *what);

/* ---- requests.c ---- */
/* Those who tried, and had to wait for too long. */
void roles_time(cluster_node *n);
extern const lock_backend node_backend;

static inline cluster_node *node_of(locks *all)
{
    return (cluster_node *)(void *)all;
}

/* ---- queues.c ---- */
/* One more waits for that lock, or one less. */
void queue_grows(cluster_node *n, node_lock *p);
void queue_shrinks(cluster_node *n, node_lock *p);
void queues_free(cluster_node *n);

/* ---- report.c: as lock_backend.h says ---- */
lock_page report_each(locks *all, uint64_t from, uint64_t most,
                      void (*each)(const lock_row *row, void *context), void *context);
lock_counts report_count(locks *all);
uint64_t report_count_locks(locks *all);

/* ---- linger.c ---- */
/* Whether what this session holds stays held though its connection is gone; and then, that. */
bool roles_may_linger(const cluster_node *n, const lock_session *who);
void roles_linger(cluster_node *n, lock_session *who);
/* Its session goes on with it, over another connection. */
void role_resumed(cluster_node *n, role *s);
bool role_lingers(const role *s);
/* Whether another section may end in this tick though its session has not given it up. */
bool roles_may_revoke(cluster_node *n);
/* Leases that are over. */
void detached_time(cluster_node *n);
void detached_free(cluster_node *n);

#endif
