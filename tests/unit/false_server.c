/* See false_server.h. One thread serves all connections. */
#include "false_server.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_OPEN = 1100, MAX_COMMAND = 70000 };

typedef struct caller {
    int socket; /* -1: none */
    int number;
    size_t said, bytes;
    char *in;
} caller;

struct false_server {
    pthread_mutex_t mutex;
    pthread_t thread;
    char path[120];
    int listens, stop;
    false_answer *answers;
    void *context;
    size_t limit;
    int count;
    int used; /* of the places below, from the first on: so few connections cost little */
    caller callers[MAX_OPEN];
};

static void drop(caller *who)
{
    close(who->socket);
    free(who->in);
    *who = (caller){.socket = -1};
}

/* Under the mutex. */
static void say(const false_server *s, caller *who, const char *text)
{
    size_t bytes = strlen(text);
    bool cuts = s->limit != 0 && who->said + bytes >= s->limit;
    if (cuts)
        bytes = s->limit - who->said;
    who->said += bytes;
    if (bytes > 0 && send(who->socket, text, bytes, MSG_NOSIGNAL) < 0)
        cuts = true;
    if (cuts)
        shutdown(who->socket, SHUT_RDWR); /* closed when that is read */
}

static void answer_by_itself(asked *what)
{
    static const char hello[] =
        "%2\r\n$6\r\nserver\r\n$5\r\nbaton\r\n$4\r\nmode\r\n$7\r\ncluster\r\n";
    const char *reply = strcmp(what->verb, "HELLO") == 0     ? hello
                        : strcmp(what->verb, "SESSION") == 0 ? "+OK\r\n"
                                                             : ":1\r\n";
    snprintf(what->reply, sizeof what->reply, "%s", reply);
}

/* One array of strings, if it is there as a whole; how many bytes it has. */
static size_t parse(const char *in, size_t bytes, asked *what)
{
    const char *at = in, *end = in + bytes;
    char *next;
    if (memchr(at, '\n', bytes) == NULL)
        return 0;
    long words = strtol(at + 1, &next, 10);
    at = next + 2;
    for (long i = 0; i < words; i++) {
        if (at >= end || memchr(at, '\n', (size_t)(end - at)) == NULL)
            return 0;
        long length = strtol(at + 1, &next, 10);
        at = next + 2;
        if (end - at < length + 2)
            return 0;
        if (i == 0)
            snprintf(what->verb, sizeof what->verb, "%.*s", (int)length, at);
        else if (i == 1)
            snprintf(what->name, sizeof what->name, "%.*s", (int)length, at);
        else if (i == 2)
            what->number = strtoull(at, NULL, 10);
        at += length + 2;
    }
    return (size_t)(at - in);
}

static void hear(false_server *s, caller *who)
{
    ssize_t got = recv(who->socket, who->in + who->bytes, MAX_COMMAND - who->bytes, 0);
    pthread_mutex_lock(&s->mutex);
    if (got <= 0) {
        drop(who);
        pthread_mutex_unlock(&s->mutex);
        return;
    }
    who->bytes += (size_t)got;
    for (;;) {
        asked what = {.over = who->number};
        size_t used = parse(who->in, who->bytes, &what);
        if (used == 0)
            break;
        who->bytes -= used;
        memmove(who->in, who->in + used, who->bytes);
        pthread_mutex_unlock(&s->mutex); /* it may say something by itself */
        if (!s->answers(s->context, &what))
            answer_by_itself(&what);
        pthread_mutex_lock(&s->mutex);
        say(s, who, what.reply);
        if (what.cuts)
            shutdown(who->socket, SHUT_RDWR);
    }
    pthread_mutex_unlock(&s->mutex);
}

static void welcome(false_server *s)
{
    int at = accept4(s->listens, NULL, NULL, SOCK_CLOEXEC);
    if (at < 0)
        return;
    pthread_mutex_lock(&s->mutex);
    caller *who = NULL;
    for (int i = 0; i < MAX_OPEN && who == NULL; i++)
        who = s->callers[i].socket < 0 ? &s->callers[i] : NULL;
    assert_non_null(who);
    if (who - s->callers == s->used)
        s->used++;
    *who = (caller){.socket = at, .number = s->count++, .in = malloc(MAX_COMMAND)};
    assert_non_null(who->in);
    pthread_mutex_unlock(&s->mutex);
}

static void *serve(void *context)
{
    false_server *s = context;
    struct pollfd all[MAX_OPEN + 2];
    for (;;) {
        all[0] = (struct pollfd){.fd = s->stop, .events = POLLIN};
        all[1] = (struct pollfd){.fd = s->listens, .events = POLLIN};
        int used = s->used;
        for (int i = 0; i < used; i++)
            all[2 + i] = (struct pollfd){.fd = s->callers[i].socket, .events = POLLIN};
        if (poll(all, (nfds_t)used + 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (all[0].revents != 0)
            return NULL;
        for (int i = 0; i < used; i++)
            if (all[2 + i].revents != 0)
                hear(s, &s->callers[i]);
        if (all[1].revents != 0)
            welcome(s);
    }
}

false_server *false_server_start(const char *path, false_answer *answers, void *context)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    false_server *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int i = 0; i < MAX_OPEN; i++)
        s->callers[i].socket = -1;
    pthread_mutex_init(&s->mutex, NULL);
    s->answers = answers;
    s->context = context;
    snprintf(s->path, sizeof s->path, "%s", path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    unlink(path);
    s->stop = eventfd(0, EFD_CLOEXEC);
    s->listens = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->stop >= 0 && s->listens >= 0);
    assert_int_equal(bind(s->listens, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(s->listens, MAX_OPEN), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
    return s;
}

void false_server_end(false_server *s)
{
    const uint64_t one = 1;
    assert_int_equal(write(s->stop, &one, sizeof one), sizeof one);
    pthread_join(s->thread, NULL);
    for (int i = 0; i < MAX_OPEN; i++)
        if (s->callers[i].socket >= 0)
            drop(&s->callers[i]);
    close(s->listens);
    close(s->stop);
    unlink(s->path);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}

void false_server_say(false_server *s, int over, const char *text)
{
    pthread_mutex_lock(&s->mutex);
    for (int i = 0; i < s->used; i++)
        if (s->callers[i].socket >= 0 && s->callers[i].number == over)
            say(s, &s->callers[i], text);
    pthread_mutex_unlock(&s->mutex);
}

void false_server_limit(false_server *s, size_t bytes)
{
    pthread_mutex_lock(&s->mutex);
    s->limit = bytes;
    pthread_mutex_unlock(&s->mutex);
}

int false_server_count(false_server *s)
{
    pthread_mutex_lock(&s->mutex);
    int count = s->count;
    pthread_mutex_unlock(&s->mutex);
    return count;
}

int false_server_open(false_server *s)
{
    int open = 0;
    pthread_mutex_lock(&s->mutex);
    for (int i = 0; i < MAX_OPEN; i++)
        open += s->callers[i].socket >= 0;
    pthread_mutex_unlock(&s->mutex);
    return open;
}
