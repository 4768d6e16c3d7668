/* `baton bench` of locks: runs the contest, prints what came out. */
#include "bench.h"
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

typedef struct lock_results {
    const contest *plan;
    outcome outcomes[MAX_CONTENDERS * MAX_COUNTS];
} lock_results;

static void show_progress(double share, const char *name, uint32_t threads)
{
    fprintf(stderr, "\r\033[K%3.0f%%  %s, %" PRIu32 " thread%s", 100 * share, name, threads,
            threads == 1 ? "" : "s");
}

static void print_ratio(int width, double ratio)
{
    if (ratio > 0)
        printf("%*.2fx ", width - 1, ratio);
    else
        printf("%*s ", width, "-");
}

static void print_text(const void *results)
{
    const contest *plan = ((const lock_results *)results)->plan;
    const outcome *outcomes = ((const lock_results *)results)->outcomes;
    for (size_t t = 0; t < plan->counts; t++) {
        uint32_t threads = plan->threads[t];
        if (threads == 1)
            printf("1 thread, nothing inside or outside the critical section\n");
        else
            printf("%" PRIu32 " threads, %" PRIu64 " ns inside, %" PRIu64
                   " ns outside, waiting by %s\n",
                   threads, plan->inside_ns, plan->outside_ns,
                   plan->waiting == BATON_PARK ? "parking" : "spinning");
        printf("%-15s %12s %9s %11s %10s %9s %14s %11s\n", "LOCK", "passages/s", "ns", "vs pthread",
               "vs ck-mcs", "fairness", "longest wait", "switches/s");
        for (size_t c = 0; c < plan->contenders; c++) {
            const outcome *o = &outcomes[c * plan->counts + t];
            const char *name = plan->contender[c]->name;
            if (!o->measured) {
                printf("%-15s %12s\n", name, "-");
                continue;
            }
            printf("%-15s %11.2fM %9.1f ", name, o->passages_per_s / 1e6, o->ns_per_passage);
            print_ratio(11, o->ratio_to_pthread);
            print_ratio(10, o->ratio_to_ck);
            printf("%9.3f %11.1f us %11.0f\n", o->fairness, o->longest_wait_us, o->switches_per_s);
        }
        if (t + 1 < plan->counts)
            putchar('\n');
    }
}

static void json_ratio(json *j, const char *key, double ratio)
{
    if (ratio > 0)
        json_real(j, key, ratio);
    else
        json_null(j, key);
}

static void print_json(const void *results)
{
    const contest *plan = ((const lock_results *)results)->plan;
    const outcome *outcomes = ((const lock_results *)results)->outcomes;
    json j = json_start(stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "version", baton_version());
    json_integer(&j, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    json_integer(&j, "rounds", plan->rounds);
    json_integer(&j, "inside_ns", plan->inside_ns);
    json_integer(&j, "outside_ns", plan->outside_ns);
    json_string(&j, "waiting", plan->waiting == BATON_PARK ? "park" : "spin");
    json_open(&j, "results", '[');
    for (size_t k = 0; k < plan->contenders * plan->counts; k++) {
        const outcome *o = &outcomes[k];
        if (!o->measured)
            continue;
        json_open(&j, NULL, '{');
        json_string(&j, "lock", plan->contender[k / plan->counts]->name);
        json_integer(&j, "threads", plan->threads[k % plan->counts]);
        json_real(&j, "passages_per_s", o->passages_per_s);
        json_real(&j, "ns_per_passage", o->ns_per_passage);
        json_ratio(&j, "ratio_to_pthread", o->ratio_to_pthread);
        json_ratio(&j, "ratio_to_ck_mcs", o->ratio_to_ck);
        json_real(&j, "fairness", o->fairness);
        json_real(&j, "longest_wait_us", o->longest_wait_us);
        json_real(&j, "context_switches_per_s", o->switches_per_s);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

static const char *measure(void *results)
{
    lock_results *r = results;
    return contest_run(r->plan, r->outcomes);
}

static const char *draw(const void *results, int file)
{
    const lock_results *r = results;
    return contest_plot(r->plan, r->outcomes, file);
}

int bench_locks(contest *plan, const bench_view *view)
{
    static lock_results results;
    results.plan = plan;
    plan->progress = view->with_progress ? show_progress : NULL;
    bench_kind kind = {&results, measure, print_text, print_json, draw};
    return bench_run(&kind, view);
}
