/* A node behind the sessions of `baton node`; a node_daemon is a server's context. */
#ifndef BATON_NODE_DAEMON_H
#define BATON_NODE_DAEMON_H

#include "driver.h"
#include "engine.h"
#include "serve.h"

#include <pthread.h>

struct server;

/*
 * A node, and etcd if that decides for it; `etcd` as the command line says it. The thread of the
 * pages sees the figures as of the end of the last turn, and nothing else of the node.
 */
typedef struct node_daemon {
    node_driver driver;
    etcd_settings etcd; /* without addresses, consensus is paxos, and so */
    outside *outside;   /* NULL */
    pthread_mutex_t guards_shown;
    node_figures shown;
} node_daemon;

extern const serve_backend serve_node;

/* From any thread. */
node_figures daemon_look(const struct server *of);

/* ---- pages.c: over HTTP, by another thread ---- */
lock_counts daemon_count(struct server *of);
bool daemon_is_open(struct server *of, char why[SERVE_WHY]);
void daemon_metrics(struct server *of, resp_out *text);

#endif
