/*
 * Sections that go on over another line when theirs has broken: the lines, questions and answers of
 * what drift.c decides. The same server may have kept it; the others let it go on when they have
 * found that one dead.
 */
#include "internal.h"
#include "proof.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool move_name(baton_client *c)
{
    uint8_t chance[PROOF_BYTES];
    char hex[PROOF_HEX + 1];
    if (c->servers == 1 || c->lease == 0)
        return true;
    if (!proof_nonce(chance))
        return false;
    proof_to_hex(chance, hex);
    memcpy(c->session, hex, sizeof c->session - 1);
    return true;
}

hold *move_await(baton_client *c, lock_name *n, uint64_t token)
{
    hold *h;
    n->users++;
    while ((h = names_hold(n, token)) != NULL && is_adrift(h))
        pthread_cond_wait(&c->moved, &c->mutex);
    n->users--;
    if (h == NULL)
        names_tidy(&c->names, n);
    return h;
}

/* ---- lines ---- */

/* This process can have no more of them. */
static bool is_want_of_room(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/*
 * A new one to that server, within so many nanoseconds; NULL, with errno, if there is none. The
 * mutex is free meanwhile.
 */
static line *new_line(baton_client *c, uint32_t server, uint64_t patience)
{
    int result;
    errno = EMFILE;
    if (c->line_count >= MAX_LINES)
        return NULL;
    c->line_count++;
    pthread_mutex_unlock(&c->mutex);
    line *k = line_open_at(c, server, patience, &result);
    int error = errno;
    pthread_mutex_lock(&c->mutex);
    if (k == NULL)
        c->line_count--;
    else
        line_add(c, k);
    errno = error;
    return k;
}

static uint32_t load_of(const line *k)
{
    return k->holds + k->arriving;
}

/* Of those over which sections are held, or come: the one with the fewest, and how many. */
typedef struct carriers {
    line *best;
    uint32_t count;
} carriers;

static carriers find_carriers(const baton_client *c, uint32_t server)
{
    carriers found = {0};
    LIST_EACH (at, &c->lines) {
        line *k = OWNER_OF(at, line, link);
        if (k->dead || !k->watch.named || k == c->main || load_of(k) == 0 ||
            (k->server != server && server != COURSE_END))
            continue;
        found.count++;
        if (found.best == NULL || load_of(k) < load_of(found.best))
            found.best = k;
    }
    return found;
}

/* Over which that is to be asked; NULL, if there is none. The mutex is free meanwhile. */
static line *get_line(baton_client *c, uint32_t server, uint64_t patience)
{
    carriers there = find_carriers(c, server);
    if (!drift_has_own_line(there.count))
        return there.best;
    line *k = new_line(c, server, patience);
    if (k != NULL)
        return k;
    if (!is_want_of_room(errno)) {
        c->shunned |= course_bit(server);
        return NULL;
    }
    line *any = find_carriers(c, COURSE_END).best;
    return any != NULL ? any : c->main;
}

/* ---- one that is adrift ---- */

static uint64_t lease_left(const hold *h)
{
    uint64_t now = clock_now();
    return h->over->watch.sure_until > now ? h->over->watch.sure_until - now : 0;
}

/* It could not go on there. */
static void come_back(baton_client *c, hold *h)
{
    drift_return(&c->drift, &h->drift, clock_now());
    pthread_cond_signal(&c->adrift);
}

/* Nobody looks at its name any more. */
static void let_go(baton_client *c, lock_name *n)
{
    n->users--;
    names_tidy(&c->names, n);
}

/* False if there is no memory. */
static bool ask(baton_client *c, line *k, lock_name *n, const hold *h)
{
    request *r = malloc(sizeof *r);
    if (r == NULL)
        return false;
    *r = (request){.kind = ASK_RESUME, .alone = true, .of = n, .token = h->token};
    r->wait_ms = drift_wait_ms(lease_left(h));
    k->arriving++;
    line_ask(c, k, r, h->name, h->server_token);
    return true;
}

static void move(baton_client *c, hold *h)
{
    lock_name *n = h->of;
    uint64_t token = h->token;
    uint32_t server = drift_set_out(&c->drift, &h->drift, c->shunned);
    n->users++;
    line *k = get_line(c, server, drift_patience(&c->drift, lease_left(h)));
    h = names_hold(n, token); /* it may be lost by now */
    if (h != NULL && k != NULL && k->watch.named && ask(c, k, n, h))
        return;
    if (k != NULL)
        line_rest(c, k);
    if (h != NULL)
        come_back(c, h);
    let_go(c, n);
}

/* ---- the answer ---- */

/* Granted to nobody. */
static void give_back(baton_client *c, line *k, const lock_name *n, uint64_t server_token)
{
    request *r = calloc(1, sizeof *r);
    if (r == NULL) {
        line_cut(c, k, ECONNRESET); /* and it is over with the lease */
        return;
    }
    r->kind = ASK_EXIT;
    r->alone = true;
    line_ask(c, k, r, n->name, server_token);
    line_rest(c, k);
}

static void arrive(baton_client *c, line *k, lock_name *n, hold *h, uint64_t server_token)
{
    hold_detach(h);
    h->over = k;
    h->server_token = server_token;
    h->a = &h->own;
    h->own = (wdme_client){0};
    wdme_client_lock(h->a);
    wdme_client_receive(
        h->a,
        (wdme_message){.kind = WDME_OK, .request = h->a->request, .generation = server_token});
    hold_attach(n, h);
    pthread_cond_broadcast(&c->moved);
    keeper_wake(c); /* to free the line that it came from, and to renew this one in time */
}

static drift_answer read_answer(const reply_value *v)
{
    if (v == NULL)
        return DRIFT_NOTHING;
    if (v->kind == REPLY_INTEGER && v->number > 0)
        return DRIFT_GRANTED;
    return resp_reply_fails_with(v, "EJECTED") || resp_reply_fails_with(v, "NAME") ? DRIFT_EJECTED
                                                                                   : DRIFT_REFUSED;
}

bool move_take(baton_client *c, line *k, request *r, const reply_value *v)
{
    lock_name *n = r->of;
    hold *h = names_hold(n, r->token);
    drift_answer answer = read_answer(v);
    drift_verdict verdict = drift_judge(answer, h != NULL ? lease_left(h) : 0);
    free(r);
    k->arriving--;
    if (h != NULL && verdict == DRIFT_GOES_ON)
        come_back(c, h);
    else if (h != NULL && verdict != DRIFT_ARRIVES)
        hold_lose(c, h);
    if (h != NULL && verdict == DRIFT_ARRIVES)
        arrive(c, k, n, h, (uint64_t)v->number);
    else if (verdict == DRIFT_TOO_LATE)
        give_back(c, k, n, (uint64_t)v->number);
    else if (v != NULL)
        line_rest(c, k);
    let_go(c, n);
    return answer != DRIFT_REFUSED || v->kind == REPLY_ERROR || v->kind == REPLY_NULL;
}

/* ---- the mover ---- */

/* Makes a line to ask over, where all others are blocked. If there is no answer, it is silent. */
static void look_whether_it_lives(baton_client *c, uint32_t server)
{
    const server_watch *s = &c->watched[server];
    uint64_t began = clock_now();
    c->wanted &= ~course_bit(server);
    line *k = new_line(c, server, s->limit);
    if (k != NULL)
        line_rest(c, k);
    else if (!is_want_of_room(errno) && s->heard_at <= began)
        server_leave(c, server);
    keeper_wake(c);
}

/* Until there is something to do, or so many nanoseconds have passed. */
static void rest(baton_client *c, uint64_t max)
{
    struct timespec at;
    if (max == WATCH_NEVER) {
        pthread_cond_wait(&c->adrift, &c->mutex);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t until = (uint64_t)at.tv_nsec + max;
    at.tv_sec += (time_t)(until / 1000000000u);
    at.tv_nsec = (long)(until % 1000000000u);
    pthread_cond_timedwait(&c->adrift, &c->mutex, &at);
}

void *move_run(void *client)
{
    baton_client *c = client;
    pthread_mutex_lock(&c->mutex);
    while (!c->closing) {
        uint64_t now = clock_now(), next;
        drifter *d = drift_next(&c->drift, now, &next);
        if (d != NULL)
            move(c, OWNER_OF(d, hold, drift));
        else if (c->wanted != 0)
            look_whether_it_lives(c, (uint32_t)__builtin_ctzll(c->wanted));
        else
            rest(c, next == WATCH_NEVER ? next : next - now);
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}
