/* Replies and pushes: each is a message to an automaton, and ends what somebody waits for. */
#include "internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void request_finish(request *r, int result, int error)
{
    r->done = true;
    r->result = result;
    r->error = error;
    if (r->awaited)
        pthread_cond_signal(&r->answered);
}

/* ---- pushes ---- */

static void have_reset(baton_client *c, lock_name *n, uint64_t generation)
{
    wdme_client_receive(&n->a, (wdme_message){.kind = WDME_RESET, .generation = generation});
    names_tidy(&c->names, n);
}

static void have_lost(baton_client *c, line *k, lock_name *n, uint64_t generation)
{
    hold *h = names_hold_over(n, k, generation);
    wdme_client *a = h != NULL ? h->a : k == c->main ? &n->a : NULL;
    if (h != NULL)
        generation = a->token; /* it was another one when it came in */
    if (a != NULL)
        wdme_client_receive(a, (wdme_message){.kind = WDME_LOST, .generation = generation});
    if (h == NULL)
        return; /* it has left meanwhile */
    hold_lose(c, h);
    names_tidy(&c->names, n);
    if (k->users == 0) /* else the call that uses it will say so */
        line_rest(c, k);
}

/* The section goes on in another epoch; from there it can be resumed. */
static void have_kept(const line *k, const lock_name *n, uint64_t generation)
{
    hold *h = names_hold_over(n, k, 0);
    if (h != NULL)
        h->server_token = generation;
}

/*
 * The node sees no majority, so the others may give away what is held here, and it would not know.
 * So the lease goes on to its end; but who waits for no answer is better off elsewhere, and who
 * does, after a while.
 */
static void have_suspended(baton_client *c, line *k)
{
    watch_suspended(&k->watch, clock_now());
    keeper_due(c, watch_leave_at(&k->watch));
    if (c->servers > 1 && (k->holds == 0 || (k->users == 0 && watch_can_move(&k->watch))))
        line_cut(c, k, ECONNRESET);
}

/*
 * "reset", "lost" or "ejected" (lost, by a cluster), "kept", name, generation; "suspended" or
 * "resumed".
 * Others are for clients that know what they mean.
 */
static bool take_push(baton_client *c, line *k, const resp_reply *push)
{
    char name[BATON_CLIENT_NAME_BYTES];
    const reply_value *e = push->element;
    if (push->elements != 3 || e[0].kind != REPLY_BULK || e[1].kind != REPLY_BULK ||
        e[2].kind != REPLY_INTEGER || e[1].text.bytes >= sizeof name)
        return true;
    if (resp_is(e[0].text, "SUSPENDED"))
        have_suspended(c, k);
    else if (resp_is(e[0].text, "RESUMED"))
        watch_resumed(&k->watch);
    if (e[2].number <= 0 || k->dead)
        return true;
    memcpy(name, e[1].text.at, e[1].text.bytes);
    name[e[1].text.bytes] = '\0';
    size_t bytes = strlen(name);
    lock_name *n = names_find(&c->names, name, bytes, name_hash(name, bytes));
    if (n == NULL)
        return true;
    if (resp_is(e[0].text, "LOST") || resp_is(e[0].text, "EJECTED"))
        have_lost(c, k, n, (uint64_t)e[2].number);
    else if (resp_is(e[0].text, "KEPT"))
        have_kept(k, n, (uint64_t)e[2].number);
    else if (resp_is(e[0].text, "RESET") && k == c->main)
        have_reset(c, n, (uint64_t)e[2].number);
    return true;
}

/* ---- replies ---- */

/* A node that does not count yet, or is about to end: another one may let somebody in. */
static bool sends_to_another(const reply_value *error)
{
    return resp_reply_fails_with(error, "NOTREADY") || resp_reply_fails_with(error, "DRAINING");
}

int answer_refusal(const reply_value *v)
{
    static const char *const closed[] = {"CLOSED",   "CROWD",    "OOM",
                                         "NOTREADY", "DRAINING", "ERR max number of clients"};
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++)
        if (resp_reply_fails_with(v, closed[i]))
            return BATON_CLOSED;
    return BATON_REFUSED;
}

static int result_of_error(const baton_client *c, const reply_value *error)
{
    if (resp_reply_fails_with(error, "NAME"))
        return BATON_BAD_NAME;
    return c->servers > 1 && sends_to_another(error) ? BATON_UNREACHABLE : answer_refusal(error);
}

/* What a reply to TRY or LOCK says; false if it says nothing. An error ends it, like a timeout. */
static bool read_grant(const request *r, const reply_value *v, wdme_message *m)
{
    *m = (wdme_message){.kind = WDME_TIMEOUT, .request = r->a->request};
    if (v->kind == REPLY_ERROR)
        return true;
    if (v->kind == REPLY_NULL)
        return r->kind == ASK_LOCK;
    if (v->kind != REPLY_INTEGER || v->number == 0 || (v->number < 0 && r->kind == ASK_LOCK))
        return false;
    m->kind = v->number > 0 ? WDME_OK : WDME_FAIL;
    m->generation = v->number > 0 ? (uint64_t)v->number : 0 - (uint64_t)v->number;
    return true;
}

static void enter(baton_client *c, line *k, request *r, uint64_t token)
{
    hold *h = r->hold;
    r->hold = NULL;
    r->token = h->token = h->server_token = token;
    h->over = k;
    h->a = r->a;
    hold_attach(r->of, h);
    c->counts.entries++;
    if (r->kind == ASK_LOCK)
        watch_granted(&k->watch, r->sent_at, clock_now());
    request_finish(r, BATON_OK, 0);
}

/*
 * Gates are of the main line: over another, nobody hears of a reset. What is held stays where it
 * is. A try that was sent over that line will be answered yet.
 */
static void leave_gate(baton_client *c, lock_name *n, void *unused)
{
    (void)unused;
    LIST_EACH (at, &n->holds) {
        hold *h = OWNER_OF(at, hold, link);
        if (h->a != &n->a)
            continue;
        h->own = n->a;
        h->a = &h->own;
    }
    if (n->a.doing != WDME_TRIES)
        wdme_client_cut(&n->a);
    names_tidy(&c->names, n);
}

/* The main line holds something, and its node lets nobody in: whoever tries goes to another one. */
static void leave_main(baton_client *c)
{
    const line *k = c->main;
    names_each(c, leave_gate, NULL);
    c->main = NULL;
    c->shunned |= course_bit(k->server);
    c->next_server = (k->server + 1) % c->servers;
}

static bool take_grant(baton_client *c, line *k, request *r, const reply_value *v)
{
    wdme_message m;
    if (!read_grant(r, v, &m))
        return false;
    wdme_step step = wdme_client_receive(r->a, m);
    assert(!step.sends); /* that is for requests which were given up, and here none ever is */
    switch (step.answer) {
    case WDME_ENTERED:
        enter(c, k, r, step.token);
        break;
    case WDME_REFUSED:
    case WDME_TIMED_OUT:
        request_finish(r, v->kind == REPLY_ERROR ? result_of_error(c, v) : BATON_BUSY, EAGAIN);
        break;
    default:
        return false; /* granted what was already taken away: not in this order */
    }
    if (r->result == BATON_UNREACHABLE && k == c->main)
        leave_main(c);
    else if (r->kind == ASK_TRY && k != c->main)
        leave_gate(c, r->of, NULL);
    pthread_cond_broadcast(&r->of->answered);
    return true;
}

static bool take_exit(request *r, const reply_value *v)
{
    bool left = v->kind == REPLY_INTEGER && v->number == 1;
    if (!left && v->kind != REPLY_ERROR)
        return false;
    request_finish(r, left ? BATON_OK : BATON_LOST, 0);
    return true;
}

/* An operation was executed, or refused; the bytes are for who has issued it. */
static bool take_result(request *r, const reply_value *v, resp_word bytes)
{
    if (resp_reply_fails_with(v, "STALE") || resp_reply_fails_with(v, "EJECTED")) {
        request_finish(r, BATON_LOST, 0);
        return true;
    }
    if (resp_reply_fails_with(v, "LOST")) { /* it may be executed nevertheless: nobody will know */
        request_finish(r, BATON_UNREACHABLE, ECANCELED);
        return true;
    }
    r->reply_bytes = bytes.bytes;
    r->reply = malloc(bytes.bytes + 1);
    if (r->reply != NULL) {
        memcpy(r->reply, bytes.at, bytes.bytes);
        r->reply[bytes.bytes] = '\0';
    }
    request_finish(r, r->reply != NULL ? BATON_OK : BATON_SYSTEM, ENOMEM);
    return true;
}

static bool take_reply(baton_client *c, line *k, const reply_value *v, resp_word bytes)
{
    request *r = OWNER_OF(list_first(&k->requests), request, link);
    if (r == NULL)
        return false;
    if (sends_to_another(v) && k->holds == 0) {
        line_cut(c, k, EAGAIN);
        return false;
    }
    if (v->kind != REPLY_ERROR)
        watch_answered(&k->watch, r->sent_at);
    bool fine = false;
    switch (r->kind) {
    case ASK_RESUME:
        list_remove(&r->link);
        return move_take(c, k, r, v);
    case ASK_TRY:
    case ASK_LOCK:
        fine = take_grant(c, k, r, v);
        break;
    case ASK_EXIT:
        fine = take_exit(r, v);
        break;
    case ASK_ISSUE:
        fine = take_result(r, v, bytes);
        break;
    case ASK_RENEW:
        fine = v->kind == REPLY_INTEGER;
        if (r == &k->renewal)
            k->renewing = false;
        if (fine)
            request_finish(r, BATON_OK, 0);
        break;
    }
    if (!fine)
        return false; /* the line is cut, and the request ends with it */
    if (k->dead)
        return true; /* by this answer */
    /* It is still there: its caller goes on when the mutex is free, not before. */
    list_remove(&r->link);
    if (r->alone)
        free(r);
    return true;
}

bool answer_take(baton_client *c, line *k, const resp_reply *reply, resp_word bytes)
{
    c->counts.messages++;
    if (reply->value.kind == REPLY_PUSH)
        return take_push(c, k, reply);
    return take_reply(c, k, &reply->value, bytes);
}
