/*
 * The keeper: a process that does nothing but watch a clock. While `baton run` is stopped it can
 * neither renew its lease nor end its command; the server gives the lock to another all the same.
 * So the keeper, which is in a session of its own and cannot be stopped from a terminal, is told
 * again and again until when the lock is safe, and ends the command's group when it hears no more.
 *
 * It is forked from a process with threads: nothing here may call what is not async-signal-safe.
 */
#include "run_keeper.h"
#include "farewell.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long the keeper waits for those it has killed before it lets the lock go, in milliseconds. */
enum { FUNERAL = 5000 };

int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- in the keeper ---- */

/* A lease and a grace have a day each at most, so an int has room for it. */
static int until(int64_t at)
{
    if (at == 0)
        return -1;
    int64_t left = at - monotonic_ms();
    return left > 0 ? (int)left : 0;
}

/* What the keeper knows. */
typedef struct watchman {
    int line, socket;
    int leader; /* a pidfd; -1: not known yet */
    keeper_order order;
    bool terminated;
    bool ended; /* the leader, before it had to: then there is nothing to be done any more */
} watchman;

/* `baton run` is dead: so must be the command, before the lock is free. */
static _Noreturn void last_duty(const watchman *w)
{
    if (w->order.group > 0)
        kill(-w->order.group, SIGKILL);
    struct pollfd dead = {.fd = w->leader, .events = POLLIN};
    bool is_dead = w->leader < 0 || poll(&dead, 1, FUNERAL) == 1;
    if (is_dead && w->socket >= 0)
        client_farewell(w->socket);
    _exit(0);
}

static void hear_order(watchman *w)
{
    keeper_order news;
    ssize_t bytes = recv(w->line, &news, sizeof news, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes != (ssize_t)sizeof news)
        last_duty(w);
    if (!w->terminated) /* what was begun is ended */
        w->order = news;
    if (w->leader < 0)
        w->leader = (int)syscall(SYS_pidfd_open, w->order.group, 0);
}

static void act(watchman *w)
{
    int64_t now = monotonic_ms();
    if (!w->terminated && w->order.terminate_at != 0 && now >= w->order.terminate_at) {
        w->terminated = true;
        send(w->line, "T", 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* before: who hears of the end asks */
        kill(-w->order.group, SIGTERM);
        kill(-w->order.group, SIGCONT); /* one that is stopped must hear it too */
    }
    if (w->terminated && w->order.kill_at != 0 && now >= w->order.kill_at) {
        kill(-w->order.group, SIGKILL);
        w->order.kill_at = 0;
    }
}

static _Noreturn void keep(int line, int socket)
{
    watchman w = {.line = line, .socket = socket, .leader = -1};
    for (;;) {
        struct pollfd heard[] = {
            {.fd = line, .events = POLLIN},
            {.fd = w.terminated || w.ended ? -1 : w.leader, .events = POLLIN},
        };
        int64_t next = w.terminated ? w.order.kill_at : w.order.terminate_at;
        poll(heard, 2, w.ended ? -1 : until(next));
        if (heard[1].revents != 0)
            w.ended = true;
        if (heard[0].revents != 0)
            hear_order(&w);
        if (!w.ended)
            act(&w);
    }
}

/* ---- in `baton run` ---- */

bool keeper_start(keeper *k, int socket)
{
    int line[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0)
        return false;
    k->process = fork();
    if (k->process == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        setsid();
        prctl(PR_SET_NAME, "baton keeper");
        close(line[0]);
        for (int standard = 0; standard <= 2; standard++)
            close(
                standard); /* whoever reads what the command writes must not wait for the keeper */
        keep(line[1], socket);
    }
    close(line[1]);
    k->line = line[0];
    if (k->process < 0)
        close(line[0]);
    return k->process > 0;
}

bool keeper_tell(const keeper *k, const keeper_order *order)
{
    return send(k->line, order, sizeof *order, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)sizeof *order;
}

keeper_news keeper_hear(const keeper *k)
{
    char word;
    ssize_t bytes = recv(k->line, &word, 1, MSG_DONTWAIT);
    if (bytes == 1)
        return KEEPER_ACTED;
    return bytes < 0 && (errno == EAGAIN || errno == EINTR) ? KEEPER_QUIET : KEEPER_GONE;
}

void keeper_end(keeper *k)
{
    kill(k->process, SIGKILL);
    while (waitpid(k->process, NULL, 0) < 0 && errno == EINTR)
        ;
    close(k->line);
}
