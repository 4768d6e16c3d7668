/* The options of baton-check. */
#include "check_options.h"
#include "explore.h"

#include <assert.h>

static const option_row rows[] = {
    {"processes", 'n', "N", "processes", INTO(options, plan.processes), .least = 1,
     .max = MAX_PROCESSES, .usual = "2"},
    {"passages", 'p', "P", "times that each passes through the lock", INTO(options, plan.passages),
     .least = 1, .max = 60, .usual = "1"},
    {"resting", 0, "K", "the first K processes stay in their remainder", INTO(options, plan.start),
     .max = MAX_PROCESSES - 1, .usual = "0"},
    {"memory", 'm', "MODEL", "sc: interleavings; c11: also what C11 lets hardware do",
     INTO(options, plan.c11), .choices = "sc|c11", .usual = "sc"},
    {"park", 0, NULL, "waiting processes sleep, and must be woken (with sc)",
     INTO(options, plan.park)},
    {"figures", 0, NULL, "also count remote references per passage", INTO(options, figures)},
    {"endless", 0, NULL, "instead: can a process starve, and how long can it wait?",
     INTO(options, endless)},
    {"timed", 0, "SEED", "instead: search runs in time; the longest wait in sections and steps",
     INTO(options, seed)},
    {"random", 0, "SEED", "instead of everything: random runs from this seed on",
     INTO(options, seed)},
    {"runs", 0, "N", "how many random or timed runs", INTO(options, runs), .least = 1,
     .usual = "10000"},
    {"limit", 0, "N", "give up after N configurations", INTO(options, limit), .least = 1,
     .max = UINT32_MAX / 2, .usual = "60000000"},
    {"no-reduction", 0, NULL, "visit every configuration, also those that show nothing new",
     INTO(options, no_reduction)},
    {"trace", 0, "FILE", "write a violating run to FILE, for replay", INTO(options, trace)},
    {"svg", 0, "FILE", "draw it", INTO(options, svg)},
    {"json", 0, NULL, "results as JSON", INTO(options, json)},
    {"all", 0, NULL, "everything, at many bounds", INTO(options, all)},
    {"quick", 0, NULL, "with --all: fewer of them", INTO(options, quick)},
    {"deep", 0, NULL, "with --all: instead, those that take minutes or gigabytes",
     INTO(options, deep)},
    {"list", 0, NULL, "names of the locks and programs", INTO(options, list)},
    {0},
};
static_assert(DEFAULT_LIMIT == 60000000, "as the row of --limit says");

const command_line check_line = {
    .usage = "[OPTION...] LOCK|PROGRAM...\n--all [--quick|--deep]\nreplay FILE [--svg FILE]",
    .intro = "Runs the shipped code of a lock under every interleaving within a bound, and says "
             "whether it keeps its promises; if not, shows the shortest run that breaks one. A "
             "program is run once by every process, and every outcome judged.",
    .rows = rows,
    .end = "Of these a program takes no --passages, --resting, --park, --figures, --endless and "
           "--timed.\n\n"
           "Exit codes: 0 nothing wrong within the bound, 1 a promise is broken, 64 wrong usage, "
           "75 stopped at the limit.",
    .max_words = OPTIONS_ANY,
};

options_verdict options_parse(const command_line *line, char **argv, options *o, options_got *got)
{
    *o = (options){0};
    options_verdict verdict = options_read(line, argv, o, got);
    if (verdict != OPTIONS_FINE)
        return verdict;
    o->random = options_given(line, got, "random");
    o->timed = options_given(line, got, "timed");
    o->plan.reduce = !o->no_reduction;
    if (o->plan.start >= o->plan.processes) {
        options_wrong(line, "--resting leaves nobody who moves");
        return OPTIONS_WRONG;
    }
    if (o->quick && o->deep) {
        options_wrong(line, "--quick and --deep exclude each other");
        return OPTIONS_WRONG;
    }
    if (o->plan.park && (o->plan.c11 || o->endless || o->figures)) {
        options_wrong(line, "--park goes with --memory sc, and without --figures and --endless");
        return OPTIONS_WRONG;
    }
    return OPTIONS_FINE;
}
