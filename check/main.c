/* `baton-check`: the command line, for what ships and for anybody's own lock or program. */
#include "explore.h"
#include "jobs.h"
#include "options.h"
#include "trace.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EXIT_FINE = 0,
    EXIT_VIOLATION = 1,
    EXIT_USAGE = 64,
    EXIT_TROUBLE = 70,
    EXIT_IO = 74,
    EXIT_LIMIT = 75
};

static const char *program = "baton-check";

static int usage_error(const char *what, const char *which)
{
    fprintf(stderr, "%s: ", program);
    fprintf(stderr, what, which);
    fprintf(stderr, "; see '%s --help'\n", program);
    return EXIT_USAGE;
}

static void help(void)
{
    printf(
        "Usage: %s [OPTION...] LOCK|PROGRAM...\n"
        "       %s --all [--quick]\n"
        "       %s replay FILE [--svg FILE]\n"
        "Runs the shipped code of a lock under every interleaving within a bound, and says "
        "whether\n"
        "it keeps its promises; if not, shows the shortest run that breaks one. A program is run "
        "once by\n"
        "every process, and every outcome judged.\n"
        "\n"
        "  -n, --processes N   processes (2)\n"
        "  -p, --passages P    times that each passes through the lock (1)\n"
        "      --resting K     the first K processes stay in their remainder (0)\n"
        "  -m, --memory MODEL  sc: interleavings (default); c11: also what C11 lets hardware do\n"
        "      --park          who waits sleeps, and must be woken (with sc)\n"
        "      --figures       also count remote references per passage\n"
        "      --endless       instead: can a process starve, and how long can it wait?\n"
        "      --timed SEED    instead: random runs in time; the longest wait in sections and "
        "steps\n"
        "      --random SEED   instead of everything: random runs from this seed on\n"
        "      --runs N        how many random or timed runs (10000)\n"
        "      --limit N       give up after N configurations (%d)\n"
        "      --trace FILE    write a violating run to FILE, for replay\n"
        "      --svg FILE      draw it\n"
        "      --json          results as JSON\n"
        "      --all           everything, at many bounds; --quick for fewer\n"
        "      --list          names of the locks and programs\n"
        "  -h, --help          this help\n"
        "\n"
        "Of these a program takes no --passages, --resting, --park, --figures, --endless and "
        "--timed.\n"
        "\n"
        "Exit codes: 0 nothing wrong within the bound, 1 a promise is broken, 64 wrong usage,\n"
        "75 stopped at the limit.\n",
        program, program, program, DEFAULT_LIMIT);
}

static void show_progress(const scope *plan, uint64_t states, uint64_t moves)
{
    fprintf(stderr, "\r\033[K%s %ux%u %s: %llu configurations, %llu steps", plan->subject->name,
            plan->processes, plan->passages, plan->c11 ? "c11" : "sc", (unsigned long long)states,
            (unsigned long long)moves);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

/* Writes with `write` into the named file. 0, or an exit code. */
static int write_file(const char *name, const trace *t,
                      const char *(*write)(const trace *t, FILE *out))
{
    FILE *out = fopen(name, "w");
    const char *trouble = out != NULL ? write(t, out) : strerror(errno);
    if (out != NULL && fclose(out) != 0 && trouble == NULL)
        trouble = strerror(errno);
    if (trouble == NULL)
        return 0;
    fprintf(stderr, "%s: %s: %s\n", program, name, trouble);
    return EXIT_IO;
}

/* Into the files that were asked for. */
static int save_trace(const trace *t, const options *o)
{
    int error = 0;
    if (o->svg != NULL)
        error = write_file(o->svg, t, trace_svg);
    if (o->trace != NULL && error == 0)
        error = write_file(o->trace, t, trace_save);
    return error;
}

static int show_trace(const trace *t, const options *o)
{
    const char *trouble = trace_print(t, stdout);
    if (trouble != NULL) {
        fprintf(stderr, "%s: %s\n", program, trouble);
        return EXIT_USAGE;
    }
    return save_trace(t, o);
}

/* The option that makes no sense for a program, or NULL. */
static const char *option_of_locks(const options *o)
{
    return o->plan.passages != 1 ? "--passages"
           : o->plan.start != 0  ? "--resting"
           : o->plan.park        ? "--park"
           : o->figures          ? "--figures"
           : o->endless          ? "--endless"
           : o->timed            ? "--timed"
                                 : NULL;
}

/* Whether the subject can be explored as asked: 0, or an exit code. */
static int fits(const options *o, const baton_check_subject *subject)
{
    char complaint[128];
    const char *option = option_of_locks(o);
    if (subject->most_processes != 0 && o->plan.processes > subject->most_processes)
        return usage_error("%s does not take so many processes", subject->name);
    if (subject->judge == NULL || option == NULL)
        return EXIT_FINE;
    snprintf(complaint, sizeof complaint, "%s is for locks, and %s is a program", option,
             subject->name);
    return usage_error("%s", complaint);
}

static int check_one(const options *o, const baton_check_subject *subject)
{
    on_progress *progress = isatty(STDERR_FILENO) ? show_progress : NULL;
    job j = {.plan = o->plan,
             .limit = o->limit,
             .figures = o->figures,
             .endless = o->endless,
             .timed = o->timed,
             .random = o->random,
             .seed = o->seed,
             .runs = o->runs};
    j.plan.subject = subject;
    report r;
    job_run(&j, &r, progress);
    clear_progress();
    if (o->json)
        report_json(&j, &r, stdout);
    else
        report_text(&j, &r, stdout);
    int error = 0;
    if (r.result.ending == VIOLATION && !o->endless && !o->timed) {
        trace t = {.plan = j.plan,
                   .run = r.result.run,
                   .length = r.result.run_length,
                   .property = r.result.property,
                   .detail = r.result.detail};
        error = o->json ? save_trace(&t, o) : show_trace(&t, o);
    }
    result_free(&r.result);
    if (error != 0)
        return error;
    return report_broken(&j, &r) ? EXIT_VIOLATION : report_limit(&r) ? EXIT_LIMIT : EXIT_FINE;
}

static int replay(const options *o, const char *name, const baton_check_subject *subjects,
                  size_t count)
{
    trace t;
    FILE *in = fopen(name, "r");
    if (in == NULL) {
        fprintf(stderr, "%s: %s: %s\n", program, name, strerror(errno));
        return EXIT_USAGE;
    }
    const char *trouble = trace_load(&t, in, subjects, count);
    fclose(in);
    if (trouble == NULL)
        trouble = trace_judge(&t);
    int error = 0;
    if (trouble != NULL) {
        fprintf(stderr, "%s: %s: %s\n", program, name, trouble);
        error = EXIT_USAGE;
    } else {
        error = show_trace(&t, o);
    }
    bool violation = t.property != NULL;
    free(t.run);
    return error != 0 ? error : violation ? EXIT_VIOLATION : EXIT_FINE;
}

static const baton_check_subject *find(const char *name, const baton_check_subject *subjects,
                                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(subjects[i].name, name) == 0)
            return &subjects[i];
    return NULL;
}

/* Every lock or program that is named, or the only one there is. */
static int check_named(const options *o, char **word, int words,
                       const baton_check_subject *subjects, size_t count)
{
    int worst = EXIT_FINE;
    if (words == 0 && count == 1)
        return fits(o, &subjects[0]) == EXIT_FINE ? check_one(o, &subjects[0]) : EXIT_USAGE;
    if (words == 0)
        return usage_error("name a lock or a program, or --all%s", "");
    for (int i = 0; i < words; i++) {
        const baton_check_subject *named = find(word[i], subjects, count);
        if (named == NULL)
            return usage_error("no lock or program '%s' (--list lists them)", word[i]);
        if (fits(o, named) != EXIT_FINE)
            return EXIT_USAGE;
    }
    for (int i = 0; i < words; i++) {
        int code = check_one(o, find(word[i], subjects, count));
        if (worst == EXIT_FINE || code == EXIT_VIOLATION)
            worst = code; /* a broken promise matters more than anything else */
    }
    return worst;
}

/* What was printed must have got where it was meant to. */
static int finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "%s: cannot write the output: %s\n", program, strerror(errno));
    return EXIT_IO;
}

static int run(const options *o, int argc, char **argv, const baton_check_subject *subjects,
               size_t count)
{
    if (o->help) {
        help();
        return EXIT_FINE;
    }
    if (o->list) {
        for (size_t i = 0; i < count; i++)
            puts(subjects[i].name);
        return EXIT_FINE;
    }
    char **word = argv + o->words;
    int words = argc - o->words;
    if (o->all)
        return words == 0 ? jobs_all(o, subjects, count) : usage_error("unexpected '%s'", word[0]);
    if (words > 0 && strcmp(word[0], "replay") == 0)
        return words == 2 ? replay(o, word[1], subjects, count)
                          : usage_error("replay takes one file%s", "");
    return check_named(o, word, words, subjects, count);
}

int baton_check_main(int argc, char **argv, const baton_check_subject *subjects, size_t count)
{
    options o;
    const char *slash = strrchr(argv[0], '/');
    program = slash != NULL ? slash + 1 : argv[0];
    const char *trouble = options_parse(&o, argc, argv);
    if (trouble != NULL)
        return usage_error("%s", trouble);
    return finish(run(&o, argc, argv, subjects, count));
}
