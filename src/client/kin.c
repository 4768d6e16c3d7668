/*
 * Forked children. A child has the connections of its parent, but none of the client's threads:
 * whatever it said there would be said in its parent's name. So it can do nothing with a client
 * but close it, which says nothing.
 *
 * All clients are in a list, and their mutexes are taken before a fork, so that a child finds
 * them as they are between two steps.
 */
#include "internal.h"

#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static list_head clients = {&clients, &clients};
static uint32_t forks; /* from the first process of this family to this one */

static void before_fork(void)
{
    pthread_mutex_lock(&mutex);
    LIST_EACH (at, &clients)
        pthread_mutex_lock(&OWNER_OF(at, baton_client, kin)->mutex);
}

static void after_fork(void)
{
    LIST_EACH (at, &clients)
        pthread_mutex_unlock(&OWNER_OF(at, baton_client, kin)->mutex);
    pthread_mutex_unlock(&mutex);
}

static void become_child(void)
{
    forks++;
    after_fork();
}

static void begin(void)
{
    pthread_atfork(before_fork, after_fork, become_child);
}

void kin_add(baton_client *c)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    pthread_mutex_lock(&mutex);
    c->forks = forks;
    list_push_back(&clients, &c->kin);
    pthread_mutex_unlock(&mutex);
}

void kin_remove(baton_client *c)
{
    pthread_mutex_lock(&mutex);
    list_remove(&c->kin);
    pthread_mutex_unlock(&mutex);
}

bool kin_is_own(const baton_client *c)
{
    return c->forks == forks;
}

/*
 * No shutdown, nor anything at what is watched: these are the parent's as well. The memory stays:
 * threads of the parent waited there, and in this process nobody can wake them.
 */
void kin_close(baton_client *c)
{
    LIST_EACH (at, &c->lines) {
        line *k = OWNER_OF(at, line, link);
        if (k->channel.socket >= 0)
            close(k->channel.socket);
        k->channel.socket = -1;
    }
    close(c->lost_fd);
    close(c->wake_fd);
    close(c->watch_fd);
    c->lost_fd = c->wake_fd = c->watch_fd = -1;
}
