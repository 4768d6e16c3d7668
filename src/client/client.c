/* Begin and end of a client, and what can be asked of it without a message. */
#include "internal.h"

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
    pthread_cond_init(&c->news, NULL);
    pthread_cond_init(&c->adrift, &c->monotonic);
}

/* Of one server, nothing can go on at another. */
static bool has_mover(const baton_client *c)
{
    return c->servers > 1;
}

/* The first so many of them. */
static void end_threads(baton_client *c, int count)
{
    pthread_mutex_lock(&c->mutex);
    c->closing = true;
    keeper_wake(c);
    pthread_cond_signal(&c->adrift);
    pthread_cond_signal(&c->news);
    pthread_mutex_unlock(&c->mutex);
    if (count > 0)
        pthread_join(c->keeper, NULL);
    if (count > 1 && has_mover(c))
        pthread_join(c->mover, NULL);
    if (count > 2 && c->lost != NULL)
        pthread_join(c->teller, NULL);
}

/* They take no signals: these are for threads of the process. */
static int start_threads(baton_client *c)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int count = 0;
    int error = pthread_create(&c->keeper, NULL, keeper_run, c);
    if (error == 0) {
        count++;
        error = has_mover(c) ? pthread_create(&c->mover, NULL, move_run, c) : 0;
    }
    if (error == 0) {
        count++;
        error = c->lost != NULL ? pthread_create(&c->teller, NULL, tell_run, c) : 0;
    }
    if (error != 0)
        end_threads(c, count);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void free_client(baton_client *c)
{
    LIST_EACH (at, &c->lines)
        line_free(OWNER_OF(at, line, link));
    names_free(&c->names);
    holds_free(&c->untold);
    holds_free(&c->told);
    close(c->lost_fd); /* or -1, if it could not be had: no harm */
    close(c->wake_fd);
    close(c->watch_fd);
    pthread_cond_destroy(&c->attempted);
    pthread_cond_destroy(&c->moved);
    pthread_cond_destroy(&c->news);
    pthread_cond_destroy(&c->adrift);
    pthread_condattr_destroy(&c->monotonic);
    pthread_mutex_destroy(&c->mutex);
    book_close(c->book);
    channel_tls_close(&c->tls);
    for (size_t i = 0; i < sizeof c->kept / sizeof c->kept[0]; i++)
        free(c->kept[i]);
    free(c);
}

/* A copy of an option, if it was given; false if there is no memory. */
static bool keep(baton_client *c, size_t which, const char *option)
{
    c->kept[which] = option != NULL ? strdup(option) : NULL;
    return option == NULL || c->kept[which] != NULL;
}

static bool keep_all(baton_client *c, const baton_client_options *o)
{
    bool fine = keep(c, 0, o->address) && keep(c, 1, o->password) && keep(c, 2, o->tls_ca) &&
                keep(c, 3, o->tls_cert) && keep(c, 4, o->tls_key);
    c->addresses = c->kept[0];
    c->password = c->kept[1];
    c->tls = (channel_tls){
        .password = c->password, .ca = c->kept[2], .cert = c->kept[3], .key = c->kept[4]};
    return fine;
}

static baton_client *new_client(const baton_client_options *o)
{
    baton_client *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    start_sync(c);
    c->lease = (uint64_t)o->lease_ms * 1000000;
    c->cluster_lease = (uint64_t)o->cluster_lease_ms * 1000000;
    c->patience = (uint64_t)(o->patience_ms != 0 ? o->patience_ms : PATIENCE_MS) * 1000000;
    c->lost = o->lost;
    c->context = o->context;
    c->max_names = MAX_NAMES;
    list_start(&c->lines);
    list_start(&c->untold);
    list_start(&c->told);
    c->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->wake_fd = c->watch_fd = -1;
    if (keep_all(c, o) && c->lost_fd >= 0 && names_start(&c->names) && keeper_prepare(c))
        return c;
    int error = errno;
    free_client(c);
    errno = error;
    return NULL;
}

int baton_client_open(const baton_client_options *options, baton_client **client)
{
    if (options == NULL || client == NULL || options->address == NULL ||
        options->address[0] == '\0' || (options->cluster_lease_ms != 0 && options->lease_ms == 0) ||
        (options->tls_cert == NULL) != (options->tls_key == NULL))
        return BATON_BAD_ARGUMENT;
    *client = NULL;
    baton_client *c = new_client(options);
    if (c == NULL)
        return BATON_SYSTEM;
    int result = BATON_BAD_ARGUMENT;
    course way = {0};
    if (servers_split(c) && move_name(c)) {
        drift_start(&c->drift, c->servers);
        c->book = book_open(c->server, c->servers);
        way = course_from(c, 0);
        result = !servers_secure(c) ? BATON_REFUSED : BATON_SYSTEM;
        if (c->book != NULL && result == BATON_SYSTEM)
            c->main = line_open(c, &way, &result);
    }
    int error = errno;
    if (c->main != NULL) {
        c->shunned = way.tried;
        c->line_count = 1;
        line_add(c, c->main);
        error = start_threads(c);
        result = error == 0 ? BATON_OK : BATON_SYSTEM;
    }
    if (result == BATON_OK) {
        kin_add(c);
        *client = c;
        return BATON_OK;
    }
    free_client(c);
    errno = error;
    return result;
}

/* ---- end ---- */

/* Some of what is still held. */
typedef struct remaining {
    uint32_t count;
    struct {
        uint64_t token;
        char name[BATON_CLIENT_NAME_BYTES];
    } some[32];
} remaining;

static void find_remaining(baton_client *c, remaining *r)
{
    const uint32_t max = sizeof r->some / sizeof r->some[0];
    r->count = 0;
    pthread_mutex_lock(&c->mutex);
    name_walk all = name_walk_all(&c->names);
    const lock_name *n;
    while (r->count < max && (n = OWNER_OF(name_walk_next(&all), lock_name, entry)) != NULL) {
        const hold *h = OWNER_OF(list_first(&n->holds), hold, link);
        if (h == NULL)
            continue;
        r->some[r->count].token = h->token;
        memcpy(r->some[r->count++].name, n->name, n->bytes + 1);
    }
    pthread_mutex_unlock(&c->mutex);
}

void baton_client_close(baton_client *client)
{
    baton_client *c = client;
    if (c == NULL)
        return;
    if (!kin_is_own(c)) {
        kin_close(c);
        return;
    }
    remaining r;
    do { /* a server with --grace would keep for a while what a connection leaves behind */
        find_remaining(c, &r);
        for (uint32_t i = 0; i < r.count; i++)
            baton_client_exit(c, r.some[i].name, r.some[i].token);
    } while (r.count > 0);
    end_threads(c, 3);
    kin_remove(c);
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
    if (c == NULL || name == NULL || token == NULL || !kin_is_own(c))
        return BATON_BAD_ARGUMENT;
    pthread_mutex_lock(&c->mutex);
    hold *h = OWNER_OF(list_pop(&c->told), hold, link);
    if (h != NULL) {
        c->told_count--;
        memcpy(name, h->name, strlen(h->name) + 1); /* it was checked when it was asked for */
        *token = h->token;
        free(h);
    }
    if (list_is_empty(&c->told)) {
        uint64_t count;
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
    if (!kin_is_own(c))
        return left;
    size_t bytes = strnlen(name, BATON_CLIENT_NAME_BYTES);
    uint64_t hash = name_hash(name, bytes);
    pthread_mutex_lock(&c->mutex);
    const lock_name *n = names_find(&c->names, name, bytes, hash);
    const hold *h = n != NULL ? names_hold(n, token) : NULL;
    uint64_t now = clock_now();
    if (h != NULL && h->over->watch.lease == 0)
        left = UINT64_MAX;
    else if (h != NULL && !h->over->watch.unsure && now < h->over->watch.sure_until)
        left = h->over->watch.sure_until - now;
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
