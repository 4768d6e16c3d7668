/*
 * Sections that are adrift: held still, over a line that has broken. Which is moved next and when,
 * to which server, over which line, and what the answer there means. Pure: the time is told to it,
 * in nanoseconds; it knows of no socket and no thread.
 *
 *   (held) ── drift_begin ──► ready ── drift_set_out ──► on its way ──► drift_end: arrived, or lost
 *                               ▲                            │
 *                               │                        drift_return
 *                               ├────────────────────────────┤ another server is next
 *                               └── resting: a pause ◄───────┘ all were asked
 *
 * Each goes past all servers: first to its own, which may have kept it, unless that is known to be
 * silent. They set out in the order in which they went adrift, or came back: so no section waits
 * for another that is asked for in vain. All this while the lease runs, as this process counts it:
 * that is watch.h's to say.
 */
#ifndef BATON_CLIENT_DRIFT_H
#define BATON_CLIENT_DRIFT_H

#include "list.h"
#include "watch.h"

#define DRIFT_PAUSE 50000000u /* nanoseconds between a try at all servers and the next */

/* All that are adrift, and not on their way. */
typedef struct drift {
    uint32_t servers;
    list_head ready;   /* the next one first */
    list_head resting; /* until all servers are asked again, the first one first */
} drift;

/* One of them. Zero until it is adrift for the first time, and owned by who has the section. */
typedef struct drifter {
    list_link link; /* in one of those lists, or in none while it is on its way */
    bool is_adrift;
    uint32_t home;  /* the server at which it was held */
    uint64_t tried; /* servers in this round, one bit for each */
    uint64_t until; /* rests */
} drifter;

void drift_start(drift *all, uint32_t servers);
/* The line has broken over which it was held, at that server. */
void drift_begin(drift *all, drifter *d, uint32_t home);
/* It is over: the section has arrived, or is lost, whatever it did. */
void drift_end(drifter *d);
/* Which sets out next; NULL: none does, and at `next` is to be asked again (WATCH_NEVER: not). */
drifter *drift_next(drift *all, uint64_t now, uint64_t *next);
/* To which server. From now on it is on its way. */
uint32_t drift_set_out(const drift *all, drifter *d, uint64_t shunned);
/* There it could not go on. Nothing if it is adrift no more. */
void drift_return(drift *all, drifter *d, uint64_t now);

/* ---- how it is asked for ---- */

/* How long it may take to connect, if so much of the lease is left: others may have to be asked. */
uint64_t drift_patience(const drift *all, uint64_t left);
/* Milliseconds that a server may let it wait; then another may be asked. */
uint64_t drift_wait_ms(uint64_t left);
/*
 * Whether it has a line of its own, so that all can wait at the same time; or shares one, if over
 * so many to that server sections are held, or come.
 */
bool drift_has_own_line(uint32_t lines);

/* ---- what the answer means ---- */

typedef enum drift_answer {
    DRIFT_NOTHING, /* the line broke, or there was no sense in it */
    DRIFT_GRANTED,
    DRIFT_EJECTED, /* somebody may have been inside */
    DRIFT_REFUSED, /* not here, or not now */
} drift_answer;

typedef enum drift_verdict {
    DRIFT_GOES_ON, /* to another server */
    DRIFT_ARRIVES,
    DRIFT_IS_LOST,
    DRIFT_TOO_LATE, /* it is lost, and what was granted must be given back */
} drift_verdict;

/* `left` of the lease; 0 also if the section is held no more. */
drift_verdict drift_judge(drift_answer answer, uint64_t left);

#endif
