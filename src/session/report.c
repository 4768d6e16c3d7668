/* Figures, and the list of locks that are held. */
#include "report.h"
#include "baton/lock.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void session_report_figures(session *me)
{
    service *of = me->of;
    resp_out text = {0};
    lock_counts c = of->locks->backend->count(of->locks);
    char lines[512];
    int length = snprintf(lines, sizeof lines,
                          "# Baton\r\nversion:%s\r\nlocks:%" PRIu64 "\r\nheld:%" PRIu64
                          "\r\nwaiting:%" PRIu64 "\r\nsections:%" PRIu64 "\r\nhanded_on:%" PRIu64
                          "\r\ntries:%" PRIu64 "\r\nfailed:%" PRIu64 "\r\nresets:%" PRIu64
                          "\r\nlost:%" PRIu64 "\r\nstale:%" PRIu64 "\r\n",
                          baton_version(), c.locks, c.held, c.waiting, c.sections, c.handed_on,
                          c.tries, c.failed, c.resets, c.lost, c.stale);
    resp_raw(&text, lines, (size_t)length);
    if (of->info != NULL)
        of->info(of, &text);
    resp_bulk(&me->out, text.at, text.bytes);
    resp_free(&text);
}

/* A list that is being made. */
typedef struct listing {
    resp_out rows;
    uint32_t count;
    uint64_t now;
    char pattern[256];
} listing;

static void list_lock(const lock_row *row, void *context)
{
    listing *l = context;
    char name[1024];
    size_t bytes = row->name_bytes < sizeof name - 1 ? row->name_bytes : sizeof name - 1;
    memcpy(name, row->name, bytes);
    name[bytes] = '\0';
    if (l->pattern[0] != '\0' && fnmatch(l->pattern, name, 0) != 0)
        return;
    resp_array(&l->rows, 5);
    resp_bulk(&l->rows, row->name, row->name_bytes);
    resp_integer(&l->rows, (int64_t)row->generation);
    resp_text(&l->rows, row->holder->from);
    resp_integer(&l->rows, l->now > row->since ? (int64_t)(l->now - row->since) : 0);
    resp_integer(&l->rows, row->waiters);
    l->count++;
}

void session_report_locks(session *me, resp_word pattern, uint64_t now)
{
    listing l = {.now = now, .rows = {.max = me->of->max_output / 2, .third = me->out.third}};
    if (pattern.bytes >= sizeof l.pattern) {
        resp_error(&me->out, "ERR the pattern is too long");
        return;
    }
    if (pattern.bytes > 0)
        memcpy(l.pattern, pattern.at, pattern.bytes);
    me->of->locks->backend->each(me->of->locks, list_lock, &l);
    if (l.rows.overflow) {
        resp_error(&me->out, "ERR too many locks to list; give a pattern");
    } else {
        resp_array(&me->out, l.count);
        resp_raw(&me->out, l.rows.at, l.rows.bytes);
    }
    resp_free(&l.rows);
}
