/*
 * Load on etcd: PUT by gRPC, over HTTP/2 by nghttp2. gRPC is little for so much: a message is its
 * fields, each with its number, type and length, behind five bytes; grpc-status 0 says that it was
 * done. Not by etcd's JSON gateway, which is a client within the server and costs it time. Not by
 * libcurl, whose 7.88 does not use a connection to etcd twice (error 16).
 */
#include "peer_load.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    EVENTS = 64,
    ROOM = 16384,
    FRAME = 5,           /* bytes before a message: not compressed, and its length */
    MOST_REQUEST = 64,   /* bytes besides the value */
    SHORT_LENGTH = 0x80, /* from here on a length takes more than one byte */
};

typedef struct etcd_load etcd_load;

typedef struct etcd_client {
    etcd_load *of;
    const char *address;
    nghttp2_session *session;
    int socket;
    uint8_t request[MOST_REQUEST + LOAD_MAX_VALUE];
    size_t bytes, sent;
    uint64_t begun;
    bool is_fine; /* grpc-status: 0 */
} etcd_client;

struct etcd_load {
    peer_load common;
    etcd_client *client;
    int poll;
    uint32_t under_way, ready;
    const char *complaint;
};

/* ---- one request ---- */

/* A field of bytes: its number and type in one byte, its length in groups of seven bits. */
static size_t put_field(uint8_t *to, unsigned number, const void *bytes, size_t count)
{
    size_t at = 0;
    size_t length = count;
    to[at++] = (uint8_t)(number << 3 | 2);
    for (; length >= SHORT_LENGTH; length >>= 7)
        to[at++] = (uint8_t)(length | SHORT_LENGTH);
    to[at++] = (uint8_t)length;
    memcpy(to + at, bytes, count);
    return at + count;
}

static void make_request(etcd_client *c, uint32_t number, const peer_load *l)
{
    char key[32];
    int length = snprintf(key, sizeof key, "bench/%u", number);
    c->bytes = FRAME + put_field(c->request + FRAME, 1, key, (size_t)length);
    c->bytes += put_field(c->request + c->bytes, 2, l->value, l->plan.max_bytes);
    size_t message = c->bytes - FRAME;
    for (unsigned i = 0; i < 4; i++)
        c->request[1 + i] = (uint8_t)(message >> (24 - 8 * i));
}

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *to, size_t room,
                            uint32_t *flags, nghttp2_data_source *source, void *context)
{
    etcd_client *c = source->ptr;
    size_t count = c->bytes - c->sent < room ? c->bytes - c->sent : room;
    (void)session;
    (void)stream;
    (void)context;
    memcpy(to, c->request + c->sent, count);
    c->sent += count;
    if (c->sent == c->bytes)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)count;
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

static void begin(etcd_client *c)
{
    const nghttp2_nv headers[] = {
        header(":method", "POST"),
        header(":scheme", "http"),
        header(":path", "/etcdserverpb.KV/Put"),
        header(":authority", c->address),
        header("content-type", "application/grpc"),
        header("te", "trailers"),
    };
    const nghttp2_data_provider body = {{.ptr = c}, read_request};
    c->is_fine = false;
    c->sent = 0;
    c->begun = now_ns();
    c->of->under_way++;
    if (nghttp2_submit_request(c->session, NULL, headers, sizeof headers / sizeof headers[0], &body,
                               NULL) < 0)
        c->of->complaint = "no request can be made";
}

/* ---- what the session tells ---- */

static int take_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                       size_t name_bytes, const uint8_t *value, size_t bytes, uint8_t flags,
                       void *context)
{
    static const char status[] = "grpc-status";
    (void)session;
    (void)frame;
    (void)flags;
    if (name_bytes == strlen(status) && memcmp(name, status, name_bytes) == 0)
        ((etcd_client *)context)->is_fine = bytes == 1 && value[0] == '0';
    return 0;
}

/* The first request of each client only shows that it is connected. */
static int take_end(nghttp2_session *session, int32_t stream, uint32_t error, void *context)
{
    etcd_client *c = context;
    etcd_load *l = c->of;
    bool is_fine = c->is_fine && error == NGHTTP2_NO_ERROR;
    (void)session;
    (void)stream;
    l->under_way--;
    if (l->common.from > 0) {
        peer_load_answered(&l->common, c->begun, is_fine);
        if (peer_load_goes_on(&l->common))
            begin(c);
    } else if (!is_fine) {
        l->complaint = "etcd refuses a PUT";
    } else if (++l->ready == l->common.plan.clients) {
        peer_load_begin(&l->common);
    }
    return 0;
}

/* ---- connections ---- */

/* HOST:PORT; -1 if nobody is there. */
static int connect_to(const char *address)
{
    char host[LOAD_ADDRESS_BYTES];
    const int on = 1;
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    const char *colon = strrchr(address, ':');
    if (colon == NULL)
        return -1;
    snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
    if (getaddrinfo(host, colon + 1, &wanted, &found) != 0)
        return -1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* Requests are small: there is always room to send them at once. */
static bool flush(etcd_client *c)
{
    const uint8_t *bytes;
    ssize_t count;
    while ((count = nghttp2_session_mem_send(c->session, &bytes)) > 0)
        for (ssize_t done = 0; done < count;) {
            ssize_t sent = send(c->socket, bytes + done, (size_t)(count - done), MSG_NOSIGNAL);
            if (sent < 0 && errno != EINTR)
                return false;
            done += sent > 0 ? sent : 0;
        }
    return count == 0;
}

static bool take(etcd_client *c)
{
    static uint8_t room[ROOM];
    ssize_t got = recv(c->socket, room, sizeof room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    return got > 0 && nghttp2_session_mem_recv(c->session, room, (size_t)got) == got && flush(c);
}

static bool set_up(etcd_load *l, uint32_t number, const nghttp2_session_callbacks *callbacks)
{
    etcd_client *c = &l->client[number];
    const load_plan *p = &l->common.plan;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    c->of = l;
    c->address = p->address[number % p->addresses].text;
    c->socket = connect_to(c->address);
    make_request(c, number, &l->common);
    if (c->socket < 0 || epoll_ctl(l->poll, EPOLL_CTL_ADD, c->socket, &event) != 0 ||
        nghttp2_session_client_new(&c->session, callbacks, c) != 0 ||
        nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, NULL, 0) != 0)
        return false;
    begin(c);
    return flush(c);
}

/* ---- all of it ---- */

static bool start(etcd_load *l)
{
    nghttp2_session_callbacks *callbacks;
    l->poll = epoll_create1(EPOLL_CLOEXEC);
    l->client = calloc(l->common.plan.clients, sizeof *l->client);
    if (l->poll < 0 || l->client == NULL || nghttp2_session_callbacks_new(&callbacks) != 0)
        return false;
    nghttp2_session_callbacks_set_on_header_callback(callbacks, take_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, take_end);
    bool is_fine = true;
    for (uint32_t i = 0; i < l->common.plan.clients && is_fine; i++)
        is_fine = set_up(l, i, callbacks);
    nghttp2_session_callbacks_del(callbacks);
    return is_fine;
}

static void turn(etcd_load *l)
{
    struct epoll_event event[EVENTS];
    bool was_begun = l->common.from > 0;
    int count = epoll_wait(l->poll, event, EVENTS, -1);
    for (int i = 0; i < count; i++)
        if (!take(event[i].data.ptr))
            l->complaint = "etcd has closed a connection";
    for (uint32_t i = 0; !was_begun && l->common.from > 0 && i < l->common.plan.clients; i++) {
        begin(&l->client[i]);
        if (!flush(&l->client[i]))
            l->complaint = "etcd has closed a connection";
    }
}

static void end(etcd_load *l)
{
    for (uint32_t i = 0; l->client != NULL && i < l->common.plan.clients; i++) {
        nghttp2_session_del(l->client[i].session);
        if (l->client[i].socket > 0)
            close(l->client[i].socket);
    }
    free(l->client);
    if (l->poll >= 0)
        close(l->poll);
}

int main(int argc, char **argv)
{
    static etcd_load l = {.poll = -1};
    int code = EXIT_FAILURE;
    (void)argc;
    if (!peer_load_read(&l.common, "peer_etcd", argv, &code))
        return code;
    code = EXIT_FAILURE;
    if (!start(&l))
        l.complaint = "cannot connect to etcd";
    while (l.complaint == NULL && l.under_way > 0)
        turn(&l);
    if (l.complaint == NULL)
        code = peer_load_print(&l.common);
    else
        fprintf(stderr, "peer_etcd: %s\n", l.complaint);
    end(&l);
    return code;
}
