/* What clients of other clusters share: the options, and the figures. */
#include "peer_load.h"
#include "json.h"
#include "load_parts.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

static bool take_at(void *into, const char *list)
{
    return load_take_addresses(&((peer_load *)into)->plan, list);
}

static bool take_size(void *into, const char *size)
{
    load_plan *p = &((peer_load *)into)->plan;
    return load_take_size(p, size) && p->least_bytes == p->max_bytes;
}

static const option_row rows[] = {
    {"at", 0, "ADDR[,ADDR...]", "HOST:PORT; clients use them in turn", .take = take_at,
     .noun = "list of addresses", .unit = "one, as in a:1,b:1"},
    {"clients", 'c', "N", "connections", INTO(peer_load, plan.clients), .least = 1, .max = 1000,
     .usual = "16"},
    {"size", 0, "BYTES", "of each value", .take = take_size, .noun = "number from 1 to 32000",
     .unit = "bytes", .usual = "64"},
    {"seconds", 's', "S", "to be measured", INTO(peer_load, seconds), .least = 1, .max = 86400,
     .unit = "seconds", .usual = "15"},
    {"warm-up", 0, "S", "seconds before that", INTO_SECONDS(peer_load, plan.warm_up_ms),
     .max = 3600000, .usual = "1"},
    {0},
};

bool peer_load_read(peer_load *l, const char *program, char **argv, int *code)
{
    const command_line line = {
        .program = program,
        .usage = "--at ADDR[,ADDR...] [OPTION...]",
        .intro = "Each client sets a key of its own again and again; prints figures as JSON.",
        .rows = rows,
    };
    options_got got;
    options_verdict verdict = options_read(&line, argv, l, &got);
    *code = verdict == OPTIONS_HELPED ? EXIT_SUCCESS : OPTIONS_EXIT_USAGE;
    if (verdict != OPTIONS_FINE)
        return false;
    if (l->plan.addresses == 0) {
        options_wrong(&line, "--at must say where the cluster is");
        return false;
    }
    memset(l->value, 'v', sizeof l->value);
    l->processor = -1;
    return true;
}

void peer_load_begin(peer_load *l)
{
    l->from = now_ns() + l->plan.warm_up_ms * (LOAD_SECOND / 1000);
    l->end = l->from + l->seconds * LOAD_SECOND;
}

bool peer_load_goes_on(const peer_load *l)
{
    return now_ns() < l->end;
}

void peer_load_answered(peer_load *l, uint64_t begun, bool is_fine)
{
    uint64_t now = now_ns();
    if (begun < l->from)
        return;
    if (l->processor < 0)
        l->processor = load_processor();
    if (!is_fine) {
        l->failed++;
        return;
    }
    histogram_add(&l->took, now - begun);
    l->in_time += now <= l->end;
}

static double ms_at(const histogram *took, double share)
{
    return (double)histogram_at(took, share) / 1e6;
}

int peer_load_print(const peer_load *l)
{
    double seconds = (double)(now_ns() - l->from) / 1e9;
    json j = json_start(stdout);
    json_open(&j, NULL, '{');
    json_integer(&j, "clients", l->plan.clients);
    json_integer(&j, "failed", l->failed);
    json_real(&j, "processor", (load_processor() - l->processor) / seconds);
    json_open(&j, "all", '{');
    json_integer(&j, "operations", l->took.count);
    json_real(&j, "per_s", (double)l->in_time / l->seconds);
    json_real(&j, "p50_ms", ms_at(&l->took, 0.5));
    json_real(&j, "p90_ms", ms_at(&l->took, 0.9));
    json_real(&j, "p99_ms", ms_at(&l->took, 0.99));
    json_real(&j, "p999_ms", ms_at(&l->took, 0.999));
    json_real(&j, "max_ms", ms_at(&l->took, 1));
    json_close(&j, '}');
    json_close(&j, '}');
    return fflush(stdout) == 0 && l->took.count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
