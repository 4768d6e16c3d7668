/* Questions to a server, in RESP (docs: the protocol of Redis, versions 2 and 3). */
#include "ask.h"
#include "../net/proof.h"
#include "cli.h"
#include "places.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE = 5, LONGEST_TEXT = 1 << 20 }; /* seconds; bytes */

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

static bool read_text(ask *a, size_t bytes)
{
    if (bytes + 2 > a->room) {
        char *grown = realloc(a->text, bytes + 2);
        if (grown == NULL)
            return false;
        a->text = grown;
        a->room = bytes + 2;
    }
    if (fread(a->text, 1, bytes + 2, a->stream) != bytes + 2)
        return false;
    a->text[bytes] = '\0';
    return true;
}

int ask_next(ask *a, ask_item *item)
{
    ssize_t length = getline(&a->text, &a->room, a->stream);
    if (length < 3)
        return complain(a, "the server does not answer", "");
    a->text[length - 2] = '\0';
    *item = (ask_item){.kind = a->text[0], .text = a->text + 1, .bytes = (size_t)length - 3};
    switch (item->kind) {
    case '+':
    case '-':
    case '_':
        return EXIT_DONE;
    case ':':
    case '*':
        item->number = strtoll(a->text + 1, NULL, 10);
        return EXIT_DONE;
    case '%': /* pairs, which nobody here tells from an array */
        item->kind = '*';
        item->number = 2 * strtoll(a->text + 1, NULL, 10);
        return EXIT_DONE;
    case '$':
        item->number = strtoll(a->text + 1, NULL, 10);
        if (item->number == -1) {
            item->kind = '_';
            return EXIT_DONE;
        }
        if (item->number < 0 || item->number > LONGEST_TEXT)
            break;
        item->bytes = (size_t)item->number;
        if (!read_text(a, item->bytes))
            return complain(a, "the server does not answer", "");
        item->text = a->text;
        return EXIT_DONE;
    default:
        break;
    }
    return complain(a, "the server gives an answer that is not understood", "");
}

int ask_exchange(ask *a, size_t count, const char *const *words, ask_item *first)
{
    fprintf(a->stream, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++)
        fprintf(a->stream, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    if (fflush(a->stream) != 0)
        return complain(a, "cannot ask the server: ", strerror(errno));
    return ask_next(a, first);
}

int ask_send(ask *a, size_t count, const char *const *words, ask_item *first)
{
    int error = ask_exchange(a, count, words, first);
    if (error == EXIT_DONE && first->kind == '-') {
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
    bool fine = error == EXIT_DONE && item.kind == '$' &&
                proof_answer(password, (resp_word){item.text, item.bytes}, hex);
    free(password);
    if (error == EXIT_DONE && !fine)
        return complain(a, "the server does not ask for a proof of the password", "");
    return fine ? ask_send(a, 3, (const char *const[]){"AUTH", "PROOF", hex}, &item) : error;
}

static int introduce(ask *a, const char *password_file)
{
    ask_item item = {0};
    if (password_file == NULL)
        password_file = getenv("BATON_PASSWORD_FILE");
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
    char one[PLACE_BYTES];
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
    *a = (ask){.command = command};
    a->stream = fd < 0 ? NULL : fdopen(fd, "r+");
    if (a->stream == NULL && fd >= 0)
        close(fd);
    return a->stream != NULL;
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
    fclose(a->stream);
    free(a->text);
    a->stream = NULL;
    a->text = NULL;
}
