/*
 * Sections that go on over another line when theirs has broken. Who is adrift is taken to the same
 * server first, which may have kept it, and then to the others, which let it go on when they have
 * found that one dead; all within the lease, as this process counts it.
 */
#include "../net/proof.h"
#include "room.h"

#include <string.h>
#include <time.h>

#define ROUND_PAUSE 50000000u /* nanoseconds between a try at all servers and the next */

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

bool move_can(const baton_client *c, const line *k)
{
    return c->lease > 0 && k->named && !k->unsure;
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

/* ---- a line for one that is adrift ---- */

static uint64_t lease_left(const hold *h)
{
    uint64_t now = clock_now();
    return h->over->sure_until > now ? h->over->sure_until - now : 0;
}

/* It may be tried again, if it is not lost; and nobody looks at its name any more. */
static void stop(baton_client *c, lock_name *n, uint64_t token)
{
    hold *h = names_hold(n, token);
    if (h != NULL && h->moves) {
        h->moves = false;
        h->move_at = clock_now() + (h->tried % c->servers == 0 ? ROUND_PAUSE : 0);
        pthread_cond_signal(&c->adrift);
    }
    n->users--;
    names_tidy(&c->names, n);
}

static void ask(baton_client *c, line *k, lock_name *n, const hold *h)
{
    request *r = &k->resumption;
    *r = (request){.kind = ASK_RESUME, .of = n, .a = &k->a, .token = h->token};
    r->wait_ms = lease_left(h) / 2000000 + 1; /* then another may be asked */
    wdme_client_lock(&k->a);
    line_ask(c, k, r, h->name, h->wire);
}

static void move(baton_client *c, lock_name *n, hold *h)
{
    uint32_t server = (h->over->server + h->tried) % c->servers;
    uint64_t patience = lease_left(h) / (2 * (uint64_t)c->servers);
    uint64_t token = h->token;
    int result;
    h->moves = true;
    h->tried++;
    n->users++;
    c->line_count++;
    pthread_mutex_unlock(&c->mutex);
    line *k = line_open_at(c, server, patience, &result);
    pthread_mutex_lock(&c->mutex);
    h = names_hold(n, token); /* it may be lost by now */
    if (k == NULL) {
        c->line_count--;
    } else {
        line_add(c, k);
        if (h != NULL && k->named) {
            ask(c, k, n, h);
            return;
        }
        line_rest(c, k);
    }
    stop(c, n, token);
}

/* ---- the answer ---- */

/* Granted to nobody. Who says QUIT leaves everything. */
static void give_back(baton_client *c, line *k)
{
    resp_array(&k->out, 1);
    resp_text(&k->out, "QUIT");
    line_flush(c, k);
    line_cut(c, k, 0);
}

static void arrive(baton_client *c, line *k, lock_name *n, hold *h, uint64_t wire)
{
    hold_detach(n, h);
    h->over = k;
    h->wire = wire;
    h->moves = false;
    h->tried = 0;
    hold_attach(n, h);
    pthread_cond_broadcast(&c->moved);
    keeper_due(c, k->renew_at);
    keeper_wake(c); /* to free the line that it came from */
}

static bool is_refused_for_good(const reply_value *v)
{
    return resp_reply_fails_with(v, "EJECTED") || resp_reply_fails_with(v, "NAME");
}

bool move_take(baton_client *c, line *k, const reply_value *v)
{
    request *r = &k->resumption;
    lock_name *n = r->of;
    if (r->done)
        return true;
    r->done = true;
    hold *h = names_hold(n, r->token);
    bool granted = v != NULL && v->kind == REPLY_INTEGER && v->number > 0;
    wdme_message m = {.kind = granted ? WDME_OK : WDME_TIMEOUT, .request = k->a.request};
    m.generation = granted ? (uint64_t)v->number : 0;
    wdme_client_receive(&k->a, m);
    if (h != NULL && ((granted && lease_left(h) == 0) || (v != NULL && is_refused_for_good(v)))) {
        hold_lose(c, n, h);
        h = NULL;
    }
    if (granted && h != NULL)
        arrive(c, k, n, h, m.generation);
    else if (granted)
        give_back(c, k);
    else if (v != NULL)
        line_rest(c, k);
    stop(c, n, r->token);
    return granted || v == NULL || v->kind == REPLY_ERROR || v->kind == REPLY_NULL;
}

/* ---- the mover ---- */

typedef struct search {
    lock_name *of;
    hold *found;
    uint64_t now, next;
} search;

static void look_for_adrift(baton_client *c, lock_name *n, void *context)
{
    search *s = context;
    (void)c;
    for (hold *h = n->holds; h != NULL && s->found == NULL; h = h->next) {
        if (!is_adrift(h) || h->moves)
            continue;
        if (h->move_at > s->now) {
            s->next = h->move_at < s->next ? h->move_at : s->next;
        } else {
            s->of = n;
            s->found = h;
        }
    }
}

/* Until somebody is adrift, or so many nanoseconds have passed. */
static void rest(baton_client *c, uint64_t most)
{
    struct timespec at;
    if (most == UINT64_MAX) {
        pthread_cond_wait(&c->adrift, &c->mutex);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t until = (uint64_t)at.tv_nsec + most;
    at.tv_sec += (time_t)(until / 1000000000u);
    at.tv_nsec = (long)(until % 1000000000u);
    pthread_cond_timedwait(&c->adrift, &c->mutex, &at);
}

void *move_run(void *client)
{
    baton_client *c = client;
    pthread_mutex_lock(&c->mutex);
    while (!c->closing) {
        search s = {.now = clock_now(), .next = UINT64_MAX};
        names_each(c, look_for_adrift, &s);
        if (s.found != NULL)
            move(c, s.of, s.found);
        else
            rest(c, s.next == UINT64_MAX ? s.next : s.next - s.now);
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}
