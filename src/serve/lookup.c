/*
 * See lookup.h. libuv has lookups, too; but its threads are few, and shared: two names that the
 * resolver does not answer for would keep all others waiting, and the loop from ending.
 */
#include "lookup.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shared by a thread and whoever wants to know; the one that is done with it last frees it. */
typedef struct lookup_job {
    pthread_mutex_t guard;
    lookup *of; /* NULL: nobody wants to know any more */
    bool done;
    int error; /* of getaddrinfo */
    lookup_answer found;
    char port[8];
    char host[];
} lookup_job;

static void drop_job(lookup_job *j)
{
    pthread_mutex_destroy(&j->guard);
    free(j);
}

/* ---- the thread ---- */

static void take_addresses(lookup_answer *a, const struct addrinfo *all)
{
    for (const struct addrinfo *one = all; one != NULL; one = one->ai_next)
        if (a->count < LOOKUP_MAX_ADDRESSES && one->ai_addrlen <= sizeof a->address[0])
            memcpy(&a->address[a->count++], one->ai_addr, one->ai_addrlen);
}

static void *work(void *context)
{
    lookup_job *j = context;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    j->error = getaddrinfo(j->host, j->port, &hints, &all);
    if (j->error == 0) {
        take_addresses(&j->found, all);
        freeaddrinfo(all);
    }
    pthread_mutex_lock(&j->guard);
    bool wanted = j->of != NULL;
    j->done = true;
    if (wanted)
        uv_async_send(&j->of->woken); /* it is not closed while the guard is held */
    pthread_mutex_unlock(&j->guard);
    if (!wanted)
        drop_job(j);
    return NULL;
}

/* Signals are for the other threads. */
static bool start_thread(lookup_job *j)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, work, j) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

static void start_job(lookup *l)
{
    size_t bytes = strlen(l->host) + 1;
    lookup_job *j = calloc(1, sizeof *j + bytes);
    if (j == NULL)
        return;
    pthread_mutex_init(&j->guard, NULL);
    j->of = l;
    memcpy(j->host, l->host, bytes);
    snprintf(j->port, sizeof j->port, "%u", l->port);
    if (start_thread(j))
        l->job = j;
    else
        drop_job(j);
}

/* ---- the loop ---- */

static void tell(lookup *l, const char *why)
{
    uv_timer_stop(&l->patience);
    if (!l->waits)
        return;
    l->waits = false;
    l->told(l->context, &l->last, why);
}

static void is_done(uv_async_t *woken)
{
    lookup *l = woken->data;
    lookup_job *j = l->job;
    if (j == NULL)
        return;
    pthread_mutex_lock(&j->guard); /* the thread may still hold it */
    bool done = j->done;
    pthread_mutex_unlock(&j->guard);
    if (!done)
        return; /* woken by the job before */
    const char *why = NULL;
    if (j->found.count > 0)
        l->last = j->found;
    else
        why = j->error != 0 ? gai_strerror(j->error) : "it has no address";
    drop_job(j);
    l->job = NULL;
    tell(l, why);
}

static void is_late(uv_timer_t *patience)
{
    lookup *l = patience->data;
    tell(l, l->numeric ? NULL : "the resolver does not answer");
}

static bool read_number(lookup *l)
{
    struct sockaddr_storage *one = &l->last.address[0];
    bool numeric = uv_ip4_addr(l->host, l->port, (struct sockaddr_in *)one) == 0 ||
                   uv_ip6_addr(l->host, l->port, (struct sockaddr_in6 *)one) == 0;
    l->last.count = numeric;
    return numeric;
}

bool lookup_open(lookup *l, uv_loop_t *loop, const char *host, uint16_t port, lookup_told *told,
                 void *context)
{
    *l = (lookup){.port = port, .told = told, .context = context};
    if (uv_async_init(loop, &l->woken, is_done) != 0)
        return false;
    l->host = host;
    uv_timer_init(loop, &l->patience);
    l->woken.data = l->patience.data = l;
    l->numeric = read_number(l);
    return true;
}

/* A resolver that was late before, and still is, is not waited for again. */
void lookup_ask(lookup *l)
{
    bool late = l->job != NULL;
    if (l->waits)
        return;
    l->waits = true;
    if (!late && !l->numeric)
        start_job(l);
    bool at_once = l->job == NULL || (late && l->last.count > 0);
    uv_timer_start(&l->patience, is_late, at_once ? 0 : LOOKUP_PATIENCE, 0);
}

void lookup_close(lookup *l)
{
    lookup_job *j = l->job;
    if (j != NULL) {
        pthread_mutex_lock(&j->guard);
        bool done = j->done;
        j->of = NULL;
        pthread_mutex_unlock(&j->guard);
        if (done)
            drop_job(j);
    }
    l->job = NULL;
    uv_close((uv_handle_t *)&l->woken, NULL);
    uv_close((uv_handle_t *)&l->patience, NULL);
}
