/*
 * The session of a `baton run`: a socket of this user's alone where the command, and whatever it
 * starts, can have operations issued (`baton issue`). They go out over the connection that holds
 * the lock, with its token, so there is no way to issue one from outside of the section.
 *
 * One at a time: so does the cluster. A request is an array of the operation's words, in RESP; the
 * answer is the result, or an error that begins with LOST (nothing was executed) or UNKNOWN.
 */
#include "run_session.h"
#include "resp.h"
#include "server_paths.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_REQUEST = 65536, BACKLOG = 64, SILENCE = 10000 }; /* bytes; milliseconds */

struct run_session {
    const run *of;
    int socket, stop;
    pthread_t thread;
    char path[PATH_BYTES + 64];
    char request[MAX_REQUEST];
};

/* ---- one request ---- */

static void give(int to, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t sent = send(to, at, count, MSG_NOSIGNAL);
        if (sent <= 0 && errno != EINTR)
            return; /* who does not want the answer does not get it */
        if (sent > 0) {
            at += sent;
            count -= (size_t)sent;
        }
    }
}

static void give_error(int to, const char *words)
{
    resp_out out = {0};
    resp_error(&out, "%s", words);
    give(to, out.at, out.bytes);
    resp_free(&out);
}

static void issue(const run_session *s, const resp_command *command, int to)
{
    baton_client_word word[RESP_MAX_WORDS];
    baton_client_reply reply = {0};
    for (uint32_t i = 0; i < command->words; i++)
        word[i] = (baton_client_word){command->word[i].at, command->word[i].bytes};
    int result =
        baton_client_issue(s->of->client, s->of->name, s->of->token, word, command->words, &reply);
    switch (result) {
    case BATON_OK:
        give(to, reply.at, reply.bytes);
        break;
    case BATON_LOST:
        give_error(to, "LOST the lock was lost; nothing was executed");
        break;
    case BATON_UNREACHABLE:
        give_error(to, "UNKNOWN the connection broke, or the lock was taken away; it may have been "
                       "executed, or not");
        break;
    case BATON_BAD_ARGUMENT:
        give_error(to, "ERR an operation has 1 to 29 words, of 60000 bytes together");
        break;
    default:
        give_error(to, baton_strerror(result));
    }
    free(reply.at);
}

/* Whether there is something to be read before the end of the session, or of patience. */
static bool await(const run_session *s, int from, int max)
{
    struct pollfd heard[] = {{.fd = s->stop, .events = POLLIN}, {.fd = from, .events = POLLIN}};
    int ready;
    while ((ready = poll(heard, 2, max)) < 0 && errno == EINTR)
        ;
    return ready > 0 && heard[0].revents == 0;
}

static void serve_one(run_session *s, int from)
{
    const resp_limits limits = {.word_bytes = MAX_REQUEST, .command_bytes = MAX_REQUEST};
    resp_command command;
    for (size_t bytes = 0; bytes < sizeof s->request && await(s, from, SILENCE);) {
        ssize_t got = recv(from, s->request + bytes, sizeof s->request - bytes, MSG_DONTWAIT);
        if (got <= 0 && (got == 0 || (errno != EAGAIN && errno != EINTR)))
            return;
        bytes += got > 0 ? (size_t)got : 0;
        resp_parsed p = resp_parse(s->request, bytes, &limits, &command);
        if (p.verdict == RESP_MORE)
            continue;
        if (p.verdict == RESP_BAD)
            give_error(from, p.complaint);
        else
            issue(s, &command, from);
        return;
    }
}

/* ---- begin and end ---- */

static void *serve(void *context)
{
    const struct timeval patience = {.tv_sec = SILENCE / 1000};
    run_session *s = context;
    while (await(s, s->socket, -1)) {
        int from = accept4(s->socket, NULL, NULL, SOCK_CLOEXEC);
        if (from < 0) {
            if (errno == EMFILE || errno == ENFILE)
                await(s, -1, 100); /* somebody may close one */
            continue;
        }
        setsockopt(from, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        serve_one(s, from);
        close(from);
    }
    return NULL;
}

static const char *const no_issue = "no 'baton issue'";

static bool listen_at(run_session *s)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    char directory[PATH_BYTES];
    path_runtime(directory);
    const char *wrong = path_runtime_make(directory);
    if (wrong != NULL) {
        run_say(s->of, "%s: cannot use %s: %s", no_issue, directory, wrong);
        return false;
    }
    int length = snprintf(s->path, sizeof s->path, "%s/session-%d-%llx", directory, (int)getpid(),
                          (unsigned long long)s->of->token);
    if ((size_t)length >= sizeof name.sun_path) {
        run_say(s->of, "%s: %s is too long for a socket; set BATON_RUNTIME_DIR", no_issue, s->path);
        return false;
    }
    memcpy(name.sun_path, s->path, sizeof name.sun_path);
    unlink(s->path); /* of a process that had our number, and was killed */
    mode_t before = umask(0177);
    bool fine = bind(s->socket, (struct sockaddr *)&name, sizeof name) == 0;
    umask(before);
    fine = fine && listen(s->socket, BACKLOG) == 0;
    if (!fine)
        run_say(s->of, "%s: cannot listen at %s: %s", no_issue, s->path, strerror(errno));
    return fine;
}

static bool start_thread(run_session *s)
{
    int error = pthread_create(&s->thread, NULL, serve, s);
    if (error == 0)
        return true;
    run_say(s->of, "%s: cannot start a thread: %s", no_issue, strerror(error));
    unlink(s->path);
    return false;
}

run_session *session_begin(const run *r)
{
    if (!baton_client_is_cluster(r->client))
        return NULL;
    run_session *s = calloc(1, sizeof *s);
    if (s == NULL) {
        run_say(r, "%s: out of memory", no_issue);
        return NULL;
    }
    s->of = r;
    s->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    s->stop = eventfd(0, EFD_CLOEXEC);
    if (s->socket < 0 || s->stop < 0)
        run_say(r, "%s: cannot make a socket: %s", no_issue, strerror(errno));
    else if (listen_at(s) && start_thread(s))
        return s;
    if (s->socket >= 0)
        close(s->socket);
    if (s->stop >= 0)
        close(s->stop);
    free(s);
    return NULL;
}

const char *session_path(const run_session *s)
{
    return s->path;
}

void session_over(run_session *s)
{
    uint64_t one = 1;
    if (s == NULL)
        return;
    unlink(s->path);
    ssize_t written = write(s->stop, &one, sizeof one);
    (void)written; /* there is room for one */
    pthread_join(s->thread, NULL);
    close(s->socket);
    close(s->stop);
    free(s);
}
