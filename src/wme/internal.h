/*
 * What the files of this room share. A step is one event at one stub; all that follows from it
 * happens before the next (errata 20: the local effect of a broadcast comes at once).
 */
#ifndef BATON_WME_INTERNAL_H
#define BATON_WME_INTERNAL_H

#include "out.h"
#include "wme.h"

#include <assert.h>
#include <stdlib.h>

/*
 * Of slots and of stays inside, in one epoch: both must fit into numbers that have the epoch in
 * them. Who comes to the last of these begins another epoch, which counts anew.
 */
#define WME_LAST_NUMBER ((1ULL << WME_ENTRY_BITS) - 1)

typedef struct step {
    wme_stub *stub;
    wme_node *node;
    wme_out *out;
} step;

/* Memory of zeroes, to be freed. Without any the node ends: others have what was acknowledged. */
static inline void *wme_room(size_t count, size_t bytes)
{
    void *room = calloc(count, bytes);
    if (room == NULL)
        abort();
    return room;
}

/* ---- record.c: the queue of a record ---- */
/* The place of a node in the queue, or `queued` if it is not there. */
uint8_t wme_queue_place(const wme_record *r, uint8_t node);
/* Adds it at the end, or raises its request; keeps its place. */
void wme_queue_add(wme_record *r, uint8_t node, uint64_t request);
void wme_queue_remove(wme_record *r, uint8_t node);
/* The first but for these; false if there is none. Drops who was granted what it asks for. */
bool wme_queue_first(wme_record *r, uint16_t but, uint8_t *node);

/* ---- stub.c: the normal phase ---- */
/* Runs the open operation, if there is one: it is known to be acknowledged by a majority. */
void wme_execute_open(step s);
/* The same, in the normal phase: the user who issued it may be gone. */
void wme_commit(step s);
/* Runs operation `executed` + 1, and answers the one who issued it. */
void wme_execute_next(step s, wme_op *op);
/* Slot now.sn + 1: an operation, by the owner. */
void wme_invoke(step s);
/* The open operation came some other way than by INVOKE: acknowledge it. */
void wme_acknowledge(step s, bool again);
/* Slot now.sn + 1: the token to another, or to oneself. */
void wme_grant(step s, uint8_t to, uint64_t request);
/* GRANTED, INVOKE or DOINVOKE of this epoch, out of the early ones or just received. */
void wme_accept(step s, uint8_t from, const wme_early *m);

/* ---- users.c: who is next ---- */
/* The token is here, and nobody is inside. */
void wme_serve(step s);
/* Asks for the token, if a user wants in. */
void wme_ask(step s);
/* Who asks must be in the queue, under a number that was not granted yet: erratum 22. */
void wme_ask_again(step s);
/* The user inside stays so in the epoch that has begun. */
void wme_keep_inside(step s);
/* The user inside goes, as it wished. */
void wme_depart(step s);
void wme_tell(step s, wme_verb what, wme_user *user);

/* ---- epoch.c: the change of epoch ---- */
/* Begins one if the owner is suspected. */
void wme_watch(step s);
/* Nothing of this epoch is accepted any more; the others are told so, once. */
void wme_block(step s);
void wme_send_newep(step s);
void wme_gather(step s, uint8_t from, const wme_message *newep);
void wme_forget_best(wme_stub *stub);
/* Who is inside is not any more; what it has issued and got no outcome for is executed nowhere. */
void wme_eject(step s);
/* An epoch has begun; `now` says how. */
void wme_settle(step s);

/* ---- catchup.c ---- */
/* The log: operations now.ops and before. */
void wme_log_add(wme_stub *stub, wme_op *op); /* as number now.ops */
void wme_log_drop_last(wme_stub *stub);
void wme_log_clear(wme_stub *stub);
uint64_t wme_stable(const wme_stub *stub, const wme_node *node);
void wme_log_cut(wme_stub *stub, uint64_t stable);
/* A message that comes before its time. */
void wme_keep_early(wme_stub *stub, uint8_t from, const wme_message *m);
/* Those whose time has come. */
void wme_take_early(step s);
void wme_forget_early(wme_stub *stub);
bool wme_has_early(const wme_stub *stub);
void wme_send_sync(step s, uint16_t to);
void wme_send_state(step s, uint8_t to);
void wme_receive_sync(step s, uint8_t from, const wme_message *m);
void wme_receive_state(step s, uint8_t from, const wme_message *m);

/* ---- rejoin.c: a node that has lost what it knew ---- */
void wme_ask_where(step s);
void wme_receive_away(step s, uint8_t from, const wme_message *m);
void wme_receive_where(step s, uint8_t from, const wme_message *m);

/* Nodes from which no slot is to be expected: they are suspected, or have lost what they knew. */
static inline uint16_t wme_doubted(step s)
{
    return s.node->suspected | s.stub->others_away;
}

static inline bool wme_doubts(step s, uint8_t other)
{
    return (wme_doubted(s) & wme_bit(other)) != 0;
}

static inline bool wme_in_majority(const wme_node *node, uint16_t those)
{
    return __builtin_popcount(those) >= wme_majority(node);
}

static inline bool wme_is_open(const wme_stub *stub)
{
    return stub->executed < stub->now.ops;
}

#endif
