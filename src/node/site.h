/* Locks as a node has them, and the seats of its sessions; shared by the files of this room. */
#ifndef BATON_NODE_SITE_H
#define BATON_NODE_SITE_H

#include "node.h"

typedef enum seat_state {
    SEAT_LOCKS,   /* waits, as long as it takes */
    SEAT_TRIES,   /* waits for a moment */
    SEAT_WATCHES, /* has failed, and is to be told when the lock is free */
    SEAT_INSIDE,
    SEAT_ISSUES,
} seat_state;

/* A session's place in a lock; belongs to the node. */
typedef struct seat {
    wme_user user; /* first: found from it */
    session_roles *who;
    site *of;
    seat_state state;
    bool resumes; /* is answered when the operation that is under way has its outcome */
    uint32_t request;
    uint64_t token; /* that the session was told when it entered */
    uint64_t asked_at, since;
    struct seat *next_of_session;
    struct seat *next_dismissed;
    struct seat *next, *previous; /* of the lock */
} seat;

/* A lock. */
struct site {
    site *next; /* in its bucket */
    replica replica;
    store_lock kept;
    seat *seats;
    uint32_t waiters;
    uint64_t epoch; /* that was counted */
    uint64_t used_at, compared_at;
    uint64_t last_token;                  /* largest that is known here */
    uint64_t whole_after[WME_MOST_NODES]; /* when it may be sent to each as a whole again */
    bool handed_over;                     /* see drain.c */
    bool away;                            /* it rejoins, and is counted as such */
    bool asks;                            /* for a decision from outside; see outside.c */
    uint64_t ask_after;                   /* not before that */
    site *next_asking;
    uint64_t last_write; /* turn in which it last had something for the disk */
    uint64_t hash;
    size_t name_bytes;
    char name[];
};

/* NULL if the store or the memory fails; else found, or loaded, or new. */
site *site_get(cluster_node *n, const char *name, size_t bytes);
site *site_find(const cluster_node *n, const char *name, size_t bytes);
void site_free(cluster_node *n, site *p);
/* The node was not sure whether it is new when the lock began, and is now. */
void site_is_new(cluster_node *n, site *p);
/* Does what the last step at this lock wants done. */
void site_carry_out(cluster_node *n, site *p);

/* ---- resting.c ---- */
/* Puts it, which has no seats, out of memory if nobody has used it for a while. */
bool site_rests(cluster_node *n, site *p);
/* Whether that lock is not in memory, and what a SYNC says of it no news: then it may stay so. */
bool site_knows(const cluster_node *n, resp_word name, const wme_message *sync);
/* A connection is lost. */
void resting_lost(cluster_node *n);
/* A connection stands: that node is to be told how far all are that are not in memory. */
void resting_tell(cluster_node *n, uint8_t peer);
void resting_tick(cluster_node *n);
/* Those that have the token here back into memory, some at each call; true if that were all. */
bool resting_wake(cluster_node *n);
/* Calls `list` for those that are not in memory, `most` of them at most. */
void resting_list(const cluster_node *n, uint32_t most,
                  void (*list)(void *context, resp_word name, const wme_record *now,
                               uint64_t executed),
                  void *context);

/* ---- node.c ---- */
void sites_each(cluster_node *n, void (*what)(cluster_node *n, site *p));
/* The detector has changed its mind about somebody. */
void sites_suspicion(cluster_node *n);
/* Wants to know how its epoch ends; whoever asks outside takes it from the list of those. */
void site_ask(cluster_node *n, site *p);
site *site_next_asking(cluster_node *n);
/* What was decided outside about a lock. */
wme_refusal site_decided(cluster_node *n, site *p, const wme_record *decision);

/* ---- joining.c ---- */
/* `forgets`: as node_beginning has it. False if the store fails. */
bool join_start(cluster_node *n, bool forgets);
/* True if that was all there is to do about it. */
bool join_receive(cluster_node *n, uint8_t from, const peer_said *said);
void join_tick(cluster_node *n);
/* What it waits for, in a sentence in `text`; NULL if nothing. */
const char *join_why(const cluster_node *n, char text[NODE_WHY]);
/* NULL, or why nobody can be let in. */
const char *join_refuses(cluster_node *n);

/* ---- seats.c ---- */
seat *seat_find(const session_roles *who, const site *of); /* NULL: it has none */
seat *seat_add(cluster_node *n, session_roles *who, site *of, uint32_t request);
bool seat_is_inside(const seat *s); /* NULL is not */
/* Whether it is inside, in the section of that token. */
bool seat_has(const seat *s, uint64_t token);
void seat_waits(cluster_node *n, seat *s);
/* The session has nothing to do with the lock any more. */
void seat_leave(cluster_node *n, seat *s);
void seat_hear(cluster_node *n, const seat *s, wdme_kind kind, uint64_t generation);
void seat_post(session_roles *to, const notice *what, const void *text, size_t bytes);
void seat_told(cluster_node *n, seat *s, const wme_action *a);
void seat_outcome(cluster_node *n, seat *s, const resp_out *result);
/* Those who watched, and have heard. */
void seats_dismiss(cluster_node *n);
/* To all sessions that have to do with this lock. */
void seats_push(const site *p, const char *what);
/* Those who tried, and had to wait for too long. */
void seats_time(cluster_node *n, site *p);
extern const registry_ways node_ways;

static inline cluster_node *node_of(registry *r)
{
    return (cluster_node *)(void *)r;
}

/* ---- report.c: as registry.h says ---- */
void report_each(registry *r, void (*each)(const registry_row *row, void *context), void *context);
registry_counts report_count(registry *r);
uint64_t report_locks(registry *r);

/* ---- linger.c ---- */
/* Whether what this session holds stays held though its connection is gone; and then, that. */
bool seats_may_linger(const cluster_node *n, const session_roles *who);
void seats_linger(cluster_node *n, session_roles *who);
/* Its session goes on with it, over another connection. */
void seat_resumed(cluster_node *n, seat *s);
bool seat_lingers(const seat *s);
/* Leases that are over. */
void ghosts_time(cluster_node *n);
void ghosts_free(cluster_node *n);

#endif
