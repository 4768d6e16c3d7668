/* A node as what stands behind the sessions of `baton node`; a server's context is its driver. */
#ifndef BATON_NODE_DAEMON_H
#define BATON_NODE_DAEMON_H

#include "../net/serve.h"
#include "driver.h"
#include "outside.h"

struct server;

/* A node, and etcd if that decides for it; `etcd` as the command line says it. */
typedef struct node_daemon {
    node_driver driver;
    etcd_urls etcd;   /* none: consensus is paxos, and so */
    outside *outside; /* NULL */
} node_daemon;

extern const serve_backend serve_node;
extern const session_command daemon_commands[];

/* Of a service whose backend this is. */
cluster_node *daemon_node(service *s);
const peers *daemon_peers(service *s);
node_driver *daemon_of(const struct server *of);

/* ---- pages.c: over HTTP, by another thread ---- */
bool daemon_is_open(struct server *of, char why[SERVE_WHY]);
void daemon_metrics(struct server *of, resp_out *text);

#endif
