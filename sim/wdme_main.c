/* `baton-sim wdme`: the command line. */
#include "main.h"

#include "json.h"
#include "printed.h"
#include "search.h"
#include "world.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

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
    const char *model_name;
    bool tell, as_json;
} wish;

static const option_row rows[] = {
    HELP_TEXT("By default all that can happen within these limits is explored, messages overtaking "
              "each other:"),
    {"clients", 'c', "N", "processes, each with a client; up to 16", INTO(wish, limits.clients),
     .least = 1, .max = MAX_CLIENTS, .usual = "2"},
    {"tries", 't', "N", "times that each tries", INTO(wish, limits.tries), .max = 1000,
     .usual = "2"},
    {"locks", 'l', "N", "times that each waits for the lock", INTO(wish, limits.locks), .max = 1000,
     .usual = "0"},
    {"cancels", 0, "N", "requests that are given up", INTO(wish, limits.cancels), .max = 200,
     .usual = "0"},
    {"cuts", 0, "N", "connections that break", INTO(wish, limits.cuts), .max = 200, .usual = "0"},
    {"leases", 0, "N", "leases that end while the holder may believe to hold",
     INTO(wish, limits.leases), .max = 200, .usual = "0"},
    {"restarts", 0, "N", "restarts of the server", INTO(wish, limits.restarts), .max = 200,
     .usual = "0"},
    {"limit", 0, "N", "give up after N worlds", INTO(wish, limit), .least = 1,
     .max = UINT32_MAX / 2, .usual = "20000000"},
    HELP_TEXT(""),
    {"seed", 's', "N", "instead: runs by chance from this seed on, within the same limits",
     INTO(wish, seed)},
    {"runs", 'r', "N", "how many", INTO(wish, runs), .least = 1, .max = UINT32_MAX,
     .usual = "1000"},
    {"tell", 0, NULL, "tell the run from this seed step by step", INTO(wish, tell)},
    HELP_TEXT(""),
    {"count", 0, "N",
     "instead: count messages in N sections, in which each of the others tries as often as "
     "--tries says",
     INTO(wish, sections), .least = 1, .max = 1000000},
    HELP_TEXT(""),
    {"model", 'm', "MODEL",
     "corrected (what ships), printed (the paper's automata), printed-mended (but for erratum 12), "
     "polling (every try is sent)",
     INTO(wish, model_name)},
    {"json", 0, NULL, "results as JSON", INTO(wish, as_json)},
    {0},
};
static_assert(MAX_CLIENTS == 16, "as the row of --clients says");

const command_line wdme_line = {
    .program = "baton-sim wdme",
    .usage = "[OPTION...]",
    .intro = "Runs the shipped protocols in a virtual network, and says whether they keep their "
             "promises; if not, shows the run that breaks one.",
    .rows = rows,
    .end = "Exit codes: 0 nothing wrong, 1 a promise is broken, 64 wrong usage, 75 stopped at the "
           "limit.",
};

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

/* What goes together. EXIT_FINE, or EXIT_USAGE with a message. */
static int check(wish *w, const options_got *got)
{
    const limits *of = &w->limits;
    int seed = options_given(&wdme_line, got, "seed");
    int count = options_given(&wdme_line, got, "count");
    w->what = seed == 0 && count == 0 ? SEARCH : seed > count ? RANDOM : COUNT;
    w->model = w->model_name != NULL ? find_model(w->model_name) : &corrected;
    if (w->model == NULL)
        return options_wrong(&wdme_line, "no model '%s'", w->model_name);
    bool more =
        of->locks > 0 || of->cancels > 0 || of->cuts > 0 || of->leases > 0 || of->restarts > 0;
    if (more && (w->model == &printed || w->model == &printed_mended))
        return options_wrong(&wdme_line, "the paper's automata know tries only");
    if (w->tell && w->what != RANDOM)
        return options_wrong(&wdme_line, "--tell tells the run of a --seed");
    return EXIT_FINE;
}

int wdme_main(char **argv)
{
    wish w = {0};
    options_got got;
    options_verdict verdict = options_read(&wdme_line, argv, &w, &got);
    if (verdict == OPTIONS_HELPED)
        return finish_output(EXIT_FINE);
    if (verdict == OPTIONS_WRONG || check(&w, &got) != EXIT_FINE)
        return EXIT_USAGE;
    return run(&w);
}
