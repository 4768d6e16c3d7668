/* `baton bench --board`: measures what a board costs, prints what came out. */
#include "bench.h"
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

typedef struct board_results {
    const board_plan *plan;
    board_outcome outcome[MAX_BOARD_LOCKS];
} board_results;

static void show_progress(double share, const char *lock)
{
    fprintf(stderr, "\r\033[K%3.0f%%  %s", 100 * share, lock);
}

static void print_text(const void *results)
{
    const board_results *r = results;
    printf("Nanoseconds per enter and exit by name, one thread alone, median of %" PRIu32
           " round%s\n%-15s %12s %12s %12s\n",
           r->plan->rounds, r->plan->rounds == 1 ? "" : "s", "LOCK", "not shown", "on a board",
           "cost");
    for (size_t l = 0; l < r->plan->locks; l++)
        printf("%-15s %12.1f %12.1f %12.1f\n", r->plan->lock[l]->name, r->outcome[l].off_ns,
               r->outcome[l].on_ns, r->outcome[l].cost_ns);
}

static void print_json(const void *results)
{
    const board_results *r = results;
    json j = json_start(stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "version", baton_version());
    json_integer(&j, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    json_integer(&j, "rounds", r->plan->rounds);
    json_open(&j, "results", '[');
    for (size_t l = 0; l < r->plan->locks; l++) {
        json_open(&j, NULL, '{');
        json_string(&j, "lock", r->plan->lock[l]->name);
        json_real(&j, "off_ns", r->outcome[l].off_ns);
        json_real(&j, "on_ns", r->outcome[l].on_ns);
        json_real(&j, "cost_ns", r->outcome[l].cost_ns);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

static const char *measure(void *results)
{
    board_results *r = results;
    return board_measure(r->plan, r->outcome);
}

int bench_board(board_plan *plan, const bench_view *view)
{
    board_results results = {.plan = plan};
    plan->progress = view->with_progress ? show_progress : NULL;
    bench_kind kind = {&results, measure, print_text, print_json, NULL};
    return bench_run(&kind, view);
}
