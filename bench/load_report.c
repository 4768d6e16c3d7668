/* What is counted while a load goes on, what is shown of it, and what came out in the end. */
#include "load_parts.h"
#include "measure.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* ---- while it goes on ---- */

static bool counts(const load *l, const load_client *c)
{
    return c->has_task ? c->due >= l->from : l->is_measured;
}

static bool is_called(const struct load_error *e, const char *kind, size_t bytes)
{
    return strlen(e->kind) == bytes && memcmp(e->kind, kind, bytes) == 0;
}

/* Of too many kinds, the last one takes the rest. */
static void count_error(load_result *r, const char *kind, size_t bytes)
{
    uint32_t at = 0;
    bytes = bytes < LOAD_ERROR_BYTES ? bytes : LOAD_ERROR_BYTES - 1;
    while (at < r->errors && at < LOAD_ERROR_KINDS - 1 && !is_called(&r->error[at], kind, bytes))
        at++;
    if (at == LOAD_ERROR_KINDS - 1) {
        kind = "others";
        bytes = strlen(kind);
    }
    struct load_error *e = &r->error[at];
    memcpy(e->kind, kind, bytes);
    e->kind[bytes] = '\0';
    e->count++;
    r->errors = r->errors > at ? r->errors : at + 1;
}

void load_error(load *l, const load_client *c, const char *kind, size_t bytes, resp_word sentence)
{
    if (!c->is_ready)
        snprintf(l->complaint, LOAD_COMPLAINT, "%s: %.*s", l->plan->address[c->address].text,
                 (int)(sentence.bytes < 300 ? sentence.bytes : 300), sentence.at);
    else if (counts(l, c))
        count_error(l->result, kind, bytes);
}

void load_finished(load *l, const load_client *c)
{
    l->tasks--;
    l->now = now_ns();
    if (c->due < l->from)
        return;
    if (c->has_error) {
        l->result->failed++;
        return;
    }
    histogram_add(&l->result->took[c->kind], l->now - c->due);
    l->answer_at = l->now;
    l->result->in_time[c->kind] += l->now <= l->end;
}

/* ---- progress ---- */

static double to_ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void join_all(const load_result *r, histogram *all)
{
    memset(all, 0, sizeof *all);
    for (load_kind k = 0; k < LOAD_KINDS; k++)
        histogram_join(all, &r->took[k]);
}

static double share_done(const load *l)
{
    if (l->plan->count > 0)
        return (double)l->result->begun / (double)l->plan->count;
    if (l->now < l->from || l->now >= l->end)
        return l->now >= l->end;
    return (double)(l->now - l->from) / (double)(l->end - l->from);
}

void load_show(load *l)
{
    static histogram all;
    if (l->plan->progress == NULL || l->now < l->shown_at + LOAD_SECOND)
        return;
    join_all(l->result, &all);
    load_progress p = {
        .doing = l->begin == 0      ? "clients get ready"
                 : l->now < l->from ? "warming up"
                 : l->is_closed     ? "waiting for the last answers"
                                    : "measuring",
        .share = l->begin == 0 ? (double)l->ready / l->plan->clients : share_done(l),
        .per_s = (double)(all.count - l->shown) * 1e9 / (double)(l->now - l->shown_at),
        .p50_ms = to_ms(histogram_at(&all, 0.5)),
        .p99_ms = to_ms(histogram_at(&all, 0.99)),
    };
    for (uint32_t i = 0; i < l->result->errors; i++)
        p.errors += l->result->error[i].count;
    l->plan->progress(&p);
    l->shown = all.count;
    l->shown_at = l->now;
}

/* ---- in the end ---- */

double load_processor(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

/* Operations that were due while it was measured, and that nobody was free for. */
static uint64_t count_unsent(const load *l)
{
    if (l->plan->rate == 0 || l->end == UINT64_MAX || load_is_counted(l))
        return 0;
    uint64_t due = load_due_before(l->end - l->begin, l->plan->rate);
    return due > l->given ? due - l->given : 0;
}

void load_sum_up(load *l)
{
    load_result *r = l->result;
    uint64_t last = l->end < l->now ? l->end : l->now;
    if (load_is_counted(l) && l->answer_at > l->from)
        last = l->answer_at;
    double whole = (double)(l->now - l->from) / 1e9;
    r->seconds = last > l->from ? (double)(last - l->from) / 1e9 : 0;
    r->processor = whole > 0 ? (load_processor() - l->processor) / whole : 0;
    r->unsent = count_unsent(l);
    for (uint32_t i = 0; i < l->plan->clients; i++) {
        const load_client *c = &l->client[i];
        if (!c->has_task || c->due < l->from)
            continue;
        r->failed++;
        count_error(r, "no answer", strlen("no answer"));
    }
}
