/*
 * The private server of `baton run`: one per user and runtime directory, started by the first who
 * needs it, and gone when nobody has been connected for a while. Several who start at once settle
 * by flock who starts it. What it knows dies with it; hence the guard.
 */
#include "places.h"
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 5000, PAUSE = 10, IDLE_EXIT = 10000 }; /* milliseconds */

static bool answers(const char *socket_path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return false;
    memcpy(name.sun_path, socket_path, strlen(socket_path) + 1);
    bool connected = connect(probe, (struct sockaddr *)&name, sizeof name) == 0;
    close(probe);
    return connected;
}

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

/* The first line that the server has left in its log, or nothing. */
static void last_words(const char *log, char *line, size_t bytes)
{
    line[0] = '\0';
    FILE *file = fopen(log, "re");
    if (file == NULL)
        return;
    if (fgets(line, (int)bytes, file) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    fclose(file);
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash;
}

/* Only one comes here at a time. */
static bool start_server(const char *directory, const char *socket_path, char complaint[512])
{
    char state[PLACE_BYTES];
    char log[PLACE_BYTES];
    char idle[16];
    char line[256];
    char name[40];
    snprintf(name, sizeof name, "run-tokens-%016" PRIx64,
             hash_of(directory)); /* not to be shared */
    if (!place_state(name, state))
        snprintf(state, sizeof state, "%.490s/tokens", directory);
    snprintf(log, sizeof log, "%.500s/log", directory);
    snprintf(idle, sizeof idle, "%d", IDLE_EXIT);
    /* Nobody needs to be held back: the guard knows whose command is still running. */
    char *words[] = {
        "baton", "serve",   "--listen", (char *)socket_path, "--state",     state,   "--idle-exit",
        idle,    "--loops", "1",        "--no-hold-back",    "--log-level", "error", NULL};
    int output = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    pid_t server = output < 0 ? -1 : fork();
    if (server == 0)
        become_server(words, output);
    if (output >= 0)
        close(output);
    if (server < 0) {
        snprintf(complaint, 512, "cannot start a server: %s", strerror(errno));
        return false;
    }
    for (int64_t end = monotonic_ms() + PATIENCE; monotonic_ms() < end;) {
        if (answers(socket_path))
            return true;
        if (waitpid(server, NULL, WNOHANG) == server)
            break;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE * 1000000L}, NULL);
    }
    last_words(log, line, sizeof line);
    snprintf(complaint, 512, "the private server does not start (%s)",
             line[0] != '\0' ? line : "it does not answer");
    return false;
}

/* The directory of the socket; false if its path is too long for one. */
static bool directory_of(const char *socket_path, char directory[PLACE_BYTES])
{
    if (strlen(socket_path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return false;
    snprintf(directory, PLACE_BYTES, "%s", socket_path);
    *strrchr(directory, '/') = '\0';
    return true;
}

bool private_server(const char *socket_path, char complaint[512])
{
    char directory[PLACE_BYTES];
    char gate[PLACE_BYTES + 8];
    if (!directory_of(socket_path, directory)) {
        snprintf(complaint, 512, "%.400s is too long for a socket; set XDG_RUNTIME_DIR",
                 socket_path);
        return false;
    }
    if (!place_runtime_make(directory, complaint))
        return false;
    if (answers(socket_path))
        return true;
    snprintf(gate, sizeof gate, "%s/start", directory);
    int file = open(gate, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || flock(file, LOCK_EX) != 0) {
        snprintf(complaint, 512, "cannot use %.400s: %s", gate, strerror(errno));
        if (file >= 0)
            close(file);
        return false;
    }
    bool there = answers(socket_path) || start_server(directory, socket_path, complaint);
    close(file);
    return there;
}

/* One byte of one file for each name, far apart: two names that meet would only wait longer. */
static off_t place_of(const char *name)
{
    return (off_t)(hash_of(name) >> 2);
}

int private_guard(const char *socket_path, const char *name)
{
    char directory[PLACE_BYTES];
    char guard[PLACE_BYTES + 8];
    if (!directory_of(socket_path, directory))
        return GUARD_IMPOSSIBLE;
    snprintf(guard, sizeof guard, "%s/guard", directory);
    int file = open(guard, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return GUARD_IMPOSSIBLE;
    struct flock byte = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = place_of(name), .l_len = 1};
    if (fcntl(file, F_OFD_SETLK, &byte) == 0)
        return file;
    bool held = errno == EAGAIN || errno == EACCES;
    close(file);
    return held ? GUARD_HELD : GUARD_IMPOSSIBLE;
}
