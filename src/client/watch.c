/* See watch.h. */
#include "watch.h"

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- the lease of a line ---- */

/* A sixteenth less than the server counts, for the sake of a clock that runs otherwise. */
static uint64_t counted(const line_watch *w)
{
    return w->lease - w->lease / 16;
}

/* A section that moves if its node is silent must not notice that too late for the move. */
uint64_t watch_pause(const line_watch *w)
{
    return w->named ? w->lease / 6 : w->lease / 3;
}

void watch_sent(line_watch *w, uint64_t now)
{
    w->renew_at = now + watch_pause(w);
}

void watch_answered(line_watch *w, uint64_t sent_at)
{
    if (w->lease > 0 && !w->suspended)
        w->sure_until = later(w->sure_until, sent_at + counted(w));
}

/* A wait may have outlasted the lease that we know of. */
void watch_granted(line_watch *w, uint64_t sent_at, uint64_t now)
{
    w->unsure = w->lease > 0 && now > sent_at + w->lease / 3;
}

/* Told once for each section that is held over the line: the first of these counts. */
void watch_suspended(line_watch *w, uint64_t now)
{
    if (!w->suspended)
        w->suspended_at = now;
    w->suspended = true;
}

void watch_resumed(line_watch *w)
{
    w->suspended = false;
}

uint64_t watch_leave_at(const line_watch *w)
{
    return w->suspended && watch_can_move(w) ? w->suspended_at + watch_pause(w) : WATCH_NEVER;
}

bool watch_is_over(const line_watch *w, uint64_t now)
{
    return w->lease > 0 && !w->unsure && now >= w->sure_until;
}

bool watch_can_move(const line_watch *w)
{
    return w->lease > 0 && w->named && !w->unsure;
}

/* ---- whether a server lives ---- */

server_view watch_server(uint64_t patience)
{
    return (server_view){.pause = patience / 2, .limit = patience, .blocked_since = WATCH_NEVER};
}

void watch_line(server_view *v, const line_watch *w, line_view line)
{
    if (line.precious && watch_can_move(w)) {
        v->pause = sooner(v->pause, watch_pause(w));
        v->limit = sooner(v->limit, watch_pause(w));
    }
    if (line.asked && line.may_last) {
        v->blocked_since = sooner(v->blocked_since, line.asked_at);
    } else {
        v->is_free = true;
        v->is_asked = v->is_asked || line.asked;
    }
}

uint64_t watch_look_at(const line_watch *w, uint64_t now, uint64_t patience)
{
    return now + (watch_can_move(w) ? sooner(watch_pause(w), patience / 2) : patience / 2);
}

uint64_t watch_silent_at(const server_view *v, line_view line)
{
    return line.asked && !line.may_last ? line.asked_at + v->limit : WATCH_NEVER;
}

bool watch_is_silent(const server_watch *s, line_view line)
{
    return s->heard_at <= line.asked_at;
}

watch_question watch_ask(const server_watch *s, const server_view *v, uint64_t now, uint64_t *next)
{
    *next = WATCH_NEVER;
    if (v->blocked_since == WATCH_NEVER || v->is_asked)
        return WATCH_NOTHING; /* or there will be an answer, or it is silent */
    uint64_t due = later(v->blocked_since, later(s->heard_at, s->asked_at)) + v->pause;
    *next = due;
    if (now < due)
        return WATCH_NOTHING;
    *next = now + v->pause;
    return v->is_free ? WATCH_ASK : WATCH_CONNECT;
}

/* ---- where to go ---- */

bool course_is_over(const course *way)
{
    for (uint32_t i = 0; i < way->servers; i++)
        if ((way->tried & course_bit(i)) == 0)
            return false;
    return true;
}

static uint32_t first_but(const course *way, uint64_t these)
{
    for (uint32_t i = 0; i < way->servers; i++) {
        uint32_t server = (way->home + i) % way->servers;
        if ((these & course_bit(server)) == 0)
            return server;
    }
    return COURSE_END;
}

uint32_t course_next(course *way)
{
    uint32_t server = first_but(way, way->tried | way->shunned);
    if (server == COURSE_END)
        server = first_but(way, way->tried);
    if (server != COURSE_END)
        way->tried |= course_bit(server);
    return server;
}
