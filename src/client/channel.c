/* See channel.h. */
#include "channel.h"
#include "proof.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef CLOCK_BOOTTIME
#define CLOCK_BOOTTIME CLOCK_MONOTONIC
#endif

enum { CHUNK = 16384 + 1024 }; /* a record of TLS, with all that is around it */

const tls_calls *baton__tls_calls;

/* ---- time ---- */

uint64_t channel_clock(void)
{
    struct timespec at;
    clock_gettime(CLOCK_BOOTTIME, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

bool channel_await(int socket, short events, uint64_t until)
{
    for (;;) {
        uint64_t now = channel_clock();
        struct pollfd one = {.fd = socket, .events = events};
        int max = now >= until ? 0 : (int)((until - now) / 1000000 + 1);
        int ready = poll(&one, 1, max);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready == 0 && now >= until) {
            errno = ETIMEDOUT;
            return false;
        }
    }
}

/* ---- TLS ---- */

/* Once loaded it stays: others may use it. */
static const tls_calls *load(char complaint[COMPLAINT])
{
    static const char library[] = "libbaton-tls.so.0";
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const tls_calls *found = loaded != NULL ? dlsym(loaded, "baton_tls_calls_1") : NULL;
    if (found == NULL)
        snprintf(complaint, COMPLAINT, "TLS needs %s: %s", library, dlerror());
    return found;
}

bool channel_tls_open(channel_tls *t, char complaint[COMPLAINT])
{
    bool by_system = t->ca != NULL && strcmp(t->ca, "system") == 0;
    const tls_settings settings = {
        .cert = t->cert, .key = t->key, .ca = by_system ? NULL : t->ca, .takes_tls12 = true};
    t->by = baton__tls_calls != NULL ? baton__tls_calls : load(complaint);
    t->party = t->by != NULL ? t->by->open(&settings, complaint) : NULL;
    return t->party != NULL;
}

void channel_tls_close(channel_tls *t)
{
    if (t->party != NULL)
        t->by->close(t->party);
    t->party = NULL;
}

/* By certificate, where one is to be looked at; else by the password, which the server has, too. */
static tls_stream *dial(const channel_tls *t, const char *host_port, char complaint[COMPLAINT])
{
    char host[ADDRESS_HOST_BYTES];
    uint8_t key[TLS_KEY_BYTES];
    if (address_host(host_port, host) == NULL) {
        snprintf(complaint, COMPLAINT, "%.200s is no HOST:PORT", host_port);
        return NULL;
    }
    if (t->ca != NULL || t->password == NULL)
        return t->by->dial(t->party, host);
    proof_of_tls(t->password, key);
    tls_stream *made = t->by->dial_by_key(t->party, PROOF_TLS_IDENTITY, key);
    explicit_bzero(key, sizeof key);
    return made;
}

bool channel_secure(channel *c, const channel_tls *t, const char *host_port, uint64_t until,
                    char complaint[COMPLAINT])
{
    snprintf(complaint, COMPLAINT, "out of memory");
    errno = EPROTO;
    c->tls = dial(t, host_port, complaint);
    c->by = t->by;
    if (c->tls == NULL)
        return false;
    complaint[0] = '\0';
    while (!t->by->is_ready(c->tls)) {
        char none[1];
        bool is_sent = channel_send(c, "", 0, 0) == 0 || errno == EAGAIN || errno == EINTR;
        short events = channel_owes(c) ? POLLIN | POLLOUT : POLLIN;
        if (!is_sent || !channel_await(c->socket, events, until))
            return false;
        ssize_t got = channel_receive(c, none, sizeof none, MSG_DONTWAIT);
        if (t->by->failed(c->tls)) {
            snprintf(complaint, COMPLAINT, "%s", t->by->why(c->tls));
            channel_send(c, "", 0, MSG_DONTWAIT); /* what TLS tells the other side of that */
            errno = EPROTO;
            return false;
        }
        if (got >= 0) /* or it speaks before it was asked anything */
            errno = got == 0 ? ECONNRESET : EPROTO;
        if (got >= 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
    }
    return channel_send(c, "", 0, 0) == 0 || channel_owes(c);
}

void channel_close(channel *c)
{
    if (c->tls != NULL)
        c->by->hang_up(c->tls);
    if (c->socket >= 0)
        close(c->socket);
    *c = (channel){.socket = -1};
}

/* ---- bytes ---- */

bool channel_owes(const channel *c)
{
    const char *at;
    return c->tls != NULL && c->by->unsent(c->tls, &at) > 0;
}

/* What TLS has made of what was said. 0, or -1 with errno. */
static int send_owed(channel *c, int flags)
{
    const char *at;
    for (size_t count; (count = c->by->unsent(c->tls, &at)) > 0;) {
        ssize_t sent = send(c->socket, at, count, flags | MSG_NOSIGNAL);
        if (sent < 0)
            return -1;
        c->by->sent(c->tls, (size_t)sent);
    }
    return 0;
}

ssize_t channel_send(channel *c, const void *bytes, size_t count, int flags)
{
    if (c->tls == NULL)
        return send(c->socket, bytes, count, flags | MSG_NOSIGNAL);
    if (send_owed(c, flags) != 0)
        return -1;
    if (count > 0 && !c->by->write(c->tls, bytes, count)) {
        errno = EPROTO;
        return -1;
    }
    if (send_owed(c, flags) != 0 && errno != EAGAIN && errno != EINTR)
        return -1;
    return (ssize_t)count; /* all of it is taken */
}

/* What is inside of TLS. */
static ssize_t read_inside(channel *c, void *into, size_t room)
{
    size_t got = c->by->read(c->tls, into, room);
    c->has_more = got > 0;
    if (got > 0)
        return (ssize_t)got;
    errno = c->by->failed(c->tls) ? EPROTO : EINTR;
    return -1;
}

ssize_t channel_receive(channel *c, void *into, size_t room, int flags)
{
    char chunk[CHUNK];
    if (c->tls == NULL)
        return recv(c->socket, into, room, flags);
    if (c->has_more)
        return read_inside(c, into, room);
    ssize_t got = recv(c->socket, chunk, sizeof chunk, flags);
    if (got <= 0)
        return got;
    c->by->feed(c->tls, chunk, (size_t)got);
    return read_inside(c, into, room);
}
