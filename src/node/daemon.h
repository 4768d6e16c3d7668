/* A node on sockets and a disk: what stands behind the sessions of `baton node`. */
#ifndef BATON_NODE_DAEMON_H
#define BATON_NODE_DAEMON_H

#include "../net/serve.h"
#include "links.h"

struct server;

/* As the command line says it; and, once it is open, the node. All zero at first but settings. */
typedef struct node_daemon {
    peers peers;
    const char *data; /* directory */
    size_t most_bytes;
    bool ack_all;
    store_durability durability;
    proof_secret secret;

    store *store;
    cluster_node node;
    links *links;
    uv_timer_t ticks;
} node_daemon;

extern const serve_backend serve_node;
extern const session_command daemon_commands[];

/* Of a service whose backend this is. */
cluster_node *daemon_node(service *s);
const peers *daemon_peers(service *s);
node_daemon *daemon_of(const struct server *of);

/* ---- pages.c: over HTTP, by another thread ---- */
bool daemon_is_open(struct server *of, char why[SERVE_WHY]);
void daemon_metrics(struct server *of, resp_out *text);

#endif
