/* Questions to a server, one value of the answer after another. */
#include "ask.h"
#include "cli.h"
#include "proof.h"
#include "server_paths.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    PATIENCE = 5,           /* seconds */
    MAX_TEXT = 1 << 20,     /* bytes of one value */
    MAX_ELEMENTS = 1 << 24, /* of one array: a server may have many locks */
    FIRST_ROOM = 4096,
};

/* ---- connecting ---- */

static int connect_to(const struct sockaddr *name, socklen_t length, int family)
{
    const struct timeval patience = {.tv_sec = PATIENCE};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience); /* for connect as well */
    if (connect(fd, name, length) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why == EINPROGRESS ? ETIMEDOUT : why;
    return -1;
}

static int connect_path(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof name.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name.sun_path, path, strlen(path) + 1);
    return connect_to((struct sockaddr *)&name, sizeof name, AF_UNIX);
}

/* HOST:PORT or [HOST]:PORT; -1 with errno. */
static int connect_tcp(const char *address)
{
    char host[ADDRESS_HOST_BYTES];
    const char *port = address_host(address, host);
    errno = EINVAL;
    if (port == NULL)
        return -1;
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    if (getaddrinfo(host, port, &wanted, &found) != 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    int fd = -1;
    for (struct addrinfo *one = found; one != NULL && fd < 0; one = one->ai_next)
        fd = connect_to(one->ai_addr, one->ai_addrlen, one->ai_family);
    int why = errno;
    freeaddrinfo(found);
    errno = why;
    return fd;
}

static int complain(const ask *a, const char *what, const char *why)
{
    fprintf(stderr, "baton %s: %s%s\n", a->command, what, why);
    return EXIT_UNREACHABLE;
}

/* ---- items ---- */

/* Room for more to come; what was read is given up for it. */
static bool make_room(ask *a)
{
    a->in_bytes -= a->in_read;
    if (a->in_read > 0)
        memmove(a->in, a->in + a->in_read, a->in_bytes);
    a->in_read = 0;
    if (a->in_bytes < a->in_capacity)
        return true;
    char *grown = realloc(a->in, 2 * a->in_capacity);
    if (grown == NULL)
        return false;
    a->in = grown;
    a->in_capacity *= 2;
    return true;
}

static bool receive(ask *a)
{
    ssize_t got;
    if (!make_room(a))
        return false;
    do
        got = channel_receive(&a->channel, a->in + a->in_bytes, a->in_capacity - a->in_bytes, 0);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return false;
    a->in_bytes += (size_t)got;
    return true;
}

/* A line end follows every text: there is room for the zero. */
static ask_item item_of(const ask *a, const reply_value *v)
{
    static char nothing[1];
    ask_item item = {.kind = v->kind, .number = v->number, .text = nothing};
    if (v->kind == REPLY_MAP)
        item.kind = REPLY_ARRAY;
    if (v->text.at == NULL)
        return item;
    item.text = a->in + (v->text.at - a->in);
    item.bytes = v->text.bytes;
    item.text[item.bytes] = '\0';
    return item;
}

int ask_next(ask *a, ask_item *item)
{
    const resp_limits limits = {.word_bytes = MAX_TEXT};
    reply_value value;
    for (;;) {
        resp_parsed p = resp_value_parse(a->in + a->in_read, a->in_bytes - a->in_read, &limits,
                                         MAX_ELEMENTS, &value);
        if (p.verdict == RESP_BAD || (p.verdict == RESP_COMPLETE && value.kind == REPLY_PUSH))
            return complain(a, "the server gives an answer that is not understood", "");
        if (p.verdict == RESP_COMPLETE) {
            *item = item_of(a, &value);
            a->in_read += p.used;
            return EXIT_DONE;
        }
        if (!receive(a))
            return complain(a, "the server does not answer", "");
    }
}

static bool send_all(ask *a, const resp_out *out)
{
    for (size_t done = 0; done < out->bytes || channel_owes(&a->channel);) {
        ssize_t sent = channel_send(&a->channel, out->at + done, out->bytes - done, 0);
        if (sent < 0 && errno != EINTR)
            return false;
        done += sent > 0 ? (size_t)sent : 0;
    }
    return !out->overflow;
}

int ask_exchange(ask *a, size_t count, const char *const *words, ask_item *first)
{
    resp_out out = {0};
    resp_array(&out, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        resp_text(&out, words[i]);
    errno = ENOMEM; /* if it does not fit */
    bool sent = send_all(a, &out);
    int why = errno;
    resp_free(&out);
    return sent ? ask_next(a, first) : complain(a, "cannot ask the server: ", strerror(why));
}

int ask_send(ask *a, size_t count, const char *const *words, ask_item *first)
{
    int error = ask_exchange(a, count, words, first);
    if (error == EXIT_DONE && first->kind == REPLY_ERROR) {
        complain(a, "the server refuses: ", first->text);
        return EXIT_FAILED;
    }
    return error;
}

/* ---- begin and end ---- */

/* The password itself is never sent, whatever the server says. */
static int prove_password(ask *a, const char *password)
{
    ask_item item = {0};
    char hex[PROOF_HEX + 1];
    int error = ask_send(a, 2, (const char *const[]){"AUTH", "CHALLENGE"}, &item);
    bool fine = error == EXIT_DONE && item.kind == REPLY_BULK &&
                proof_answer(password, (resp_word){item.text, item.bytes}, hex);
    if (error == EXIT_DONE && !fine)
        return complain(a, "the server does not ask for a proof of the password", "");
    return fine ? ask_send(a, 3, (const char *const[]){"AUTH", "PROOF", hex}, &item) : error;
}

static int introduce(ask *a, const server_access *by, const char *password)
{
    ask_item item = {0};
    bool is_known = a->channel.tls != NULL && by->tls_ca == NULL; /* TLS has proved it */
    int error = password != NULL && !is_known ? prove_password(a, password) : EXIT_DONE;
    if (error == EXIT_DONE)
        error = ask_send(a, 2, (const char *const[]){"HELLO", "3"}, &item);
    for (int64_t more = item.number; error == EXIT_DONE && more > 0; more--)
        error = ask_next(a, &item);
    return error;
}

/* To one of them; false with errno, and why in words if TLS has failed. */
static bool connect_one(ask *a, const char *address, char why[COMPLAINT])
{
    address_parts parts = address_read(address);
    uint64_t until = channel_clock() + (uint64_t)PATIENCE * 1000000000u;
    why[0] = '\0';
    a->channel.socket =
        parts.kind == ADDRESS_UNIX ? connect_path(parts.rest) : connect_tcp(parts.rest);
    if (a->channel.socket < 0 || parts.kind != ADDRESS_TLS)
        return a->channel.socket >= 0;
    if ((a->tls.party != NULL || channel_tls_open(&a->tls, why)) &&
        channel_secure(&a->channel, &a->tls, parts.rest, until, why))
        return true;
    int error = errno;
    channel_close(&a->channel);
    errno = error;
    return false;
}

/* To the first of a list that can be reached; false, as of the last. */
static bool connect_any(ask *a, const char *addresses, char why[COMPLAINT])
{
    char one[PATH_BYTES];
    bool found = false;
    for (const char *at = addresses; !found; at++) {
        size_t bytes = strcspn(at, ",");
        errno = EINVAL;
        if (bytes > 0 && bytes < sizeof one) {
            memcpy(one, at, bytes);
            one[bytes] = '\0';
            found = connect_one(a, one, why);
        }
        at += bytes;
        if (*at == '\0')
            break;
    }
    return found;
}

static bool make_first_room(ask *a)
{
    a->in = malloc(FIRST_ROOM);
    a->in_capacity = FIRST_ROOM;
    return a->in != NULL;
}

bool ask_open_session(ask *a, const char *command, const char *path)
{
    const struct timeval no_end = {0}; /* others may be before us; if it dies, that is heard */
    *a = (ask){.command = command, .channel.socket = connect_path(path)};
    if (a->channel.socket < 0)
        return false;
    setsockopt(a->channel.socket, SOL_SOCKET, SO_RCVTIMEO, &no_end, sizeof no_end);
    if (make_first_room(a))
        return true;
    ask_close(a);
    return false;
}

static int unreachable(ask *a, const char *address, const char *why)
{
    bool of_nodes = strcmp(a->command, "status") == 0;
    if (why[0] != '\0')
        fprintf(stderr, "baton %s: no TLS with %s: %s\n", a->command, address, why);
    else
        fprintf(stderr, "baton %s: cannot reach %s (%s)%s\n", a->command, address, strerror(errno),
                of_nodes ? "" : "; start one with 'baton serve'");
    ask_close(a);
    return EXIT_UNREACHABLE;
}

int ask_open(ask *a, const char *command, const char *address, const server_access *by)
{
    char why[COMPLAINT] = "";
    char *password = NULL;
    *a = (ask){.command = command,
               .channel.socket = -1,
               .tls = {.ca = by->tls_ca, .cert = by->tls_cert, .key = by->tls_key}};
    if (by->password_file != NULL && (password = read_password(command, by->password_file)) == NULL)
        return EXIT_FAILED;
    a->tls.password = password;
    bool found = connect_any(a, address, why);
    int error = found && make_first_room(a) ? EXIT_DONE : unreachable(a, address, why);
    if (error == EXIT_DONE)
        error = introduce(a, by, password);
    if (error != EXIT_DONE)
        ask_close(a);
    a->tls.password = NULL;
    free(password);
    return error;
}

void ask_close(ask *a)
{
    channel_close(&a->channel);
    channel_tls_close(&a->tls);
    free(a->in);
    *a = (ask){.channel.socket = -1};
}
