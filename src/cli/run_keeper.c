/*
 * The keeper: a process that does nothing but watch a clock. While `baton run` is stopped it can
 * neither renew its lease nor end its command; the server gives the lock to another all the same.
 * So the keeper, which is in a session of its own and cannot be stopped from a terminal, is told
 * again and again until when the lock is safe, and ends the command's group when it hears no more.
 *
 * It is forked from a process with threads: nothing here may call what is not async-signal-safe.
 */
#include "run.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
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

/* `baton run` is dead: so must be the command, before the lock is free. */
static _Noreturn void last_duty(pid_t group, int leader)
{
    if (group > 0)
        kill(-group, SIGKILL);
    struct pollfd dead = {.fd = leader, .events = POLLIN};
    if (leader >= 0)
        poll(&dead, 1, FUNERAL);
    _exit(0);
}

static int until(int64_t at)
{
    if (at == 0)
        return -1;
    int64_t left = at - monotonic_ms();
    return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

static _Noreturn void keep(int line)
{
    keeper_order order = {0};
    int leader = -1;
    bool terminated = false;
    for (;;) {
        struct pollfd heard = {.fd = line, .events = POLLIN};
        poll(&heard, 1, until(terminated ? order.kill_at : order.terminate_at));
        if (heard.revents != 0) {
            keeper_order news;
            ssize_t bytes = recv(line, &news, sizeof news, MSG_DONTWAIT);
            if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR))
                last_duty(order.group, leader);
            if (bytes == (ssize_t)sizeof news && !terminated) /* what was begun is ended */
                order = news;
            if (leader < 0 && order.group > 0)
                leader = (int)syscall(SYS_pidfd_open, order.group, 0);
        }
        int64_t now = monotonic_ms();
        if (!terminated && order.terminate_at != 0 && now >= order.terminate_at) {
            terminated = true;
            send(line, "T", 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* before: who hears of the end asks */
            kill(-order.group, SIGTERM);
            kill(-order.group, SIGCONT); /* one that is stopped must hear it too */
        }
        if (terminated && order.kill_at != 0 && now >= order.kill_at) {
            kill(-order.group, SIGKILL);
            order.kill_at = 0;
        }
    }
}

/* ---- in `baton run` ---- */

bool keeper_start(keeper *k)
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
        keep(line[1]);
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
