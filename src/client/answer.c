/* Replies and pushes: each is a message to an automaton, and ends what somebody waits for. */
#include "room.h"

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
    wdme_client *a = k == c->main ? &n->a : &k->a;
    hold *h = names_hold_over(n, k, generation);
    if (h != NULL)
        generation = a->token; /* it was another one when it came in */
    wdme_client_receive(a, (wdme_message){.kind = WDME_LOST, .generation = generation});
    if (h == NULL)
        return; /* it has left meanwhile */
    hold_lose(c, n, h);
    if (k != c->main && k->users == 0 && !k->idle) /* else the call that uses it will say so */
        line_rest(c, k);
    names_tidy(&c->names, n);
}

/* The section goes on in another epoch; from there it can be resumed. */
static void have_kept(const line *k, const lock_name *n, uint64_t generation)
{
    hold *h = names_hold_over(n, k, 0);
    if (h != NULL)
        h->wire = generation;
}

/*
 * The node sees no majority, so the others may give away what is held here, and it would not know.
 * So the lease goes on to its end; but who waits for no answer is better off elsewhere.
 */
static void have_suspended(baton_client *c, line *k)
{
    k->suspended = true;
    if (c->servers > 1 && (k->holds == 0 || (k->users == 0 && move_can(c, k))))
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
        k->suspended = false;
    if (e[2].number <= 0 || k->dead)
        return true;
    memcpy(name, e[1].text.at, e[1].text.bytes);
    name[e[1].text.bytes] = '\0';
    size_t bytes;
    uint64_t hash = name_hash(name, &bytes);
    lock_name *n = names_find(&c->names, name, bytes, hash);
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

static int result_of_error(const reply_value *error)
{
    return resp_reply_fails_with(error, "NAME") ? BATON_BAD_NAME : BATON_REFUSED;
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
    r->token = h->token = h->wire = token;
    h->over = k;
    hold_attach(r->of, h);
    c->counts.entries++;
    /* A wait may have outlasted the lease that we know of. */
    k->unsure = r->kind == ASK_LOCK && c->lease > 0 && clock_now() > r->sent_at + c->lease / 3;
    request_finish(r, BATON_OK, 0);
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
        request_finish(r, BATON_BUSY, 0);
        break;
    case WDME_TIMED_OUT:
        request_finish(r, v->kind == REPLY_ERROR ? result_of_error(v) : BATON_BUSY, 0);
        break;
    default:
        return false; /* granted what was already taken away: not in this order */
    }
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
    request *r = k->first;
    if (r == NULL)
        return false;
    if (resp_reply_fails_with(v, "NOTREADY") && k->holds == 0) {
        line_cut(c, k, EAGAIN); /* a node that does not count yet: another one may */
        return false;
    }
    if (v->kind != REPLY_ERROR && c->lease > 0 && !k->suspended &&
        r->sent_at + lease_counted(c) > k->sure_until)
        k->sure_until = r->sent_at + lease_counted(c); /* every command renews the lease */
    request *next = r->next; /* its caller goes on when the mutex is free, not before */
    bool fine = false;
    switch (r->kind) {
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
    case ASK_RESUME:
        fine = move_take(c, k, v);
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
    k->first = next;
    if (next == NULL)
        k->last = NULL;
    return true;
}

bool answer_take(baton_client *c, line *k, const resp_reply *reply, resp_word bytes)
{
    c->counts.messages++;
    if (reply->value.kind == REPLY_PUSH)
        return take_push(c, k, reply);
    return take_reply(c, k, &reply->value, bytes);
}
