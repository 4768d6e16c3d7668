/* `baton run`: waits for the lock. */
#include "cli.h"
#include "run.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REMARK_AFTER = 2, GUARD_PAUSE = 10 }; /* seconds; milliseconds */

/* ---- a remark for those who wait at a terminal ---- */

typedef struct remark {
    const char *name;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    pthread_t thread;
    bool over;
    bool started;
} remark;

static void *remark_later(void *context)
{
    remark *m = context;
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += REMARK_AFTER;
    pthread_mutex_lock(&m->mutex);
    while (!m->over && pthread_cond_timedwait(&m->change, &m->mutex, &at) != ETIMEDOUT)
        ;
    if (!m->over)
        fprintf(stderr, "baton run: waiting for %s ...\n", m->name);
    pthread_mutex_unlock(&m->mutex);
    return NULL;
}

static void remark_begin(remark *m, const run *r)
{
    *m = (remark){.name = r->name};
    if (r->quiet || !isatty(STDERR_FILENO))
        return;
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->change, NULL);
    m->started = pthread_create(&m->thread, NULL, remark_later, m) == 0;
}

static void remark_end(remark *m)
{
    if (!m->started)
        return;
    pthread_mutex_lock(&m->mutex);
    m->over = true;
    pthread_cond_signal(&m->change);
    pthread_mutex_unlock(&m->mutex);
    pthread_join(m->thread, NULL);
}

/* ---- the lock ---- */

static int64_t time_left(const run *r)
{
    if (r->timeout == RUN_NOT_GIVEN)
        return -1;
    int64_t left = (int64_t)r->timeout - (monotonic_ms() - r->began);
    return left > 0 ? left : 0;
}

/* Of a private server only: who held the lock under a server that was killed may still be dying. */
static int pass_guard(run *r)
{
    for (;;) {
        r->guard = lock_guard_file(r->at, r->name);
        if (r->guard >= 0)
            return BATON_OK;
        if (r->guard != GUARD_HELD)
            return BATON_SYSTEM;
        if (r->try || time_left(r) == 0)
            return BATON_BUSY;
        if (!baton_client_holds(r->client, r->name, r->token))
            return BATON_LOST;
        nanosleep(&(struct timespec){.tv_nsec = GUARD_PAUSE * 1000000L}, NULL);
    }
}

/* One that is nested must not wait for the command around it, which waits for this one. */
static int ask_for_lock(run *r)
{
    return r->try || r->is_nested ? baton_client_try(r->client, r->name, &r->token)
                                  : baton_client_lock(r->client, r->name, time_left(r), &r->token);
}

/* Signals are as they were while it waits: then they may end this process. */
int run_enter(run *r)
{
    sigset_t held;
    remark waiting;
    remark_begin(&waiting, r);
    pthread_sigmask(SIG_SETMASK, &r->signals_before, &held);
    int result = ask_for_lock(r);
    if (result == BATON_OK && r->is_private)
        result = pass_guard(r);
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &held, NULL);
    remark_end(&waiting);
    if (result != BATON_OK)
        baton_client_close(r->client);
    errno = why;
    return result;
}

int run_refused(const run *r, int result)
{
    switch (result) {
    case RUN_SAID:
        return EXIT_UNREACHABLE;
    case BATON_BUSY:
        if (r->is_nested && !r->try)
            return options_wrong(&run_line,
                                 "%s is held by the 'baton run' around this one, which would wait "
                                 "for itself; unset BATON_LOCK if that is not so",
                                 r->name);
        run_say(r, "%s is %s", r->name, r->try ? "held by another" : "still held; time is over");
        return EXIT_NOT_ACQUIRED;
    case BATON_BAD_NAME:
    case BATON_BAD_ARGUMENT:
        return options_wrong(&run_line, "'%s' at '%s': %s", r->name, r->at, baton_strerror(result));
    case BATON_UNREACHABLE:
        run_say(r, "cannot reach %s (%s); start one with 'baton serve'", r->at, strerror(errno));
        return EXIT_UNREACHABLE;
    case BATON_SYSTEM:
        run_say(r, "cannot hold %s: %s", r->name, strerror(errno));
        return EXIT_UNREACHABLE;
    default:
        if (baton_client_why()[0] != '\0')
            run_say(r, "no TLS with %s: %s", r->at, baton_client_why());
        else
            run_say(r, "%s: %s", r->at, baton_strerror(result));
        return EXIT_UNREACHABLE;
    }
}
