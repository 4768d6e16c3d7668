/*
 * Consensus outside of the cluster: what the replicas of a node propose is asked of etcd, after the
 * turn in which they do has become durable, and what it says is brought back to them. One question
 * for each lock at a time, one key for each: baton/CLUSTER/NAME.
 */
#ifndef BATON_NODE_ENGINE_H
#define BATON_NODE_ENGINE_H

#include "etcd.h"
#include "node.h"

typedef struct outside outside;

/* NULL if there is no memory. From now on the replicas of the node do not decide by themselves. */
outside *outside_open(uv_loop_t *loop, cluster_node *node, const peers *all,
                      const etcd_settings *settings);
/* Asks what the replicas want to know, as far as etcd takes it; to be called when a turn ends. */
void outside_ask(outside *o);
/* The loop must run once more before outside_free. */
void outside_close(outside *o);
void outside_free(outside *o);

#endif
