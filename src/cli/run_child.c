/*
 * The command that runs while the lock is held: a process group of its own, which has the terminal
 * if there is one, gets the signals that `baton run` gets, and does not outlive the lock.
 *
 * Its leader is not reaped before the keeper has ended: until then nobody else can get its number.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127, OF_SIGNAL = 128 };

/* The command while it runs. Owned by run_child. */
typedef struct life {
    const run_job *job;
    pid_t leader; /* and number of its group */
    keeper keeper;
    int signals;
    bool has_terminal; /* was given it; it may have passed on to others since */
    bool lost;
    bool ended;        /* the leader; not reaped yet */
    int64_t lease_end; /* monotonic milliseconds, as known last; 0: none */
} life;

static const int passed_on[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGCONT, SIGWINCH, SIGTSTP};

static sigset_t watched_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
        sigaddset(&set, passed_on[i]);
    return set;
}

void hold_signals(sigset_t *before)
{
    sigset_t set = watched_signals();
    sigaddset(&set, SIGTTOU); /* so that tcsetpgrp works from the background */
    signal(SIGCHLD,
           SIG_DFL); /* whoever started us may have ignored it; then nothing can be awaited */
    pthread_sigmask(SIG_BLOCK, &set, before);
}

/* ---- is there such a command? ---- */

static int file_missing(const char *file)
{
    struct stat info;
    if (stat(file, &info) != 0)
        return errno == EACCES ? NOT_EXECUTABLE : NOT_FOUND;
    return S_ISREG(info.st_mode) && access(file, X_OK) == 0 ? 0 : NOT_EXECUTABLE;
}

int command_missing(const char *command)
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

/* ---- birth ---- */

/* The command may start once the keeper knows of it: `go` gives one byte, or ends. */
static _Noreturn void become(const run_job *job, const sigset_t *before, pid_t parent, int go,
                             int trouble)
{
    char word;
    ssize_t bytes;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while ((bytes = read(go, &word, 1)) < 0 && errno == EINTR)
        ;
    if (bytes != 1 || getppid() != parent) /* died before it could be the death signal */
        _exit(NOT_FOUND);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, before, NULL);
    execvp(job->command[0], job->command);
    int why = errno;
    bytes = write(trouble, &why, sizeof why);
    _exit(bytes == (ssize_t)sizeof why ? NOT_FOUND : NOT_EXECUTABLE);
}

static void give_terminal(life *l)
{
    if (tcgetpgrp(STDIN_FILENO) == getpgrp())
        l->has_terminal = tcsetpgrp(STDIN_FILENO, l->leader) == 0;
}

static void take_terminal_back(const life *l)
{
    if (l->has_terminal && tcgetpgrp(STDIN_FILENO) == l->leader)
        tcsetpgrp(STDIN_FILENO, getpgrp());
}

static void watch_lease(life *l);

/* 0, or what errno was when the command could not be started. */
static int start(life *l, const sigset_t *before)
{
    int go[2];
    int trouble[2];
    int why = 0;
    pid_t parent = getpid();
    if (pipe2(go, O_CLOEXEC) != 0 || pipe2(trouble, O_CLOEXEC) != 0)
        return errno;
    l->leader = fork();
    if (l->leader == 0) {
        close(go[1]);
        become(l->job, before, parent, go[0], trouble[1]);
    }
    if (l->leader > 0) {
        setpgid(l->leader, l->leader); /* whoever is first */
        give_terminal(l);
        keeper_tell(&l->keeper, &(keeper_order){.group = l->leader});
        watch_lease(l);
        if (write(go[1], "g", 1) != 1)
            why = errno;
    } else {
        why = errno;
    }
    close(go[0]);
    close(go[1]);
    close(trouble[1]);
    if (why == 0 && read(trouble[0], &why, sizeof why) != (ssize_t)sizeof why)
        why = 0;
    close(trouble[0]);
    return why;
}

/* ---- the lock ---- */

static void order_keeper(life *l, int64_t terminate_at)
{
    keeper_order order = {l->leader, terminate_at, terminate_at + l->job->grace_ms};
    int64_t latest = l->lease_end - l->job->lease_ms / 10; /* the dead need a moment to be dead */
    if (l->lease_end != 0 && order.kill_at > latest)
        order.kill_at = latest;
    if (!keeper_tell(&l->keeper, &order)) {
        l->lost = true;
        kill(-l->leader, SIGKILL); /* without a keeper nothing is safe */
    }
}

static void lose(life *l)
{
    if (l->lost)
        return;
    l->lost = true;
    order_keeper(l, monotonic_ms());
}

/*
 * The lease is in danger when no renewal has been acknowledged for two thirds of it. That is early
 * enough for TERM, grace, and KILL before the server gives the lock away.
 */
static void watch_lease(life *l)
{
    const run_job *job = l->job;
    if (job->lease_ms == 0 || l->lost)
        return;
    int64_t now = monotonic_ms(); /* before the question: the end is not later than that */
    int64_t left = baton_client_lease_left_ms(job->client, job->name, job->token);
    if (left > job->lease_ms / 3) {
        if (left > job->lease_ms)
            left = job->lease_ms;
        l->lease_end = now + left;
        order_keeper(l, l->lease_end - job->lease_ms / 3);
    } else {
        lose(l);
    }
}

static void hear_client(life *l)
{
    char name[BATON_CLIENT_NAME_BYTES];
    uint64_t token;
    while (baton_client_lost(l->job->client, name, &token) == BATON_OK)
        if (token == l->job->token && strcmp(name, l->job->name) == 0)
            lose(l);
}

static void hear_keeper(life *l)
{
    keeper_news news = keeper_hear(&l->keeper);
    if (news != KEEPER_QUIET)
        l->lost = true;
    if (news == KEEPER_GONE)
        kill(-l->leader, SIGKILL);
}

/* ---- signals ---- */

/* With a terminal: the shell that waits for us shall see that the job is stopped. */
static void stop_too(life *l)
{
    take_terminal_back(l);
    kill(0, SIGSTOP);
}

static void child_changed(life *l)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)l->leader, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
        l->ended = true;
    info.si_pid = 0;
    if (!l->ended && waitid(P_PID, (id_t)l->leader, &info, WSTOPPED | WNOHANG) == 0 &&
        info.si_pid != 0 && l->has_terminal)
        stop_too(l);
}

static void pass_on(life *l, int number)
{
    if (number == SIGCONT && l->has_terminal)
        give_terminal(l);
    kill(-l->leader, number);
    if (number == SIGTSTP && !l->has_terminal)
        raise(SIGSTOP); /* otherwise when the command has stopped */
}

static void hear_signals(life *l)
{
    struct signalfd_siginfo info;
    while (read(l->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            child_changed(l);
        else
            pass_on(l, (int)info.ssi_signo);
    }
}

/* ---- life and end ---- */

static void live(life *l)
{
    struct pollfd heard[] = {
        {.fd = l->signals, .events = POLLIN},
        {.fd = l->keeper.line, .events = POLLIN},
        {.fd = baton_client_fd(l->job->client), .events = POLLIN},
    };
    while (!l->ended) {
        watch_lease(l);
        poll(heard, 3, l->lost || l->job->lease_ms == 0 ? -1 : (int)(l->job->lease_ms / 10));
        if (heard[1].revents != 0) {
            hear_keeper(l);
            if (l->lost)
                heard[1].fd = -1;
        }
        if (heard[2].revents != 0) {
            hear_client(l);
            if ((heard[2].revents & POLLIN) == 0)
                heard[2].fd = -1;
        }
        hear_signals(l);
    }
    if (!l->lost)
        hear_keeper(l); /* it acted while this process was stopped */
    if (!l->lost)
        hear_client(l);
}

static int exit_code(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? OF_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

run_end run_child(const run_job *job, const sigset_t *before)
{
    life l = {.job = job};
    sigset_t set = watched_signals();
    run_end end = {.code = NOT_EXECUTABLE};
    l.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l.signals < 0 || !keeper_start(&l.keeper)) {
        fprintf(stderr, "baton run: cannot start a process: %s\n", strerror(errno));
        return end;
    }
    int why = start(&l, before);
    if (why == 0)
        live(&l);
    else
        fprintf(stderr, "baton run: cannot run %s: %s\n", job->command[0], strerror(why));
    if (l.lost && l.leader > 0)
        kill(-l.leader, SIGKILL); /* what its leader has left behind */
    keeper_end(&l.keeper);
    close(l.signals);
    take_terminal_back(&l);
    if (l.leader > 0)
        end.code = exit_code(l.leader);
    if (why != 0)
        end.code = why == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
    end.lost = l.lost;
    return end;
}

void run_shell(const char *text, const sigset_t *before)
{
    fflush(NULL);
    pid_t shell = fork();
    if (shell == 0) {
        signal(SIGPIPE, SIG_DFL);
        sigprocmask(SIG_SETMASK, before, NULL);
        execl("/bin/sh", "sh", "-c", text, (char *)NULL);
        _exit(NOT_FOUND);
    }
    if (shell < 0)
        fprintf(stderr, "baton run: cannot start a shell: %s\n", strerror(errno));
    else
        exit_code(shell);
}
