/*
 * When a line is renewed, when it is given up, and where to go then. Pure: the time is told to it,
 * in nanoseconds; it knows of no socket and no thread.
 *
 * A server answers at once whatever asks for no wait, so one that does not is silent: it hangs, or
 * cannot be reached any more. But commands are answered in their order, and behind a wait (LOCK,
 * RESUME) or an operation (ISSUE, TRY) a question says nothing. Such a line is blocked; whether its
 * server lives is then asked over another line to the same one, that is free.
 */
#ifndef BATON_CLIENT_WATCH_H
#define BATON_CLIENT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define WATCH_NEVER UINT64_MAX

/* ---- the lease of a line ---- */

typedef struct line_watch {
    uint64_t lease; /* as the server was told; 0: none */
    bool named;     /* the server knows the session: what is held can be resumed */
    bool unsure;    /* the grant came so late that the lease must be renewed first */
    bool suspended; /* its node sees no majority: what it says renews no lease */
    uint64_t suspended_at;
    uint64_t renew_at;   /* or before */
    uint64_t sure_until; /* the server keeps what is held until then, at least */
} line_watch;

/* How long after one command the next renews the lease. */
uint64_t watch_pause(const line_watch *w);
/* A command is sent; each renews the lease. */
void watch_sent(line_watch *w, uint64_t now);
/* It was answered, and not by an error. */
void watch_answered(line_watch *w, uint64_t sent_at);
/* A wait is granted. */
void watch_granted(line_watch *w, uint64_t sent_at, uint64_t now);
/* Its node sees no majority; and it does again. */
void watch_suspended(line_watch *w, uint64_t now);
void watch_resumed(line_watch *w);
/*
 * When a line whose node sees no majority is left, though something is asked over it: what is held
 * would be over before there is an answer, and can go on elsewhere. WATCH_NEVER: it is not.
 */
uint64_t watch_leave_at(const line_watch *w);
/* The lease is over, as it is counted here. */
bool watch_is_over(const line_watch *w, uint64_t now);
/* What is held can go on over another line when this one breaks. */
bool watch_can_move(const line_watch *w);

/* ---- whether a server lives ---- */

typedef struct server_watch {
    uint64_t heard_at; /* over any line */
    uint64_t asked_at; /* because others are blocked */
    uint64_t limit;    /* as of the last look: how long it may take to answer */
} server_watch;

/* One line as it is when all are looked at. */
typedef struct line_view {
    bool precious;     /* something is held, or comes to be held, over it */
    bool asked;        /* and has not answered */
    bool may_last;     /* what it is asked first is a wait, or an operation */
    uint64_t asked_at; /* when that was sent, or the answer before it came */
} line_view;

/* All lines to one server. */
typedef struct server_view {
    uint64_t pause, limit;
    uint64_t blocked_since; /* WATCH_NEVER: none is */
    bool is_free;           /* one is not */
    bool is_asked;          /* and that has something to answer */
} server_view;

typedef enum watch_question { WATCH_NOTHING, WATCH_ASK, WATCH_CONNECT } watch_question;

/* Of no line yet. Who waits and holds nothing is as patient as for anything else. */
server_view watch_server(uint64_t patience);
void watch_line(server_view *v, const line_watch *w, line_view line);
/* When all are to be looked at, at the latest, if something is sent over that line now. */
uint64_t watch_look_at(const line_watch *w, uint64_t now, uint64_t patience);
/* When a line counts as silent, unless it answers before. */
uint64_t watch_silent_at(const server_view *v, line_view line);
/* Whether it is: nothing was heard from the server since it was asked over that line. */
bool watch_is_silent(const server_watch *s, line_view line);
/*
 * What is to be done so that a blocked line does not wait for a server that is silent: ask over a
 * free one; or make one first. `next`: when to look again, at the latest.
 */
watch_question watch_ask(const server_watch *s, const server_view *v, uint64_t now, uint64_t *next);

/* ---- where to go ---- */

enum { COURSE_MAX = 64, COURSE_END = 64 };

/* A way past all servers, each once: those that were silent, or out of reach, come last. */
typedef struct course {
    uint32_t home; /* begins there */
    uint32_t servers;
    uint64_t shunned, tried; /* one bit for each */
} course;

static inline uint64_t course_bit(uint32_t server)
{
    return server < COURSE_MAX ? (uint64_t)1 << server : 0;
}
/* COURSE_END if all were tried. */
uint32_t course_next(course *way);
bool course_is_over(const course *way);

#endif
