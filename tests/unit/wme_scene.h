/*
 * A cluster of replicas moved by hand: every message stays in flight until the test delivers or
 * drops it, and each node has users, a resource and a disk. What happens is checked after every
 * step by wme_unsound; what users are told is kept as a text, a letter for each thing:
 *
 *   C inside   O outcome   A outcome, recalled   R outside   E ejected
 */
#ifndef BATON_WME_SCENE_H
#define BATON_WME_SCENE_H

#include "replica.h"
#include "unit.h"

enum {
    SCENE_NODES = 5,
    SCENE_USERS = 12,
    SCENE_FLIGHT = 1024,
    SCENE_OPS = 96,
    SCENE_TOLD = 64,
    ANY = 255, /* kind, sender or receiver */
};

typedef struct scene_user {
    wme_user wme;
    char told[SCENE_TOLD];
    uint64_t token;
    uint64_t outcome; /* what the resource answered: how many operations it had executed */
} scene_user;

/* The keys of the operations that were executed, in this order. */
typedef struct scene_resource {
    uint32_t keys[SCENE_OPS];
    uint64_t count;
    uint64_t answered[WME_MAX_NODES]; /* id, and */
    uint64_t outcome[WME_MAX_NODES];  /* outcome, of the last operation of each node */
} scene_resource;

typedef struct scene_node {
    wme_node wme;
    replica replica;
    bool up;
    bool cut;            /* what it sends, and what is sent to it, is lost */
    bool dies;           /* in its next step, when it has written and before anything leaves */
    bool dies_unwritten; /* in its next step, when only what is early has left */
    scene_resource resource;
    scene_user user[SCENE_USERS];
    bool suspended; /* as users were told */
    struct {
        bool written;
        replica_durable lock;
        scene_resource resource;
    } disk;
    bool emptied; /* its disk was, once */
    uint32_t persists;
} scene_node;

typedef struct scene_letter {
    uint8_t from, to;
    wme_message message;
    scene_resource resource; /* that of a snapshot */
} scene_letter;

typedef struct scene {
    uint8_t nodes;
    scene_node node[SCENE_NODES];
    scene_letter *flight[SCENE_FLIGHT]; /* in the order in which they were sent */
    uint32_t count;
    bool keeps; /* what was delivered, for scene_replay */
    scene_letter *delivered[SCENE_FLIGHT];
    uint32_t delivered_count;
    uint32_t sent[WME_KINDS]; /* so far; see scene_forget_counts */
    uint32_t next_key;
    uint64_t next_nonce;
    uint32_t live_ops;
    wme_out out;
} scene;

/* Node 0 has the token. Close it in every test: that is where leaks are found. */
scene *scene_open(uint8_t nodes, bool ack_all);
void scene_close(scene *w);

/* ---- users ---- */
scene_user *scene_user_at(scene *w, uint8_t node, uint8_t user);
wme_refusal scene_try(scene *w, uint8_t node, uint8_t user);
wme_refusal scene_resume(scene *w, uint8_t node, uint8_t user, uint64_t token);
/* An operation with the next key: 1, 2, 3, ... */
wme_refusal scene_issue(scene *w, uint8_t node, uint8_t user);
wme_refusal scene_exit(scene *w, uint8_t node, uint8_t user);
void scene_leave(scene *w, uint8_t node, uint8_t user);
void scene_revoke(scene *w, uint8_t node, uint8_t user);
/* The token to another node that has not asked. */
bool scene_yield(scene *w, uint8_t node, uint8_t to);
const char *scene_told(scene *w, uint8_t node, uint8_t user);

/* After every event: does what it wants done. */
void scene_finish(scene *w, uint8_t node);

/* ---- messages ---- */
uint32_t scene_in_flight(const scene *w, uint8_t kind, uint8_t from, uint8_t to);
/* The oldest in flight; it is an error if there is none. */
const wme_message *scene_look(const scene *w, uint8_t kind, uint8_t from, uint8_t to);
void scene_deliver(scene *w, uint8_t kind, uint8_t from, uint8_t to);
/* The same, and it stays in flight. */
void scene_deliver_copy(scene *w, uint8_t kind, uint8_t from, uint8_t to);
/* All of them, and all that follow from them. */
void scene_deliver_every(scene *w, uint8_t kind, uint8_t from, uint8_t to);
void scene_settle(scene *w);                                       /* everything */
void scene_drop(scene *w, uint8_t kind, uint8_t from, uint8_t to); /* all of them */
void scene_lose(scene *w);                                         /* the oldest of all */
/* One that nobody has sent. */
void scene_forge(scene *w, uint8_t from, uint8_t to, const wme_message *m);
/* Once more all that was delivered since `keeps` was set; what is said to that is lost. */
void scene_replay(scene *w);
void scene_forget_counts(scene *w);
uint32_t scene_sent(const scene *w); /* of all kinds */

/* ---- nodes ---- */
void scene_suspect(scene *w, uint8_t node, uint8_t whom);
void scene_trust(scene *w, uint8_t node, uint8_t whom);
void scene_tick(scene *w, uint8_t node);
void scene_tick_all(scene *w); /* each once, and everything delivered */
void scene_crash(scene *w, uint8_t node);
void scene_restart(scene *w, uint8_t node);
/* Crashes, if it is up, and what was on its disk is gone. */
void scene_forget(scene *w, uint8_t node);
/* Out of memory and back; false if it must not. */
bool scene_rest(scene *w, uint8_t node);
/* From now on nothing leaves it and nothing reaches it; false mends that. */
void scene_cut(scene *w, uint8_t node, bool cut);

wme_stub *scene_stub(scene *w, uint8_t node);
/* Fails unless the node has executed just these, in this order; ends with 0. */
void scene_expect_executed(const scene *w, uint8_t node, const uint32_t *keys);
#define EXPECT_EXECUTED(w, node, ...) \
    scene_expect_executed(w, node, (const uint32_t[]){__VA_ARGS__, 0})
/* An operation of a test's own making; counted among the live. */
wme_op *scene_op(scene *w, uint32_t key);

#endif
