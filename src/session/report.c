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
    session_spend(me, c.locks); /* they may have been counted one by one */
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

/* False, with an error, if the pattern cannot be one. */
static bool start_listing(session *me, resp_word pattern, uint64_t now, listing *l)
{
    *l = (listing){.now = now, .rows = {.max = me->of->max_output / 2, .third = me->out.third}};
    if (pattern.bytes >= sizeof l->pattern) {
        resp_error(&me->out, "ERR the pattern is too long");
        return false;
    }
    if (pattern.bytes > 0)
        memcpy(l->pattern, pattern.at, pattern.bytes);
    return true;
}

/* Others come first when it has looked at many: else they would wait for all who list. */
static lock_page list_from(session *me, uint64_t from, uint64_t most, listing *l)
{
    lock_page page = me->of->locks->backend->each(me->of->locks, from, most, list_lock, l);
    session_spend(me, page.looked_at);
    return page;
}

static void say_rows(session *me, const listing *l)
{
    resp_array(&me->out, l->count);
    resp_raw(&me->out, l->rows.at, l->rows.bytes);
}

void session_report_locks(session *me, resp_word pattern, uint64_t now)
{
    listing l;
    if (!start_listing(me, pattern, now, &l))
        return;
    lock_page page = list_from(me, 0, REPORT_MAX_LOCKS, &l);
    if (page.next != 0 || l.rows.overflow)
        resp_error(&me->out, "ERR too many locks to list at once; use LOCKS pattern CURSOR 0");
    else
        say_rows(me, &l);
    resp_free(&l.rows);
}

void session_report_page(session *me, resp_word pattern, uint64_t from, uint64_t now)
{
    enum { REST_OF_ROW = 128 };
    listing l;
    if (!start_listing(me, pattern, now, &l))
        return;
    uint64_t fit = l.rows.max / (me->of->max_name + REST_OF_ROW); /* rows, whatever their names */
    uint64_t most = fit < REPORT_MAX_LOCKS ? fit : REPORT_MAX_LOCKS;
    lock_page page = list_from(me, from, most > 0 ? most : 1, &l);
    if (l.rows.overflow) {
        resp_error(&me->out, "ERR the list is longer than an answer may be");
    } else {
        resp_array(&me->out, 2);
        resp_integer(&me->out, (int64_t)page.next);
        say_rows(me, &l);
    }
    resp_free(&l.rows);
}
