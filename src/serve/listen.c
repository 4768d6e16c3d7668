/* Addresses, as base/address.h has them; a host is a number, or "localhost". */
#include "listen.h"
#include "log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

typedef struct listener {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    address_kind kind;
    listeners *of;
} listener;

struct listeners {
    uv_loop_t *loop;
    uint32_t count;
    void (*accepted)(void *context, int socket, address_kind kind);
    void *context;
    log_sum failures; /* to accept somebody */
    listener one[];
};

/* HOST:PORT or [HOST]:PORT; false if it is neither. */
static bool parse_tcp(const char *address, struct sockaddr_storage *out)
{
    char name[ADDRESS_HOST_BYTES];
    const char *digits = address_host(address, name);
    char *end = NULL;
    long port = digits != NULL ? strtol(digits, &end, 10) : -1;
    if (end == NULL || *end != '\0' || port < 0 || port > 65535)
        return false;
    if (strcmp(name, "localhost") == 0)
        return uv_ip4_addr("127.0.0.1", (int)port, (struct sockaddr_in *)out) == 0;
    return uv_ip4_addr(name, (int)port, (struct sockaddr_in *)out) == 0 ||
           uv_ip6_addr(name, (int)port, (struct sockaddr_in6 *)out) == 0;
}

bool listen_is_tcp(const char *address)
{
    struct sockaddr_storage at;
    return address_read(address).kind == ADDRESS_TCP && parse_tcp(address, &at);
}

bool listen_is_local(const char *address)
{
    struct sockaddr_storage at;
    address_parts parts = address_read(address);
    if (parts.kind == ADDRESS_UNIX)
        return true;
    if (!parse_tcp(parts.rest, &at))
        return false;
    if (at.ss_family == AF_INET)
        return ntohl(((struct sockaddr_in *)&at)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&at)->sin6_addr) != 0;
}

/* A socket file at which nobody answers was left behind by a server that was killed. */
static void remove_left_behind(const char *path)
{
    struct stat info;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (lstat(path, &info) != 0 || !S_ISSOCK(info.st_mode) || strlen(path) >= sizeof name.sun_path)
        return;
    memcpy(name.sun_path, path, strlen(path) + 1);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return;
    if (connect(probe, (struct sockaddr *)&name, sizeof name) != 0 && errno == ECONNREFUSED)
        unlink(path);
    close(probe);
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

/* Takes the socket out of libuv's hands, since another loop will serve it. */
static void have_connection(uv_stream_t *stream, int status)
{
    listener *l = stream->data;
    int at;
    if (status < 0 || uv_fileno(&l->socket.handle, &at) != 0) {
        log_summed(&l->of->failures, uv_now(l->of->loop), "why=\"%s\"", uv_strerror(status));
        return;
    }
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } *taken = malloc(sizeof *taken);
    if (taken == NULL)
        return;
    if (l->kind == ADDRESS_UNIX)
        uv_pipe_init(l->of->loop, &taken->pipe, 0);
    else
        uv_tcp_init(l->of->loop, &taken->tcp);
    int socket;
    if (uv_accept(stream, &taken->stream) == 0 && uv_fileno(&taken->handle, &socket) == 0) {
        int own = fcntl(socket, F_DUPFD_CLOEXEC, 0);
        if (own >= 0)
            l->of->accepted(l->of->context, own, l->kind);
        else
            log_summed(&l->of->failures, uv_now(l->of->loop), "why=\"%s\"", strerror(errno));
    }
    uv_close(&taken->handle, free_handle);
}

static int open_one(listener *l, const char *address)
{
    struct sockaddr_storage at;
    address_parts parts = address_read(address);
    int error;
    l->kind = parts.kind;
    if (l->kind == ADDRESS_UNIX) {
        uv_pipe_init(l->of->loop, &l->socket.pipe, 0);
        l->socket.handle.data = l;
        remove_left_behind(parts.rest);
        mode_t old = umask(077); /* for this user only */
        error = uv_pipe_bind(&l->socket.pipe, parts.rest);
        umask(old);
    } else {
        uv_tcp_init(l->of->loop, &l->socket.tcp);
        l->socket.handle.data = l;
        if (!parse_tcp(parts.rest, &at))
            return UV_EINVAL;
        error = uv_tcp_bind(&l->socket.tcp, (struct sockaddr *)&at, 0);
    }
    return error != 0 ? error : uv_listen(&l->socket.stream, BACKLOG, have_connection);
}

static void name_of(const struct sockaddr_storage *at, char *name, size_t bytes)
{
    char host[INET6_ADDRSTRLEN] = "?";
    uv_ip_name((const struct sockaddr *)at, host, sizeof host);
    snprintf(name, bytes, at->ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
             ntohs(((const struct sockaddr_in *)at)->sin_port));
}

static void say_where(const listener *l, const char *address)
{
    struct sockaddr_storage at;
    int length = sizeof at;
    char name[LISTEN_NAME_BYTES];
    snprintf(name, sizeof name, "%s", address_read(address).rest);
    if (l->kind != ADDRESS_UNIX &&
        uv_tcp_getsockname(&l->socket.tcp, (struct sockaddr *)&at, &length) == 0)
        name_of(&at, name, sizeof name);
    log_line(LOG_INFO, "listening", "at=%s%s", l->kind == ADDRESS_TLS ? "tls://" : "", name);
}

static void abandoned(uv_handle_t *handle)
{
    listener *l = handle->data;
    if (--l->of->count == 0)
        free(l->of);
}

/* Gone when the loop has run once more. */
static void abandon(listeners *all)
{
    for (uint32_t i = 0, count = all->count; i < count; i++)
        uv_close(&all->one[i].socket.handle, abandoned);
}

listeners *listen_open(uv_loop_t *loop, const char *const *address, uint32_t count,
                       void (*accepted)(void *context, int socket, address_kind kind),
                       void *context, char complaint[COMPLAINT])
{
    listeners *all = calloc(1, sizeof *all + count * sizeof all->one[0]);
    if (all == NULL) {
        snprintf(complaint, COMPLAINT, "out of memory");
        return NULL;
    }
    *all = (listeners){.loop = loop,
                       .accepted = accepted,
                       .context = context,
                       .failures = {.level = LOG_WARN, .event = "accept"}};
    for (uint32_t i = 0; i < count; i++) {
        listener *l = &all->one[i];
        l->of = all;
        all->count++;
        int error = open_one(l, address[i]);
        if (error != 0) {
            snprintf(complaint, COMPLAINT, "cannot listen at %s: %s", address[i],
                     error == UV_EINVAL ? "it is no HOST:PORT, nor the path of a socket"
                                        : uv_strerror(error));
            abandon(all);
            return NULL;
        }
        say_where(l, address[i]);
    }
    return all;
}

void listen_tell_failures(listeners *all)
{
    log_sum_tell(&all->failures, uv_now(all->loop));
}

int listen_descriptor(const listeners *all)
{
    uv_os_fd_t at = -1;
    uv_fileno(&all->one[0].socket.handle, &at);
    return at;
}

void listen_close(listeners *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (!uv_is_closing(&all->one[i].socket.handle))
            uv_close(&all->one[i].socket.handle, NULL);
}

void listen_free(listeners *all)
{
    free(all);
}

void listen_peer_name(const uv_tcp_t *socket, char *name, size_t bytes)
{
    struct sockaddr_storage at;
    int length = sizeof at;
    snprintf(name, bytes, "?");
    if (uv_tcp_getpeername(socket, (struct sockaddr *)&at, &length) == 0)
        name_of(&at, name, bytes);
}

int listen_socket(const char *address, char name[LISTEN_NAME_BYTES])
{
    struct sockaddr_storage at;
    const int on = 1;
    errno = EINVAL;
    if (!listen_is_tcp(address) || !parse_tcp(address, &at))
        return -1;
    socklen_t length =
        at.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int made = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0)
        return -1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(made, (struct sockaddr *)&at, length) == 0 && listen(made, BACKLOG) == 0 &&
        getsockname(made, (struct sockaddr *)&at, &length) == 0) {
        name_of(&at, name, LISTEN_NAME_BYTES);
        return made;
    }
    int error = errno;
    close(made);
    errno = error;
    return -1;
}
