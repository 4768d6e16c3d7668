/* `baton bench`: reads what to measure, runs the contest, prints what came out. */
#include "../../bench/bench.h"
#include "cli.h"
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void help(void)
{
    puts(
        "Usage: baton bench [OPTION...] [LOCK...]\n"
        "Measures LOCKs (all, if none is named) side by side with pthread's mutex and Concurrency\n"
        "Kit's MCS, in interleaved rounds. One thread alone only enters and exits; several "
        "threads\n"
        "also work inside and outside the critical section.\n"
        "\n"
        "  -t, --threads LIST   numbers of threads, as in 1,2,8 (1 and the number of processors)\n"
        "  -s, --seconds S      for everything together (15)\n"
        "  -r, --rounds N       rounds, of which the median is shown (5)\n"
        "      --inside NS      work in the critical section, in nanoseconds (50)\n"
        "      --outside NS     work after it, on average (100)\n"
        "      --park           who waits sleeps in the kernel after a while, instead of spinning\n"
        "      --no-peers       without pthread and Concurrency Kit\n"
        "      --json           results as JSON\n"
        "      --plot FILE.svg  throughput over threads, drawn by gnuplot\n"
        "  -h, --help           this help\n"
        "\n"
        "Columns: passages per second of all threads together; nanoseconds per passage; ratio to\n"
        "the throughput of pthread, and of Concurrency Kit's MCS, in the same round; Jain's\n"
        "fairness index (1: all threads alike); longest wait to enter, from an extra round that\n"
        "clocks each entry; context switches.\n"
        "An updates-lost error means that a lock let two threads in at a time.");
}

static void show_progress(double share, const char *name, uint32_t threads)
{
    fprintf(stderr, "\r\033[K%3.0f%%  %s, %" PRIu32 " thread%s", 100 * share, name, threads,
            threads == 1 ? "" : "s");
}

static void clear_progress(const contest *plan)
{
    if (plan->progress != NULL)
        fputs("\r\033[K", stderr);
}

static void print_ratio(int width, double ratio)
{
    if (ratio > 0)
        printf("%*.2fx ", width - 1, ratio);
    else
        printf("%*s ", width, "-");
}

static void print_text(const contest *plan, const outcome *outcomes)
{
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

static void print_json(const contest *plan, const outcome *outcomes)
{
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

/* Keeps plan->threads in order and each number once. */
static void add_threads(contest *plan, uint32_t threads)
{
    size_t place = 0;
    while (place < plan->counts && plan->threads[place] < threads)
        place++;
    if (place < plan->counts && plan->threads[place] == threads)
        return;
    memmove(&plan->threads[place + 1], &plan->threads[place],
            (plan->counts - place) * sizeof plan->threads[0]);
    plan->threads[place] = threads;
    plan->counts++;
}

/* "1,2,8" into plan->threads; false if it is anything else. */
static bool parse_threads(char *list, contest *plan)
{
    plan->counts = 0;
    for (char *word; (word = strsep(&list, ",")) != NULL;) {
        uint64_t number;
        if (plan->counts == MOST_COUNTS || !parse_number(word, 1, MOST_THREADS, &number))
            return false;
        add_threads(plan, (uint32_t)number);
    }
    return true;
}

static void default_threads(contest *plan)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    plan->threads[plan->counts++] = 1;
    if (processors > 1)
        plan->threads[plan->counts++] =
            processors < MOST_THREADS ? (uint32_t)processors : MOST_THREADS;
}

/* The locks named on the command line, or all; the peers in front of them if wanted. */
static int choose(contest *plan, bool peers, int words, char **word)
{
    const contender *who;
    for (size_t i = 0; (who = contender_at(i)) != NULL; i++)
        if (who->algorithm == NULL ? peers : words == 0)
            plan->contender[plan->contenders++] = who;
    for (int i = 0; i < words; i++) {
        who = contender_find(word[i]);
        if (who == NULL)
            return usage_error("bench", "no lock '%s' ('baton locks' lists them)", word[i]);
        bool there = false;
        for (size_t c = 0; c < plan->contenders; c++)
            there = there || plan->contender[c] == who;
        if (!there)
            plan->contender[plan->contenders++] = who;
    }
    return EXIT_DONE;
}

/* Opens the plot's file before anything is measured: what cannot be written should be said now. */
static int open_plot(const char *name)
{
    int file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        fprintf(stderr, "baton bench: cannot write the plot to %s: %s\n", name, strerror(errno));
    return file;
}

static int run(const contest *plan, bool as_json, const char *plot)
{
    static outcome outcomes[MOST_CONTENDERS * MOST_COUNTS];
    int file = -1;
    if (plot != NULL && (file = open_plot(plot)) < 0)
        return EXIT_FAILED;
    const char *trouble = contest_run(plan, outcomes);
    clear_progress(plan);
    if (trouble == NULL) {
        (as_json ? print_json : print_text)(plan, outcomes);
        if (file >= 0)
            trouble = ftruncate(file, 0) != 0 && errno != EINVAL
                          ? "cannot write the plot"
                          : contest_plot(plan, outcomes, file);
    }
    if (file >= 0 && close(file) != 0 && trouble == NULL)
        trouble = "cannot write the plot";
    if (trouble != NULL) {
        fprintf(stderr, "baton bench: %s\n", trouble);
        return EXIT_FAILED;
    }
    return finish_output("bench");
}

int cmd_bench(int argc, char **argv)
{
    enum { INSIDE = 256, OUTSIDE, PARK, NO_PEERS, JSON, PLOT };
    static const struct option options[] = {
        {"threads", required_argument, NULL, 't'},
        {"seconds", required_argument, NULL, 's'},
        {"rounds", required_argument, NULL, 'r'},
        {"inside", required_argument, NULL, INSIDE},
        {"outside", required_argument, NULL, OUTSIDE},
        {"park", no_argument, NULL, PARK},
        {"no-peers", no_argument, NULL, NO_PEERS},
        {"json", no_argument, NULL, JSON},
        {"plot", required_argument, NULL, PLOT},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    contest plan = {.rounds = 5, .seconds = 15, .inside_ns = 50, .outside_ns = 100};
    bool peers = true;
    bool as_json = false;
    const char *plot = NULL;
    uint64_t number;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":t:s:r:h", options, NULL)) != -1;) {
        switch (option) {
        case 't':
            if (!parse_threads(optarg, &plan))
                return usage_error("bench",
                                   "--threads takes up to %d numbers from 1 to %d, as in 1,2,8",
                                   MOST_COUNTS, MOST_THREADS);
            break;
        case 's':
            if (!parse_number(optarg, 1, 86400, &number))
                return usage_error("bench", "--seconds takes a whole number from 1 to 86400");
            plan.seconds = (double)number;
            break;
        case 'r':
            if (!parse_number(optarg, 1, MOST_ROUNDS, &number))
                return usage_error("bench", "--rounds takes a whole number from 1 to %d",
                                   MOST_ROUNDS);
            plan.rounds = (uint32_t)number;
            break;
        case INSIDE:
        case OUTSIDE:
            if (!parse_number(optarg, 0, 1000000000, &number))
                return usage_error("bench",
                                   "--inside and --outside take nanoseconds from 0 to 1000000000");
            *(option == INSIDE ? &plan.inside_ns : &plan.outside_ns) = number;
            break;
        case PARK:
            plan.waiting = BATON_PARK;
            break;
        case NO_PEERS:
            peers = false;
            break;
        case JSON:
            as_json = true;
            break;
        case PLOT:
            plot = optarg;
            break;
        case 'h':
            help();
            return finish_output("bench");
        case ':':
            return option_error("bench", "wants a value", argv);
        default:
            return option_error("bench", "is no option", argv);
        }
    }
    int error = choose(&plan, peers, argc - optind, argv + optind);
    if (error != EXIT_DONE)
        return error;
    if (plan.counts == 0)
        default_threads(&plan);
    plan.progress = isatty(STDERR_FILENO) ? show_progress : NULL;
    return run(&plan, as_json, plot);
}
