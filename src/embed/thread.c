/* The library's thread: runs the node, and carries out calls. See internal.h. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

_Thread_local const baton_replica *replica_living;

enum {
    DRAIN_PATIENCE = 2000, /* milliseconds for handing the lock over */
    DRAIN_LOOKS = 20,
};

/* ---- answers ---- */

/* Taken out of the list; NULL if there is none. */
static call *next_call(list_head *of)
{
    return OWNER_OF(list_pop(of), call, link);
}

static void answer(baton_replica *r, call *c, int verdict)
{
    c->verdict = verdict;
    list_push_front(&r->answers, &c->link);
}

static void give_answers(baton_replica *r)
{
    if (list_is_empty(&r->answers))
        return;
    pthread_mutex_lock(&r->mutex);
    for (call *c; (c = next_call(&r->answers)) != NULL;) {
        c->answered = true;
        pthread_cond_signal(&c->told);
    }
    pthread_mutex_unlock(&r->mutex);
}

/* ---- stays ---- */

static void reply(stay *s, int verdict)
{
    call *c = s->call;
    if (c == NULL)
        return;
    s->call = NULL;
    c->stay = NULL;
    c->token = s->token;
    answer(s->of, c, verdict);
}

static void end_stay(stay *s)
{
    if (s->is_over)
        return;
    s->is_over = true;
    s->next_over = s->of->over;
    s->of->over = s;
}

/* Not at once: the node may be about to say more to them. */
static void bury(baton_replica *r)
{
    while (r->over != NULL) {
        stay *s = r->over;
        r->over = s->next_over;
        locks *all = &r->driver.node.locks;
        all->backend->leave(all, &s->who, 0, true, uv_now(&r->loop));
        list_remove(&s->link);
        free(s);
    }
}

static void hear(lock_session *me, wdme_message m, const char *name, size_t name_bytes)
{
    stay *s = (stay *)(void *)me;
    (void)name;
    (void)name_bytes;
    switch (m.kind) {
    case WDME_OK:
        s->token = m.generation;
        reply(s, BATON_OK);
        return;
    case WDME_RESET: /* after a try that has failed: it is gone already */
        return;
    case WDME_FAIL:
    case WDME_TIMEOUT:
        reply(s, BATON_BUSY);
        break;
    case WDME_EXIT_DONE:
        reply(s, BATON_OK);
        break;
    default:
        reply(s, BATON_LOST);
    }
    end_stay(s);
}

/* A bulk string, as own.c makes it, is a result; all else says that nothing was executed. */
static void hear_outcome(stay *s, const char *text, size_t bytes)
{
    baton_replica_result ignored;
    const char *line = memchr(text, '\n', bytes);
    if (line == NULL || text[0] != '$') { /* nothing at all: the store has failed */
        reply(s, BATON_LOST);
        return;
    }
    baton_replica_result *result =
        s->call != NULL && s->call->result != NULL ? s->call->result : &ignored;
    result->bytes = bytes - (size_t)(line + 1 - text) - 2;
    memcpy(result->at, line + 1, result->bytes);
    result->at[result->bytes] = '\0';
    reply(s, BATON_OK);
}

static void tell(const baton_replica *r, baton_replica_event event, uint64_t token)
{
    if (r->told != NULL)
        r->told(r->context, event, token);
}

static void post(lock_session *me, notice *n)
{
    stay *s = (stay *)(void *)me;
    if (n->outcome) {
        hear_outcome(s, n->name, n->name_bytes);
    } else if (n->push == NULL) {
        hear(me, n->message, n->name, n->name_bytes);
    } else if (strcmp(n->push, "ejected") == 0) {
        tell(s->of, BATON_REPLICA_EJECTED, s->token);
        end_stay(s);
    } /* that no majority is in reach is told to the program, not to each of its sections */
    free(n);
}

/* ---- calls ---- */

static lock_verdict tell_node(baton_replica *r, stay *s, wdme_message m)
{
    locks *all = &r->driver.node.locks;
    return all->backend->tell(all, &s->who, r->name, strlen(r->name), m, uv_now(&r->loop));
}

static stay *stay_with(const baton_replica *r, uint64_t token)
{
    LIST_EACH (at, &r->stays) {
        stay *s = OWNER_OF(at, stay, link);
        if (s->token == token && !s->is_over)
            return s;
    }
    return NULL;
}

/* The stay with the token of the call, if it can be used; else the call is answered. */
static stay *find_stay(baton_replica *r, call *c)
{
    stay *s = stay_with(r, c->token);
    if (s == NULL || s->call != NULL) {
        answer(r, c, s == NULL ? BATON_LOST : BATON_BUSY);
        return NULL;
    }
    s->call = c;
    c->stay = s;
    return s;
}

void call_enter(baton_replica *r, call *c)
{
    stay *s = calloc(1, sizeof *s);
    if (s == NULL) {
        answer(r, c, BATON_SYSTEM);
        return;
    }
    *s = (stay){.who = {.hear = hear, .post = post}, .of = r, .call = c};
    list_push_front(&r->stays, &s->link);
    r->driver.node.locks.backend->join(&s->who);
    c->stay = s;
    lock_verdict verdict =
        tell_node(r, s, (wdme_message){.kind = c->only_tries ? WDME_TRY : WDME_LOCK, .request = 1});
    if (verdict == LOCK_DONE)
        return;
    reply(s, verdict == LOCK_CROWD  ? BATON_FULL
             : verdict == LOCK_ENDS ? BATON_UNREACHABLE
                                    : BATON_SYSTEM);
    end_stay(s);
}

void call_give_up(baton_replica *r, call *c)
{
    stay *s = c->about->stay;
    locks *all = &r->driver.node.locks;
    if (s != NULL)
        all->backend->wait_over(all, &s->who, r->name, strlen(r->name), uv_now(&r->loop));
    answer(r, c, BATON_OK);
}

void call_issue(baton_replica *r, call *c)
{
    byte_string name = {(const uint8_t *)r->name, strlen(r->name)};
    stay *s = find_stay(r, c);
    if (s == NULL)
        return;
    wme_op *issued = op_new((uint32_t)c->operation.bytes);
    if (issued == NULL || node_is_full(&r->driver.node)) {
        reply(s, issued == NULL ? BATON_SYSTEM : BATON_FULL);
    } else {
        memcpy(issued->data, c->operation.at, c->operation.bytes);
        if (node_issue_op(&r->driver.node, &s->who, name, s->token, issued) != NULL)
            reply(s, BATON_LOST); /* its size was looked at before: the section is over */
    }
    wme_op_drop(issued);
}

void call_exit(baton_replica *r, call *c)
{
    stay *s = find_stay(r, c);
    if (s != NULL)
        tell_node(r, s, (wdme_message){.kind = WDME_EXIT, .generation = s->token});
}

void call_look(baton_replica *r, call *c)
{
    list_push_front(&r->looks, &c->link);
}

static void look_now(baton_replica *r)
{
    for (call *c; (c = next_call(&r->looks)) != NULL;) {
        const wme_record *now = &r->node_lock->replica.stub.now;
        c->look(c->context,
                (baton_replica_position){now->epoch, now->sn, r->node_lock->kept.executed});
        answer(r, c, BATON_OK);
    }
}

/* ---- the end ---- */

/* All who wait hear that, and every section is over. */
static void dismiss_all(baton_replica *r, int verdict)
{
    LIST_EACH (at, &r->stays) {
        stay *s = OWNER_OF(at, stay, link);
        reply(s, verdict);
        end_stay(s);
    }
}

static void stop(baton_replica *r)
{
    list_head queued;
    list_start(&queued);
    pthread_mutex_lock(&r->mutex);
    r->deaf = true;
    list_move_all(&r->queued, &queued);
    pthread_mutex_unlock(&r->mutex);
    for (call *c; (c = next_call(&queued)) != NULL;)
        answer(r, c, r->failed ? BATON_SYSTEM : BATON_UNREACHABLE);
    kin_remove(r);
    driver_stop(&r->driver);
    uv_close((uv_handle_t *)&r->wake, NULL);
    uv_close((uv_handle_t *)&r->before_sleep, NULL);
    uv_close((uv_handle_t *)&r->draining, NULL);
}

/* The store has failed: nothing of this turn is true, and nobody hears anything else of it. */
static void fail(baton_replica *r)
{
    pthread_mutex_lock(&r->mutex);
    r->failed = true;
    memcpy(r->why, store_why(r->driver.store), sizeof r->why);
    pthread_mutex_unlock(&r->mutex);
    dismiss_all(r, BATON_SYSTEM);
    list_move_all(&r->looks, &r->answers);
    LIST_EACH (at, &r->answers)
        OWNER_OF(at, call, link)->verdict = BATON_SYSTEM;
    tell(r, BATON_REPLICA_FAILED, 0);
}

static void drain(uv_timer_t *timer)
{
    baton_replica *r = timer->data;
    if (driver_drained(&r->driver) || uv_now(&r->loop) >= r->drains_until)
        stop(r);
}

static void begin_to_end(baton_replica *r)
{
    dismiss_all(r, BATON_UNREACHABLE);
    r->drains_until = uv_now(&r->loop) + DRAIN_PATIENCE;
    uv_timer_start(&r->draining, drain, 0, DRAIN_LOOKS);
}

/* ---- turns ---- */

static void woken(uv_async_t *wake)
{
    baton_replica *r = wake->data;
    list_head queued;
    list_start(&queued);
    pthread_mutex_lock(&r->mutex);
    list_move_all(&r->queued, &queued);
    bool closes = r->closes;
    pthread_mutex_unlock(&r->mutex);
    for (call *c; (c = next_call(&queued)) != NULL;)
        c->carry_out(r, c);
    if (closes && r->drains_until == 0)
        begin_to_end(r);
}

static void about_to_sleep(uv_prepare_t *before_sleep)
{
    baton_replica *r = before_sleep->data;
    bury(r);
    if (!driver_turn_ends(&r->driver)) {
        fail(r);
        stop(r);
        return;
    }
    bool suspended = r->node_lock->replica.stub.suspended;
    if (suspended != r->suspended)
        tell(r, suspended ? BATON_REPLICA_SUSPENDED : BATON_REPLICA_RESUMED, 0);
    r->suspended = suspended;
    look_now(r);
    give_answers(r);
    driver_turn_told(&r->driver);
}

void replica_prepare(baton_replica *r)
{
    uv_async_init(&r->loop, &r->wake, woken);
    uv_prepare_init(&r->loop, &r->before_sleep);
    uv_prepare_start(&r->before_sleep, about_to_sleep);
    uv_timer_init(&r->loop, &r->draining);
    r->wake.data = r->before_sleep.data = r->draining.data = r;
    kin_add(r);
}

void *replica_live(void *context)
{
    baton_replica *r = context;
    replica_living = r;
    uv_run(&r->loop, UV_RUN_DEFAULT);
    bury(r);
    if (!r->failed && !driver_last_turn(&r->driver))
        fail(r);
    look_now(r);
    give_answers(r);
    driver_close(&r->driver);
    uv_loop_close(&r->loop);
    replica_living = NULL;
    return NULL;
}

void replica_abandon(baton_replica *r)
{
    r->failed = true;
    stop(r);
    replica_live(r);
}
