/* The last word of a process that was forked, when its parent is dead. */
#include "farewell.h"
#include "internal.h"

#include <string.h>
#include <sys/socket.h>

int client_socket_of(baton_client *c, const char *name, uint64_t token)
{
    size_t bytes = strnlen(name, BATON_CLIENT_NAME_BYTES);
    uint64_t hash = name_hash(name, bytes);
    pthread_mutex_lock(&c->mutex);
    const lock_name *n = names_find(&c->names, name, bytes, hash);
    const hold *h = n != NULL ? names_hold(n, token) : NULL;
    const channel *over = h != NULL && !h->over->dead ? &h->over->channel : NULL;
    int socket = over != NULL && over->tls == NULL ? over->socket : -1;
    pthread_mutex_unlock(&c->mutex);
    return socket;
}

void client_farewell(int socket)
{
    static const char quit[] = "*1\r\n$4\r\nQUIT\r\n";
    send(socket, quit, sizeof quit - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}
