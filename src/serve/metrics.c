/*
 * Metrics: each with its HELP and TYPE. Names end in a unit, and in _total if they only grow, as
 * Prometheus wants it. Everything counts from the start of the server.
 */
#include "metrics.h"
#include "baton/lock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 3))) static void print(resp_out *text, const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length > 0)
        resp_raw(text, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

static void head(resp_out *text, const char *name, const char *type, const char *help)
{
    print(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_counter(resp_out *text, const char *name, uint64_t value, const char *help)
{
    head(text, name, "counter", help);
    print(text, "%s %" PRIu64 "\n", name, value);
}

void metrics_gauge(resp_out *text, const char *name, uint64_t value, const char *help)
{
    head(text, name, "gauge", help);
    print(text, "%s %" PRIu64 "\n", name, value);
}

/* Buckets are cumulative: each counts everything up to its bound. */
static void histogram(resp_out *text, const char *name, const durations *d, const char *help)
{
    uint64_t sum = 0;
    head(text, name, "histogram", help);
    for (uint32_t i = 0; i < DURATION_BOUNDS; i++) {
        sum += d->count[i];
        print(text, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name, (double)duration_bound[i] / 1000,
              sum);
    }
    sum += d->count[DURATION_BOUNDS];
    print(text, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, sum);
    print(text, "%s_sum %" PRIu64 ".%03" PRIu64 "\n", name, d->total / 1000, d->total % 1000);
    print(text, "%s_count %" PRIu64 "\n", name, sum);
}

static void write_counters(const metrics *m, resp_out *text)
{
    const lock_counts *c = &m->locks;
    metrics_counter(text, "baton_tries_total", c->tries, "TRY commands that have come.");
    metrics_counter(text, "baton_failed_tries_total", c->failed, "TRY commands that were refused.");
    metrics_counter(
        text, "baton_local_refusals_total", m->refused_by_clients,
        "Tries that clients have refused by themselves, without a message, as they report.");
    metrics_counter(text, "baton_grants_total", c->sections,
                    "Times that somebody has entered a lock.");
    metrics_counter(text, "baton_handoffs_total", c->handed_on,
                    "Grants straight from the holder before to who waited.");
    metrics_counter(text, "baton_wait_timeouts_total", c->timeouts,
                    "LOCK commands that waited in vain.");
    metrics_counter(text, "baton_resets_total", c->resets,
                    "Losers that were told that a lock is free.");
    metrics_counter(text, "baton_lost_sections_total", c->lost,
                    "Sections ended by a lease that was over, or by force.");
    metrics_counter(text, "baton_stale_exits_total", c->stale,
                    "EXIT of a section that was over already.");
    metrics_counter(text, "baton_connections_accepted_total", m->accepted, "Connections so far.");
    metrics_counter(text, "baton_messages_received_total", m->received, "Commands from clients.");
    metrics_counter(text, "baton_messages_sent_total", m->sent, "Answers and pushes to clients.");
}

static void write_gauges(const metrics *m, resp_out *text)
{
    const lock_counts *c = &m->locks;
    static const char ratio[] = "baton_messages_per_section";
    metrics_gauge(text, "baton_open", m->open, "1 if locks are granted, 0 if not: see /health.");
    head(text, "baton_hold_back_seconds", "gauge",
         "For how long grants are still held back, after a crash.");
    print(text, "baton_hold_back_seconds %" PRIu64 ".%03" PRIu64 "\n", m->held_back / 1000,
          m->held_back % 1000);
    metrics_gauge(text, "baton_locks", c->locks,
                  "Locks that somebody holds, or is to be told about.");
    metrics_gauge(text, "baton_locks_held", c->held, "Locks that are held.");
    metrics_gauge(text, "baton_queue_length", c->waiting, "Sessions that wait, over all locks.");
    metrics_gauge(text, "baton_longest_queue_length", c->longest_queue,
                  "Sessions that wait for the lock that most wait for.");
    metrics_gauge(text, "baton_connections", m->connections, "Connections now.");
    head(text, ratio, "gauge", "Messages both ways for each time that a lock was entered.");
    if (c->sections > 0)
        print(text, "%s %.3f\n", ratio, (double)(m->received + m->sent) / (double)c->sections);
    else
        print(text, "%s NaN\n", ratio);
}

void metrics_write(const metrics *m, resp_out *text)
{
    head(text, "baton_build_info", "gauge", "Always 1; the label says what runs.");
    print(text, "baton_build_info{version=\"%s\"} 1\n", baton_version());
    write_counters(m, text);
    write_gauges(m, text);
    histogram(text, "baton_hold_seconds", &m->locks.holds,
              "From a grant to the end of its section, in steps of a millisecond.");
    histogram(text, "baton_wait_seconds", &m->locks.waits,
              "From LOCK to its grant, in steps of a millisecond.");
}
