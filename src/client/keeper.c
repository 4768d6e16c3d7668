/* The keeper: a thread that reads what no caller reads, renews leases, tells of what was lost. */
#include "room.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- being woken ---- */

void keeper_wake(const baton_client *c)
{
    uint64_t one = 1;
    ssize_t written = write(c->wake_fd, &one, sizeof one);
    (void)written; /* if it is full, the keeper is awake anyway */
}

void keeper_due(baton_client *c, uint64_t at)
{
    if (at >= c->keeper_until)
        return;
    c->keeper_until = at; /* once is enough */
    keeper_wake(c);
}

bool keeper_prepare(baton_client *c)
{
    struct epoll_event woken = {.events = EPOLLIN};
    c->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return c->watch_fd >= 0 && c->wake_fd >= 0 &&
           epoll_ctl(c->watch_fd, EPOLL_CTL_ADD, c->wake_fd, &woken) == 0;
}

/*
 * The end of a connection is always told, wanted or not, and would be told again and again; where a
 * caller reads, once is enough (EPOLLET).
 */
void keeper_watch(const baton_client *c, line *k)
{
    uint32_t events = k->has_reader ? EPOLLET : EPOLLIN;
    if (k->out.bytes > 0)
        events |= EPOLLOUT;
    struct epoll_event wanted = {.events = events, .data.ptr = k};
    int what = k->dead ? EPOLL_CTL_DEL : k->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (k->dead ? k->watched == 0 : k->watched == events)
        return;
    if (epoll_ctl(c->watch_fd, what, k->socket, &wanted) == 0)
        k->watched = k->dead ? 0 : events;
}

/* ---- what was lost ---- */

static void keep_for_the_process(baton_client *c, hold *h)
{
    uint64_t one = 1;
    *c->told_end = h;
    c->told_end = &h->next;
    if (++c->told_count > MOST_LOST) {
        hold *oldest = c->told;
        c->told = oldest->next;
        c->told_count--;
        free(oldest);
    }
    ssize_t written = write(c->lost_fd, &one, sizeof one);
    (void)written;
}

static void tell(baton_client *c)
{
    while (c->untold != NULL) {
        hold *h = c->untold;
        c->untold = h->next;
        if (c->untold == NULL)
            c->untold_end = &c->untold;
        h->next = NULL;
        if (c->lost != NULL) {
            pthread_mutex_unlock(&c->mutex);
            c->lost(c->context, h->name, h->token);
            pthread_mutex_lock(&c->mutex);
        }
        keep_for_the_process(c, h);
    }
}

/* ---- time ---- */

static void bury(baton_client *c)
{
    line **link = &c->lines;
    while (*link != NULL) {
        line *k = *link;
        if (k->dead && k->users == 0 && k->holds == 0) {
            *link = k->next;
            c->line_count--;
            line_free(k);
        } else {
            link = &k->next;
        }
    }
}

/* Whether its lease matters: something is held over it, or gates are (main). */
static bool is_kept_alive(const baton_client *c, const line *k)
{
    return c->lease > 0 && (k == c->main || k->holds > 0);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What it has kept is adrift until the lease is over. */
static uint64_t look_after_dead(baton_client *c, line *k, uint64_t now)
{
    if (k->holds == 0)
        return UINT64_MAX;
    if (now < k->sure_until)
        return k->sure_until;
    line_lose(c, k);
    return UINT64_MAX;
}

/* When its node counts as silent: what is held over it is then better off elsewhere. */
static uint64_t silent_at(const baton_client *c, const line *k)
{
    bool asked = k->renewing && k->first == &k->renewal; /* not behind what may take long */
    return asked && k->holds > 0 && move_can(c, k) ? k->renewal.sent_at + lease_pause(c, k)
                                                   : UINT64_MAX;
}

/* Does what is due for one line; returns when it is to be looked at again. */
static uint64_t look_after(baton_client *c, line *k, uint64_t now, uint32_t *idle)
{
    uint64_t next = UINT64_MAX;
    if (k->dead)
        return look_after_dead(c, k, now);
    if (k->idle) {
        next = line_idle_until(k);
        if (now >= next || ++*idle > MOST_IDLE)
            line_cut(c, k, 0);
    }
    if (k->dead || !is_kept_alive(c, k))
        return next;
    if (line_is_over(c, k, now) || now >= silent_at(c, k)) {
        line_cut(c, k, ETIMEDOUT);
        return look_after_dead(c, k, now);
    }
    if (!k->renewing && now >= k->renew_at)
        line_renew(c, k);
    if (!k->unsure)
        next = sooner(next, sooner(k->sure_until, silent_at(c, k)));
    return k->renewing ? next : sooner(next, k->renew_at);
}

static int look_after_all(baton_client *c)
{
    uint64_t now = clock_now();
    uint64_t next = UINT64_MAX;
    uint32_t idle = 0;
    for (line *k = c->lines; k != NULL; k = k->next)
        next = sooner(next, look_after(c, k, now, &idle));
    c->keeper_until = next;
    if (next == UINT64_MAX)
        return -1;
    uint64_t wait = next > now ? (next - now) / 1000000 + 1 : 0;
    return wait < 3600000 ? (int)wait : 3600000;
}

/* ---- the loop ---- */

static void serve(baton_client *c, const struct epoll_event *event)
{
    line *k = event->data.ptr;
    uint64_t wakes;
    if (k == NULL) {
        ssize_t got = read(c->wake_fd, &wakes, sizeof wakes);
        (void)got;
        return;
    }
    if ((event->events & EPOLLOUT) != 0 && !k->dead) {
        line_flush(c, k);
        keeper_watch(c, k);
    }
    if ((event->events & ~(uint32_t)EPOLLOUT) != 0 && !k->dead && !k->has_reader)
        line_read(c, k);
}

void *keeper_run(void *client)
{
    enum { AT_A_TIME = 64 };
    struct epoll_event event[AT_A_TIME];
    baton_client *c = client;
    pthread_mutex_lock(&c->mutex);
    while (!c->closing) {
        int wait = look_after_all(c);
        bury(c);
        if (c->untold != NULL) {
            tell(c);
            continue; /* time has passed */
        }
        pthread_mutex_unlock(&c->mutex);
        int ready = epoll_wait(c->watch_fd, event, AT_A_TIME, wait);
        pthread_mutex_lock(&c->mutex);
        for (int i = 0; i < ready; i++)
            serve(c, &event[i]); /* no line is freed in between: only the keeper does that */
    }
    tell(c);
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}
