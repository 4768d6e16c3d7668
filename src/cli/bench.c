/* `baton bench`: reads what to measure. */
#include "bench.h"
#include "baton/collect.h"
#include "cli.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void help(void)
{
    puts(
        "Usage: baton bench [OPTION...] [LOCK...]\n"
        "       baton bench --collect [OPTION...]\n"
        "       baton bench --board [OPTION...] [LOCK...]\n"
        "Measures LOCKs (all, if none is named) side by side with pthread's mutex and Concurrency\n"
        "Kit's MCS, in interleaved rounds. One thread alone only enters and exits; several "
        "threads\n"
        "also work inside and outside the critical section.\n"
        "\n"
        "  -t, --threads LIST   numbers of threads, as in 1,2,8 (1 and the number of processors)\n"
        "      --inside NS      work in the critical section, in nanoseconds (50)\n"
        "      --outside NS     work after it, on average (100)\n"
        "      --park           who waits sleeps in the kernel after a while, instead of spinning\n"
        "      --no-peers       without pthread and Concurrency Kit\n"
        "\n"
        "Columns: passages per second of all threads together; nanoseconds per passage; ratio to\n"
        "the throughput of pthread, and of Concurrency Kit's MCS, in the same round; Jain's\n"
        "fairness index (1: all threads alike); longest wait to enter, from an extra round that\n"
        "clocks each entry; context switches.\n"
        "An updates-lost error means that a lock let two threads in at a time.\n"
        "\n"
        "With --collect, measures store & collect instead: nanoseconds that STORE and COLLECT\n"
        "take when k participants have stored, by one thread, which stores as one after another.\n"
        "Then tree and matrix have a path of k marked nodes; many at once can mark more.\n"
        "\n"
        "      --collect        array, tree and matrix, instead of locks\n"
        "      --value BYTES    size of each value (that of a word)\n"
        "\n"
        "Columns: the first STORE of the k-th to come; STOREs of those who have stored before;\n"
        "COLLECT of all k values.\n"
        "\n"
        "With --board, measures what it costs a thread alone to be shown on a board: nanoseconds\n"
        "per enter and exit by name, without and with a card on a board.\n"
        "\n"
        "      --board          the cost of a board, instead of locks against their peers\n"
        "\n"
        "For all:\n"
        "  -s, --seconds S      for everything together (15)\n"
        "  -r, --rounds N       rounds, of which the median is shown (5)\n"
        "      --json           results as JSON\n"
        "      --plot FILE.svg  throughput over threads, or nanoseconds over k, drawn by gnuplot\n"
        "  -h, --help           this help");
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

/* The command line. */
typedef struct wish {
    contest locks;
    collect_plan collect;
    board_plan board;
    bench_view view;
    bool about_collect;
    bool about_board;
    bool peers;
    const char *of_locks;   /* an option that was given and is about locks only; or NULL */
    const char *of_collect; /* likewise */
} wish;

enum { INSIDE = 256, OUTSIDE, PARK, NO_PEERS, COLLECT, VALUE, BOARD, JSON, PLOT };

static const struct option options[] = {
    {"threads", required_argument, NULL, 't'},
    {"seconds", required_argument, NULL, 's'},
    {"rounds", required_argument, NULL, 'r'},
    {"inside", required_argument, NULL, INSIDE},
    {"outside", required_argument, NULL, OUTSIDE},
    {"park", no_argument, NULL, PARK},
    {"no-peers", no_argument, NULL, NO_PEERS},
    {"collect", no_argument, NULL, COLLECT},
    {"value", required_argument, NULL, VALUE},
    {"board", no_argument, NULL, BOARD},
    {"json", no_argument, NULL, JSON},
    {"plot", required_argument, NULL, PLOT},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Options that are about locks only. */
static int parse_lock_option(int option, wish *w)
{
    uint64_t number;
    for (const struct option *o = options; o->name != NULL; o++)
        if (o->val == option)
            w->of_locks = o->name;
    switch (option) {
    case 't':
        if (!parse_threads(optarg, &w->locks))
            return usage_error("bench",
                               "--threads takes up to %d numbers from 1 to %d, as in 1,2,8",
                               MOST_COUNTS, MOST_THREADS);
        break;
    case INSIDE:
    case OUTSIDE:
        if (!parse_number(optarg, 0, 1000000000, &number))
            return usage_error("bench",
                               "--inside and --outside take nanoseconds from 0 to 1000000000");
        *(option == INSIDE ? &w->locks.inside_ns : &w->locks.outside_ns) = number;
        break;
    case PARK:
        w->locks.waiting = BATON_PARK;
        break;
    default:
        w->peers = false;
    }
    return EXIT_DONE;
}

static int parse_option(int option, wish *w, char **argv)
{
    uint64_t number;
    switch (option) {
    case 's':
        if (!parse_number(optarg, 1, 86400, &number))
            return usage_error("bench", "--seconds takes a whole number from 1 to 86400");
        w->locks.seconds = w->collect.seconds = w->board.seconds = (double)number;
        break;
    case 'r':
        if (!parse_number(optarg, 1, MOST_ROUNDS, &number))
            return usage_error("bench", "--rounds takes a whole number from 1 to %d", MOST_ROUNDS);
        w->locks.rounds = w->collect.rounds = w->board.rounds = (uint32_t)number;
        break;
    case COLLECT:
        w->about_collect = true;
        break;
    case BOARD:
        w->about_board = true;
        break;
    case VALUE:
        if (!parse_number(optarg, 1, BATON_MOST_VALUE_BYTES, &number))
            return usage_error("bench", "--value takes a number of bytes from 1 to %d",
                               BATON_MOST_VALUE_BYTES);
        w->collect.value_bytes = (size_t)number;
        w->of_collect = "value";
        break;
    case JSON:
        w->view.as_json = true;
        break;
    case PLOT:
        w->view.plot = optarg;
        break;
    case ':':
        return option_error("bench", "wants a value", argv);
    case '?':
        return option_error("bench", "is no option", argv);
    default:
        return parse_lock_option(option, w);
    }
    return EXIT_DONE;
}

static int run_collect(wish *w, const char *word)
{
    if (w->of_locks != NULL)
        return usage_error("bench", "--%s is about locks, and --collect measures none",
                           w->of_locks);
    if (word != NULL)
        return usage_error("bench", "unexpected '%s': --collect measures no locks", word);
    return bench_collect(&w->collect, &w->view);
}

static int run_board(wish *w, int words, char **word)
{
    if (w->of_locks != NULL || w->of_collect != NULL)
        return usage_error("bench", "--%s does not go with --board",
                           w->of_locks != NULL ? w->of_locks : w->of_collect);
    if (w->view.plot != NULL)
        return usage_error("bench", "--board draws no plot");
    int error = choose(&w->locks, false, words, word);
    if (error != EXIT_DONE)
        return error;
    for (size_t i = 0; i < w->locks.contenders; i++)
        if (w->locks.contender[i]->algorithm != NULL)
            w->board.lock[w->board.locks++] = w->locks.contender[i]->algorithm;
    if (w->board.locks == 0)
        return usage_error("bench", "--board measures Baton's locks only");
    return bench_board(&w->board, &w->view);
}

static int run_locks(wish *w, int words, char **word)
{
    if (w->of_collect != NULL)
        return usage_error("bench", "--%s needs --collect", w->of_collect);
    int error = choose(&w->locks, w->peers, words, word);
    if (error != EXIT_DONE)
        return error;
    if (w->locks.counts == 0)
        default_threads(&w->locks);
    return bench_locks(&w->locks, &w->view);
}

int cmd_bench(int argc, char **argv)
{
    wish w = {
        .locks = {.rounds = 5, .seconds = 15, .inside_ns = 50, .outside_ns = 100},
        .collect = {.rounds = 5, .seconds = 15, .value_bytes = sizeof(baton_word)},
        .board = {.rounds = 5, .seconds = 15},
        .view = {.with_progress = isatty(STDERR_FILENO)},
        .peers = true,
    };
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":t:s:r:h", options, NULL)) != -1;) {
        if (option == 'h') {
            help();
            return finish_output("bench");
        }
        int error = parse_option(option, &w, argv);
        if (error != EXIT_DONE)
            return error;
    }
    if (w.about_collect && w.about_board)
        return usage_error("bench", "--collect and --board are two measurements; choose one");
    if (w.about_board)
        return run_board(&w, argc - optind, argv + optind);
    if (w.about_collect)
        return run_collect(&w, argv[optind]);
    return run_locks(&w, argc - optind, argv + optind);
}
