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
    char host[256];
    const char *colon = strrchr(address, ':');
    errno = EINVAL;
    if (colon == NULL || colon == address || (size_t)(colon - address) >= sizeof host)
        return -1;
    bool bracketed = address[0] == '[' && colon[-1] == ']';
    size_t length = (size_t)(colon - address) - (bracketed ? 2 : 0);
    memcpy(host, address + (bracketed ? 1 : 0), length);
    host[length] = '\0';
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    if (getaddrinfo(host, colon + 1, &wanted, &found) != 0) {
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
        got = recv(a->socket, a->in + a->in_bytes, a->in_capacity - a->in_bytes, 0);
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

static bool send_all(const ask *a, const resp_out *out)
{
    for (size_t done = 0; done < out->bytes;) {
        ssize_t sent = send(a->socket, out->at + done, out->bytes - done, MSG_NOSIGNAL);
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
static int prove_password(ask *a, const char *password_file)
{
    ask_item item = {0};
    char hex[PROOF_HEX + 1];
    char *password = read_password(a->command, password_file);
    if (password == NULL)
        return EXIT_FAILED;
    int error = ask_send(a, 2, (const char *const[]){"AUTH", "CHALLENGE"}, &item);
    bool fine = error == EXIT_DONE && item.kind == REPLY_BULK &&
                proof_answer(password, (resp_word){item.text, item.bytes}, hex);
    free(password);
    if (error == EXIT_DONE && !fine)
        return complain(a, "the server does not ask for a proof of the password", "");
    return fine ? ask_send(a, 3, (const char *const[]){"AUTH", "PROOF", hex}, &item) : error;
}

static int introduce(ask *a, const char *password_file)
{
    ask_item item = {0};
    int error = password_file != NULL ? prove_password(a, password_file) : EXIT_DONE;
    if (error == EXIT_DONE)
        error = ask_send(a, 2, (const char *const[]){"HELLO", "3"}, &item);
    for (int64_t more = item.number; error == EXIT_DONE && more > 0; more--)
        error = ask_next(a, &item);
    return error;
}

/* To the first of a list that can be reached; -1 with errno, of the last. */
static int connect_any(const char *addresses)
{
    char one[PATH_BYTES];
    int fd = -1;
    for (const char *at = addresses; fd < 0; at++) {
        size_t bytes = strcspn(at, ",");
        errno = EINVAL;
        if (bytes > 0 && bytes < sizeof one) {
            memcpy(one, at, bytes);
            one[bytes] = '\0';
            fd = strchr(one, '/') != NULL ? connect_path(one) : connect_tcp(one);
        }
        at += bytes;
        if (*at == '\0')
            break;
    }
    return fd;
}

static bool start(ask *a, const char *command, int fd)
{
    *a = (ask){.command = command, .socket = fd, .in = fd < 0 ? NULL : malloc(FIRST_ROOM)};
    a->in_capacity = FIRST_ROOM;
    if (fd >= 0 && a->in == NULL)
        close(fd);
    return a->in != NULL;
}

bool ask_open_session(ask *a, const char *command, const char *path)
{
    const struct timeval no_end = {0}; /* others may be before us; if it dies, that is heard */
    int fd = connect_path(path);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &no_end, sizeof no_end);
    return start(a, command, fd);
}

int ask_open(ask *a, const char *command, const char *address, const char *password_file)
{
    if (!start(a, command, connect_any(address))) {
        bool of_nodes = strcmp(command, "status") == 0;
        fprintf(stderr, "baton %s: cannot reach %s (%s)%s\n", command, address, strerror(errno),
                of_nodes ? "" : "; start one with 'baton serve'");
        return EXIT_UNREACHABLE;
    }
    int error = introduce(a, password_file);
    if (error != EXIT_DONE)
        ask_close(a);
    return error;
}

void ask_close(ask *a)
{
    close(a->socket);
    free(a->in);
    *a = (ask){.socket = -1};
}
