/*
 * Stepped processes are threads of which one runs at a time: the sanitizers understand them, which
 * cannot be said of coroutines.
 */
#include "stepped.h"
#include "baton/reg.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

struct process {
    pthread_t thread;
    sem_t move;    /* the test says: go on */
    sem_t stopped; /* the process says: I stand still */
    standing state;
    void (*body)(void *);
    void *argument;
};

static _Thread_local process *self; /* NULL in the test's own thread */

static void stop_as(standing s)
{
    self->state = s;
    sem_post(&self->stopped);
    while (sem_wait(&self->move) != 0)
        continue;
}

void stepped_access(void)
{
    if (self != NULL)
        stop_as(READY);
}

void stepped_blocked(void)
{
    if (self == NULL)
        abort(); /* the test's own thread would wait for ever */
    stop_as(BLOCKED);
}

void process_pause(void)
{
    stepped_access();
}

static void *thread_main(void *argument)
{
    self = argument;
    while (sem_wait(&self->move) != 0)
        continue;
    self->body(self->argument);
    self->state = DONE;
    sem_post(&self->stopped);
    return NULL;
}

static standing let_move(process *p)
{
    sem_post(&p->move);
    while (sem_wait(&p->stopped) != 0)
        continue;
    return p->state;
}

process *process_start(void (*body)(void *), void *argument)
{
    process *p = calloc(1, sizeof *p);
    if (p == NULL)
        abort();
    p->body = body;
    p->argument = argument;
    sem_init(&p->move, 0, 0);
    sem_init(&p->stopped, 0, 0);
    if (pthread_create(&p->thread, NULL, thread_main, p) != 0)
        abort();
    let_move(p);
    return p;
}

standing process_step(process *p)
{
    return p->state == DONE ? DONE : let_move(p);
}

standing process_run(process *p)
{
    do
        process_step(p);
    while (p->state == READY);
    return p->state;
}

standing process_state(const process *p)
{
    return p->state;
}

void process_finish(process *p)
{
    while (p->state != DONE)
        let_move(p);
    pthread_join(p->thread, NULL);
    sem_destroy(&p->move);
    sem_destroy(&p->stopped);
    free(p);
}
