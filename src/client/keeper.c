/* The keeper: a thread that reads what no caller reads, renews leases, notices what is lost. */
#include "internal.h"

#include <errno.h>
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
    if (line_owes(k))
        events |= EPOLLOUT;
    struct epoll_event wanted = {.events = events, .data.ptr = k};
    int what = k->dead ? EPOLL_CTL_DEL : k->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (k->dead ? k->watched == 0 : k->watched == events)
        return;
    if (epoll_ctl(c->watch_fd, what, k->channel.socket, &wanted) == 0)
        k->watched = k->dead ? 0 : events;
}

/* ---- time ---- */

static void bury(baton_client *c)
{
    LIST_EACH (at, &c->lines) {
        line *k = OWNER_OF(at, line, link);
        if (k->dead && k->users == 0 && k->holds == 0) {
            list_remove(&k->link);
            c->line_count--;
            line_free(k);
        }
    }
}

/* Whether its lease matters: something is held over it, or gates are (main). */
static bool is_kept_alive(const baton_client *c, const line *k)
{
    return k->watch.lease > 0 && (k == c->main || k->holds > 0);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What it has kept is adrift until the lease is over. */
static uint64_t look_after_dead(baton_client *c, line *k, uint64_t now)
{
    if (k->holds == 0)
        return WATCH_NEVER;
    if (now < k->watch.sure_until)
        return k->watch.sure_until;
    line_lose(c, k);
    return WATCH_NEVER;
}

/* Does what is due for one line; returns when it is to be looked at again. */
static uint64_t look_after(baton_client *c, line *k, uint64_t now, uint32_t *idle)
{
    uint64_t next = WATCH_NEVER;
    if (k->dead)
        return look_after_dead(c, k, now);
    if (k->idle) {
        next = line_idle_until(k);
        if (now >= next || ++*idle > MAX_IDLE)
            line_cut(c, k, 0);
    }
    if (k->dead || !is_kept_alive(c, k))
        return next;
    if (watch_is_over(&k->watch, now)) {
        line_cut(c, k, ETIMEDOUT);
        return look_after_dead(c, k, now);
    }
    if (k->holds > 0 && now >= watch_leave_at(&k->watch)) {
        line_cut(c, k, ECONNRESET);
        return look_after_dead(c, k, now);
    }
    if (!k->renewing && now >= k->watch.renew_at)
        line_renew(c, k);
    if (!k->watch.unsure)
        next = sooner(next, k->watch.sure_until);
    if (k->holds > 0)
        next = sooner(next, watch_leave_at(&k->watch));
    return k->renewing ? next : sooner(next, k->watch.renew_at);
}

/* ---- servers ---- */

course course_from(const baton_client *c, uint32_t home)
{
    return (course){.home = home, .servers = c->servers, .shunned = c->shunned};
}

/* What is asked first, and since when: not before the answer to what was asked earlier. */
static line_view view_of(const line *k)
{
    line_view v = {.precious = k->holds > 0 || k->arriving > 0};
    const request *first = OWNER_OF(list_first(&k->requests), request, link);
    if (first == NULL)
        return v;
    v.asked = true;
    v.may_last = first->kind != ASK_RENEW && first->kind != ASK_EXIT;
    v.asked_at = first->sent_at > k->heard_at ? first->sent_at : k->heard_at;
    return v;
}

/* Not without harm, if what is held over it would be lost. */
static bool can_be_left(const line *k)
{
    return k->holds == 0 || watch_can_move(&k->watch);
}

void server_leave(baton_client *c, uint32_t server)
{
    c->shunned |= course_bit(server);
    LIST_EACH (at, &c->lines) {
        line *k = OWNER_OF(at, line, link);
        if (k->server == server && can_be_left(k))
            line_cut(c, k, ETIMEDOUT);
    }
}

/* One line, and perhaps no other: if the server is silent, all are left. Returns as above. */
static uint64_t look_for_silence(baton_client *c, line *k, const server_view *v, uint64_t now)
{
    line_view its = view_of(k);
    uint64_t at = k->dead ? WATCH_NEVER : watch_silent_at(v, its);
    if (now < at)
        return at;
    if (watch_is_silent(&c->watched[k->server], its) && (c->shunned & course_bit(k->server)) == 0)
        server_leave(c, k->server);
    if (can_be_left(k))
        line_cut(c, k, ETIMEDOUT);
    return WATCH_NEVER;
}

static void ask_over_free_line(baton_client *c, uint32_t server)
{
    LIST_EACH (at, &c->lines) {
        line *k = OWNER_OF(at, line, link);
        if (k->server != server || k->dead || !list_is_empty(&k->requests))
            continue;
        k->idle_since = clock_now(); /* it is of use */
        line_renew(c, k);
        return;
    }
}

/* So that those who wait do not wait for one that is silent. */
static uint64_t look_after_server(baton_client *c, uint32_t server, const server_view *v,
                                  uint64_t now)
{
    uint64_t next;
    server_watch *s = &c->watched[server];
    s->limit = v->limit;
    watch_question what = watch_ask(s, v, now, &next);
    if (what == WATCH_NOTHING)
        return next;
    s->asked_at = now;
    if (what == WATCH_ASK) {
        ask_over_free_line(c, server);
        return now + v->limit;
    }
    c->wanted |= course_bit(server);
    pthread_cond_signal(&c->adrift);
    return next;
}

/* Lines that cannot be left need no question when they are blocked. */
static void view_servers(const baton_client *c, server_view *view)
{
    for (uint32_t i = 0; i < c->servers; i++)
        view[i] = watch_server(c->patience);
    LIST_EACH (at, &c->lines) {
        const line *k = OWNER_OF(at, line, link);
        line_view its = view_of(k);
        if (!k->dead && (can_be_left(k) || !its.may_last))
            watch_line(&view[k->server], &k->watch, its);
    }
}

/* With one server there is nowhere else to go. */
static uint64_t look_after_servers(baton_client *c, uint64_t now)
{
    server_view view[MAX_SERVERS];
    uint64_t next = WATCH_NEVER;
    if (c->servers == 1)
        return next;
    view_servers(c, view);
    LIST_EACH (at, &c->lines) {
        line *k = OWNER_OF(at, line, link);
        next = sooner(next, look_for_silence(c, k, &view[k->server], now));
    }
    view_servers(c, view); /* of lines that remain */
    for (uint32_t i = 0; i < c->servers; i++)
        next = sooner(next, look_after_server(c, i, &view[i], now));
    return next;
}

static int look_after_all(baton_client *c)
{
    uint64_t now = clock_now();
    uint64_t next = WATCH_NEVER;
    uint32_t idle = 0;
    LIST_EACH (at, &c->lines)
        next = sooner(next, look_after(c, OWNER_OF(at, line, link), now, &idle));
    next = sooner(next, look_after_servers(c, now));
    c->keeper_until = next;
    if (next == WATCH_NEVER)
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
        pthread_mutex_unlock(&c->mutex);
        int ready = epoll_wait(c->watch_fd, event, AT_A_TIME, wait);
        pthread_mutex_lock(&c->mutex);
        for (int i = 0; i < ready; i++)
            serve(c, &event[i]); /* no line is freed in between: only the keeper does that */
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}
