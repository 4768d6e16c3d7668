/*
 * What sessions want of a node: lock_backend.h, and operations. A TRY that needs the token from
 * elsewhere waits for a moment; if that is not enough it fails, and its role stays in the queue, so
 * that the session can be told when the lock is free.
 */
#include "node_lock.h"

#include <stdlib.h>

/* ---- TRY and LOCK ---- */

/* The largest token that may be in use, as far as is known here. */
static uint64_t generation_now(const node_lock *p)
{
    const wme_record *now = &p->replica.stub.now;
    uint64_t token = now->epoch << WME_ENTRY_BITS | now->entry;
    return token > p->last_token ? token : p->last_token;
}

static void fail(cluster_node *n, role *s)
{
    n->counts.failed++;
    list_remove(&s->in_node);
    s->state = ROLE_WATCHES;
    role_hear(n, s, WDME_FAIL, generation_now(s->of));
}

static void try(cluster_node *n, role *s)
{
    node_lock *p = s->of;
    bool taken_here = p->replica.stub.inside != NULL || p->replica.stub.first != NULL;
    s->state = ROLE_TRIES;
    list_push_back(&n->trying, &s->in_node);
    replica_try(&p->replica, &n->wme, &s->user, &n->out);
    lock_session *who = s->who;
    node_lock_carry_out(n, p);
    s = role_find(who, p); /* it may have come and gone */
    if (s != NULL && s->state == ROLE_TRIES && taken_here)
        fail(n, s);
}

void roles_time(cluster_node *n)
{
    for (list_link *at; (at = list_first(&n->trying)) != NULL;) {
        role *s = OWNER_OF(at, role, in_node);
        if (n->now < s->asked_at + NODE_TRY_PATIENCE)
            return; /* and so have the others */
        fail(n, s);
    }
}

/* A session that has failed before asks again: its role is in the queue already. */
static lock_verdict ask_again(cluster_node *n, role *s, wdme_message m)
{
    if (s->state != ROLE_WATCHES)
        return LOCK_TWICE;
    s->request = m.request;
    if (m.kind == WDME_TRY) {
        n->counts.failed++;
        role_hear(n, s, WDME_FAIL, generation_now(s->of));
    } else {
        role_waits(n, s);
    }
    return LOCK_DONE;
}

static lock_verdict ask(cluster_node *n, lock_session *me, node_lock *p, wdme_message m)
{
    role *s = role_find(me, p);
    n->counts.tries += m.kind == WDME_TRY;
    if (s != NULL)
        return ask_again(n, s, m);
    if (m.kind == WDME_LOCK && p->waiters >= n->max_waiters)
        return LOCK_CROWD;
    s = role_add(n, me, p, m.request);
    if (s == NULL)
        return LOCK_NO_ROOM;
    if (m.kind == WDME_TRY) {
        try(n, s);
        return LOCK_DONE;
    }
    role_waits(n, s);
    replica_try(&p->replica, &n->wme, &s->user, &n->out);
    node_lock_carry_out(n, p);
    return LOCK_DONE;
}

/* ---- one command after the other ---- */

static void exit_section(cluster_node *n, lock_session *me, const char *name, size_t bytes,
                         uint64_t token)
{
    const node_lock *p = node_lock_find(n, name, bytes);
    role *s = p != NULL ? role_find(me, p) : NULL;
    wdme_message m = {.kind = WDME_EXIT_DONE, .generation = token};
    if (!role_has(s, token)) {
        n->counts.stale++;
        m.kind = WDME_STALE;
    } else {
        role_leave(n, s);
    }
    me->hear(me, m, name, bytes);
}

static lock_verdict node_tell(locks *all, lock_session *me, const char *name, size_t bytes,
                              wdme_message m, uint64_t now)
{
    cluster_node *n = node_of(all);
    n->now = now;
    if (n->drains && m.kind != WDME_EXIT)
        return list_is_empty(&kept_of(me)->roles) ? LOCK_ENDS : LOCK_DRAINING;
    all->why_not = join_refuses(n);
    if (all->why_not != NULL && m.kind != WDME_EXIT)
        return LOCK_NOT_READY;
    n->speaker = me;
    lock_verdict verdict = LOCK_DONE;
    if (m.kind == WDME_EXIT) {
        exit_section(n, me, name, bytes, m.generation);
    } else {
        node_lock *p = bytes <= STORE_MAX_NAME ? node_lock_get(n, name, bytes) : NULL;
        if (p != NULL)
            due_used(n, p);
        verdict = p != NULL ? ask(n, me, p, m) : LOCK_NO_ROOM;
    }
    n->speaker = NULL;
    return verdict;
}

/* ---- operations ---- */

bool node_is_full(const cluster_node *n)
{
    return store_is_full(n->store);
}

/* The session's role, if it is inside with that token. */
static role *find_inside(const cluster_node *n, const lock_session *me, byte_string name,
                         uint64_t token)
{
    const node_lock *p = node_lock_find(n, (const char *)name.at, name.bytes);
    role *s = p != NULL ? role_find(me, p) : NULL;
    return role_has(s, token) ? s : NULL;
}

static const char stale[] = "STALE the section with this token is over, or was never yours";

const char *node_issue(cluster_node *n, lock_session *me, byte_string name, uint64_t token,
                       const op *o)
{
    if (find_inside(n, me, name, token) == NULL)
        return stale;
    if (node_is_full(n) && o->verb != OP_GET && o->verb != OP_DEL && o->verb != OP_SCAN)
        return "FULL this node has little room left for data; see --max-bytes";
    wme_op *issued = op_encode(o);
    if (issued == NULL)
        return "OOM the node is out of memory";
    const char *trouble = node_issue_op(n, me, name, token, issued);
    wme_op_drop(issued);
    return trouble;
}

const char *node_issue_op(cluster_node *n, lock_session *me, byte_string name, uint64_t token,
                          wme_op *issued)
{
    role *s = find_inside(n, me, name, token);
    if (s == NULL)
        return stale;
    node_lock *p = s->of;
    s->state = ROLE_ISSUES;
    wme_refusal why = replica_issue(&p->replica, &n->wme, &s->user, issued, &n->out);
    if (why != WME_FINE) {
        s->state = ROLE_INSIDE;
        return why == WME_OVERSIZED ? "ERR the operation is too large"
                                    : "ERR this section has an operation under way";
    }
    node_lock_carry_out(n, p);
    return NULL;
}

/* ---- the end of a wait, of a lease, of a session, of a section by force ---- */

static void node_wait_over(locks *all, lock_session *me, const char *name, size_t bytes,
                           uint64_t now)
{
    cluster_node *n = node_of(all);
    node_lock *p = node_lock_find(n, name, bytes);
    role *s = p != NULL ? role_find(me, p) : NULL;
    n->now = now;
    if (s == NULL || s->state != ROLE_LOCKS)
        return;
    n->counts.timeouts++;
    me->hear(me, (wdme_message){.kind = WDME_TIMEOUT, .request = s->request}, name, bytes);
    role_leave(n, s);
}

/* Taken away while it waits for an outcome: that may come yet, but not to this session. */
static void take_away(cluster_node *n, role *s)
{
    static const char words[] = "-LOST the lock was taken away; the operation may be executed "
                                "nevertheless\r\n";
    n->counts.lost++;
    if (s->state == ROLE_ISSUES)
        role_post(s->who, &(notice){.outcome = true}, words, sizeof words - 1);
    role_hear(n, s, WDME_LOST, s->user.token);
    role_revoke(n, s);
}

static bool node_lease_over(locks *all, lock_session *me, uint64_t now)
{
    cluster_node *n = node_of(all);
    n->now = now;
    LIST_EACH (at, &kept_of(me)->roles) {
        role *s = OWNER_OF(at, role, in_session);
        if (!role_is_inside(s))
            continue;
        if (!roles_may_revoke(n))
            return false;
        take_away(n, s);
    }
    return true;
}

static void node_join(lock_session *me)
{
    *kept_of(me) = (cluster_session){0};
    list_start(&kept_of(me)->roles);
}

static uint32_t node_leave(locks *all, lock_session *me, uint64_t lease_until, bool quits,
                           uint64_t now)
{
    cluster_node *n = node_of(all);
    cluster_session *kept = kept_of(me);
    uint32_t held = 0;
    if (quits) { /* so nobody can come for what it held, and no epoch has to end for that */
        free(kept->id);
        kept->id = NULL;
    }
    kept->lingers_until = kept->id != NULL ? lease_until : 0;
    n->now = now;
    bool lingers = roles_may_linger(n, me);
    LIST_EACH (at, &kept->roles) {
        role *s = OWNER_OF(at, role, in_session);
        held += role_is_inside(s);
        if (lingers ? !role_is_inside(s) : roles_may_revoke(n))
            role_revoke(n, s);
    }
    if (!lingers)
        kept->lingers_until = 0; /* what is left of very many goes at the next ticks */
    if (!list_is_empty(&kept->roles))
        roles_linger(n, me);
    free(kept->id);
    kept->id = NULL;
    return held;
}

static role *find_section(const node_lock *p, uint64_t token)
{
    LIST_EACH (at, &p->roles) {
        role *s = OWNER_OF(at, role, in_lock);
        if (role_has(s, token))
            return s;
    }
    return NULL;
}

static bool node_release(locks *all, const char *name, size_t bytes, uint64_t generation,
                         uint64_t now)
{
    cluster_node *n = node_of(all);
    node_lock *p = node_lock_find(n, name, bytes);
    n->now = now;
    role *s = p != NULL ? find_section(p, generation) : NULL;
    if (s == NULL)
        return false;
    take_away(n, s);
    return true;
}

const lock_backend node_backend = {
    .join = node_join,
    .leave = node_leave,
    .tell = node_tell,
    .wait_over = node_wait_over,
    .lease_over = node_lease_over,
    .release = node_release,
    .each = report_each,
    .count = report_count,
    .count_locks = report_count_locks,
};
