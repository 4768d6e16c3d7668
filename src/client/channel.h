/*
 * A socket to a server, plain or with TLS over it. Sending and receiving are as with the system's
 * calls: a caller need not know which it is, but for what is still inside of TLS.
 */
#ifndef BATON_CLIENT_CHANNEL_H
#define BATON_CLIENT_CHANNEL_H

#include "address.h"
#include "tls_calls.h"

#include <sys/types.h>

/* How this process speaks TLS; of one client, for all its channels. */
typedef struct channel_tls {
    const char *ca, *cert, *key; /* files in PEM, as baton_client_options has them */
    const char *password;        /* without `ca`: a key that both sides make of it; or NULL */
    const tls_calls *by;         /* when it is open */
    tls_party *party;
} channel_tls;

typedef struct channel {
    int socket; /* -1: closed */
    const tls_calls *by;
    tls_stream *tls; /* NULL: plain */
    bool has_more;   /* there may be something inside of TLS that the socket knows nothing of */
} channel;

/* Set by a program that has TLS linked in; else libbaton-tls is loaded. */
extern const tls_calls *baton__tls_calls;

/* False, and why: there is no library for it, or a file is of no use. */
bool channel_tls_open(channel_tls *t, char complaint[COMPLAINT]);
void channel_tls_close(channel_tls *t);

/*
 * Shakes hands over a socket that is connected to HOST:PORT, until then (channel_clock). False,
 * with errno, and why in words if TLS has failed.
 */
bool channel_secure(channel *c, const channel_tls *t, const char *host_port, uint64_t until,
                    char complaint[COMPLAINT]);
/* Ends TLS, and closes. */
void channel_close(channel *c);

/* As send(2) and recv(2); EINTR also if nothing has come of it yet: to be called again. */
ssize_t channel_send(channel *c, const void *bytes, size_t count, int flags);
ssize_t channel_receive(channel *c, void *into, size_t room, int flags);
/*
 * Something that was taken by channel_send is still to be sent: call it again, also with nothing.
 */
bool channel_owes(const channel *c);
/* channel_receive may have more, though the socket has not. */
static inline bool channel_has_more(const channel *c)
{
    return c->tls != NULL && c->has_more;
}

/* Until the socket is ready for these events (poll); false, with errno, if it is not in time. */
bool channel_await(int socket, short events, uint64_t until);
/* Nanoseconds; goes on while the machine sleeps, if it can. */
uint64_t channel_clock(void);

#endif
