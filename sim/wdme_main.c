/* `baton-sim wdme`: the command line. */
#include "main.h"

#include "../src/cli/json.h"
#include "../src/cli/number.h"
#include "printed.h"
#include "search.h"
#include "world.h"

#include <getopt.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_LIMIT = 20000000 };

static const model *const models[] = {&corrected, &printed, &printed_mended, &polling};

typedef enum what { SEARCH, RANDOM, COUNT } what;

typedef struct wish {
    const model *model;
    limits limits;
    what what;
    uint64_t limit;
    uint64_t seed;
    uint64_t runs;
    uint32_t sections;
    bool tell, as_json, help;
} wish;

static void help(void)
{
    printf(
        "Usage: baton-sim wdme [OPTION...]\n"
        "Runs the shipped protocols in a virtual network, and says whether they keep their\n"
        "promises; if not, shows the run that breaks one.\n"
        "\n"
        "By default all that can happen within these limits is explored, messages overtaking each\n"
        "other:\n"
        "  -c, --clients N      processes, each with a client (2; up to %d)\n"
        "  -t, --tries N        times that each tries (2)\n"
        "  -l, --locks N        times that each waits for the lock (0)\n"
        "      --cancels N      requests that are given up (0)\n"
        "      --cuts N         connections that break (0)\n"
        "      --leases N       leases that end while the holder may believe to hold (0)\n"
        "      --restarts N     restarts of the server (0)\n"
        "      --limit N        give up after N worlds (%d)\n"
        "\n"
        "  -s, --seed N         instead: runs by chance from this seed on, within the same limits\n"
        "  -r, --runs N         how many (1000)\n"
        "      --tell           tell the run from this seed step by step\n"
        "\n"
        "      --count N        instead: count messages in N sections, in which each of the "
        "others\n"
        "                       tries as often as --tries says\n"
        "\n"
        "  -m, --model MODEL    corrected (what ships), printed (the paper's automata),\n"
        "                       printed-mended (but for erratum 12), polling (every try is sent)\n"
        "      --json           results as JSON\n"
        "  -h, --help           this help\n"
        "\n"
        "Exit codes: 0 nothing wrong, 1 a promise is broken, 64 wrong usage, 75 stopped at the\n"
        "limit.\n",
        MOST_CLIENTS, DEFAULT_LIMIT);
}

static void show_progress(const model *m, uint64_t done)
{
    fprintf(stderr, "\r\033[K%s: %llu", m->name, (unsigned long long)done);
}

/* ---- results ---- */

static const char *ending_name(sim_ending ending)
{
    static const char *const names[] = {"exhausted", "runs done", "counted", "stopped at the limit",
                                        "broken"};
    return names[ending];
}

static double per_section(const sim_result *r)
{
    return r->counts.sections > 0 ? (double)r->counts.messages / (double)r->counts.sections : 0;
}

static void print_json(const wish *w, const sim_result *r)
{
    json j = json_start(stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "protocol", "wdme");
    json_string(&j, "model", w->model->name);
    json_integer(&j, "clients", w->limits.clients);
    json_integer(&j, "tries", w->limits.tries);
    json_integer(&j, "locks", w->limits.locks);
    json_string(&j, "ending", ending_name(r->ending));
    if (r->broken != NULL)
        json_string(&j, "broken", r->broken);
    else
        json_null(&j, "broken");
    if (w->what == SEARCH)
        json_integer(&j, "worlds", r->worlds);
    json_integer(&j, "steps", r->steps);
    if (r->run_length > 0 && r->broken != NULL)
        json_integer(&j, "steps_to_it", r->run_length);
    if (w->what != SEARCH) {
        json_integer(&j, "messages", r->counts.messages);
        json_integer(&j, "sections", r->counts.sections);
        json_real(&j, "messages_per_section", per_section(r));
        json_integer(&j, "tries_made", r->counts.tries);
        json_integer(&j, "refused_without_message", r->counts.refused_here);
    }
    if (w->what == RANDOM) {
        json_integer(&j, "runs", r->runs);
        json_integer(&j, "seed", r->seed);
    }
    json_real(&j, "seconds", r->seconds);
    json_close(&j, '}');
}

static void print_text(const wish *w, const sim_result *r)
{
    printf("wdme, %s, %u clients, %u tries and %u waits each: %s", w->model->name,
           w->limits.clients, w->limits.tries, w->limits.locks, ending_name(r->ending));
    if (r->broken != NULL)
        printf(", %s", r->broken);
    putchar('\n');
    if (w->what == SEARCH)
        printf("  %llu worlds, %llu steps, %.2f s\n", (unsigned long long)r->worlds,
               (unsigned long long)r->steps, r->seconds);
    if (w->what == RANDOM)
        printf("  %llu runs, %llu steps, last seed %llu, %.2f s\n", (unsigned long long)r->runs,
               (unsigned long long)r->steps, (unsigned long long)r->seed, r->seconds);
    if (w->what != SEARCH)
        printf("  %llu messages in %llu sections: %.2f each; %llu of %llu tries refused without a "
               "message\n",
               (unsigned long long)r->counts.messages, (unsigned long long)r->counts.sections,
               per_section(r), (unsigned long long)r->counts.refused_here,
               (unsigned long long)r->counts.tries);
    if (r->ending == SIM_BROKEN || w->tell)
        sim_tell(w->model, &w->limits, r, stdout);
}

static int run(const wish *w)
{
    sim_progress *progress = isatty(STDERR_FILENO) ? show_progress : NULL;
    sim_result r;
    if (w->what == COUNT)
        r = sim_count(w->model, w->limits.clients, w->sections, w->limits.tries);
    else if (w->what == RANDOM)
        r = sim_random(w->model, &w->limits, w->seed, w->tell ? 1 : w->runs, progress);
    else
        r = sim_search(w->model, &w->limits, w->limit, progress);
    if (progress != NULL)
        fputs("\r\033[K", stderr);
    (w->as_json ? print_json : print_text)(w, &r);
    int code = r.ending == SIM_BROKEN  ? EXIT_BROKEN
               : r.ending == SIM_LIMIT ? EXIT_LIMIT
                                       : EXIT_FINE;
    sim_result_free(&r);
    return finish_output(code);
}

/* ---- the command line ---- */

static const model *find_model(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i]->name, name) == 0)
            return models[i];
    return NULL;
}

enum { CANCELS_OPTION = 256, CUTS, LEASES, RESTARTS_OPTION, MOST, TELL, COUNT_OPTION, JSON };

static const struct option options[] = {
    {"clients", required_argument, NULL, 'c'},
    {"tries", required_argument, NULL, 't'},
    {"locks", required_argument, NULL, 'l'},
    {"cancels", required_argument, NULL, CANCELS_OPTION},
    {"cuts", required_argument, NULL, CUTS},
    {"leases", required_argument, NULL, LEASES},
    {"restarts", required_argument, NULL, RESTARTS_OPTION},
    {"limit", required_argument, NULL, MOST},
    {"seed", required_argument, NULL, 's'},
    {"runs", required_argument, NULL, 'r'},
    {"tell", no_argument, NULL, TELL},
    {"count", required_argument, NULL, COUNT_OPTION},
    {"model", required_argument, NULL, 'm'},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* The numbers that an option may have; false if it takes none. */
static bool range_of(int option, uint64_t *least, uint64_t *most)
{
    *least = option == 'c' || option == 'r' || option == MOST || option == COUNT_OPTION;
    *most = option == 'c'                    ? MOST_CLIENTS
            : option == 't' || option == 'l' ? 1000
            : option == 's'                  ? UINT64_MAX
            : option == MOST                 ? UINT32_MAX / 2
            : option == COUNT_OPTION         ? 1000000
            : option == 'r'                  ? UINT32_MAX
                                             : 200;
    return option != TELL && option != JSON && option != 'h' && option != 'm';
}

static void take_number(wish *w, int option, uint64_t number)
{
    switch (option) {
    case 'c':
        w->limits.clients = (uint32_t)number;
        break;
    case 't':
        w->limits.tries = (uint16_t)number;
        break;
    case 'l':
        w->limits.locks = (uint16_t)number;
        break;
    case CANCELS_OPTION:
        w->limits.cancels = (uint8_t)number;
        break;
    case CUTS:
        w->limits.cuts = (uint8_t)number;
        break;
    case LEASES:
        w->limits.leases = (uint8_t)number;
        break;
    case RESTARTS_OPTION:
        w->limits.restarts = (uint8_t)number;
        break;
    case MOST:
        w->limit = number;
        break;
    case 's':
        w->what = RANDOM;
        w->seed = number;
        break;
    case 'r':
        w->runs = number;
        break;
    default:
        w->what = COUNT;
        w->sections = (uint32_t)number;
    }
}

/* EXIT_FINE, or EXIT_USAGE with a message. */
static int parse(wish *w, int argc, char **argv)
{
    opterr = 0;
    int at = 0;
    for (int option; (option = getopt_long(argc, argv, ":c:t:l:s:r:m:h", options, &at)) != -1;) {
        uint64_t least;
        uint64_t most;
        uint64_t number;
        if (option == ':' || option == '?')
            return usage_error(option == ':' ? "'%s' wants a value" : "'%s' is no option",
                               argv[optind - 1]);
        if (option == 'h') {
            w->help = true;
        } else if (option == TELL) {
            w->tell = true;
        } else if (option == JSON) {
            w->as_json = true;
        } else if (option == 'm') {
            w->model = find_model(optarg);
            if (w->model == NULL)
                return usage_error("no model '%s'", optarg);
        } else if (range_of(option, &least, &most)) {
            if (!parse_number(optarg, least, most, &number)) {
                char complaint[96];
                snprintf(complaint, sizeof complaint, "'%%s' is no number from %llu to %llu here",
                         (unsigned long long)least, (unsigned long long)most);
                return usage_error(complaint, optarg);
            }
            take_number(w, option, number);
        }
    }
    if (w->help)
        return EXIT_FINE;
    if (optind < argc)
        return usage_error("unexpected '%s'", argv[optind]);
    const limits *of = &w->limits;
    bool more =
        of->locks > 0 || of->cancels > 0 || of->cuts > 0 || of->leases > 0 || of->restarts > 0;
    if (more && (w->model == &printed || w->model == &printed_mended))
        return usage_error("the paper's automata know tries only%s", "");
    if (w->tell && w->what != RANDOM)
        return usage_error("--tell tells the run of a --seed%s", "");
    return EXIT_FINE;
}

int wdme_main(int argc, char **argv)
{
    wish w = {.model = &corrected,
              .limits = {.clients = 2, .tries = 2},
              .limit = DEFAULT_LIMIT,
              .runs = 1000};
    int error = parse(&w, argc, argv);
    if (error != EXIT_FINE)
        return error;
    if (w.help) {
        help();
        return EXIT_FINE;
    }
    return run(&w);
}
