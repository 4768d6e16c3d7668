/* `baton bench --collect`: measures store & collect, prints what came out. */
#include "baton/lock.h"
#include "bench.h"
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

typedef struct collect_results {
    const collect_plan *plan;
    collect_outcomes outcomes;
} collect_results;

static void show_progress(double share, const char *object, uint32_t stored)
{
    fprintf(stderr, "\r\033[K%3.0f%%  %s, %" PRIu32 " stored", 100 * share, object, stored);
}

static const char *plural(uint64_t number)
{
    return number == 1 ? "" : "s";
}

/* ---- text: a row per k, a column per operation and object ---- */

enum { WIDTH = 9 };

static void print_figure(const collect_outcome *o, size_t cost)
{
    if (o->measured)
        printf("%*.*f", WIDTH, o->ns[cost] < 10000 ? 1 : 0, o->ns[cost]);
    else
        printf("%*s", WIDTH, "-");
}

static void print_heading(const collect_plan *plan)
{
    printf("Nanoseconds per operation when k have stored, one after another\n"
           "Values of %zu byte%s, median of %" PRIu32 " round%s, n =",
           plan->value_bytes, plural(plan->value_bytes), plan->rounds, plural(plan->rounds));
    for (size_t o = 0; o < COLLECT_OBJECTS; o++)
        printf("%s %" PRIu32 " (%s)", o == 0 ? "" : ",", collect_objects[o].participants,
               collect_objects[o].name);
    fputs("\n\n       ", stdout);
    for (size_t cost = 0; cost < COSTS; cost++)
        printf("%-*s", cost + 1 < COSTS ? COLLECT_OBJECTS * WIDTH + 2 : 0, cost_names[cost]);
    fputs("\n  k", stdout);
    for (size_t cost = 0; cost < COSTS; cost++) {
        fputs(cost == 0 ? "" : "  ", stdout);
        for (size_t o = 0; o < COLLECT_OBJECTS; o++)
            printf("%*s", WIDTH, collect_objects[o].name);
    }
    putchar('\n');
}

static void print_text(const void *results)
{
    const collect_results *r = results;
    print_heading(r->plan);
    for (size_t c = 0; c < COLLECT_COUNTS; c++) {
        printf("%3" PRIu32, collect_counts[c]);
        for (size_t cost = 0; cost < COSTS; cost++) {
            fputs(cost == 0 ? "" : "  ", stdout);
            for (size_t o = 0; o < COLLECT_OBJECTS; o++)
                print_figure(&r->outcomes[o][c], cost);
        }
        putchar('\n');
    }
}

/* ---- JSON ---- */

static void json_row(json *j, const collect_object *object, uint32_t stored,
                     const collect_outcome *o)
{
    json_open(j, NULL, '{');
    json_string(j, "object", object->name);
    json_integer(j, "participants", object->participants);
    json_integer(j, "stored", stored);
    json_real(j, "first_store_ns", o->ns[FIRST_STORE_COST]);
    json_real(j, "later_store_ns", o->ns[LATER_STORE_COST]);
    json_real(j, "collect_ns", o->ns[COLLECT_COST]);
    json_close(j, '}');
}

static void print_json(const void *results)
{
    const collect_results *r = results;
    json j = json_start(stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "version", baton_version());
    json_integer(&j, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    json_integer(&j, "rounds", r->plan->rounds);
    json_integer(&j, "value_bytes", r->plan->value_bytes);
    json_string(&j, "storing", "one after another");
    json_open(&j, "results", '[');
    for (size_t o = 0; o < COLLECT_OBJECTS; o++)
        for (size_t c = 0; c < COLLECT_COUNTS; c++)
            if (r->outcomes[o][c].measured)
                json_row(&j, &collect_objects[o], collect_counts[c], &r->outcomes[o][c]);
    json_close(&j, ']');
    json_close(&j, '}');
}

/* ---- both ---- */

static const char *measure(void *results)
{
    collect_results *r = results;
    return collect_measure(r->plan, r->outcomes);
}

static const char *draw(const void *results, int file)
{
    const collect_results *r = results;
    return collect_plot(r->plan, r->outcomes, file);
}

int bench_collect(collect_plan *plan, const bench_view *view)
{
    collect_results results = {.plan = plan};
    plan->progress = view->with_progress ? show_progress : NULL;
    bench_kind kind = {&results, measure, print_text, print_json, draw};
    return bench_run(&kind, view);
}
