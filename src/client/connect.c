/* Connecting: addresses, sockets, and what is said first (AUTH, HELLO, SESSION, RENEW). */
#include "internal.h"
#include "proof.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const struct sockaddr *address, socklen_t bytes, uint64_t until)
{
    int at = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (at < 0)
        return -1;
    int error = connect(at, address, bytes) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        socklen_t size = sizeof error;
        if (!channel_await(at, POLLOUT, until) ||
            getsockopt(at, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
            error = errno;
    }
    if (error == 0)
        return at;
    close(at);
    errno = error;
    return -1;
}

static int connect_unix(const char *path, uint64_t until)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t bytes = strlen(path) + 1;
    if (bytes > sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, bytes);
    return connect_to((const struct sockaddr *)&address, sizeof address, until);
}

/* Replies at once, and a peer that is gone without a word is noticed. */
static void set_options(int at)
{
    const int on = 1, seconds = 15, probes = 3;
    setsockopt(at, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(at, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(at, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    setsockopt(at, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    setsockopt(at, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

/* At whichever of its addresses somebody answers first. */
static int connect_tcp(const baton_client *c, uint32_t server, uint64_t until)
{
    book_entry known;
    int at = -1;
    if (!book_find(c->book, server, until, &known))
        return -1;
    for (uint32_t i = 0; i < known.count && at < 0; i++)
        at = connect_to((const struct sockaddr *)&known.address[i].at, known.address[i].bytes,
                        until);
    int error = errno;
    if (at >= 0)
        set_options(at);
    else
        book_doubt(c->book, server);
    errno = error;
    return at;
}

/* ---- what is said first ---- */

/* The next reply, from the beginning of `in`; there it stays. */
static resp_parsed read_reply(line *k, uint64_t until, resp_reply *reply)
{
    const resp_limits limits = {.word_bytes = MAX_REPLY / 2, .command_bytes = MAX_REPLY - 1};
    for (;;) {
        resp_parsed p = resp_reply_parse(k->in, k->in_bytes, &limits, reply);
        if (p.verdict != RESP_MORE)
            return p;
        if (!channel_has_more(&k->channel) && !channel_await(k->channel.socket, POLLIN, until))
            return p;
        if (!line_make_room(k))
            return p;
        ssize_t got =
            channel_receive(&k->channel, k->in + k->in_bytes, k->in_capacity - k->in_bytes, 0);
        if (got > 0) {
            k->in_bytes += (size_t)got;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            if (got == 0)
                errno = ECONNRESET;
            return p;
        }
    }
}

/* Whether an answer to HELLO says that of itself. */
static bool says(const resp_reply *reply, const char *what, const char *text)
{
    for (uint32_t i = 0; i + 1 < reply->elements; i += 2) {
        const reply_value *key = &reply->element[i], *value = key + 1;
        if (key->kind == REPLY_BULK && resp_is(key->text, what))
            return value->kind == REPLY_BULK && resp_is(value->text, text);
    }
    return false;
}

static bool send_all(line *k, uint64_t until)
{
    size_t done = 0;
    while (done < k->out.bytes || channel_owes(&k->channel)) {
        ssize_t sent = channel_send(&k->channel, k->out.at + done, k->out.bytes - done, 0);
        if (sent >= 0)
            done += (size_t)sent;
        else if (errno != EINTR &&
                 (errno != EAGAIN || !channel_await(k->channel.socket, POLLOUT, until)))
            return false;
    }
    k->out.bytes = 0;
    return true;
}

/* Sends what is in `out` and reads the reply to it; BATON_OK if there is one. */
static int exchange(line *k, uint64_t until, resp_reply *reply)
{
    if (k->out.overflow || !send_all(k, until))
        return BATON_UNREACHABLE;
    resp_parsed p = read_reply(k, until, reply);
    if (p.verdict == RESP_COMPLETE) /* the bytes stay where they are, for the texts in it */
        k->in_bytes -= p.used;
    return p.verdict == RESP_MORE  ? BATON_UNREACHABLE
           : p.verdict == RESP_BAD ? BATON_REFUSED
                                   : BATON_OK;
}

static int set_lease(line *k, uint64_t until)
{
    resp_reply reply;
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, k->watch.lease / 1000000);
    resp_array(&k->out, 2);
    resp_text(&k->out, "RENEW");
    resp_text(&k->out, number);
    uint64_t sent_at = clock_now();
    int result = exchange(k, until, &reply);
    if (result != BATON_OK)
        return result;
    watch_sent(&k->watch, sent_at);
    watch_answered(&k->watch, sent_at);
    return reply.value.kind == REPLY_INTEGER ? BATON_OK : answer_refusal(&reply.value);
}

static void say(resp_out *out, uint32_t count, const char *const *words)
{
    resp_array(out, count);
    for (uint32_t i = 0; i < count; i++)
        resp_text(out, words[i]);
}

/* The password itself is never sent, whatever the server says. */
static int prove_password(const baton_client *c, line *k, uint64_t until)
{
    resp_reply reply;
    char hex[PROOF_HEX + 1];
    say(&k->out, 2, (const char *const[]){"AUTH", "CHALLENGE"});
    int result = exchange(k, until, &reply);
    if (result != BATON_OK)
        return result;
    if (reply.value.kind != REPLY_BULK || !proof_answer(c->password, reply.value.text, hex))
        return answer_refusal(&reply.value);
    say(&k->out, 3, (const char *const[]){"AUTH", "PROOF", hex});
    result = exchange(k, until, &reply);
    return result != BATON_OK || reply.value.kind != REPLY_ERROR ? result : BATON_REFUSED;
}

/* A node that does not know sessions, or that one, lets us go on without. */
static int say_session(const baton_client *c, line *k, uint64_t until)
{
    resp_reply reply;
    say(&k->out, 2, (const char *const[]){"SESSION", c->session});
    int result = exchange(k, until, &reply);
    k->watch.named = result == BATON_OK && reply.value.kind != REPLY_ERROR;
    return result;
}

static int introduce(const baton_client *c, line *k, uint64_t until)
{
    resp_reply reply;
    bool is_known = c->kind[k->server] == ADDRESS_TLS && c->tls.ca == NULL; /* TLS has proved it */
    int result = c->password != NULL && !is_known ? prove_password(c, k, until) : BATON_OK;
    if (result != BATON_OK)
        return result;
    say(&k->out, 2, (const char *const[]){"HELLO", "3"});
    result = exchange(k, until, &reply);
    if (result != BATON_OK)
        return result;
    /* Nothing is asked before the answer: whatever came behind it is not the protocol. */
    if (reply.value.kind != REPLY_MAP || !says(&reply, "SERVER", "BATON") || k->in_bytes > 0)
        return answer_refusal(&reply.value);
    k->is_cluster = says(&reply, "MODE", "CLUSTER");
    k->watch.lease = k->is_cluster && c->cluster_lease != 0 ? c->cluster_lease : c->lease;
    if (k->is_cluster && c->session[0] != '\0')
        result = say_session(c, k, until);
    if (result != BATON_OK)
        return result;
    return k->watch.lease == 0 ? BATON_OK : set_lease(k, until);
}

/* ---- TLS ---- */

static _Thread_local char why[COMPLAINT];

const char *baton_client_why(void)
{
    return why;
}

/*
 * A server that is there, and not who it should be, is refused; one that goes away was not there.
 */
static int secure(const baton_client *c, line *k, uint64_t until)
{
    if (channel_secure(&k->channel, &c->tls, c->server[k->server], until, why))
        return BATON_OK;
    return why[0] != '\0' ? BATON_REFUSED : BATON_UNREACHABLE;
}

bool servers_secure(baton_client *c)
{
    bool wanted = false;
    why[0] = '\0';
    for (uint32_t i = 0; i < c->servers; i++)
        wanted = wanted || c->kind[i] == ADDRESS_TLS;
    return !wanted || channel_tls_open(&c->tls, why);
}

/* ---- which server ---- */

bool servers_split(baton_client *c)
{
    char *at = c->addresses;
    for (;;) {
        size_t bytes = strcspn(at, ",");
        bool last = at[bytes] == '\0';
        if (bytes == 0 || c->servers == MAX_SERVERS)
            return false;
        at[bytes] = '\0';
        address_parts its = address_read(at);
        c->kind[c->servers] = its.kind;
        c->server[c->servers++] = its.rest;
        if (last)
            return true;
        at += bytes + 1;
    }
}

bool line_make_room(line *k)
{
    if (k->in_bytes < k->in_capacity)
        return true;
    size_t room = k->in_capacity == 0 ? FIRST_ROOM : 2 * k->in_capacity;
    char *grown = room <= MAX_REPLY ? realloc(k->in, room) : NULL;
    if (grown == NULL) {
        errno = room <= MAX_REPLY ? ENOMEM : EPROTO;
        return false;
    }
    k->in = grown;
    k->in_capacity = room;
    return true;
}

line *line_open_at(const baton_client *c, uint32_t server, uint64_t patience, int *result)
{
    line *k = calloc(1, sizeof *k);
    if (k == NULL) {
        *result = BATON_SYSTEM;
        return NULL;
    }
    const char *at = c->server[server];
    uint64_t until = clock_now() + patience;
    list_start(&k->requests);
    k->server = server;
    k->out.max = MAX_UNSENT;
    k->channel.socket =
        c->kind[server] == ADDRESS_UNIX ? connect_unix(at, until) : connect_tcp(c, server, until);
    *result = k->channel.socket < 0 ? BATON_UNREACHABLE : BATON_OK;
    if (*result == BATON_OK && c->kind[server] == ADDRESS_TLS)
        *result = secure(c, k, until);
    if (*result == BATON_OK)
        *result = introduce(c, k, until);
    if (*result == BATON_OK)
        return k;
    int error = errno;
    line_free(k);
    errno = error;
    return NULL;
}

/* One that is silent must not use up the time of all. */
line *line_open(const baton_client *c, course *way, int *result)
{
    line *k = NULL;
    *result = BATON_UNREACHABLE;
    while (k == NULL && *result == BATON_UNREACHABLE && !course_is_over(way))
        k = line_open_at(c, course_next(way), c->patience / c->servers, result);
    return k;
}

void line_free(line *k)
{
    LIST_EACH (at, &k->requests) { /* which nobody waits for: the client is closed */
        request *r = OWNER_OF(at, request, link);
        if (r->alone)
            free(r);
    }
    channel_close(&k->channel);
    resp_free(&k->out);
    free(k->in);
    free(k);
}
