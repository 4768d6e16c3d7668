/*
 * A node on sockets and a disk, in somebody's event loop: what `baton node` (daemon.c) and a
 * replica within a program (src/embed) have in common. No protocol here: it opens and closes, and
 * ends turns.
 */
#ifndef BATON_NODE_DRIVER_H
#define BATON_NODE_DRIVER_H

#include "links.h"

/* As its owner wants it; and, once it is open, the node. All zero at first but settings. */
typedef struct node_driver {
    peers peers;
    const char *data; /* directory */
    size_t max_bytes;
    bool ack_all;
    store_durability durability;
    peer_credentials credentials;
    const store_own *own; /* NULL: keys and values */
    const char *only;     /* the one lock that there is; NULL: as many as are used */

    store *store;
    cluster_node node;
    links *links;
    uv_timer_t ticks;
} node_driver;

/* Whether all nodes are on this machine: else they need a secret. */
bool driver_is_local(const node_driver *d);

/* False, and why: then nothing is open. */
bool driver_open(node_driver *d, uv_loop_t *loop, char complaint[COMPLAINT]);
/* To be called when the loop is about to sleep. False if the disk failed; see node_turn_ends. */
bool driver_turn_ends(node_driver *d);
/* To be called after that, when clients have been told. */
void driver_turn_told(node_driver *d);
/* It is about to end: to be called often, until the others have been told about every token. */
bool driver_drained(node_driver *d);
/* Closes what is in the loop; to be followed by driver_close when that has ended. */
void driver_stop(node_driver *d);
/* Keeps all there is; false if the disk failed. Also before another thread takes over. */
bool driver_last_turn(node_driver *d);
/* What was not kept is gone. */
void driver_close(node_driver *d);

#endif
