/* Begin and end of a client, and what can be asked of it without a message. */
#include "room.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000 };

/* ---- begin ---- */

static void start_sync(baton_client *c)
{
    pthread_mutex_init(&c->mutex, NULL);
    pthread_condattr_init(&c->monotonic);
    pthread_condattr_setclock(&c->monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->attempted, NULL);
    pthread_cond_init(&c->moved, NULL);
    pthread_cond_init(&c->adrift, &c->monotonic);
}

static void end_keeper(baton_client *c)
{
    pthread_mutex_lock(&c->mutex);
    c->closing = true;
    keeper_wake(c);
    pthread_cond_signal(&c->adrift);
    pthread_mutex_unlock(&c->mutex);
    pthread_join(c->keeper, NULL);
}

/* They take no signals: these are for threads of the process. */
static int start_threads(baton_client *c)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&c->keeper, NULL, keeper_run, c);
    if (error == 0 && c->session[0] != '\0') {
        error = pthread_create(&c->mover, NULL, move_run, c);
        if (error != 0)
            end_keeper(c);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void free_holds(hold *first)
{
    for (hold *h = first, *next; h != NULL; h = next) {
        next = h->next;
        free(h);
    }
}

static void free_client(baton_client *c)
{
    for (line *k = c->lines, *next; k != NULL; k = next) {
        next = k->next;
        line_free(k);
    }
    names_free(&c->names);
    free_holds(c->untold);
    free_holds(c->told);
    if (c->lost_fd >= 0)
        close(c->lost_fd);
    if (c->wake_fd >= 0)
        close(c->wake_fd);
    if (c->watch_fd >= 0)
        close(c->watch_fd);
    pthread_cond_destroy(&c->attempted);
    pthread_cond_destroy(&c->moved);
    pthread_cond_destroy(&c->adrift);
    pthread_condattr_destroy(&c->monotonic);
    pthread_mutex_destroy(&c->mutex);
    free(c->addresses);
    free(c->password);
    free(c);
}

static baton_client *new_client(const baton_client_options *o)
{
    baton_client *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    start_sync(c);
    c->lease = (uint64_t)o->lease_ms * 1000000;
    c->patience = (uint64_t)(o->patience_ms != 0 ? o->patience_ms : PATIENCE_MS) * 1000000;
    c->lost = o->lost;
    c->context = o->context;
    c->untold_end = &c->untold;
    c->told_end = &c->told;
    c->addresses = strdup(o->address);
    c->password = o->password != NULL ? strdup(o->password) : NULL;
    c->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->wake_fd = c->watch_fd = -1;
    if (c->addresses != NULL && (c->password != NULL || o->password == NULL) && c->lost_fd >= 0 &&
        keeper_prepare(c))
        return c;
    int error = errno;
    free_client(c);
    errno = error;
    return NULL;
}

int baton_client_open(const baton_client_options *options, baton_client **client)
{
    if (options == NULL || client == NULL || options->address == NULL ||
        options->address[0] == '\0')
        return BATON_BAD_ARGUMENT;
    *client = NULL;
    baton_client *c = new_client(options);
    if (c == NULL)
        return BATON_SYSTEM;
    int result = BATON_BAD_ARGUMENT;
    c->main = servers_split(c) && move_name(c) ? line_open(c, 0, &result) : NULL;
    int error = errno;
    if (c->main != NULL) {
        c->line_count = 1;
        line_add(c, c->main);
        error = start_threads(c);
        result = error == 0 ? BATON_OK : BATON_SYSTEM;
    }
    if (result == BATON_OK) {
        *client = c;
        return BATON_OK;
    }
    free_client(c);
    errno = error;
    return result;
}

/* ---- end ---- */

/* Any token that is still held. */
typedef struct remaining {
    bool any;
    uint64_t token;
    char name[BATON_CLIENT_NAME_BYTES];
} remaining;

static void find_remaining(baton_client *c, lock_name *n, void *context)
{
    remaining *r = context;
    (void)c;
    if (r->any || n->holds == NULL)
        return;
    r->any = true;
    r->token = n->holds->token;
    memcpy(r->name, n->name, n->bytes + 1);
}

void baton_client_close(baton_client *client)
{
    baton_client *c = client;
    if (c == NULL)
        return;
    for (;;) { /* a server with --grace would keep for a while what a connection leaves behind */
        remaining r = {0};
        pthread_mutex_lock(&c->mutex);
        names_each(c, find_remaining, &r);
        pthread_mutex_unlock(&c->mutex);
        if (!r.any)
            break;
        baton_client_exit(c, r.name, r.token);
    }
    end_keeper(c);
    if (c->session[0] != '\0')
        pthread_join(c->mover, NULL);
    free_client(c);
}

/* ---- questions ---- */

int baton_client_fd(const baton_client *client)
{
    return client != NULL ? client->lost_fd : -1;
}

int baton_client_lost(baton_client *client, char *name, uint64_t *token)
{
    baton_client *c = client;
    if (c == NULL || name == NULL || token == NULL)
        return BATON_BAD_ARGUMENT;
    pthread_mutex_lock(&c->mutex);
    hold *h = c->told;
    if (h != NULL) {
        c->told = h->next;
        c->told_count--;
        memcpy(name, h->name, strlen(h->name) + 1); /* it was checked when it was asked for */
        *token = h->token;
        free(h);
    }
    if (c->told == NULL) {
        uint64_t count;
        c->told_end = &c->told;
        ssize_t got = read(c->lost_fd, &count, sizeof count); /* no longer readable */
        (void)got;
    }
    pthread_mutex_unlock(&c->mutex);
    return h != NULL ? BATON_OK : BATON_BUSY;
}

/* Nanoseconds for which that token is surely held; UINT64_MAX: no lease. */
static uint64_t lease_left(baton_client *c, const char *name, uint64_t token)
{
    uint64_t left = 0;
    size_t bytes;
    uint64_t hash = name_hash(name, &bytes);
    pthread_mutex_lock(&c->mutex);
    const lock_name *n = names_find(&c->names, name, bytes, hash);
    const hold *h = n != NULL ? names_hold(n, token) : NULL;
    uint64_t now = clock_now();
    if (h != NULL && c->lease == 0)
        left = UINT64_MAX;
    else if (h != NULL && !h->over->unsure && now < h->over->sure_until)
        left = h->over->sure_until - now;
    pthread_mutex_unlock(&c->mutex);
    return left;
}

bool baton_client_holds(baton_client *client, const char *name, uint64_t token)
{
    return client != NULL && name != NULL && lease_left(client, name, token) > 0;
}

int64_t baton_client_lease_left_ms(baton_client *client, const char *name, uint64_t token)
{
    if (client == NULL || name == NULL)
        return 0;
    uint64_t left = lease_left(client, name, token);
    return left == UINT64_MAX ? INT64_MAX : (int64_t)(left / 1000000);
}

bool baton_client_is_cluster(baton_client *client)
{
    if (client == NULL)
        return false;
    pthread_mutex_lock(&client->mutex);
    bool is = client->is_cluster;
    pthread_mutex_unlock(&client->mutex);
    return is;
}

baton_client_counts baton_client_count(baton_client *client)
{
    if (client == NULL)
        return (baton_client_counts){0};
    pthread_mutex_lock(&client->mutex);
    baton_client_counts counts = client->counts;
    pthread_mutex_unlock(&client->mutex);
    return counts;
}
