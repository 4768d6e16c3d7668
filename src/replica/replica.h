/*
 * A replica of one lock: its stub (src/wme) and its consensus, put together. Pure, as both are;
 * this is what a node and the simulator run. Of the actions of wme.h, WME_PROPOSE and WME_DECISION
 * stay inside; all others are for who runs the node.
 *
 * If node->outside is set, consensus is not paxos among the nodes but something outside of them,
 * and WME_PROPOSE is for who runs the node, too: it asks outside, as consensus/outside.h says, and
 * brings back what was decided by replica_decided. It may lose a proposal, or the answer: the same
 * is proposed again with every tick until the epoch has ended.
 */
#ifndef BATON_REPLICA_REPLICA_H
#define BATON_REPLICA_REPLICA_H

#include "paxos.h"

typedef struct replica {
    wme_stub stub;
    paxos *consensus; /* on the end of the stub's epoch; NULL: nobody has said anything about it */
    uint64_t chance;  /* for the next */
    uint64_t decisions; /* of consensus that were taken here; counted */
} replica;

/* What a WME_PERSIST makes durable, besides the resource. */
typedef struct replica_durable {
    wme_record now;
    paxos_durable consensus;
    uint64_t rests; /* for who runs the node: the run of it in which this is all; 0: in none */
} replica_durable;

/* As the functions of wme.h; `chance`: a seed, different on each node. */
void replica_start(replica *r, const wme_node *node, uint8_t first_owner, uint64_t chance);
void replica_restart(replica *r, wme_node *node, const replica_durable *durable, uint64_t executed,
                     uint64_t chance, wme_out *out);
void replica_rejoin(replica *r, wme_node *node, uint64_t nonce, uint64_t chance, wme_out *out);
bool replica_waits(const replica *r);
bool replica_may_rest(const replica *r, const wme_node *node);
void replica_wake(replica *r, const wme_node *node, const replica_durable *saved, uint64_t executed,
                  uint64_t chance);
void replica_end(replica *r);
/* Both keep the operations they name. */
void replica_save(const replica *r, replica_durable *to);
void replica_durable_end(replica_durable *d);
/* What is durable at a node that ran before, but never persisted anything of this lock. */
void replica_unsaved(replica_durable *d, const wme_node *node, uint8_t first_owner);

wme_refusal replica_try(replica *r, wme_node *node, wme_user *user, wme_out *out);
wme_refusal replica_resume(replica *r, wme_node *node, wme_user *user, uint64_t token,
                           wme_out *out);
wme_refusal replica_issue(replica *r, wme_node *node, wme_user *user, wme_op *op, wme_out *out);
wme_refusal replica_exit(replica *r, wme_node *node, wme_user *user, wme_out *out);
void replica_leave(replica *r, wme_node *node, wme_user *user, wme_out *out);
void replica_revoke(replica *r, wme_node *node, wme_user *user, wme_out *out);
bool replica_yield(replica *r, wme_node *node, uint8_t to, wme_out *out);
void replica_receive(replica *r, wme_node *node, uint8_t from, const wme_message *m, wme_out *out);
/* What was decided outside, about whatever epoch. */
wme_refusal replica_decided(replica *r, wme_node *node, const wme_record *decision, wme_out *out);
void replica_suspicion(replica *r, wme_node *node, wme_out *out);
void replica_tick(replica *r, wme_node *node, wme_out *out);

#endif
