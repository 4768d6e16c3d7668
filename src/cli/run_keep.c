/*
 * `baton run`: the command runs. The keeper is told again and again until when the lock is safe;
 * signals are passed on; a lock that is lost ends the command.
 */
#include "run.h"

#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGCONT, SIGWINCH, SIGTSTP};

sigset_t watched_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
        sigaddset(&set, passed_on[i]);
    return set;
}

/* ---- the lock ---- */

static void order_keeper(run *r, int64_t terminate_at)
{
    keeper_order order = {r->leader, terminate_at, terminate_at + r->grace_ms};
    int64_t latest = r->lease_end - r->lease_ms / 10; /* the dead need a moment to be dead */
    if (r->lease_end != 0 && order.kill_at > latest)
        order.kill_at = latest;
    if (!keeper_tell(&r->keeper, &order)) {
        r->given_up = r->lost = true;
        kill(-r->leader, SIGKILL); /* without a keeper nothing is safe */
    }
}

/*
 * The keeper decides whether the command was ended for it: it knows a command that has ended by
 * itself before, even while this process, stopped for a while, has not heard of that yet.
 */
static void lose(run *r)
{
    if (r->given_up)
        return;
    r->given_up = true;
    order_keeper(r, monotonic_ms());
}

/*
 * The lease is in danger when no renewal has been acknowledged for two thirds of it. That is early
 * enough for TERM, grace, and KILL before the server gives the lock away.
 */
static void watch_lease(run *r)
{
    if (r->lease_ms == 0 || r->given_up)
        return;
    int64_t now = monotonic_ms(); /* before the question: the end is not later than that */
    int64_t left = baton_client_lease_left_ms(r->client, r->name, r->token);
    if (left > r->lease_ms / 3) {
        if (left > r->lease_ms)
            left = r->lease_ms;
        r->lease_end = now + left;
        order_keeper(r, r->lease_end - r->lease_ms / 3);
    } else {
        lose(r);
    }
}

void run_guard(run *r)
{
    keeper_tell(&r->keeper, &(keeper_order){.group = r->leader});
    watch_lease(r);
}

static void hear_client(run *r)
{
    char name[BATON_CLIENT_NAME_BYTES];
    uint64_t token;
    while (baton_client_lost(r->client, name, &token) == BATON_OK)
        if (token == r->token && strcmp(name, r->name) == 0)
            lose(r);
}

static void hear_keeper(run *r)
{
    keeper_news news = keeper_hear(&r->keeper);
    if (news != KEEPER_QUIET)
        r->given_up = r->lost = true;
    if (news == KEEPER_GONE)
        kill(-r->leader, SIGKILL);
}

/* ---- signals ---- */

static void child_changed(run *r)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)r->leader, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
        r->ended = true;
    info.si_pid = 0;
    if (!r->ended && waitid(P_PID, (id_t)r->leader, &info, WSTOPPED | WNOHANG) == 0 &&
        info.si_pid != 0)
        terminal_stop(r, info.si_status);
}

static bool is_to_end(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

static void pass_on(run *r, int number)
{
    if (number == SIGCONT && r->has_terminal)
        give_terminal(r);
    sigaddset(&r->passed_on, number);
    kill(-r->leader, number);
    if (is_to_end(number))
        kill(-r->leader, SIGCONT); /* one that is stopped must hear it too */
    if (number == SIGTSTP && !r->has_terminal)
        raise(SIGSTOP); /* otherwise when the command has stopped */
}

static void hear_signals(run *r)
{
    struct signalfd_siginfo info;
    while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            child_changed(r);
        else
            pass_on(r, (int)info.ssi_signo);
    }
}

/* ---- until the end ---- */

void run_keep(run *r)
{
    struct pollfd heard[] = {
        {.fd = r->signals, .events = POLLIN},
        {.fd = r->keeper.line, .events = POLLIN},
        {.fd = baton_client_fd(r->client), .events = POLLIN},
    };
    while (!r->ended) {
        watch_lease(r);
        poll(heard, 3, r->given_up || r->lease_ms == 0 ? -1 : (int)(r->lease_ms / 10));
        hear_signals(r); /* first: what is lost after the end was not lost before it */
        if (heard[1].revents != 0) {
            hear_keeper(r);
            if (r->lost)
                heard[1].fd = -1;
        }
        if (heard[2].revents != 0 && !r->ended) {
            hear_client(r);
            if ((heard[2].revents & POLLIN) == 0)
                heard[2].fd = -1;
        }
    }
    if (!r->lost)
        hear_keeper(r); /* it acted while this process was stopped */
}
