/* Lines to the server: requests go out, replies come in, in the same order; and the end of it. */
#include "internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The clock of condition variables; it stands still while the machine sleeps. */
static uint64_t monotonic_now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void have_heard(baton_client *c, line *k)
{
    k->heard_at = c->watched[k->server].heard_at = clock_now();
    c->shunned &= ~course_bit(k->server);
}

void line_add(baton_client *c, line *k)
{
    list_push_front(&c->lines, &k->link);
    c->counts.messages += k->watch.lease > 0 ? 4 : 2; /* HELLO, RENEW, and the answers */
    c->counts.messages += k->watch.named ? 2 : 0;
    c->next_server = k->server; /* the others shall go where this one has found somebody */
    c->is_cluster = k->is_cluster;
    have_heard(c, k);
    keeper_watch(c, k);
    if (k->watch.lease > 0)
        keeper_due(c, k->watch.renew_at);
    if (channel_has_more(&k->channel))
        line_read(c, k); /* which the socket says nothing of */
}

/* ---- rest ---- */

uint64_t line_idle_until(const line *k)
{
    return k->idle_since + (uint64_t)IDLE_SECONDS * 1000000000u;
}

void line_rest(baton_client *c, line *k)
{
    if (k->dead || k->idle || k->holds > 0 || k->arriving > 0)
        return;
    if (k->watch.suspended) { /* that it is so no more is told to those who hold or wait */
        line_cut(c, k, ECONNRESET);
        return;
    }
    if (k == c->main)
        return;
    k->idle = true;
    k->idle_since = clock_now();
    if (++c->idle_lines > MAX_IDLE)
        keeper_wake(c); /* it cuts what is too much */
    else
        keeper_due(c, line_idle_until(k));
}

void line_stir(baton_client *c, line *k)
{
    if (k->idle)
        c->idle_lines--;
    k->idle = false;
}

/* ---- the end ---- */

static void lose_name(baton_client *c, lock_name *n, void *context)
{
    const line *k = context;
    LIST_EACH (at, &n->holds) {
        hold *h = OWNER_OF(at, hold, link);
        if (h->over == k)
            hold_lose(c, h);
    }
    names_tidy(&c->names, n);
}

void line_lose(baton_client *c, line *k)
{
    names_each(c, lose_name, k);
    assert(k->holds == 0);
}

typedef struct cut {
    const line *of;
    bool can_move; /* what is held over it */
} cut;

/* Nothing that was known over the line remains. */
static void cut_name(baton_client *c, lock_name *n, void *context)
{
    const cut *this = context;
    const line *k = this->of;
    LIST_EACH (at, &n->holds) {
        hold *h = OWNER_OF(at, hold, link);
        if (h->over != k)
            continue;
        wdme_client_cut(h->a);
        if (this->can_move)
            drift_begin(&c->drift, &h->drift, k->server);
        else
            hold_lose(c, h);
    }
    if (k == c->main) {
        wdme_client_cut(&n->a);
        pthread_cond_broadcast(&n->answered);
    }
    names_tidy(&c->names, n);
}

static void cut_try(const request *r)
{
    wdme_client_cut(r->a);
    pthread_cond_broadcast(&r->of->answered);
}

/* If nobody reads there; else who does closes it: the number may be another's at once. */
static void close_socket(line *k)
{
    if (k->has_reader || k->channel.socket < 0)
        return;
    channel_close(&k->channel); /* where descriptors are scarce, the next line needs it */
}

void line_cut(baton_client *c, line *k, int error)
{
    if (k->dead)
        return;
    k->dead = true;
    line_stir(c, k);
    keeper_watch(c, k);
    shutdown(k->channel.socket, SHUT_RDWR);
    close_socket(k);
    for (request *r; (r = OWNER_OF(list_pop(&k->requests), request, link)) != NULL;) {
        if (r->kind == ASK_TRY) /* the line may be the main one no longer */
            cut_try(r);
        if (r->kind == ASK_RESUME)
            move_take(c, k, r, NULL);
        else if (r->alone)
            free(r);
        else
            request_finish(r, BATON_UNREACHABLE, error);
    }
    k->renewing = false;
    cut this = {.of = k,
                .can_move = error != 0 && watch_can_move(&k->watch) &&
                            !watch_is_over(&k->watch, clock_now())};
    names_each(c, cut_name, &this);
    if (k->holds > 0)
        pthread_cond_signal(&c->adrift);
    if (k == c->main)
        c->main = NULL;
    if (error != 0 && c->next_server == k->server) /* which may be dead or hang */
        c->next_server = (k->server + 1) % c->servers;
    keeper_wake(c);
}

/* ---- out ---- */

void line_flush(baton_client *c, line *k)
{
    if (k->out.overflow) {
        line_cut(c, k, ENOBUFS);
        return;
    }
    if (k->dead || !line_owes(k))
        return;
    ssize_t sent = channel_send(&k->channel, k->out.at, k->out.bytes, MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        line_cut(c, k, errno);
        return;
    }
    if (sent > 0) {
        k->out.bytes -= (size_t)sent;
        memmove(k->out.at, k->out.at + sent, k->out.bytes);
    }
    if (line_owes(k))
        keeper_watch(c, k); /* it sends the rest when there is room */
}

static void put_number(resp_out *out, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    resp_text(out, digits);
}

/* A command, and with it, at no message's cost, how many tries were refused here since the last. */
static void put(baton_client *c, resp_out *out, const char *verb, const char *name,
                const uint64_t *number)
{
    uint64_t refused = c->unreported < UINT32_MAX ? c->unreported : UINT32_MAX;
    resp_array(out, 1u + (name != NULL) + (number != NULL) + (refused > 0));
    resp_text(out, verb);
    if (name != NULL)
        resp_text(out, name);
    if (number != NULL)
        put_number(out, *number);
    if (refused > 0)
        put_number(out, refused);
    c->unreported -= refused;
}

static void put_operation(resp_out *out, const request *r, const char *name, uint64_t token)
{
    resp_array(out, (uint32_t)(3 + r->word_count));
    resp_text(out, "ISSUE");
    resp_text(out, name);
    put_number(out, token);
    for (size_t i = 0; i < r->word_count; i++)
        resp_bulk(out, r->words[i].at, r->words[i].bytes);
}

static void put_resumption(resp_out *out, const request *r, const char *name, uint64_t token)
{
    resp_array(out, 4);
    resp_text(out, "RESUME");
    resp_text(out, name);
    put_number(out, token);
    put_number(out, r->wait_ms);
}

static void enlist(baton_client *c, line *k, request *r)
{
    r->done = false;
    r->sent_at = clock_now(); /* before it is sent */
    list_push_back(&k->requests, &r->link);
    watch_sent(&k->watch, r->sent_at);
    if (c->servers > 1) /* so that it is noticed if there is no answer */
        keeper_due(c, watch_look_at(&k->watch, r->sent_at, c->patience));
    c->counts.messages++;
}

void line_renew(baton_client *c, line *k)
{
    uint64_t lease = k->watch.lease / 1000000; /* 0: just to be answered */
    assert(!k->renewing);
    k->renewal = (request){.kind = ASK_RENEW};
    k->renewing = true;
    enlist(c, k, &k->renewal);
    put(c, &k->out, "RENEW", NULL, &lease);
    line_flush(c, k);
}

static void become_reader(const baton_client *c, line *k, request *r)
{
    if (k->has_reader)
        return;
    k->has_reader = r->reads = true;
    keeper_watch(c, k);
}

void line_ask(baton_client *c, line *k, request *r, const char *name, uint64_t number)
{
    assert(!k->dead);
    if (r->awaited)
        become_reader(c, k, r); /* before there can be an answer, lest that wake the keeper */
    enlist(c, k, r);
    switch (r->kind) {
    case ASK_TRY:
        put(c, &k->out, "TRY", name, NULL);
        break;
    case ASK_LOCK:
        put(c, &k->out, "LOCK", name, &number); /* when it is granted, the lease begins anew */
        break;
    case ASK_EXIT:
        put(c, &k->out, "EXIT", name, &number);
        break;
    case ASK_RENEW:
        put(c, &k->out, "RENEW", NULL, &number);
        break;
    case ASK_ISSUE:
        put_operation(&k->out, r, name, number);
        break;
    case ASK_RESUME:
        put_resumption(&k->out, r, name, number);
        break;
    }
    line_flush(c, k);
}

/* ---- in ---- */

static void read_some(baton_client *c, line *k)
{
    const resp_limits limits = {.word_bytes = MAX_REPLY / 2, .command_bytes = MAX_REPLY - 1};
    if (!line_make_room(k)) {
        line_cut(c, k, errno);
        return;
    }
    ssize_t got = channel_receive(&k->channel, k->in + k->in_bytes, k->in_capacity - k->in_bytes,
                                  MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        line_cut(c, k, got == 0 ? ECONNRESET : errno);
        return;
    }
    k->in_bytes += (size_t)got;
    have_heard(c, k);
    size_t used = 0;
    while (!k->dead) {
        resp_reply reply;
        resp_parsed p = resp_reply_parse(k->in + used, k->in_bytes - used, &limits, &reply);
        if (p.verdict == RESP_MORE)
            break;
        resp_word bytes = {k->in + used, p.used};
        if (p.verdict == RESP_BAD || !answer_take(c, k, &reply, bytes)) {
            line_cut(c, k, EPROTO);
            return;
        }
        used += p.used;
    }
    k->in_bytes -= used;
    memmove(k->in, k->in + used, k->in_bytes);
}

void line_read(baton_client *c, line *k)
{
    do
        read_some(c, k);
    while (!k->dead && channel_has_more(&k->channel));
    if (!k->dead && channel_owes(&k->channel))
        line_flush(c, k); /* what TLS itself has to answer */
}

/* ---- waiting ---- */

/* Whoever waits next for an answer reads it; if nobody does, the keeper sees to what may come. */
static void pass_on_reading(const baton_client *c, line *k)
{
    k->has_reader = false;
    if (k->dead) {
        close_socket(k);
        return;
    }
    LIST_EACH (at, &k->requests) {
        request *next = OWNER_OF(at, request, link);
        if (next->awaited) {
            pthread_cond_signal(&next->answered);
            return;
        }
    }
    keeper_watch(c, k);
}

/* Waits at the socket, without the mutex, and reads what is there. */
static void read_when_ready(baton_client *c, line *k, uint64_t until)
{
    struct pollfd one = {.fd = k->channel.socket, .events = POLLIN};
    int max = -1;
    if (until != 0) {
        uint64_t now = monotonic_now();
        uint64_t ms = until > now ? (until - now) / 1000000 + 1 : 0;
        max = ms < INT_MAX ? (int)ms : INT_MAX;
    }
    pthread_mutex_unlock(&c->mutex);
    int ready = poll(&one, 1, max);
    pthread_mutex_lock(&c->mutex);
    if (ready > 0 && !k->dead)
        line_read(c, k);
}

void line_await(baton_client *c, line *k, request *r, uint64_t max)
{
    uint64_t until = max == 0 ? 0 : monotonic_now() + max;
    const struct timespec at = {.tv_sec = (time_t)(until / 1000000000u),
                                .tv_nsec = (long)(until % 1000000000u)};
    while (!r->done) {
        become_reader(c, k, r);
        if (r->reads)
            read_when_ready(c, k, until);
        else if (until == 0)
            pthread_cond_wait(&r->answered, &c->mutex);
        else
            pthread_cond_timedwait(&r->answered, &c->mutex, &at);
        if (!r->done && until != 0 && monotonic_now() >= until)
            line_cut(c, k, ETIMEDOUT);
    }
    if (r->reads)
        pass_on_reading(c, k);
}
