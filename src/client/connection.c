/* Connections: requests go out, replies come in, in the same order; and the end of it. */
#include "room.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#ifndef CLOCK_BOOTTIME
#define CLOCK_BOOTTIME CLOCK_MONOTONIC
#endif

static uint64_t nanoseconds(struct timespec at)
{
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

uint64_t clock_now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_BOOTTIME, &at);
    return nanoseconds(at);
}

uint64_t lease_counted(const baton_client *c)
{
    return c->lease - c->lease / 16;
}

void connection_add(baton_client *c, connection *k)
{
    k->next = c->connections;
    c->connections = k;
    c->counts.messages += c->lease > 0 ? 4 : 2; /* HELLO, RENEW, and the answers */
    keeper_wake(c);
}

/* ---- the end ---- */

/* Nothing that was known or held over the connection remains. */
static void cut_name(baton_client *c, lock_name *n, void *context)
{
    connection *k = context;
    for (hold *h = n->holds, *next; h != NULL; h = next) {
        next = h->next;
        if (h->over == k)
            hold_lose(c, n, h);
    }
    if (k == c->main) {
        wdme_client_cut(&n->a);
        pthread_cond_broadcast(&n->answered);
    }
    names_tidy(&c->names, n);
}

void connection_cut(baton_client *c, connection *k, int error)
{
    if (k->dead)
        return;
    k->dead = true;
    k->idle = false;
    shutdown(k->socket, SHUT_RDWR);
    while (k->first != NULL) {
        request *r = k->first;
        k->first = r->next;
        request_finish(r, BATON_UNREACHABLE, error);
    }
    k->last = NULL;
    k->renewing = false;
    wdme_client_cut(&k->a);
    names_each(c, cut_name, k);
    assert(k->holds == 0);
    if (k == c->main)
        c->main = NULL;
    keeper_wake(c);
}

bool connection_is_over(const baton_client *c, const connection *k, uint64_t now)
{
    return c->lease > 0 && !k->unsure && now >= k->sure_until;
}

/* ---- out ---- */

void connection_flush(baton_client *c, connection *k)
{
    if (k->out.overflow) {
        connection_cut(c, k, ENOBUFS);
        return;
    }
    if (k->dead || k->out.bytes == 0)
        return;
    ssize_t sent = send(k->socket, k->out.at, k->out.bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        connection_cut(c, k, errno);
        return;
    }
    if (sent > 0) {
        k->out.bytes -= (size_t)sent;
        memmove(k->out.at, k->out.at + sent, k->out.bytes);
    }
    if (k->out.bytes > 0)
        keeper_wake(c); /* it sends the rest when there is room */
}

static void put_number(resp_out *out, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    resp_text(out, digits);
}

/* A command, and with it, at no message's cost, how many tries were refused here since the last. */
static void put(baton_client *c, resp_out *out, const char *verb, const char *name,
                const uint64_t *number)
{
    uint64_t refused = c->unreported < UINT32_MAX ? c->unreported : UINT32_MAX;
    resp_array(out, 1u + (name != NULL) + (number != NULL) + (refused > 0));
    resp_text(out, verb);
    if (name != NULL)
        resp_text(out, name);
    if (number != NULL)
        put_number(out, *number);
    if (refused > 0)
        put_number(out, refused);
    c->unreported -= refused;
}

static void enlist(baton_client *c, connection *k, request *r)
{
    r->next = NULL;
    r->done = false;
    r->sent_at = clock_now(); /* before it is sent */
    if (k->last != NULL)
        k->last->next = r;
    else
        k->first = r;
    k->last = r;
    k->renew_at = r->sent_at + c->lease / 3; /* every command renews the lease */
    c->counts.messages++;
}

static void put_renewal(baton_client *c, connection *k)
{
    uint64_t lease = c->lease / 1000000;
    assert(!k->renewing);
    k->renewal = (request){.kind = ASK_RENEW};
    k->renewing = true;
    enlist(c, k, &k->renewal);
    put(c, &k->out, "RENEW", NULL, &lease);
}

void connection_renew(baton_client *c, connection *k)
{
    put_renewal(c, k);
    connection_flush(c, k);
}

void connection_ask(baton_client *c, connection *k, request *r, const char *name, uint64_t number)
{
    assert(!k->dead);
    enlist(c, k, r);
    switch (r->kind) {
    case ASK_TRY:
        put(c, &k->out, "TRY", name, NULL);
        break;
    case ASK_LOCK:
        put(c, &k->out, "LOCK", name, &number);
        /* Read when the lock is granted: the lease begins anew, however long that took. */
        if (c->lease > 0)
            put_renewal(c, k);
        break;
    case ASK_EXIT:
        put(c, &k->out, "EXIT", name, &number);
        break;
    case ASK_RENEW:
        put(c, &k->out, "RENEW", NULL, &number);
        break;
    }
    connection_flush(c, k);
}

void connection_await(baton_client *c, connection *k, request *r, uint64_t most)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t at = nanoseconds(until) + most;
    until.tv_sec = (time_t)(at / 1000000000u);
    until.tv_nsec = (long)(at % 1000000000u);
    while (!r->done) {
        if (most == 0)
            pthread_cond_wait(&r->answered, &c->mutex);
        else if (pthread_cond_timedwait(&r->answered, &c->mutex, &until) == ETIMEDOUT && !r->done)
            connection_cut(c, k, ETIMEDOUT);
    }
}

/* ---- in ---- */

void connection_read(baton_client *c, connection *k)
{
    const resp_limits limits = {.word_bytes = MOST_REPLY / 2, .command_bytes = MOST_REPLY - 1};
    ssize_t got = recv(k->socket, k->in + k->in_bytes, sizeof k->in - k->in_bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        connection_cut(c, k, got == 0 ? ECONNRESET : errno);
        return;
    }
    k->in_bytes += (size_t)got;
    size_t used = 0;
    while (!k->dead) {
        resp_reply reply;
        resp_parsed p = resp_reply_parse(k->in + used, k->in_bytes - used, &limits, &reply);
        if (p.verdict == RESP_MORE)
            break;
        if (p.verdict == RESP_BAD || !answer_take(c, k, &reply)) {
            connection_cut(c, k, EPROTO);
            return;
        }
        used += p.used;
    }
    k->in_bytes -= used;
    memmove(k->in, k->in + used, k->in_bytes);
}
