/* Try, lock and exit: what threads of the process call. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int call_check(const baton_client *c, const char *name, lock_wanted *w)
{
    if (c == NULL || name == NULL || (c->lost != NULL && pthread_equal(pthread_self(), c->teller)))
        return BATON_BAD_ARGUMENT; /* from `lost`: what is told next would wait for it */
    if (!kin_is_own(c))
        return BATON_BAD_ARGUMENT;
    w->name = name;
    w->bytes = strnlen(name, BATON_CLIENT_NAME_BYTES);
    w->hash = name_hash(name, w->bytes);
    return w->bytes > 0 && w->bytes < BATON_CLIENT_NAME_BYTES ? BATON_OK : BATON_BAD_NAME;
}

int call_end(baton_client *c, int result, int error)
{
    pthread_mutex_unlock(&c->mutex);
    if (result == BATON_UNREACHABLE || result == BATON_SYSTEM)
        errno = error;
    return result;
}

static hold *new_hold(const lock_wanted *w)
{
    hold *h = calloc(1, sizeof *h + w->bytes + 1);
    if (h != NULL)
        memcpy(h->name, w->name, w->bytes);
    return h;
}

void call_ask(baton_client *c, line *k, request *r, const lock_wanted *w, uint64_t number,
              uint64_t max)
{
    pthread_cond_init(&r->answered, &c->monotonic);
    r->awaited = true;
    k->users++;
    line_ask(c, k, r, w->name, number);
    line_await(c, k, r, max);
    k->users--;
    if (k->dead)
        keeper_wake(c); /* to free it */
    pthread_cond_destroy(&r->answered);
}

/* ---- lines ---- */

/* A new one in the list, or NULL with a result and an error. The mutex is free meanwhile. */
static line *connect_anew(baton_client *c, int *result, int *error)
{
    if (c->line_count >= MAX_LINES) {
        *result = BATON_FULL;
        return NULL;
    }
    c->line_count++;
    course way = course_from(c, c->next_server);
    pthread_mutex_unlock(&c->mutex);
    line *k = line_open(c, &way, result);
    *error = errno;
    pthread_mutex_lock(&c->mutex);
    c->shunned |= way.tried;
    if (k == NULL)
        c->line_count--;
    else
        line_add(c, k);
    return k;
}

/* Until there is a main line; threads that want one at the same time share the attempt. */
static int get_main(baton_client *c, int *error)
{
    while (c->main == NULL) {
        if (c->connecting) {
            uint64_t attempts = c->attempts;
            while (c->attempts == attempts)
                pthread_cond_wait(&c->attempted, &c->mutex);
            *error = c->attempt_error;
            if (c->attempt_result != BATON_OK)
                return c->attempt_result;
            continue;
        }
        int result = BATON_OK; /* its own: it is written while the mutex is free */
        c->connecting = true;
        c->main = connect_anew(c, &result, error);
        c->connecting = false;
        c->attempts++;
        c->attempt_result = result;
        c->attempt_error = *error;
        pthread_cond_broadcast(&c->attempted);
        if (c->main == NULL)
            return result;
    }
    return BATON_OK;
}

/* One to wait over. */
static line *get_waiting(baton_client *c, int *result, int *error)
{
    LIST_EACH (at, &c->lines) {
        line *k = OWNER_OF(at, line, link);
        if (k->idle && !k->dead && list_is_empty(&k->requests)) {
            line_stir(c, k);
            return k;
        }
    }
    return connect_anew(c, result, error);
}

/* ---- try ---- */

/* Whether a try needs no message, since the answer is known to be no. */
static bool is_known_busy(const lock_name *n)
{
    return !list_is_empty(&n->holds) || (n->a.doing != WDME_TRIES && !wdme_gate_is_open(&n->a));
}

/*
 * Another thread's try of this name is on its way. Its answer is awaited, since it is ours too: if
 * it enters, we are too late, and if it fails, the gate is closed. Answering no before would be
 * wrong if both were to fail because of one who came later still.
 */
static void await_other_try(baton_client *c, lock_name *n)
{
    n->users++;
    while (n->a.doing == WDME_TRIES)
        pthread_cond_wait(&n->answered, &c->mutex);
    n->users--;
}

static int send_try(baton_client *c, const lock_wanted *w, uint64_t *token, int *error)
{
    line *k = c->main;
    lock_name *n = names_get(c, w->name, w->bytes, w->hash);
    hold *h = new_hold(w);
    if (n == NULL || h == NULL) {
        if (n != NULL)
            names_tidy(&c->names, n);
        free(h);
        *error = ENOMEM;
        return BATON_SYSTEM;
    }
    wdme_client_try(&n->a); /* sends, as its gate is open and it rests */
    request r = {.kind = ASK_TRY, .of = n, .hold = h, .a = &n->a};
    n->users++;
    call_ask(c, k, &r, w, 0, c->patience);
    line_rest(c, k); /* if nothing is held over it, and others try elsewhere by now */
    n->users--;
    free(r.hold);
    if (r.result == BATON_OK && names_hold(n, r.token) == NULL)
        r.result = BATON_LOST;
    names_tidy(&c->names, n);
    *token = r.token;
    *error = r.error;
    return r.result;
}

int baton_client_try(baton_client *client, const char *name, uint64_t *token)
{
    baton_client *c = client;
    lock_wanted w;
    int result = call_check(c, name, &w);
    int error = 0;
    if (result != BATON_OK || token == NULL)
        return result != BATON_OK ? result : BATON_BAD_ARGUMENT;
    pthread_mutex_lock(&c->mutex);
    c->counts.tries++;
    uint32_t moves = 0;
    for (;;) {
        lock_name *n = names_find(&c->names, w.name, w.bytes, w.hash);
        if (n != NULL && is_known_busy(n)) {
            c->counts.refused_here++;
            c->unreported++;
            return call_end(c, BATON_BUSY, 0);
        }
        if (n != NULL && n->a.doing == WDME_TRIES) {
            await_other_try(c, n);
            names_tidy(&c->names, n);
            continue;
        }
        if (c->main == NULL) {
            result = get_main(c, &error);
            if (result != BATON_OK)
                return call_end(c, result, error);
            continue; /* and look again: others may have been faster */
        }
        result = send_try(c, &w, token, &error);
        /* What a connection that broke may have entered has been left with it. */
        if (result != BATON_UNREACHABLE || ++moves >= c->servers)
            return call_end(c, result, error);
    }
}

/* ---- lock ---- */

/* The wait was long: whether the lease still runs must be known before the process may go on. */
static int make_sure(baton_client *c, line *k, int *error)
{
    request r = {.kind = ASK_RENEW};
    const lock_wanted nobody = {0};
    if (k->dead) {
        *error = ECONNRESET;
        return BATON_UNREACHABLE;
    }
    call_ask(c, k, &r, &nobody, k->watch.lease / 1000000, c->patience);
    k->watch.unsure = false;
    *error = r.error;
    return r.result;
}

static int wait_over(baton_client *c, line *k, const lock_wanted *w, uint64_t timeout_ms,
                     uint64_t *token, int *error)
{
    lock_name *n = names_get(c, w->name, w->bytes, w->hash);
    hold *h = new_hold(w);
    int result = BATON_SYSTEM;
    *error = ENOMEM;
    if (n == NULL || h == NULL) {
        free(h);
    } else {
        wdme_client_lock(&h->own);
        request r = {.kind = ASK_LOCK, .of = n, .hold = h, .a = &h->own};
        n->users++;
        k->watch.unsure = false;
        call_ask(c, k, &r, w, timeout_ms, timeout_ms > 0 ? timeout_ms * 1000000 + c->patience : 0);
        free(r.hold);
        result = r.result;
        *error = r.error;
        *token = r.token;
        if (result == BATON_OK && k->watch.unsure)
            result = make_sure(c, k, error);
        if (result == BATON_OK && names_hold(n, *token) == NULL)
            result = BATON_LOST;
        n->users--;
    }
    if (n != NULL)
        names_tidy(&c->names, n);
    return result;
}

/*
 * At one server. `moves` if its connection broke: then the wait is over there, and can go on at
 * another.
 */
static int lock_at_one(baton_client *c, const lock_wanted *w, uint64_t timeout_ms, uint64_t *token,
                       int *error, bool *moves)
{
    int result = BATON_OK;
    line *k = get_waiting(c, &result, error);
    if (k == NULL)
        return result;
    k->users++;
    result = wait_over(c, k, w, timeout_ms, token, error);
    line_rest(c, k);
    k->users--;
    if (k->dead)
        keeper_wake(c); /* to free it */
    else if (k->watch.lease > 0)
        keeper_due(c, k->watch.renew_at);
    *moves = result == BATON_UNREACHABLE && c->servers > 1;
    return result;
}

/* All are there, but let nobody in yet: a moment later they may. */
static void pause_a_round(baton_client *c)
{
    const struct timespec pause = {.tv_nsec = DRIFT_PAUSE};
    pthread_mutex_unlock(&c->mutex);
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&c->mutex);
}

int baton_client_lock(baton_client *client, const char *name, int64_t timeout_ms, uint64_t *token)
{
    baton_client *c = client;
    lock_wanted w;
    int result = call_check(c, name, &w);
    int error = 0;
    if (result != BATON_OK || token == NULL)
        return result != BATON_OK ? result : BATON_BAD_ARGUMENT;
    if (timeout_ms == 0)
        return baton_client_try(c, name, token);
    uint64_t max = timeout_ms < 0 ? 0 : (uint64_t)timeout_ms; /* 0: without end, on the wire */
    if (max > UINT32_MAX)
        max = UINT32_MAX;
    uint64_t until = clock_now() + max * 1000000;
    bool moves = false;
    pthread_mutex_lock(&c->mutex);
    for (uint32_t i = 0; i < MAX_MOVES && (i == 0 || moves); i++) {
        if (i > 0 && i % c->servers == 0)
            pause_a_round(c);
        uint64_t now = clock_now();
        if (i > 0 && max > 0) {
            if (now >= until)
                return call_end(c, BATON_BUSY, 0);
            max = (until - now) / 1000000 + 1;
        }
        moves = false;
        result = lock_at_one(c, &w, max, token, &error, &moves);
    }
    return call_end(c, result, error);
}

/* ---- exit ---- */

/* Out of it here, and then at the server. */
static int leave(baton_client *c, lock_name *n, hold *h, const lock_wanted *w)
{
    line *k = h->over;
    request r = {.kind = ASK_EXIT};
    uint64_t token = h->server_token;
    hold_detach(h);
    wdme_client_exit(h->a);
    free(h);
    names_tidy(&c->names, n);
    k->users++;
    call_ask(c, k, &r, w, token, c->patience);
    line_rest(c, k);
    k->users--;
    return r.result == BATON_OK ? BATON_OK : BATON_LOST;
}

int baton_client_exit(baton_client *client, const char *name, uint64_t token)
{
    baton_client *c = client;
    lock_wanted w;
    int result = call_check(c, name, &w);
    if (result != BATON_OK)
        return result;
    pthread_mutex_lock(&c->mutex);
    lock_name *n = names_find(&c->names, w.name, w.bytes, w.hash);
    hold *h = n != NULL ? names_hold(n, token) : NULL;
    if (h != NULL)
        h = move_await(c, n, token);
    if (h == NULL)
        return call_end(c, BATON_LOST, 0);
    if (watch_is_over(&h->over->watch, clock_now())) {
        line_cut(c, h->over, ETIMEDOUT);
        return call_end(c, BATON_LOST, 0);
    }
    result = leave(c, n, h, &w);
    return call_end(c, result, 0);
}
