/* `baton-check`: the command line, for what ships and for anybody's own lock or program. */
#include "check_options.h"
#include "explore.h"
#include "jobs.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EXIT_FINE = 0,
    EXIT_VIOLATION = 1,
    EXIT_USAGE = OPTIONS_EXIT_USAGE,
    EXIT_TROUBLE = 70,
    EXIT_IO = 74,
    EXIT_LIMIT = 75
};

static const char *program = "baton-check";
static command_line line; /* check_line, of that program */

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
    const char *option = option_of_locks(o);
    if (subject->max_processes != 0 && o->plan.processes > subject->max_processes)
        return options_wrong(&line, "%s does not take so many processes", subject->name);
    if (subject->judge == NULL || option == NULL)
        return EXIT_FINE;
    return options_wrong(&line, "%s is for locks, and %s is a program", option, subject->name);
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
static int check_named(const options *o, const options_got *got,
                       const baton_check_subject *subjects, size_t count)
{
    int worst = EXIT_FINE;
    if (got->words == 0 && count == 1)
        return fits(o, &subjects[0]) == EXIT_FINE ? check_one(o, &subjects[0]) : EXIT_USAGE;
    if (got->words == 0)
        return options_wrong(&line, "name a lock or a program, or --all");
    for (int i = 0; i < got->words; i++) {
        const baton_check_subject *named = find(got->word[i], subjects, count);
        if (named == NULL)
            return options_wrong(&line, "no lock or program '%s' (--list lists them)",
                                 got->word[i]);
        if (fits(o, named) != EXIT_FINE)
            return EXIT_USAGE;
    }
    for (int i = 0; i < got->words; i++) {
        int code = check_one(o, find(got->word[i], subjects, count));
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

static int run(const options *o, const options_got *got, const baton_check_subject *subjects,
               size_t count)
{
    if (o->list) {
        for (size_t i = 0; i < count; i++)
            puts(subjects[i].name);
        return EXIT_FINE;
    }
    if (o->all)
        return got->words == 0 ? jobs_all(o, subjects, count)
                               : options_wrong(&line, "unexpected '%s'", got->word[0]);
    if (got->words > 0 && strcmp(got->word[0], "replay") == 0)
        return got->words == 2 ? replay(o, got->word[1], subjects, count)
                               : options_wrong(&line, "replay takes one file");
    return check_named(o, got, subjects, count);
}

int baton_check_main(int argc, char **argv, const baton_check_subject *subjects, size_t count)
{
    options o;
    options_got got;
    const char *slash = strrchr(argv[0], '/');
    (void)argc;
    program = slash != NULL ? slash + 1 : argv[0];
    line = check_line;
    line.program = program;
    switch (options_parse(&line, argv, &o, &got)) {
    case OPTIONS_FINE:
        return finish(run(&o, &got, subjects, count));
    case OPTIONS_HELPED:
        return finish(EXIT_FINE);
    default:
        return EXIT_USAGE;
    }
}
