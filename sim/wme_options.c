/* What `baton-sim wme` is asked for. */
#include "wme_options.h"

#include "../src/cli/number.h"
#include "main.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

enum { MOST_MS = 1000000 };

void wish_help(void)
{
    printf(
        "Usage: baton-sim wme [OPTION...]\n"
        "Runs the replicas of weak mutual exclusion that ship in a virtual cluster in which all\n"
        "goes wrong that can, and judges what their users see. One seed is one run.\n"
        "\n"
        "  -n, --nodes N        nodes (3 or 5, as the seed says; up to %d)\n"
        "      --ack WHO        acknowledge operations to all (WME-1) or to the owner (WME-2)\n"
        "      --consensus WHO  paxos, among the nodes (paxos), or a register that is outside, as\n"
        "                       etcd is\n"
        "  -l, --locks N        locks (1 to %d, as the seed says)\n"
        "      --faults LIST    all, none, or some of: crash,ambush,forget,late,pause,drift,cut,\n"
        "                       split,lose,duplicate,slow (all)\n"
        "      --plan FILE      instead: the faults of this plan\n"
        "\n"
        "  -r, --runs N         how many runs (%d)\n"
        "  -s, --seed N         from this seed on (1); without --runs, this one alone\n"
        "  -j, --jobs N         on so many processors (all)\n"
        "  -k, --keep-going     do not stop at the first that fails; count them\n"
        "      --fail-if-epoch N  takes it for a failure that a node reaches epoch N\n"
        "\n"
        "      --replay         tell the run of the seed, a line for each event and action\n"
        "      --from MS, --to MS  only this part of it\n"
        "      --svg FILE       draw it as a space-time diagram, this part of it\n"
        "      --print-plan     print the fault plan of the seed\n"
        "      --minimize       print the smallest plan found that still breaks the same\n"
        "\n"
        "      --count          instead: count messages and steps when nothing goes wrong\n"
        "      --baseline       with --count: of consensus for every event\n"
        "      --million        instead: a million operations in one epoch, and what is kept\n"
        "\n"
        "      --json           results as JSON\n"
        "  -h, --help           this help\n"
        "\n"
        "Exit codes: 0 nothing wrong, 1 a promise is broken, 64 wrong usage, 130 interrupted.\n",
        WME_MOST_NODES, MOST_LOCKS, DEFAULT_RUNS);
}

enum {
    ACK = 256,
    FAULTS,
    PLAN,
    CONSENSUS,
    FAIL_EPOCH,
    REPLAY,
    FROM,
    TO,
    SVG,
    PRINT_PLAN,
    MINIMIZE,
    COUNT,
    BASELINE,
    MILLION,
    JSON
};

static const struct option options[] = {
    {"nodes", required_argument, NULL, 'n'},
    {"ack", required_argument, NULL, ACK},
    {"consensus", required_argument, NULL, CONSENSUS},
    {"locks", required_argument, NULL, 'l'},
    {"faults", required_argument, NULL, FAULTS},
    {"plan", required_argument, NULL, PLAN},
    {"runs", required_argument, NULL, 'r'},
    {"seed", required_argument, NULL, 's'},
    {"jobs", required_argument, NULL, 'j'},
    {"fail-if-epoch", required_argument, NULL, FAIL_EPOCH},
    {"replay", no_argument, NULL, REPLAY},
    {"from", required_argument, NULL, FROM},
    {"to", required_argument, NULL, TO},
    {"svg", required_argument, NULL, SVG},
    {"print-plan", no_argument, NULL, PRINT_PLAN},
    {"minimize", no_argument, NULL, MINIMIZE},
    {"count", no_argument, NULL, COUNT},
    {"baseline", no_argument, NULL, BASELINE},
    {"million", no_argument, NULL, MILLION},
    {"keep-going", no_argument, NULL, 'k'},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void take_number(wish *w, int option, uint64_t number)
{
    switch (option) {
    case 'n':
        w->wishes.nodes = (uint8_t)number;
        break;
    case 'l':
        w->wishes.locks = (uint8_t)number;
        break;
    case 'r':
        w->runs = number;
        break;
    case 's':
        w->seed = number;
        w->seeded = true;
        break;
    case 'j':
        w->jobs = (uint32_t)number;
        break;
    case FAIL_EPOCH:
        w->wishes.fail_epoch = number;
        break;
    case FROM:
        w->from = number * MS;
        break;
    default:
        w->to = number * MS;
    }
}

static int choose(wish *w, wish_kind kind)
{
    if (w->kind != WISH_RUNS && w->kind != kind)
        return usage_error("one thing at a time%s", "");
    w->kind = kind;
    return EXIT_FINE;
}

static int parse_into(wish *w, int option, const char *value)
{
    static const struct range {
        int option;
        uint64_t least, most;
    } ranges[] = {
        {'n', 2, WME_MOST_NODES}, {'l', 1, MOST_LOCKS}, {'r', 1, UINT32_MAX},
        {'s', 0, UINT64_MAX / 4}, {'j', 1, 256},        {FAIL_EPOCH, 1, WME_MOST_EPOCH},
        {FROM, 0, MOST_MS},       {TO, 0, MOST_MS},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        uint64_t number;
        if (ranges[i].option != option)
            continue;
        if (parse_number(value, ranges[i].least, ranges[i].most, &number)) {
            take_number(w, option, number);
            return EXIT_FINE;
        }
        char complaint[96];
        snprintf(complaint, sizeof complaint, "'%%s' is no number from %llu to %llu here",
                 (unsigned long long)ranges[i].least, (unsigned long long)ranges[i].most);
        return usage_error(complaint, value);
    }
    switch (option) {
    case ACK:
        w->wishes.ack = value;
        if (strcmp(value, "all") != 0 && strcmp(value, "owner") != 0)
            return usage_error("'%s' is neither 'all' nor 'owner'", value);
        break;
    case CONSENSUS:
        w->wishes.outside = strcmp(value, "outside") == 0;
        if (!w->wishes.outside && strcmp(value, "paxos") != 0)
            return usage_error("'%s' is neither 'paxos' nor 'outside'", value);
        break;
    case FAULTS:
        w->wishes.faults = faults_parse(value);
        if (w->wishes.faults < 0)
            return usage_error("'%s' is no list of faults", value);
        break;
    case PLAN:
        w->wishes.plan_file = value;
        break;
    case SVG:
        w->svg_file = value;
        return choose(w, WISH_SVG);
    case REPLAY:
        return choose(w, WISH_REPLAY);
    case PRINT_PLAN:
        return choose(w, WISH_PLAN);
    case MINIMIZE:
        return choose(w, WISH_MINIMIZE);
    case COUNT:
        return choose(w, WISH_COUNT);
    case MILLION:
        return choose(w, WISH_MILLION);
    case BASELINE:
        w->baseline = true;
        break;
    case 'k':
        w->keep_going = true;
        break;
    case JSON:
        w->as_json = true;
        break;
    default:
        w->kind = WISH_HELP;
    }
    return EXIT_FINE;
}

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
        return usage_error("%s", wrong);
    w->wishes.plan = &w->plan;
    return EXIT_FINE;
}

static int take_options(wish *w, int argc, char **argv)
{
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":n:l:r:s:j:kh", options, NULL)) != -1;) {
        if (option == ':' || option == '?')
            return usage_error(option == ':' ? "'%s' wants a value" : "'%s' is no option",
                               argv[optind - 1]);
        int error = parse_into(w, option, optarg);
        if (error != EXIT_FINE || w->kind == WISH_HELP)
            return error;
    }
    if (optind < argc)
        return usage_error("unexpected '%s'", argv[optind]);
    if (w->baseline && w->kind != WISH_COUNT)
        return usage_error("--baseline goes with --count%s", "");
    if (w->from >= w->to)
        return usage_error("--from must be before --to%s", "");
    return read_plan(w);
}

int wish_parse(wish *w, int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *w = (wish){.wishes = {.faults = ALL_FAULTS},
                .seed = 1,
                .jobs = processors > 0 ? (uint32_t)processors : 1,
                .to = UINT64_MAX};
    return take_options(w, argc, argv);
}
