/* Try, lock and exit: what threads of the process call. */
#include "room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The name as the calls below need it. */
typedef struct wanted {
    const char *name;
    size_t bytes;
    uint64_t hash;
} wanted;

/* Whether the arguments can be right; BATON_OK, or what is wrong. */
static int check(const baton_client *c, const char *name, wanted *w)
{
    if (c == NULL || name == NULL || pthread_equal(pthread_self(), c->keeper))
        return BATON_BAD_ARGUMENT; /* from `lost`: the keeper cannot wait for itself */
    w->name = name;
    w->hash = name_hash(name, &w->bytes);
    return w->bytes > 0 && w->bytes < BATON_CLIENT_NAME_BYTES ? BATON_OK : BATON_BAD_NAME;
}

static int leave_with(baton_client *c, int result, int error)
{
    pthread_mutex_unlock(&c->mutex);
    if (result == BATON_UNREACHABLE || result == BATON_SYSTEM)
        errno = error;
    return result;
}

static hold *new_hold(const wanted *w)
{
    hold *h = calloc(1, sizeof *h + w->bytes + 1);
    if (h != NULL)
        memcpy(h->name, w->name, w->bytes);
    return h;
}

/* Sends, waits, and answers with what came. The mutex is free meanwhile. */
static void ask(baton_client *c, line *k, request *r, const wanted *w, uint64_t number,
                uint64_t most)
{
    pthread_cond_init(&r->answered, &c->monotonic);
    r->awaited = true;
    k->users++;
    line_ask(c, k, r, w->name, number);
    line_await(c, k, r, most);
    k->users--;
    if (k->dead)
        keeper_wake(c); /* to free it */
    pthread_cond_destroy(&r->answered);
}

/* ---- lines ---- */

/* A new one in the list, or NULL with a result and an error. The mutex is free meanwhile. */
static line *connect_anew(baton_client *c, int *result, int *error)
{
    if (c->line_count >= MOST_LINES) {
        *result = BATON_FULL;
        return NULL;
    }
    c->line_count++;
    pthread_mutex_unlock(&c->mutex);
    line *k = line_open(c, result);
    *error = errno;
    pthread_mutex_lock(&c->mutex);
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
        c->connecting = true;
        c->main = connect_anew(c, &c->attempt_result, &c->attempt_error);
        c->connecting = false;
        c->attempts++;
        pthread_cond_broadcast(&c->attempted);
        *error = c->attempt_error;
        if (c->main == NULL)
            return c->attempt_result;
    }
    return BATON_OK;
}

/* One to wait over. */
static line *get_waiting(baton_client *c, int *result, int *error)
{
    for (line *k = c->lines; k != NULL; k = k->next) {
        if (k->idle && !k->dead && k->first == NULL) {
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
    return n->holds != NULL || (n->a.doing != WDME_TRIES && !wdme_gate_is_open(&n->a));
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

static int send_try(baton_client *c, const wanted *w, uint64_t *token, int *error)
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
    ask(c, k, &r, w, 0, c->patience);
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
    wanted w;
    int result = check(c, name, &w);
    int error = 0;
    if (result != BATON_OK || token == NULL)
        return result != BATON_OK ? result : BATON_BAD_ARGUMENT;
    pthread_mutex_lock(&c->mutex);
    c->counts.tries++;
    for (;;) {
        lock_name *n = names_find(&c->names, w.name, w.bytes, w.hash);
        if (n != NULL && is_known_busy(n)) {
            c->counts.refused_here++;
            c->unreported++;
            return leave_with(c, BATON_BUSY, 0);
        }
        if (n != NULL && n->a.doing == WDME_TRIES) {
            await_other_try(c, n);
            names_tidy(&c->names, n);
            continue;
        }
        if (c->main != NULL)
            break;
        result = get_main(c, &error); /* and look again: others may have been faster */
        if (result != BATON_OK)
            return leave_with(c, result, error);
    }
    result = send_try(c, &w, token, &error);
    return leave_with(c, result, error);
}

/* ---- lock ---- */

/* The wait was long: whether the lease still runs must be known before the process may go on. */
static int make_sure(baton_client *c, line *k, int *error)
{
    request r = {.kind = ASK_RENEW};
    const wanted nobody = {0};
    if (k->dead) {
        *error = ECONNRESET;
        return BATON_UNREACHABLE;
    }
    ask(c, k, &r, &nobody, c->lease / 1000000, c->patience);
    k->unsure = false;
    *error = r.error;
    return r.result;
}

static int wait_over(baton_client *c, line *k, const wanted *w, uint64_t timeout_ms,
                     uint64_t *token, int *error)
{
    lock_name *n = names_get(c, w->name, w->bytes, w->hash);
    hold *h = new_hold(w);
    int result = BATON_SYSTEM;
    *error = ENOMEM;
    if (n == NULL || h == NULL) {
        free(h);
    } else {
        wdme_client_lock(&k->a);
        request r = {.kind = ASK_LOCK, .of = n, .hold = h, .a = &k->a};
        n->users++;
        k->unsure = false;
        ask(c, k, &r, w, timeout_ms, timeout_ms > 0 ? timeout_ms * 1000000 + c->patience : 0);
        free(r.hold);
        result = r.result;
        *error = r.error;
        *token = r.token;
        if (result == BATON_OK && k->unsure)
            result = make_sure(c, k, error);
        if (result == BATON_OK && names_hold(n, *token) == NULL)
            result = BATON_LOST;
        n->users--;
    }
    if (n != NULL)
        names_tidy(&c->names, n);
    return result;
}

int baton_client_lock(baton_client *client, const char *name, int64_t timeout_ms, uint64_t *token)
{
    baton_client *c = client;
    wanted w;
    int result = check(c, name, &w);
    int error = 0;
    if (result != BATON_OK || token == NULL)
        return result != BATON_OK ? result : BATON_BAD_ARGUMENT;
    if (timeout_ms == 0)
        return baton_client_try(c, name, token);
    uint64_t most = timeout_ms < 0 ? 0 : (uint64_t)timeout_ms; /* 0: without end, on the wire */
    if (most > UINT32_MAX)
        most = UINT32_MAX;
    pthread_mutex_lock(&c->mutex);
    line *k = get_waiting(c, &result, &error);
    if (k == NULL)
        return leave_with(c, result, error);
    k->users++;
    result = wait_over(c, k, &w, most, token, &error);
    if (k->holds == 0 && !k->dead && !k->idle)
        line_rest(c, k);
    k->users--;
    if (k->dead)
        keeper_wake(c); /* to free it */
    else if (c->lease > 0)
        keeper_due(c, k->renew_at);
    return leave_with(c, result, error);
}

/* ---- exit ---- */

/* Out of it here, and then at the server. */
static int leave(baton_client *c, lock_name *n, hold *h, const wanted *w)
{
    line *k = h->over;
    bool is_main = k == c->main;
    request r = {.kind = ASK_EXIT};
    uint64_t token = h->token;
    hold_detach(n, h);
    free(h);
    wdme_client_exit(is_main ? &n->a : &k->a);
    names_tidy(&c->names, n);
    k->users++;
    ask(c, k, &r, w, token, c->patience);
    if (!is_main && !k->dead)
        line_rest(c, k);
    k->users--;
    return r.result == BATON_OK ? BATON_OK : BATON_LOST;
}

int baton_client_exit(baton_client *client, const char *name, uint64_t token)
{
    baton_client *c = client;
    wanted w;
    int result = check(c, name, &w);
    if (result != BATON_OK)
        return result;
    pthread_mutex_lock(&c->mutex);
    lock_name *n = names_find(&c->names, w.name, w.bytes, w.hash);
    hold *h = n != NULL ? names_hold(n, token) : NULL;
    if (h == NULL)
        return leave_with(c, BATON_LOST, 0);
    if (line_is_over(c, h->over, clock_now())) {
        line_cut(c, h->over, ETIMEDOUT);
        return leave_with(c, BATON_LOST, 0);
    }
    result = leave(c, n, h, &w);
    return leave_with(c, result, 0);
}
