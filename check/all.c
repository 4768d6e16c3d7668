/* All jobs, for --all: what is asked of which lock or program, worked through on all processors. */
#include "jobs.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_JOBS = 256 };

/* What is asked of whom. `names` is a list of words, NULL for all locks. */
static const struct bound {
    const char *names;
    uint32_t processes, passages, resting;
    bool c11, park, figures, endless, quick;
    bool deep; /* takes minutes or gigabytes: only with --deep, and then alone */
} bounds[] = {
    {"peterson", 2, 3, 0, .quick = true},
    {"tas mcs dt1 dt2 tas-try mcs-try dt1-try", 2, 3, 0, .quick = true},
    {"tas mcs dt1 dt2", 3, 2, 0, .quick = false},
    {"filter filter-fme1 filter-fme2", 3, 2, 0, .quick = true},
    {"filter filter-fme1 filter-fme2", 4, 1, 0, .quick = false},
    {"tournament tournament-fme", 4, 1, 0, .quick = true},
    {"tournament tournament-fme", 4, 2, 1, .quick = true},
    {"dt2-twice", 2, 3, 0, .quick = true},
    {"dt2-twice", 3, 1, 0, .quick = true},
    {"dt2-twice", 3, 2, 0, .quick = false},
    {NULL, 2, 2, 0, .c11 = true, .quick = true},
    {"tas mcs dt1 dt2 dt2-twice tas-try mcs-try dt1-try filter filter-fme1 filter-fme2", 3, 1, 0,
     .c11 = true, .quick = true},
    {"tournament tournament-fme", 4, 1, 0, .c11 = true},
    {"tas mcs dt2", 3, 2, 0, .c11 = true},
    {"tas mcs dt1 dt2", 4, 1, 0, .quick = false},
    {"tas mcs dt1 dt2", 4, 1, 0, .c11 = true},
    {"dt2-twice", 2, 3, 0, .c11 = true},
    {NULL, 2, 2, 0, .park = true, .quick = true},
    {"tas mcs dt1 dt2 filter filter-fme1 filter-fme2", 3, 1, 0, .park = true, .quick = true},
    {"tournament tournament-fme", 4, 1, 0, .park = true},
    {NULL, 2, 2, 0, .figures = true, .quick = true},
    {"mcs dt1 dt2", 3, 1, 0, .figures = true, .quick = true},
    {NULL, 2, 0, 0, .endless = true, .quick = true},
    {"tas mcs filter filter-fme1 filter-fme2 tournament tournament-fme", 3, 0, 0, .endless = true,
     .quick = true},
    {"filter filter-fme1 filter-fme2 tournament tournament-fme", 4, 0, 0, .endless = true},
    {"mcs tournament tournament-fme", 5, 0, 0, .endless = true},
    {"tournament tournament-fme", 6, 0, 0, .endless = true},
    {"dt1", 3, 2, 0, .c11 = true, .deep = true},
    {"filter filter-fme1 filter-fme2", 4, 1, 0, .c11 = true, .deep = true},
    {"filter filter-fme1", 5, 0, 0, .endless = true, .deep = true},
    /* programs: always one passage */
    {"splitter array-bounds tree-bounds matrix-bounds", 3, 1, 0, .quick = true},
    {"splitter array-bounds", 4, 1, 0, .quick = true},
    {"tree-pair matrix-pair tree-heir matrix-heir wide", 2, 1, 0, .quick = true},
    {"array tree-once matrix-once news wide-pair wide-two wide-news wide-seat wide-seats", 3, 1, 0,
     .quick = true},
    {"array-seat tree-seat", 3, 1, 0, .quick = true},
    {"tree matrix tree-heir matrix-heir", 3, 1, 0, .quick = false},
    {"park-turns", 2, 1, 0, .quick = true},
    {"park park-gather park-permits", 3, 1, 0, .quick = true},
    {"park-lock", 3, 1, 0, .quick = false},
    {"park park-gather park-pairs", 4, 1, 0, .quick = false},
    {"splitter news wide-pair wide-seat wide-seats array-seat tree-seat", 3, 1, 0, .c11 = true,
     .quick = true},
    {"array tree matrix tree-pair matrix-pair tree-heir matrix-heir wide-news", 2, 1, 0,
     .c11 = true, .quick = true},
    {"splitter", 4, 1, 0, .c11 = true, .quick = true},
    {"park-lock", 2, 1, 0, .c11 = true, .quick = true},
    {"park park-gather", 3, 1, 0, .c11 = true, .quick = true},
    {"park-turns", 2, 1, 0, .c11 = true},
    {"park-permits", 3, 1, 0, .c11 = true},
    {"wide", 2, 1, 0, .c11 = true},
    {"array wide-two wide-news tree-once matrix-once", 3, 1, 0, .c11 = true},
};

static bool is_word_of(const char *word, const char *list)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static size_t list_jobs(const options *o, const baton_check_subject *subjects, size_t count,
                        job jobs[MAX_JOBS])
{
    size_t made = 0;
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        const struct bound *w = &bounds[b];
        for (size_t i = 0; i < count && made < MAX_JOBS; i++) {
            const baton_check_subject *s = &subjects[i];
            if ((w->names != NULL ? !is_word_of(s->name, w->names) : s->judge != NULL) ||
                (o->quick && (!w->quick || (w->endless && s->locks > 1))) || /* takes minutes */
                w->deep != o->deep || (s->max_processes != 0 && w->processes > s->max_processes))
                continue;
            jobs[made++] = (job){
                .plan = {.subject = s,
                         .processes = w->processes,
                         .passages = w->passages,
                         .start = w->resting,
                         .c11 = w->c11,
                         .reduce = o->plan.reduce,
                         .park = w->park},
                .limit = o->limit,
                .figures = w->figures,
                .endless = w->endless,
            };
        }
    }
    return made;
}

/* What the workers share: who takes which job, and what came out. */
typedef struct board {
    atomic_size_t next;
    atomic_bool done[MAX_JOBS];
    report report[MAX_JOBS];
} board;

static void work(board *b, const job *jobs, size_t count)
{
    for (size_t i; (i = atomic_fetch_add(&b->next, 1)) < count;) {
        job_run(&jobs[i], &b->report[i], NULL);
        result_free(&b->report[i].result);
        atomic_store(&b->done[i], true);
    }
}

static void pause_a_moment(void)
{
    nanosleep(&(struct timespec){0, 20000000}, NULL);
}

static int print_results(const options *o, board *b, const job *jobs, size_t count)
{
    bool progress = isatty(STDERR_FILENO);
    int broken = 0;
    int limited = 0;
    json j = json_start(stdout);
    if (o->json)
        json_open(&j, NULL, '[');
    else
        report_header(stdout);
    for (size_t i = 0; i < count; i++) {
        while (!atomic_load(&b->done[i])) {
            if (progress)
                fprintf(stderr, "\r\033[K%zu of %zu: %s, %u processes ...", i, count,
                        jobs[i].plan.subject->name, jobs[i].plan.processes);
            pause_a_moment();
            if (waitpid(-1, NULL, WNOHANG) < 0 && !atomic_load(&b->done[i])) {
                fprintf(stderr, "baton-check: a worker has died at %s\n",
                        jobs[i].plan.subject->name);
                return 1;
            }
        }
        if (progress)
            fputs("\r\033[K", stderr);
        if (o->json) {
            json_open(&j, NULL, '{');
            report_fields(&j, &jobs[i], &b->report[i]);
            json_close(&j, '}');
        } else {
            report_row(&jobs[i], &b->report[i], stdout);
            fflush(stdout);
        }
        broken += report_broken(&jobs[i], &b->report[i]) || report_impossible(&b->report[i]);
        limited += report_limit(&b->report[i]);
    }
    if (o->json)
        json_close(&j, ']');
    else
        printf("\n%zu explorations, %d broken, %d stopped at the limit\n", count, broken, limited);
    return broken > 0 ? 1 : limited > 0 ? 75 : 0;
}

int jobs_all(const options *o, const baton_check_subject *subjects, size_t count)
{
    static job jobs[MAX_JOBS];
    size_t made = list_jobs(o, subjects, count, jobs);
    board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED) {
        fputs("baton-check: out of memory\n", stderr);
        return 1;
    }
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    fflush(NULL);
    for (long i = 0; i < (processors > 0 ? processors : 1); i++) {
        pid_t child = fork();
        if (child == 0) {
            work(b, jobs, made);
            _exit(0);
        }
    }
    int code = print_results(o, b, jobs, made);
    while (wait(NULL) > 0)
        continue;
    munmap(b, sizeof *b);
    return code;
}
