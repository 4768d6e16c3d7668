/*
 * Connections between nodes, on libuv. Each node dials every other one and speaks over the
 * connection it has made; what it hears comes over the one that the other has made. Who cannot be
 * reached is dialed again and again; what was to be sent to it meanwhile is lost, as the protocol
 * allows. Nothing is believed before TLS has shown who the other is.
 */
#ifndef BATON_NODE_LINKS_H
#define BATON_NODE_LINKS_H

#include "node.h"
#include "peer_tls.h"

#include <uv.h>

typedef struct links links;

/*
 * Listens at this node's own address, and begins to dial. NULL, and why, if it cannot listen, or
 * has nothing to show. The credentials are borrowed.
 */
links *links_open(uv_loop_t *loop, cluster_node *node, const peers *all, const peer_credentials *by,
                  char complaint[COMPLAINT]);
/* Sends what may leave early; to be called before the turn ends. */
void links_send_early(links *l);
/* Sends what peers wait for; to be called when the turn has ended. */
void links_send(links *l);
/* Sends the rest; to be called when clients have been told. */
void links_send_rest(links *l);
/* Tells the log who was refused; to be called some times in a second. */
void links_tell_refused(links *l);
/* All that was to be sent is sent. */
bool links_idle(const links *l);
/* The one at which it listens for peers. */
int links_descriptor(const links *l);
/* Closes all; the loop must run once more before links_free. */
void links_close(links *l);
void links_free(links *l);

#endif
