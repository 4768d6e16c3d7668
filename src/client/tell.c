/*
 * The teller: a thread that calls the user's `lost`, and nothing else, so that what is held is
 * renewed however long that takes. There is none if there is no such function.
 */
#include "internal.h"

#include <stdlib.h>
#include <unistd.h>

/* For baton_client_lost. */
static void keep_for_the_process(baton_client *c, hold *h)
{
    uint64_t one = 1;
    list_push_back(&c->told, &h->link);
    if (++c->told_count > MAX_LOST) {
        free(OWNER_OF(list_pop(&c->told), hold, link));
        c->told_count--;
    }
    ssize_t written = write(c->lost_fd, &one, sizeof one);
    (void)written;
}

void tell_loss(baton_client *c, hold *h)
{
    if (c->lost == NULL) {
        keep_for_the_process(c, h);
        return;
    }
    list_push_back(&c->untold, &h->link);
    pthread_cond_signal(&c->news);
}

void *tell_run(void *client)
{
    baton_client *c = client;
    pthread_mutex_lock(&c->mutex);
    for (;;) {
        hold *h = OWNER_OF(list_pop(&c->untold), hold, link);
        if (h != NULL) {
            pthread_mutex_unlock(&c->mutex);
            c->lost(c->context, h->name, h->token);
            pthread_mutex_lock(&c->mutex);
            keep_for_the_process(c, h);
        } else if (c->closing) {
            break; /* all that was lost is told */
        } else {
            pthread_cond_wait(&c->news, &c->mutex);
        }
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}
