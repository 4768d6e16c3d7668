/* The keeper: a thread of the client's that reads, renews leases, and tells of what was lost. */
#include "room.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void keeper_wake(const baton_client *c)
{
    uint64_t one = 1;
    ssize_t written = write(c->wake_fd, &one, sizeof one);
    (void)written; /* if it is full, the keeper is awake anyway */
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
        if (k->dead && k->users == 0) {
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

/* Does what is due for one line; returns when it is to be looked at again. */
static uint64_t look_after(baton_client *c, line *k, uint64_t now, uint32_t *idle)
{
    uint64_t next = UINT64_MAX;
    if (k->idle) {
        uint64_t until = k->idle_since + (uint64_t)IDLE_SECONDS * 1000000000u;
        if (now >= until || ++*idle > MOST_IDLE)
            line_cut(c, k, 0);
        next = until;
    }
    if (k->dead || !is_kept_alive(c, k))
        return next;
    if (line_is_over(c, k, now)) {
        line_cut(c, k, ETIMEDOUT);
        return next;
    }
    if (!k->renewing && now >= k->renew_at)
        line_renew(c, k);
    if (!k->unsure)
        next = sooner(next, k->sure_until);
    return k->renewing ? next : sooner(next, k->renew_at);
}

static int look_after_all(baton_client *c)
{
    uint64_t now = clock_now();
    uint64_t next = UINT64_MAX;
    uint32_t idle = 0;
    for (line *k = c->lines; k != NULL; k = k->next)
        if (!k->dead)
            next = sooner(next, look_after(c, k, now, &idle));
    if (next == UINT64_MAX)
        return -1;
    uint64_t wait = next > now ? (next - now) / 1000000 + 1 : 0;
    return wait < 3600000 ? (int)wait : 3600000;
}

/* ---- the loop ---- */

static nfds_t choose_polled(baton_client *c)
{
    nfds_t count = 1;
    c->polled[0] = (struct pollfd){.fd = c->wake_fd, .events = POLLIN};
    for (line *k = c->lines; k != NULL; k = k->next) {
        if (k->dead)
            continue;
        short events = POLLIN;
        if (k->out.bytes > 0)
            events |= POLLOUT;
        c->polled[count] = (struct pollfd){.fd = k->socket, .events = events};
        c->polled_of[count++] = k;
    }
    return count;
}

static void serve(baton_client *c, nfds_t count)
{
    uint64_t wakes;
    if (c->polled[0].revents != 0) {
        ssize_t got = read(c->wake_fd, &wakes, sizeof wakes);
        (void)got;
    }
    for (nfds_t i = 1; i < count; i++) {
        line *k = c->polled_of[i];
        if ((c->polled[i].revents & POLLOUT) != 0)
            line_flush(c, k);
        if ((c->polled[i].revents & ~POLLOUT) != 0 && !k->dead)
            line_read(c, k);
    }
}

void *keeper_run(void *client)
{
    baton_client *c = client;
    pthread_mutex_lock(&c->mutex);
    while (!c->closing) {
        int wait = look_after_all(c);
        bury(c);
        if (c->untold != NULL) {
            tell(c);
            continue; /* time has passed */
        }
        nfds_t count = choose_polled(c);
        pthread_mutex_unlock(&c->mutex);
        int ready = poll(c->polled, count, wait);
        pthread_mutex_lock(&c->mutex);
        if (ready > 0)
            serve(c, count);
    }
    tell(c);
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}
