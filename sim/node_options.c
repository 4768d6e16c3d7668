/* What `baton-sim node` is asked for. */
#include "node_options.h"

#include "main.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool take_faults(void *into, const char *list)
{
    node_request *q = into;
    q->wishes.mishaps = mishaps_parse(list);
    return q->wishes.mishaps >= 0;
}

static bool take_scene(void *into, const char *name)
{
    node_request *q = into;
    for (int i = 0; i < NODE_SCENES; i++)
        if (strcmp(scene_names[i], name) == 0) {
            q->wishes.scene = (node_scene)i;
            return true;
        }
    return false;
}

enum { MAX_MS = 1000000 };

static const option_row rows[] = {
    {"nodes", 'n', "N", "nodes (mostly 3 or 5, as the seed says; up to 7)",
     INTO(node_request, wishes.nodes), .least = 1, .max = FLEET_NODES},
    {"ack", 0, "WHO", "acknowledge operations to all (WME-1) or to the owner (WME-2)",
     INTO(node_request, wishes.ack), .choices = "all|owner"},
    {"durability", 0, "HOW",
     "what nodes keep is on their disks, or in memory, and then never a majority is off (as the "
     "seed says: mostly disk, sometimes mixed)",
     INTO(node_request, wishes.durability), .choices = "disk|memory"},
    {"consensus", 0, "ENGINE",
     "what ends an epoch: the nodes among themselves, or a register outside (as the seed says)",
     INTO(node_request, wishes.consensus), .choices = "paxos|outside"},
    {"clients", 0, "KIND",
     "what minds a client's lease: its script, that is nobody, or the code of libbaton's client "
     "(as the seed says)",
     INTO(node_request, wishes.clients), .choices = "script|library"},
    {"locks", 'l', "N", "locks (1 to 3, as the seed says)", INTO(node_request, wishes.locks),
     .least = 1, .max = FLEET_LOCKS},
    {"faults", 0, "LIST",
     "all, none, or some of crash, wipe, away, ambush, swap, pause, drift, cut, split, drop, slow, "
     "drain, power, kill, full, choke, restore, move, with commas and no blanks in between",
     .take = take_faults, .noun = "list of faults", .usual = "all"},
    {"plan", 0, "FILE", "instead: the faults of this plan", INTO(node_request, wishes.plan_file)},
    {"scene", 0, "NAME",
     "failover: one node dies or hangs, and no section may be lost; aged: locks are near the end "
     "of "
     "their numbers (any)",
     .take = take_scene, .noun = "scene"},
    HELP_TEXT(""),
    {"runs", 'r', "N", "how many runs (200)", INTO(node_request, runs), .least = 1,
     .max = UINT32_MAX},
    {"seed", 's', "N", "from this seed on; without --runs, this one alone",
     INTO(node_request, seed), .max = UINT64_MAX / 4, .usual = "1"},
    {"jobs", 'j', "N", "on so many processors (all)", INTO(node_request, jobs), .least = 1,
     .max = 256},
    {"keep-going", 'k', NULL, "do not stop at the first that fails; count them",
     INTO(node_request, keep_going)},
    HELP_TEXT(""),
    {"replay", 0, NULL, "tell the run of the seed: messages, commands, answers",
     INTO(node_request, replay)},
    {"svg", 0, "FILE", "draw it as a space-time diagram", INTO(node_request, svg_file)},
    {"history", 0, "FILE", "write what clients saw as a history of Jepsen, for its counter",
     INTO(node_request, history_file)},
    {"from", 0, "MS", "with --svg: only from here on", INTO(node_request, from), .max = MAX_MS,
     .unit = "milliseconds"},
    {"to", 0, "MS", "with --svg: only until here", INTO(node_request, to), .max = MAX_MS,
     .unit = "milliseconds"},
    {"print-plan", 0, NULL, "print the fault plan of the seed", INTO(node_request, print_plan)},
    {"minimize", 0, NULL, "print the smallest plan found that still breaks the same",
     INTO(node_request, minimize)},
    HELP_TEXT(""),
    {"json", 0, NULL, "results as JSON", INTO(node_request, as_json)},
    {0},
};
static_assert(FLEET_NODES == 7 && FLEET_LOCKS == 3 && NODE_RUNS == 200, "as the rows say");

const command_line node_line = {
    .program = "baton-sim node",
    .usage = "[OPTION...]",
    .intro = "Runs whole nodes as they ship, with their sessions and their data, and clients of "
             "theirs in a virtual network in which all goes wrong that can; judges what clients "
             "were told. One seed is one run.",
    .rows = rows,
    .end = "The nodes' data are in /dev/shm while it runs, or in $TMPDIR if there is no such "
           "place.\n\nExit codes: 0 nothing wrong, 1 a promise is broken, 64 wrong usage, 130 "
           "interrupted.",
};

/* How many nodes a plan may speak of depends on the seed, if nobody has said it. */
static int read_plan(node_request *q)
{
    const char *name = q->wishes.plan_file;
    char complaint[160];
    if (name == NULL)
        return EXIT_FINE;
    FILE *from = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");
    if (from == NULL) {
        fprintf(stderr, "baton-sim: cannot read the plan '%s': %s\n", name, strerror(errno));
        return EXIT_USAGE;
    }
    if (q->wishes.nodes == 0)
        q->wishes.nodes = 3;
    const char *wrong = node_plan_read(&q->plan, from, q->wishes.nodes, complaint);
    if (from != stdin)
        fclose(from);
    if (wrong != NULL)
        return options_wrong(&node_line, "%s", wrong);
    q->wishes.plan = &q->plan;
    return EXIT_FINE;
}

/* What is to be done; false if it is more than one thing. */
static bool choose_task(node_request *q)
{
    const bool wanted[] = {[TASK_REPLAY] = q->replay,
                           [TASK_PICTURE] = q->svg_file != NULL,
                           [TASK_HISTORY] = q->history_file != NULL,
                           [TASK_PLAN] = q->print_plan,
                           [TASK_MINIMIZE] = q->minimize};
    int things = 0;
    for (node_task task = TASK_RUNS; task < sizeof wanted / sizeof wanted[0]; task++)
        if (wanted[task]) {
            q->task = task;
            things++;
        }
    return things <= 1;
}

options_verdict node_request_parse(node_request *q, char **argv)
{
    options_got got;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *q = (node_request){.jobs = processors > 0 ? (uint32_t)processors : 1, .to = MAX_MS};
    options_verdict verdict = options_read(&node_line, argv, q, &got);
    if (verdict != OPTIONS_FINE)
        return verdict;
    q->seeded = options_given(&node_line, &got, "seed");
    if (!choose_task(q)) {
        options_wrong(&node_line, "one thing at a time");
        return OPTIONS_WRONG;
    }
    if (q->from >= q->to) {
        options_wrong(&node_line, "--from must be before --to");
        return OPTIONS_WRONG;
    }
    q->from *= MILLISECOND;
    q->to *= MILLISECOND;
    if (q->wishes.scene == SCENE_AGED && q->wishes.durability != NULL &&
        strcmp(q->wishes.durability, "memory") == 0) {
        options_wrong(&node_line, "what is in memory has no age: --scene aged wants disks");
        return OPTIONS_WRONG;
    }
    return read_plan(q) == EXIT_FINE ? OPTIONS_FINE : OPTIONS_WRONG;
}
