/*
 * Forked children. A child has no thread that would carry out its calls, so these are refused. And
 * it must not keep its parent's place: the directory, and the port, are for whoever opens the
 * replica next, so the child's copies of these two descriptors are closed when it begins.
 */
#include "internal.h"

#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static list_head replicas = {&replicas, &replicas};
static uint32_t forks; /* from the first process of this family to this one */

static void before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&mutex);
}

static void become_child(void)
{
    forks++;
    for (list_link *at; (at = list_pop(&replicas)) != NULL;) {
        const baton_replica *r = OWNER_OF(at, baton_replica, kin);
        close(r->place[0]);
        close(r->place[1]);
    }
    pthread_mutex_unlock(&mutex);
}

static void begin(void)
{
    pthread_atfork(before_fork, after_fork, become_child);
}

void kin_add(baton_replica *r)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    r->place[0] = store_descriptor(r->driver.store);
    r->place[1] = links_descriptor(r->driver.links);
    pthread_mutex_lock(&mutex);
    r->forks = forks;
    list_push_back(&replicas, &r->kin);
    pthread_mutex_unlock(&mutex);
}

void kin_remove(baton_replica *r)
{
    pthread_mutex_lock(&mutex);
    list_remove(&r->kin);
    pthread_mutex_unlock(&mutex);
}

bool kin_is_own(const baton_replica *r)
{
    return r->forks == forks;
}
