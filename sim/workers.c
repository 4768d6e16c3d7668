/* See workers.h. */
#include "workers.h"

#include "chance.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_JOBS = 256, LONGEST_RUN = 120 /* s; then it hangs */ };

/* One worker's part of what all share; only it writes there. */
typedef struct desk {
    pid_t worker;
    _Alignas(max_align_t) unsigned char sums[MAX_SUMS];
    uint64_t runs;
    atomic_ullong done;
    uint64_t at; /* the run it is at; tells which one it died of */
    bool busy;
    uint32_t broken;
    failure failures[MAX_FAILURES]; /* `seed` counts from the first run of all here */
} desk;

typedef struct office {
    atomic_ullong next;
    atomic_ullong end; /* no run from here on is begun */
    const labour *labour;
    uint64_t seed;
    bool keep_going;
    desk desks[MAX_JOBS];
} office;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

/* ---- a worker ---- */

static void stop_others(office *o, uint64_t at)
{
    unsigned long long end = atomic_load(&o->end);
    while (at < end && !atomic_compare_exchange_weak(&o->end, &end, at))
        ;
}

static void add_failure(failure list[MAX_FAILURES], uint32_t *broken, const failure *more)
{
    uint32_t i = 0;
    while (i < *broken && strcmp(list[i].trouble.property, more->trouble.property) != 0)
        i++;
    if (i == MAX_FAILURES)
        return;
    if (i == *broken) {
        list[i] = *more;
        ++*broken;
        return;
    }
    uint64_t count = list[i].count + more->count;
    if (more->seed < list[i].seed)
        list[i] = *more;
    list[i].count = count;
}

static void note_failure(office *o, desk *d, const trouble *t)
{
    failure f = {.count = 1, .seed = d->at, .trouble = *t};
    add_failure(d->failures, &d->broken, &f);
    if (!o->keep_going)
        stop_others(o, d->at);
}

static void work(office *o, desk *d)
{
    for (uint64_t i; (i = atomic_fetch_add(&o->next, 1)) < atomic_load(&o->end);) {
        alarm(LONGEST_RUN);
        d->at = i;
        d->busy = true;
        trouble found = {0};
        o->labour->run(o->labour->wishes, o->seed + i, d->sums, &found);
        d->busy = false;
        d->runs++;
        atomic_fetch_add(&d->done, 1);
        if (found.property[0] != '\0')
            note_failure(o, d, &found);
    }
}

static pid_t hire(office *o, desk *d)
{
    pid_t parent = getpid();
    fflush(NULL);
    pid_t worker = fork();
    if (worker != 0)
        return worker;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    signal(SIGINT, SIG_IGN); /* the parent ends the workers */
    signal(SIGTERM, SIG_DFL);
    work(o, d);
    _exit(0);
}

/* ---- the parent ---- */

static void show(const office *o, uint32_t jobs, uint64_t runs, double seconds)
{
    enum { WIDTH = 30 };
    uint64_t done = 0;
    for (uint32_t i = 0; i < jobs; i++)
        done += atomic_load(&o->desks[i].done);
    char bar[WIDTH + 1];
    uint64_t full = done * WIDTH / runs;
    for (uint64_t i = 0; i < WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r\033[K[%s] %llu of %llu, %.0f runs/s", bar, (unsigned long long)done,
            (unsigned long long)runs, (double)done / seconds);
}

/* A worker that dies has found that the shipped code does not believe itself any more. */
static void worker_died(office *o, desk *d, int status)
{
    trouble t = {.property = "assertion"};
    if (!d->busy || interrupted)
        return;
    d->busy = false;
    if (WIFSIGNALED(status))
        snprintf(t.what, sizeof t.what, "the run ends by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(t.what, sizeof t.what, "the run ends with exit code %d", WEXITSTATUS(status));
    d->runs++;
    atomic_fetch_add(&d->done, 1);
    note_failure(o, d, &t);
}

static desk *desk_of(office *o, uint32_t jobs, pid_t worker)
{
    for (uint32_t i = 0; i < jobs; i++)
        if (o->desks[i].worker == worker)
            return &o->desks[i];
    return NULL;
}

static void end_workers(const office *o, uint32_t jobs)
{
    for (uint32_t i = 0; i < jobs; i++)
        if (o->desks[i].worker > 0)
            kill(o->desks[i].worker, SIGKILL);
}

/* Whether one more is there to be waited for. */
static bool worker_gone(office *o, desk *d, int status)
{
    if (o->labour->leave != NULL)
        o->labour->leave(d->worker);
    d->worker = 0;
    if (status == 0)
        return false;
    worker_died(o, d, status);
    if (!o->keep_going || interrupted)
        return false;
    d->worker = hire(o, d);
    return d->worker > 0;
}

static void wait_for_workers(office *o, uint32_t jobs, uint64_t runs, double start)
{
    bool terminal = isatty(STDERR_FILENO);
    bool shown = false;
    for (uint32_t left = jobs; left > 0;) {
        int status;
        pid_t gone = waitpid(-1, &status, WNOHANG);
        if (gone < 0 && errno != EINTR)
            break;
        desk *d = gone > 0 ? desk_of(o, jobs, gone) : NULL;
        if (d != NULL && !worker_gone(o, d, status))
            left--;
        if (gone > 0)
            continue;
        if (interrupted)
            end_workers(o, jobs);
        double seconds = seconds_now() - start;
        if (terminal && seconds > 2) {
            show(o, jobs, runs, seconds);
            shown = true;
        }
        nanosleep(&(struct timespec){0, seconds < 1 ? 2000000 : 50000000}, NULL);
    }
    if (shown)
        fputs("\r\033[K", stderr);
}

static harvest gather(const office *o, uint32_t jobs, void *sums)
{
    harvest r = {0};
    for (uint32_t i = 0; i < jobs; i++) {
        const desk *d = &o->desks[i];
        o->labour->add(sums, d->sums);
        r.runs += d->runs;
        for (uint32_t k = 0; k < d->broken; k++) {
            failure f = d->failures[k];
            f.seed += o->seed;
            add_failure(r.failures, &r.broken, &f);
        }
    }
    for (uint32_t i = 1; i < r.broken; i++)
        if (r.failures[i].seed < r.failures[0].seed) {
            failure first = r.failures[i];
            r.failures[i] = r.failures[0];
            r.failures[0] = first;
        }
    return r;
}

harvest workers_run(const labour *l, uint64_t seed, uint64_t runs, uint32_t jobs, bool keep_going,
                    void *sums)
{
    double start = seconds_now();
    office *o = mmap(NULL, sizeof *o, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (o == MAP_FAILED)
        return (harvest){.interrupted = true};
    o->labour = l;
    o->seed = seed;
    o->keep_going = keep_going;
    jobs = jobs > MAX_JOBS ? MAX_JOBS : jobs;
    atomic_store(&o->end, runs);
    struct sigaction catch = {.sa_handler = on_interrupt};
    struct sigaction before[2];
    sigaction(SIGINT, &catch, &before[0]);
    sigaction(SIGTERM, &catch, &before[1]);
    uint32_t hired = 0;
    while (hired < jobs && !interrupted) {
        desk *d = &o->desks[hired];
        d->worker = hire(o, d);
        if (d->worker < 0)
            break;
        hired++;
    }
    wait_for_workers(o, hired, runs, start);
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGTERM, &before[1], NULL);
    harvest r = gather(o, hired, sums);
    r.interrupted = interrupted || hired == 0;
    r.seconds = seconds_now() - start;
    munmap(o, sizeof *o);
    return r;
}
