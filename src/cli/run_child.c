/*
 * `baton run`: the process of the command, from its birth to its end. It leads a process group of
 * its own, which has the terminal if there is one, and does not outlive the lock.
 *
 * The leader waits at a gate until the keeper knows of it. It is not reaped before the keeper has
 * ended: until then nobody else can get its number.
 */
#include "farewell.h"
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127, OF_SIGNAL = 128 };

void run_hold_signals(run *r)
{
    sigset_t set = watched_signals();
    sigemptyset(&r->passed_on);
    sigaddset(&set, SIGTTOU); /* so that tcsetpgrp works from the background */
    signal(SIGCHLD, SIG_DFL); /* if it were ignored, nothing could be awaited */
    pthread_sigmask(SIG_BLOCK, &set, &r->signals_before);
}

/* ---- is there such a command? ---- */

static int file_missing(const char *file)
{
    struct stat info;
    if (stat(file, &info) != 0)
        return errno == EACCES ? NOT_EXECUTABLE : NOT_FOUND;
    return S_ISREG(info.st_mode) && access(file, X_OK) == 0 ? 0 : NOT_EXECUTABLE;
}

/* 0, or the exit code for a command that cannot be run. */
static int command_missing(const char *command)
{
    if (strchr(command, '/') != NULL)
        return file_missing(command);
    const char *path = getenv("PATH");
    if (path == NULL)
        return 0; /* execvp knows where to look */
    int verdict = NOT_FOUND;
    while (verdict != 0) {
        char file[4096];
        size_t length = strcspn(path, ":");
        int needs = length == 0
                        ? snprintf(file, sizeof file, "./%s", command)
                        : snprintf(file, sizeof file, "%.*s/%s", (int)length, path, command);
        if (needs > 0 && (size_t)needs < sizeof file) {
            int one = file_missing(file);
            verdict = one != NOT_FOUND ? one : verdict;
        }
        if (path[length] == '\0')
            break;
        path += length + 1;
    }
    return verdict;
}

bool run_command_exists(run *r)
{
    r->code = command_missing(r->command[0]);
    if (r->code != 0)
        run_say(r, "cannot run %s: %s", r->command[0],
                strerror(r->code == NOT_EXECUTABLE ? EACCES : ENOENT));
    return r->code == 0;
}

/* ---- birth ---- */

/* The gate gives one byte, or ends. */
static _Noreturn void become(const run *r, pid_t parent, int gate, int trouble)
{
    char word;
    ssize_t bytes;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while ((bytes = read(gate, &word, 1)) < 0 && errno == EINTR)
        ;
    if (bytes != 1 || getppid() != parent) /* died before it could be the death signal */
        _exit(NOT_FOUND);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &r->signals_before, NULL);
    execvp(r->command[0], r->command);
    int why = errno;
    bytes = write(trouble, &why, sizeof why);
    _exit(bytes == (ssize_t)sizeof why ? NOT_FOUND : NOT_EXECUTABLE);
}

/* The leader, at its gate. False, with errno, if there is none. */
static bool fork_leader(run *r)
{
    int gate[2];
    int trouble[2];
    pid_t parent = getpid();
    if (pipe2(gate, O_CLOEXEC) != 0)
        return false;
    if (pipe2(trouble, O_CLOEXEC) != 0) {
        close(gate[0]);
        close(gate[1]);
        return false;
    }
    pid_t leader = fork();
    if (leader == 0) {
        close(gate[1]);
        become(r, parent, gate[0], trouble[1]);
    }
    int why = errno;
    close(gate[0]);
    close(trouble[1]);
    r->gate = gate[1];
    r->trouble = trouble[0];
    if (leader < 0) {
        close(r->gate);
        close(r->trouble);
        errno = why;
        return false;
    }
    r->leader = leader;
    setpgid(leader, leader); /* whoever is first */
    return true;
}

bool run_fork(run *r)
{
    sigset_t set = watched_signals();
    r->code = NOT_EXECUTABLE;
    r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (r->signals < 0 ||
        !keeper_start(&r->keeper, client_socket_of(r->client, r->name, r->token))) {
        fprintf(stderr, "baton run: cannot start a process: %s\n", strerror(errno));
        return false;
    }
    if (!fork_leader(r)) {
        fprintf(stderr, "baton run: cannot run %s: %s\n", r->command[0], strerror(errno));
        return false;
    }
    if (isatty(STDIN_FILENO))
        give_terminal(r);
    return true;
}

bool run_open_gate(run *r)
{
    int why = write(r->gate, "g", 1) == 1 ? 0 : errno;
    close(r->gate); /* opened or not: it ends, then */
    if (why == 0 && read(r->trouble, &why, sizeof why) != (ssize_t)sizeof why)
        why = 0; /* closed by exec: the command runs */
    close(r->trouble);
    if (why == 0)
        return true;
    fprintf(stderr, "baton run: cannot run %s: %s\n", r->command[0], strerror(why));
    r->exec_error = why;
    return false;
}

/* ---- the end ---- */

static int reap(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void reap_leader(run *r)
{
    int status = reap(r->leader);
    r->fatal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    r->code = r->fatal != 0 ? OF_SIGNAL + r->fatal : WEXITSTATUS(status);
}

void run_bury(run *r)
{
    if (r->given_up && r->leader > 0)
        kill(-r->leader, SIGKILL); /* what its leader has left behind */
    if (r->keeper.process > 0)
        keeper_end(&r->keeper);
    if (r->signals >= 0)
        close(r->signals);
    r->had_terminal = take_terminal_back(r);
    if (r->leader > 0)
        reap_leader(r);
    if (r->exec_error != 0)
        r->code = r->exec_error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

void run_shell(const run *r, const char *text)
{
    fflush(NULL);
    pid_t shell = fork();
    if (shell == 0) {
        signal(SIGPIPE, SIG_DFL);
        sigprocmask(SIG_SETMASK, &r->signals_before, NULL);
        execl("/bin/sh", "sh", "-c", text, (char *)NULL);
        _exit(NOT_FOUND);
    }
    if (shell < 0)
        fprintf(stderr, "baton run: cannot start a shell: %s\n", strerror(errno));
    else
        reap(shell);
}

/* A key of the terminal that has ended the command would have ended all of our group, too. */
static bool was_a_key(const run *r)
{
    return r->had_terminal && (r->fatal == SIGINT || r->fatal == SIGQUIT) &&
           !sigismember(&r->passed_on, r->fatal);
}

void run_end_likewise(const run *r)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, r->fatal);
    prctl(PR_SET_DUMPABLE, 0); /* the core to look at is the command's */
    signal(r->fatal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    if (was_a_key(r))
        kill(0, r->fatal);
    raise(r->fatal);
}
