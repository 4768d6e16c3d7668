/* `baton bench`: reads what to measure. */
#include "bench.h"
#include "baton/collect.h"
#include "cli.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The command line. */
typedef struct wish {
    contest locks;
    collect_plan collect;
    board_plan board;
    load_plan load;
    server_access by;
    bench_view view;
    bool about_collect, about_board, park, no_peers;
    uint32_t seconds, rounds;
} wish;

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

/* "1,2,8" */
static bool take_threads(void *into, const char *list)
{
    contest *plan = &((wish *)into)->locks;
    plan->counts = 0;
    for (;;) {
        char word[8];
        size_t bytes = strcspn(list, ",");
        uint64_t number;
        if (bytes >= sizeof word || plan->counts == MAX_COUNTS)
            return false;
        memcpy(word, list, bytes);
        word[bytes] = '\0';
        if (!parse_number(word, 1, MAX_THREADS, &number))
            return false;
        add_threads(plan, (uint32_t)number);
        if (list[bytes] == '\0')
            return true;
        list += bytes + 1;
    }
}

static bool take_at(void *into, const char *list)
{
    return load_take_addresses(&((wish *)into)->load, list);
}

static bool take_mix(void *into, const char *mix)
{
    return load_take_mix(&((wish *)into)->load, mix);
}

static bool take_size(void *into, const char *size)
{
    return load_take_size(&((wish *)into)->load, size);
}

static bool take_prefix(void *into, const char *prefix)
{
    ((wish *)into)->load.prefix = prefix;
    return prefix[0] != '\0' && strlen(prefix) <= LOAD_MAX_PREFIX;
}

static const option_row rows[] = {
    {"threads", 't', "LIST", "numbers of threads, as in 1,2,8 (1 and the number of processors)",
     .take = take_threads, .noun = "list of up to 32 numbers from 1 to 1024",
     .unit = "one, as in 1,2,8"},
    {"inside", 0, "NS", "work in the critical section, in nanoseconds", INTO(wish, locks.inside_ns),
     .max = 1000000000, .unit = "nanoseconds", .usual = "50"},
    {"outside", 0, "NS", "work after it, on average", INTO(wish, locks.outside_ns),
     .max = 1000000000, .unit = "nanoseconds", .usual = "100"},
    {"park", 0, NULL, "waiting threads sleep in the kernel after a while, instead of spinning",
     INTO(wish, park)},
    {"no-peers", 0, NULL, "without pthread and Concurrency Kit", INTO(wish, no_peers)},
    HELP_TEXT("Columns: passages per second of all threads together; nanoseconds per passage; "
              "ratio to the throughput of pthread, and of Concurrency Kit's MCS, in the same "
              "round; Jain's fairness index (1: all threads alike); longest wait to enter, from an "
              "extra round that clocks each entry; context switches.\n"
              "An updates-lost error means that a lock let two threads in at a time."),
    HELP_TEXT("With --collect, measures store & collect instead: nanoseconds that STORE and "
              "COLLECT take when k participants have stored, by one thread, which stores as one "
              "after another. Then tree and matrix have a path of k marked nodes; many at once can "
              "mark more."),
    {"collect", 0, NULL, "array, tree and matrix, instead of locks", INTO(wish, about_collect)},
    {"value", 0, "BYTES", "size of each value (that of a word)", INTO(wish, collect.value_bytes),
     .least = 1, .max = BATON_MAX_VALUE_BYTES, .unit = "bytes"},
    HELP_TEXT("Columns: the first STORE of the k-th participant; STOREs of participants that have "
              "stored before; COLLECT of all k values."),
    HELP_TEXT("With --board, measures what it costs a thread alone to be shown on a board: "
              "nanoseconds per enter and exit by name, without and with a card on a board."),
    {"board", 0, NULL, "the cost of a board, instead of locks against their peers",
     INTO(wish, about_board)},
    HELP_TEXT("With --at, puts load on the nodes of a cluster, or on a server, and measures how "
              "long each operation takes to be answered:"),
    {"at", 0, "ADDR[,ADDR...]", "HOST:PORT, or the path of a Unix socket; clients use them in turn",
     .take = take_at, .noun = "list of up to 16 addresses", .unit = "one, as in a:7700,b:7700"},
    ACCESS_ROWS(wish, by),
    {"clients", 'c', "N", "connections, each with one operation at a time",
     INTO(wish, load.clients), .least = 1, .max = LOAD_MAX_CLIENTS, .usual = "16"},
    {"mix", 0, "LIST",
     "of 'issue' (ISSUE in a section that goes on), 'section' (LOCK, ISSUE, EXIT), 'lock' (LOCK, "
     "EXIT), 'try' (TRY, EXIT) and 'read' (READ), with their shares, as in issue=80,read=20",
     .take = take_mix, .noun = "list of issue, section, lock, try and read",
     .unit = "one, as in issue=80,read=20", .usual = "issue"},
    {"locks", 0, "N", "that all clients share but for 'issue', where each has one of its own",
     INTO(wish, load.locks), .least = 1, .max = LOAD_MAX_LOCKS, .usual = "1000"},
    {"operation", 0, "OP", "what is issued, set or incr", INTO(wish, load.counts),
     .choices = "set|incr", .usual = "set"},
    {"size", 0, "BYTES[-BYTES]", "of each value that is set, or from which to which",
     .take = take_size, .noun = "number from 1 to 32000, or two with a '-' in between",
     .unit = "bytes", .usual = "64"},
    {"rate", 0, "N",
     "open loop: so many operations are due per second, whether others are answered or not, and "
     "time counts from then. Without it, each client waits for its answer: closed loop",
     INTO(wish, load.rate), .least = 1, .max = 10000000, .unit = "operations per second"},
    {"count", 'n', "N", "end after so many operations", INTO(wish, load.count), .least = 1},
    {"warm-up", 0, "S", "seconds before it is measured", INTO_SECONDS(wish, load.warm_up_ms),
     .max = 3600000, .usual = "1"},
    {"prefix", 0, "NAME", "with which the names of all locks begin", .take = take_prefix,
     .noun = "name of 1 to 200 bytes", .unit = "one", .usual = "bench"},
    HELP_TEXT("Columns: milliseconds that 50 %, 90 %, 99 %, 99.9 % of the operations took at most, "
              "and the longest. Ctrl-C ends it, and prints what was measured so far."),
    HELP_TEXT("For all:"),
    {"seconds", 's', "S", "for everything together", INTO(wish, seconds), .least = 1, .max = 86400,
     .unit = "seconds", .usual = "15"},
    {"rounds", 'r', "N", "rounds, of which the median is shown", INTO(wish, rounds), .least = 1,
     .max = MAX_ROUNDS, .usual = "5"},
    {"json", 0, NULL, "results as JSON", INTO(wish, view.as_json)},
    {"plot", 0, "FILE.svg",
     "throughput over threads, nanoseconds over k, or milliseconds over percentiles, drawn by "
     "gnuplot",
     INTO(wish, view.plot)},
    {0},
};
static_assert(MAX_COUNTS == 32 && MAX_THREADS == 1024, "as the noun of --threads says");
static_assert(LOAD_MAX_ADDRESSES == 16 && LOAD_MAX_VALUE == 32000 && LOAD_MAX_PREFIX == 200,
              "as the nouns of --at, --size and --prefix say");

const command_line bench_line = {
    .program = "baton bench",
    .usage = "[OPTION...] [LOCK...]\n--collect [OPTION...]\n--board [OPTION...] [LOCK...]\n"
             "--at ADDR[,ADDR...] [OPTION...]",
    .intro = "Measures LOCKs (all, if none is named) side by side with pthread's mutex and "
             "Concurrency Kit's MCS, in interleaved rounds. One thread alone only enters and "
             "exits; several threads also work inside and outside the critical section.",
    .rows = rows,
    .max_words = OPTIONS_ANY,
};

/* The first of the options of that kind that was given, or NULL. */
static const char *given_of(const options_got *got, const char *const *names)
{
    while (*names != NULL && !options_given(&bench_line, got, *names))
        names++;
    return *names;
}

static const char *const of_locks[] = {"threads", "inside", "outside", "park", "no-peers", NULL};
static const char *const of_collect[] = {"value", NULL};
static const char *const of_load[] = {"password-file", "clients", "mix",  "locks",
                                      "operation",     "size",    "rate", "count",
                                      "warm-up",       "prefix",  NULL};
static const char *const not_of_load[] = {"collect", "board", "rounds", NULL};

static void default_threads(contest *plan)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    plan->threads[plan->counts++] = 1;
    if (processors > 1)
        plan->threads[plan->counts++] =
            processors < MAX_THREADS ? (uint32_t)processors : MAX_THREADS;
}

/* The locks named on the command line, or all; the peers in front of them if wanted. */
static int choose(contest *plan, bool peers, const options_got *got)
{
    const contender *who;
    for (size_t i = 0; (who = contender_at(i)) != NULL; i++)
        if (who->algorithm == NULL ? peers : got->words == 0)
            plan->contender[plan->contenders++] = who;
    for (int i = 0; i < got->words; i++) {
        who = contender_find(got->word[i]);
        if (who == NULL)
            return options_wrong(&bench_line, "no lock '%s' ('baton locks' lists them)",
                                 got->word[i]);
        bool there = false;
        for (size_t c = 0; c < plan->contenders; c++)
            there = there || plan->contender[c] == who;
        if (!there)
            plan->contender[plan->contenders++] = who;
    }
    return EXIT_DONE;
}

/* ---- what is measured ---- */

static int run_collect(wish *w, const options_got *got)
{
    const char *other = given_of(got, of_locks);
    if (other != NULL)
        return options_wrong(&bench_line, "--%s is about locks, and --collect measures none",
                             other);
    if (got->words > 0)
        return options_wrong(&bench_line, "unexpected '%s': --collect measures no locks",
                             got->word[0]);
    w->collect.seconds = w->seconds;
    w->collect.rounds = w->rounds;
    return bench_collect(&w->collect, &w->view);
}

static int run_board(wish *w, const options_got *got)
{
    const char *other = given_of(got, of_locks);
    if (other == NULL)
        other = given_of(got, of_collect);
    if (other != NULL)
        return options_wrong(&bench_line, "--%s does not go with --board", other);
    if (w->view.plot != NULL)
        return options_wrong(&bench_line, "--board draws no plot");
    int error = choose(&w->locks, false, got);
    if (error != EXIT_DONE)
        return error;
    for (size_t i = 0; i < w->locks.contenders; i++)
        if (w->locks.contender[i]->algorithm != NULL)
            w->board.lock[w->board.locks++] = w->locks.contender[i]->algorithm;
    if (w->board.locks == 0)
        return options_wrong(&bench_line, "--board measures Baton's locks only");
    w->board.seconds = w->seconds;
    w->board.rounds = w->rounds;
    return bench_board(&w->board, &w->view);
}

static int run_locks(wish *w, const options_got *got)
{
    const char *other = given_of(got, of_collect);
    if (other != NULL)
        return options_wrong(&bench_line, "--%s needs --collect", other);
    int error = choose(&w->locks, !w->no_peers, got);
    if (error != EXIT_DONE)
        return error;
    if (w->locks.counts == 0)
        default_threads(&w->locks);
    if (w->park)
        w->locks.waiting = BATON_PARK;
    w->locks.seconds = w->seconds;
    w->locks.rounds = w->rounds;
    return bench_locks(&w->locks, &w->view);
}

static int run_load(wish *w, const options_got *got)
{
    const char *other = given_of(got, of_locks);
    other = other != NULL ? other : given_of(got, of_collect);
    other = other != NULL ? other : given_of(got, not_of_load);
    if (other != NULL)
        return options_wrong(&bench_line, "--%s does not go with --at", other);
    if (got->words > 0)
        return options_wrong(&bench_line, "unexpected '%s': --at measures a cluster as a whole",
                             got->word[0]);
    bool is_timed = w->load.count == 0 || options_given(&bench_line, got, "seconds");
    w->load.ms = is_timed ? (uint64_t)w->seconds * 1000 : 0;
    return bench_load(&w->load, &w->by, &w->view);
}

int cmd_bench(char **argv)
{
    wish w = {
        .collect = {.value_bytes = sizeof(baton_word)},
        .view = {.with_progress = isatty(STDERR_FILENO)},
    };
    options_got got;
    int code;
    if (!read_options(&bench_line, argv, &w, &got, &code))
        return code;
    if (options_given(&bench_line, &got, "at"))
        return run_load(&w, &got);
    const char *of_others = given_of(&got, of_load);
    if (of_others != NULL)
        return options_wrong(&bench_line, "--%s needs --at", of_others);
    if (w.about_collect && w.about_board)
        return options_wrong(&bench_line, "--collect and --board are two measurements; choose one");
    return w.about_board     ? run_board(&w, &got)
           : w.about_collect ? run_collect(&w, &got)
                             : run_locks(&w, &got);
}
