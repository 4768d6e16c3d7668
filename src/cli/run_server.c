/*
 * The private server of `baton run`: one per user and runtime directory, started by the first who
 * needs it, and gone when nobody has been connected for a while. Several who start at once settle
 * by flock who starts it. What it knows dies with it; hence the guard.
 */
#include "run.h"
#include "server_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 5000, PAUSE = 10, IDLE_EXIT = 10000 }; /* milliseconds */
enum { SOCKET_BYTES = sizeof((struct sockaddr_un *)0)->sun_path };

/*
 * It must have nothing of ours: no descriptor, lest whoever reads our output waits for it, and no
 * blocked signal.
 */
static _Noreturn void become_server(char *const *words, int log)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 1) < 0 || dup2(log, 2) < 0 ||
        chdir("/") != 0)
        _exit(1);
    close_range(3, ~0U, 0);
    execv("/proc/self/exe", words);
    _exit(1);
}

/* Says what the server has left in the first line of its log, if anything. */
static void say_last_words(const run *r, const char *log)
{
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = fopen(log, "re");
    if (file != NULL && getline(&line, &capacity, file) > 0)
        line[strcspn(line, "\n")] = '\0';
    run_say(r, "the private server does not start (%s)",
            line != NULL && line[0] != '\0' ? line : "it does not answer");
    free(line);
    if (file != NULL)
        fclose(file);
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash;
}

/* The process of the server; negative, with errno, if there is none. */
static pid_t fork_server(const char *directory, const char *socket_path, const char *log)
{
    char state[PATH_BYTES];
    char idle[16];
    char name[40];
    /* Not to be shared with the server of another directory. */
    snprintf(name, sizeof name, "run-tokens-%016" PRIx64, hash_of(directory));
    if (!path_state(name, state))
        snprintf(state, sizeof state, "%s/tokens", directory);
    snprintf(idle, sizeof idle, "%d", IDLE_EXIT);
    /* Nobody needs to be held back: the guard knows whose command is still running. */
    char *words[] = {
        "baton", "serve",   "--listen", (char *)socket_path, "--state",     state,   "--idle-exit",
        idle,    "--loops", "1",        "--no-hold-back",    "--log-level", "error", NULL};
    int output = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (output < 0)
        return -1;
    pid_t server = fork();
    if (server == 0)
        become_server(words, output);
    int why = errno;
    close(output);
    errno = why;
    return server;
}

/* Only one comes here at a time. Connects as soon as the server listens. */
static int start_server(run *r, const char *directory)
{
    char log[SOCKET_BYTES + 8];
    snprintf(log, sizeof log, "%s/log", directory);
    pid_t server = fork_server(directory, r->at, log);
    if (server < 0) {
        run_say(r, "cannot start a server: %s", strerror(errno));
        return RUN_SAID;
    }
    for (int64_t end = monotonic_ms() + PATIENCE; monotonic_ms() < end;) {
        int result = run_open_client(r);
        if (result != BATON_UNREACHABLE)
            return result;
        if (waitpid(server, NULL, WNOHANG) == server)
            break;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE * 1000000L}, NULL);
    }
    say_last_words(r, log);
    return RUN_SAID;
}

/* The directory of the socket; false if its path is too long for one. */
static bool directory_of(const char *socket_path, char directory[SOCKET_BYTES])
{
    size_t length = strlen(socket_path);
    if (length >= SOCKET_BYTES)
        return false;
    memcpy(directory, socket_path, length + 1);
    *strrchr(directory, '/') = '\0';
    return true;
}

/* Nobody answers: whoever is first starts the server, and the others wait for that. */
static int start_in_turn(run *r, const char *directory)
{
    char gate[SOCKET_BYTES + 8];
    snprintf(gate, sizeof gate, "%s/start", directory);
    int file = open(gate, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || flock(file, LOCK_EX) != 0) {
        run_say(r, "cannot use %s: %s", gate, strerror(errno));
        if (file >= 0)
            close(file);
        return RUN_SAID;
    }
    int result = run_open_client(r);
    if (result == BATON_UNREACHABLE)
        result = start_server(r, directory);
    int why = errno;
    close(file);
    errno = why;
    return result;
}

int run_connect_private(run *r)
{
    char directory[SOCKET_BYTES];
    if (!directory_of(r->at, directory)) {
        run_say(r, "%s is too long for a socket; set BATON_RUNTIME_DIR", r->at);
        return RUN_SAID;
    }
    const char *wrong = path_runtime_make(directory); /* before: others may listen in there */
    if (wrong != NULL) {
        run_say(r, "cannot use %s: %s", directory, wrong);
        return RUN_SAID;
    }
    int result = run_open_client(r);
    return result != BATON_UNREACHABLE ? result : start_in_turn(r, directory);
}

/* One byte of one file for each name, far apart: two names that meet would only wait longer. */
static off_t guard_offset(const char *name)
{
    return (off_t)(hash_of(name) >> 2);
}

int lock_guard_file(const char *socket_path, const char *name)
{
    char directory[SOCKET_BYTES];
    char guard[SOCKET_BYTES + 8];
    if (!directory_of(socket_path, directory))
        return GUARD_IMPOSSIBLE;
    snprintf(guard, sizeof guard, "%s/guard", directory);
    int file = open(guard, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return GUARD_IMPOSSIBLE;
    struct flock byte = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = guard_offset(name), .l_len = 1};
    if (fcntl(file, F_OFD_SETLK, &byte) == 0)
        return file;
    bool held = errno == EAGAIN || errno == EACCES;
    close(file);
    return held ? GUARD_HELD : GUARD_IMPOSSIBLE;
}
