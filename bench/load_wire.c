/* A client's connection: bytes out, bytes in, nothing that blocks. */
#include "load_parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { FIRST_ROOM = 512, MOST_ROOM = 1 << 17 };

static bool poll_for(load_client *c, int how, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    return epoll_ctl(c->of->poll, how, c->socket, &event) == 0;
}

bool wire_connect(load_client *c)
{
    const int on = 1;
    const load_address *a = &c->of->plan->address[c->address];
    const struct sockaddr *name = (const struct sockaddr *)&a->name;
    c->socket = socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->socket < 0)
        return false;
    if (name->sa_family != AF_UNIX)
        setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(c->socket, name, a->bytes) != 0 && errno != EINPROGRESS)
        return false;
    c->is_polled_for_room = true; /* room to write: it is connected */
    return poll_for(c, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
}

bool wire_send(load_client *c)
{
    while (c->sent < c->out.bytes) {
        ssize_t sent = send(c->socket, c->out.at + c->sent, c->out.bytes - c->sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            break;
        if (sent < 0 && errno != EINTR)
            return false;
        c->sent += sent > 0 ? (size_t)sent : 0;
    }
    bool all = c->sent == c->out.bytes;
    if (all)
        c->sent = c->out.bytes = 0;
    if (all != c->is_polled_for_room)
        return true;
    c->is_polled_for_room = !all;
    return poll_for(c, EPOLL_CTL_MOD, all ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

static bool make_room(load_client *c)
{
    if (c->in_bytes < c->in_capacity)
        return true;
    size_t room = c->in_capacity == 0 ? FIRST_ROOM : 2 * c->in_capacity;
    char *grown = room <= MOST_ROOM ? realloc(c->in, room) : NULL;
    if (grown == NULL)
        return false;
    c->in = grown;
    c->in_capacity = room;
    return true;
}

bool wire_receive(load_client *c)
{
    if (!make_room(c))
        return false;
    ssize_t got = recv(c->socket, c->in + c->in_bytes, c->in_capacity - c->in_bytes, 0);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    c->in_bytes += (size_t)got;
    return got > 0;
}

void wire_close(load_client *c)
{
    if (c->socket >= 0)
        close(c->socket);
    c->socket = -1;
    c->in_bytes = c->out.bytes = c->sent = 0;
}
