/* What a forked process may still do with its parent's client: tell the server that it is over. */
#ifndef BATON_CLIENT_FAREWELL_H
#define BATON_CLIENT_FAREWELL_H

#include "baton/client.h"

/*
 * The socket of the connection that holds that token now; -1 if there is none. To be asked
 * for before the fork.
 */
int client_socket_of(baton_client *client, const char *name, uint64_t token);
/* Says there, after the parent has died, that nothing is held any more. Async-signal-safe. */
void client_farewell(int socket);

#endif
