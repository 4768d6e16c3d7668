/* What `baton-sim wme` is asked for. */
#include "wme_options.h"

#include "main.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { MAX_MS = 1000000 };

static bool take_faults(void *into, const char *list)
{
    wish *w = into;
    w->wishes.faults = faults_parse(list);
    return w->wishes.faults >= 0;
}

static const option_row rows[] = {
    {"nodes", 'n', "N", "nodes (3 or 5, as the seed says; up to 9)", INTO(wish, wishes.nodes),
     .least = 2, .max = WME_MAX_NODES},
    {"ack", 0, "WHO", "acknowledge operations to all (WME-1) or to the owner (WME-2)",
     INTO(wish, wishes.ack), .choices = "all|owner"},
    {"consensus", 0, "WHO", "paxos, among the nodes, or a register that is outside, as etcd is",
     INTO(wish, wishes.outside), .choices = "paxos|outside", .usual = "paxos"},
    {"locks", 'l', "N", "locks (1 to 3, as the seed says)", INTO(wish, wishes.locks), .least = 1,
     .max = MAX_LOCKS},
    {"faults", 0, "LIST",
     "all, none, or some of crash, ambush, forget, late, pause, drift, cut, split, lose, "
     "duplicate, slow, with commas and no blanks in between",
     .take = take_faults, .noun = "list of faults", .usual = "all"},
    {"plan", 0, "FILE", "instead: the faults of this plan", INTO(wish, wishes.plan_file)},
    HELP_TEXT(""),
    {"runs", 'r', "N", "how many runs (1000)", INTO(wish, runs), .least = 1, .max = UINT32_MAX},
    {"seed", 's', "N", "from this seed on; without --runs, this one alone", INTO(wish, seed),
     .max = UINT64_MAX / 4, .usual = "1"},
    {"jobs", 'j', "N", "on so many processors (all)", INTO(wish, jobs), .least = 1, .max = 256},
    {"keep-going", 'k', NULL, "do not stop at the first that fails; count them",
     INTO(wish, keep_going)},
    {"fail-if-epoch", 0, "N", "take it for a failure that a node reaches epoch N",
     INTO(wish, wishes.fail_epoch), .least = 1, .max = WME_MAX_EPOCH},
    HELP_TEXT(""),
    {"replay", 0, NULL, "tell the run of the seed, a line for each event and action",
     INTO(wish, replay)},
    {"from", 0, "MS", "only from here on", INTO(wish, from), .max = MAX_MS, .unit = "milliseconds"},
    {"to", 0, "MS", "only until here", INTO(wish, to), .max = MAX_MS, .unit = "milliseconds"},
    {"svg", 0, "FILE", "draw it as a space-time diagram, this part of it", INTO(wish, svg_file)},
    {"history", 0, "FILE", "write what users saw as a history of Jepsen, for Elle's list-append",
     INTO(wish, history_file)},
    {"print-plan", 0, NULL, "print the fault plan of the seed", INTO(wish, print_plan)},
    {"minimize", 0, NULL, "print the smallest plan found that still breaks the same",
     INTO(wish, minimize)},
    HELP_TEXT(""),
    {"count", 0, NULL, "instead: count messages and steps when nothing goes wrong",
     INTO(wish, count)},
    {"baseline", 0, NULL, "with --count: of consensus for every event", INTO(wish, baseline)},
    {"million", 0, NULL, "instead: a million operations in one epoch, and what is kept",
     INTO(wish, million)},
    HELP_TEXT(""),
    {"json", 0, NULL, "results as JSON", INTO(wish, as_json)},
    {0},
};
static_assert(WME_MAX_NODES == 9 && MAX_LOCKS == 3 && DEFAULT_RUNS == 1000, "as the rows say");

const command_line wme_line = {
    .program = "baton-sim wme",
    .usage = "[OPTION...]",
    .intro = "Runs the replicas of weak mutual exclusion that ship in a virtual cluster in which "
             "all goes wrong that can, and judges what their users see. One seed is one run.",
    .rows = rows,
    .end = "Exit codes: 0 nothing wrong, 1 a promise is broken, 64 wrong usage, 130 interrupted.",
};

/* How many nodes a plan may speak of depends on the seed, if nobody has said it. */
static int read_plan(wish *w)
{
    const char *name = w->wishes.plan_file;
    char complaint[160];
    if (name == NULL)
        return EXIT_FINE;
    FILE *from = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");
    if (from == NULL) {
        fprintf(stderr, "baton-sim: cannot read the plan '%s': %s\n", name, strerror(errno));
        return EXIT_USAGE;
    }
    if (w->wishes.nodes == 0)
        w->wishes.nodes = 3;
    const char *wrong = plan_read(&w->plan, from, w->wishes.nodes, complaint);
    if (from != stdin)
        fclose(from);
    if (wrong != NULL)
        return options_wrong(&wme_line, "%s", wrong);
    w->wishes.plan = &w->plan;
    return EXIT_FINE;
}

/* What is to be done; false if it is more than one thing. */
static bool choose_kind(wish *w)
{
    const bool wanted[] = {
        [WISH_REPLAY] = w->replay,
        [WISH_SVG] = w->svg_file != NULL,
        [WISH_HISTORY] = w->history_file != NULL,
        [WISH_PLAN] = w->print_plan,
        [WISH_MINIMIZE] = w->minimize,
        [WISH_COUNT] = w->count,
        [WISH_MILLION] = w->million,
    };
    int things = 0;
    for (wish_kind kind = WISH_RUNS; kind < sizeof wanted / sizeof wanted[0]; kind++)
        if (wanted[kind]) {
            w->kind = kind;
            things++;
        }
    return things <= 1;
}

options_verdict wish_parse(wish *w, char **argv)
{
    options_got got;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *w = (wish){.jobs = processors > 0 ? (uint32_t)processors : 1, .to = UINT64_MAX / MS};
    options_verdict verdict = options_read(&wme_line, argv, w, &got);
    if (verdict != OPTIONS_FINE)
        return verdict;
    w->seeded = options_given(&wme_line, &got, "seed");
    w->from *= MS;
    w->to *= MS;
    int wrong = EXIT_FINE;
    if (!choose_kind(w))
        wrong = options_wrong(&wme_line, "one thing at a time");
    else if (w->baseline && w->kind != WISH_COUNT)
        wrong = options_wrong(&wme_line, "--baseline goes with --count");
    else if (w->from >= w->to)
        wrong = options_wrong(&wme_line, "--from must be before --to");
    return wrong == EXIT_FINE && read_plan(w) == EXIT_FINE ? OPTIONS_FINE : OPTIONS_WRONG;
}
