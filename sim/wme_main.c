/* `baton-sim wme`: does what it is asked for. */
#include "jepsen.h"
#include "main.h"
#include "minimize.h"
#include "svg.h"
#include "wme_options.h"
#include "wme_report.h"

#include <string.h>

static bool is_broken(const trouble *t)
{
    return t->property[0] != '\0';
}

static int run_many(const wish *w)
{
    uint64_t runs = w->runs != 0 ? w->runs : w->seeded ? 1 : DEFAULT_RUNS;
    runs_result r = runs_all(&w->wishes, w->seed, runs, w->jobs, w->keep_going);
    (w->as_json ? report_runs_json : report_runs)(&r, &w->wishes, stdout);
    return r.harvest.broken > 0    ? EXIT_BROKEN
           : r.harvest.interrupted ? EXIT_INTERRUPTED
                                   : EXIT_FINE;
}

static int replay(const wish *w)
{
    settings s = run_settings(&w->wishes, w->seed);
    report_settings(&s, w->seed, stdout);
    trace t = trace_start(stdout, w->from, w->to);
    setvbuf(stdout, NULL, _IOLBF, 0); /* all is there when an assertion ends it */
    run_result r = run(&s, &t.teller);
    report_run(&r, stdout);
    return is_broken(&r.trouble) ? EXIT_BROKEN : EXIT_FINE;
}

static int draw(const wish *w)
{
    settings s = run_settings(&w->wishes, w->seed);
    picture *p = picture_new(s.nodes, w->from, w->to);
    run_result r = run(&s, picture_teller(p));
    char title[512];
    run_command(&s, &w->wishes, w->seed, title);
    int code = picture_save(p, title, r.tally.end, w->svg_file);
    if (code != EXIT_FINE)
        return code;
    report_run(&r, stdout);
    return is_broken(&r.trouble) ? EXIT_BROKEN : EXIT_FINE;
}

static int write_history(const wish *w)
{
    settings s = run_settings(&w->wishes, w->seed);
    recorder *to = recorder_open(w->history_file, s.nodes, s.people, s.locks);
    if (to == NULL)
        return EXIT_IO;
    run_result r = run(&s, recorder_teller(to));
    int code = recorder_close(to);
    if (code != EXIT_FINE)
        return code;
    report_run(&r, stdout);
    return is_broken(&r.trouble) ? EXIT_BROKEN : EXIT_FINE;
}

static int print_plan(const wish *w)
{
    settings s = run_settings(&w->wishes, w->seed);
    plan_print(&s.plan, stdout);
    return EXIT_FINE;
}

/* What it prints is a plan, with all else as comments. */
static int make_small(const wish *w)
{
    minimized m = minimize(&w->wishes, w->seed);
    settings s = run_settings(&w->wishes, w->seed);
    wishes with_plan = w->wishes;
    char command[512];
    if (!is_broken(&m.trouble)) {
        printf("# seed %llu breaks nothing\n", (unsigned long long)w->seed);
        return EXIT_FINE;
    }
    with_plan.plan_file = "FILE";
    run_command(&s, &with_plan, w->seed, command);
    printf("# %s: %s\n# %u faults of %u, after %u runs; with this as FILE:\n# %s --replay\n",
           m.trouble.property, m.trouble.what, m.plan.count, m.faults_before, m.runs, command);
    plan_print(&m.plan, stdout);
    return EXIT_BROKEN;
}

static int count(const wish *w)
{
    row rows[MAX_ROWS];
    uint32_t made = 0;
    const char *ack = w->wishes.ack;
    for (int nodes = 3; nodes <= WME_MAX_NODES; nodes += 2) {
        uint8_t n = w->wishes.nodes != 0 ? w->wishes.nodes : (uint8_t)nodes;
        if (w->baseline) {
            rows[made++] = (row){"consensus-all-to-all", n, count_baseline_all_to_all(n)};
            rows[made++] = (row){"consensus-paxos", n, count_baseline_linear(n)};
        } else {
            if (ack == NULL || strcmp(ack, "all") == 0)
                rows[made++] = (row){"WME-1", n, count_wme(n, true)};
            if (ack == NULL || strcmp(ack, "owner") == 0)
                rows[made++] = (row){"WME-2", n, count_wme(n, false)};
        }
        if (w->wishes.nodes != 0)
            break;
    }
    (w->as_json ? report_counts_json : report_counts)(rows, made, stdout);
    return EXIT_FINE;
}

static int run_million(const wish *w)
{
    uint8_t nodes = w->wishes.nodes != 0 ? w->wishes.nodes : 3;
    bool ack_all = w->wishes.ack == NULL || strcmp(w->wishes.ack, "all") == 0;
    million m = million_run(nodes, ack_all, 1000000);
    (w->as_json ? report_million_json : report_million)(&m, stdout);
    return m.flat ? EXIT_FINE : EXIT_BROKEN;
}

int wme_main(char **argv)
{
    wish w;
    int code = EXIT_FINE;
    options_verdict verdict = wish_parse(&w, argv);
    if (verdict != OPTIONS_FINE)
        return verdict == OPTIONS_HELPED ? finish_output(EXIT_FINE) : EXIT_USAGE;
    switch (w.kind) {
    case WISH_RUNS:
        code = run_many(&w);
        break;
    case WISH_REPLAY:
        code = replay(&w);
        break;
    case WISH_SVG:
        code = draw(&w);
        break;
    case WISH_HISTORY:
        code = write_history(&w);
        break;
    case WISH_PLAN:
        code = print_plan(&w);
        break;
    case WISH_MINIMIZE:
        code = make_small(&w);
        break;
    case WISH_COUNT:
        code = count(&w);
        break;
    case WISH_MILLION:
        code = run_million(&w);
    }
    return finish_output(code);
}
