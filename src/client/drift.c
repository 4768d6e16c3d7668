/* See drift.h. */
#include "drift.h"

#include <assert.h>

enum { SPREAD = 64 }; /* lines to one server over which sections are held */

void drift_start(drift *all, uint32_t servers)
{
    all->servers = servers;
    list_start(&all->ready);
    list_start(&all->resting);
}

void drift_begin(drift *all, drifter *d, uint32_t home)
{
    assert(!d->is_adrift && home < all->servers);
    *d = (drifter){.is_adrift = true, .home = home};
    list_push_back(&all->ready, &d->link);
}

void drift_end(drifter *d)
{
    if (!d->is_adrift)
        return;
    list_remove(&d->link);
    d->is_adrift = false;
}

/* All rest for the same time, so who began first is awake first. */
static void wake(drift *all, uint64_t now)
{
    LIST_EACH (at, &all->resting) {
        if (OWNER_OF(at, drifter, link)->until > now)
            return;
        list_remove(at);
        list_push_back(&all->ready, at);
    }
}

drifter *drift_next(drift *all, uint64_t now, uint64_t *next)
{
    wake(all, now);
    drifter *first = OWNER_OF(list_first(&all->ready), drifter, link);
    const drifter *rests = OWNER_OF(list_first(&all->resting), drifter, link);
    *next = first != NULL ? now : rests != NULL ? rests->until : WATCH_NEVER;
    return first;
}

uint32_t drift_set_out(const drift *all, drifter *d, uint64_t shunned)
{
    course way = {.home = d->home, .servers = all->servers, .shunned = shunned, .tried = d->tried};
    uint32_t server = course_next(&way);
    assert(d->is_adrift && server < all->servers); /* when all were tried, a new round began */
    list_remove(&d->link);
    d->tried = way.tried;
    return server;
}

void drift_return(drift *all, drifter *d, uint64_t now)
{
    const course way = {.servers = all->servers, .tried = d->tried};
    if (!d->is_adrift)
        return;
    if (!course_is_over(&way)) {
        list_push_back(&all->ready, &d->link);
        return;
    }
    d->tried = 0;
    d->until = now + DRIFT_PAUSE;
    list_push_back(&all->resting, &d->link);
}

/* ---- how it is asked for ---- */

uint64_t drift_patience(const drift *all, uint64_t left)
{
    return left / (2 * (uint64_t)all->servers);
}

uint64_t drift_wait_ms(uint64_t left)
{
    return left / 2000000 + 1; /* 0 would be: without end */
}

bool drift_has_own_line(uint32_t lines)
{
    return lines < SPREAD;
}

/* ---- what the answer means ---- */

drift_verdict drift_judge(drift_answer answer, uint64_t left)
{
    switch (answer) {
    case DRIFT_GRANTED: /* when the lease is over, others may have been told that it is lost */
        return left > 0 ? DRIFT_ARRIVES : DRIFT_TOO_LATE;
    case DRIFT_EJECTED:
        return DRIFT_IS_LOST;
    default:
        return DRIFT_GOES_ON;
    }
}
