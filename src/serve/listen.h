/* Addresses: what a server listens at, TCP and Unix sockets. */
#ifndef BATON_SERVE_LISTEN_H
#define BATON_SERVE_LISTEN_H

#include "address.h"
#include "complaint.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

typedef struct listeners listeners;

enum { LISTEN_NAME_BYTES = 80 };

/* Whether that is HOST:PORT, and nothing more. */
bool listen_is_tcp(const char *address);
/* Whether that address can be reached from this machine only; false also if it is no address. */
bool listen_is_local(const char *address);
/*
 * Listens at all of them; `accepted` gets each socket. NULL if that is not possible, and why: a
 * path where a server listens already is left alone, one that was left behind is taken over.
 */
listeners *listen_open(uv_loop_t *loop, const char *const *address, uint32_t count,
                       void (*accepted)(void *context, int socket, address_kind kind),
                       void *context, char complaint[COMPLAINT]);
/* Tells the log of connections that could not be accepted; to be called some times in a second. */
void listen_tell_failures(listeners *all);
/* That of the first address. */
int listen_descriptor(const listeners *all);
void listen_close(listeners *all);
/* When the loop has ended. */
void listen_free(listeners *all);

/* "127.0.0.1:54321" */
void listen_peer_name(const uv_tcp_t *socket, char *name, size_t bytes);
/*
 * A socket that listens at HOST:PORT, for whoever accepts by himself, and its address with the port
 * that it has got; -1 with errno if that is not possible.
 */
int listen_socket(const char *address, char name[LISTEN_NAME_BYTES]);

#endif
