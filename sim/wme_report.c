/* Reports on runs of wme. */
#include "wme_report.h"

#include "json.h"

#include <string.h>

typedef unsigned long long number;

void report_settings(const settings *s, uint64_t seed, FILE *out)
{
    static const char *const delays[] = {"constant", "uniform", "long tail"};
    fprintf(out, "seed %llu: %u nodes, ack %s%s, %u locks, %u people each; delay %s, %u + %u us\n",
            (number)seed, s->nodes, s->ack_all ? "all" : "owner",
            s->outside ? ", consensus outside" : "", s->locks, s->people, delays[s->delay],
            s->least_delay, s->delay == DELAY_CONSTANT ? 0 : s->mean_delay);
    fprintf(out, "times in ms; at the left the node and, after a point, the lock\n\n");
}

void report_run(const run_result *r, FILE *out)
{
    fprintf(out,
            "\n%llu events, %llu actions, %.3f s; %llu sections, %llu operations, %llu "
            "ejected, %llu decisions, epoch %llu\n",
            (number)r->tally.events, (number)r->tally.actions, (double)r->tally.end * 1e-6,
            (number)r->counts.sections, (number)r->counts.outcomes, (number)r->counts.ejected,
            (number)r->decisions, (number)r->epochs);
    if (r->trouble.property[0] != '\0')
        fprintf(out, "BROKEN at %.3f ms: %s: %s\n", (double)r->trouble.at / 1000,
                r->trouble.property, r->trouble.what);
    else
        fprintf(out, "nothing wrong\n");
}

static double per_second(const runs_result *r)
{
    return r->harvest.seconds > 0 ? (double)r->sums.runs / r->harvest.seconds : 0;
}

void report_runs(const runs_result *r, const wishes *w, FILE *out)
{
    const sums *s = &r->sums;
    double runs = s->runs > 0 ? (double)s->runs : 1;
    char command[512];
    fprintf(out, "wme: %llu runs%s, %.1f s, %.0f runs/s\n", (number)s->runs,
            r->harvest.interrupted ? " (interrupted)" : "", r->harvest.seconds, per_second(r));
    fprintf(out,
            "  in each on average: %.0f events, %.0f messages, %.1f crashes, %.1f suspicions, "
            "%.1f decisions, %.2f s\n",
            (double)s->events / runs, (double)s->messages / runs, (double)s->crashes / runs,
            (double)s->suspicions / runs, (double)s->decisions / runs,
            (double)s->virtual_us * 1e-6 / runs);
    fprintf(out,
            "  %llu sections, %llu operations, %llu ejected, %llu resumed, %llu snapshots and "
            "restarts, %llu suspended, %llu disks lost\n",
            (number)s->sections, (number)s->operations, (number)s->ejected, (number)s->resumed,
            (number)s->installs, (number)s->suspended, (number)s->forgettings);
    fprintf(out,
            "  longest wait %.0f ms, longest stall %.0f ms, longest settling %.0f ms, highest "
            "epoch %llu\n",
            (double)s->longest_wait / 1000, (double)s->longest_stall / 1000,
            (double)s->longest_settling / 1000, (number)s->max_epochs);
    for (uint32_t i = 0; i < r->harvest.broken; i++) {
        const failure *f = &r->harvest.failures[i];
        settings of = run_settings(w, f->seed);
        run_command(&of, w, f->seed, command);
        fprintf(out,
                "BROKEN: %s: %s\n  in %llu runs, the first with seed %llu, at %.3f ms\n"
                "  %s --replay\n",
                f->trouble.property, f->trouble.what, (number)f->count, (number)f->seed,
                (double)f->trouble.at / 1000, command);
    }
}

/* How often each property was put to the test; its name as one word, as the rows of theorems.md
   need it. */
static void write_judged(json *j, const uint64_t judged[HISTORY_PROPERTIES])
{
    json_open(j, "judged", '{');
    for (int p = HISTORY_FINE + 1; p < HISTORY_PROPERTIES; p++) {
        char name[32];
        snprintf(name, sizeof name, "%s", history_property_name((history_property)p));
        for (char *blank = name; (blank = strchr(blank, ' ')) != NULL;)
            *blank = '-';
        json_integer(j, name, judged[p]);
    }
    json_close(j, '}');
}

void report_runs_json(const runs_result *r, const wishes *w, FILE *out)
{
    const sums *s = &r->sums;
    json j = json_start(out);
    json_open(&j, NULL, '{');
    json_string(&j, "protocol", "wme");
    json_integer(&j, "runs", s->runs);
    json_bool(&j, "interrupted", r->harvest.interrupted);
    json_integer(&j, "events", s->events);
    json_integer(&j, "actions", s->actions);
    json_integer(&j, "messages", s->messages);
    json_integer(&j, "heartbeats", s->heartbeats);
    json_integer(&j, "lost", s->lost);
    json_integer(&j, "crashes", s->crashes);
    json_integer(&j, "forgettings", s->forgettings);
    json_integer(&j, "suspicions", s->suspicions);
    json_integer(&j, "suspended", s->suspended);
    json_integer(&j, "decisions", s->decisions);
    json_integer(&j, "sections", s->sections);
    json_integer(&j, "operations", s->operations);
    json_integer(&j, "ejected", s->ejected);
    json_integer(&j, "resumed", s->resumed);
    json_integer(&j, "installs", s->installs);
    json_integer(&j, "longest_wait_us", s->longest_wait);
    json_integer(&j, "longest_stall_us", s->longest_stall);
    json_integer(&j, "longest_settling_us", s->longest_settling);
    json_integer(&j, "highest_epoch", s->max_epochs);
    json_real(&j, "virtual_seconds", (double)s->virtual_us * 1e-6);
    write_judged(&j, s->judged);
    json_open(&j, "broken", '[');
    for (uint32_t i = 0; i < r->harvest.broken; i++) {
        const failure *f = &r->harvest.failures[i];
        char command[512];
        settings of = run_settings(w, f->seed);
        run_command(&of, w, f->seed, command);
        json_open(&j, NULL, '{');
        json_string(&j, "property", f->trouble.property);
        json_string(&j, "what", f->trouble.what);
        json_integer(&j, "runs", f->count);
        json_integer(&j, "seed", f->seed);
        json_string(&j, "command", command);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_real(&j, "seconds", r->harvest.seconds);
    json_real(&j, "runs_per_second", per_second(r));
    json_close(&j, '}');
}
