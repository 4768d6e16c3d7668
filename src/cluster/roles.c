/*
 * Sessions in a cluster: each has a role in every lock that it holds, waits for, or failed to get.
 * Here is what becomes of roles when replicas speak; what sessions say is in requests.c.
 */
#include "node_lock.h"

#include <stdlib.h>
#include <string.h>

/* ---- what sessions hear ---- */

void role_post(lock_session *to, const notice *what, const void *text, size_t bytes)
{
    if (to->post == NULL)
        return;
    notice *n = malloc(sizeof *n + bytes);
    if (n == NULL)
        abort(); /* a grant that is not heard of would block the lock until its lease is over */
    memcpy(n, what, sizeof *n);
    n->to = to;
    n->name_bytes = bytes;
    if (bytes > 0)
        memcpy(n->name, text, bytes);
    to->post(to, n);
}

void role_hear(cluster_node *n, const role *s, wdme_kind kind, uint64_t generation)
{
    wdme_message m = {.kind = kind, .request = s->request, .generation = generation};
    if (s->who == n->speaker)
        s->who->hear(s->who, m, s->of->name, s->of->name_bytes);
    else
        role_post(s->who, &(notice){.message = m}, s->of->name, s->of->name_bytes);
}

void roles_push(const node_lock *p, const char *what)
{
    LIST_EACH (at, &p->roles) {
        const role *s = OWNER_OF(at, role, in_lock);
        role_post(s->who, &(notice){.push = what, .message.generation = s->user.token}, p->name,
                  p->name_bytes);
    }
}

/* ---- roles ---- */

/*
 * Through the roles of both at the same pace: a session may have a million of them, and so may a
 * lock, but hardly one that the other has, too.
 */
role *role_find(const lock_session *who, const node_lock *of)
{
    const list_head *hers = &kept_of(who)->roles;
    const list_link *in_lock = of->roles.next;
    for (const list_link *at = hers->next; at != hers && in_lock != &of->roles; at = at->next) {
        role *one = OWNER_OF(at, role, in_session);
        role *other = OWNER_OF(in_lock, role, in_lock);
        if (one->of == of)
            return one;
        if (other->who == who)
            return other;
        in_lock = in_lock->next;
    }
    return NULL;
}

role *role_add(cluster_node *n, lock_session *who, node_lock *of, uint32_t request)
{
    role *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (role){.who = who, .of = of, .request = request, .asked_at = n->now};
    list_push_front(&kept_of(who)->roles, &s->in_session);
    list_push_front(&of->roles, &s->in_lock);
    list_start(&s->in_node);
    return s;
}

static void drop_seat(role *s)
{
    list_remove(&s->in_session);
    list_remove(&s->in_lock);
    list_remove(&s->in_node);
    free(s);
}

static uint64_t lapse(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

bool role_is_inside(const role *s)
{
    return s != NULL && (s->state == ROLE_INSIDE || s->state == ROLE_ISSUES);
}

/* Its first token stays good, though it may have another in a later epoch. */
bool role_has(const role *s, uint64_t token)
{
    return role_is_inside(s) && (s->user.token == token || s->token == token);
}

bool node_holds(const lock_session *who)
{
    LIST_EACH (at, &kept_of(who)->roles)
        if (role_is_inside(OWNER_OF(at, role, in_session)))
            return true;
    return false;
}

void role_waits(cluster_node *n, role *s)
{
    s->state = ROLE_LOCKS;
    s->asked_at = n->now;
    queue_grows(n, s->of);
}

static void stay_ends(cluster_node *n, const role *s)
{
    n->counts.held--;
    durations_add(&n->counts.holds, lapse(s->since, n->now));
}

void role_leave(cluster_node *n, role *s)
{
    node_lock *p = s->of;
    if (s->state == ROLE_LOCKS)
        queue_shrinks(n, p);
    else if (role_is_inside(s))
        stay_ends(n, s);
    replica_leave(&p->replica, &n->wme, &s->user, &n->out);
    drop_seat(s);
    node_lock_carry_out(n, p);
}

/*
 * The same, though the session has not given up what it holds. One that has said who it is may come
 * to another node with its token, now or when this node is dead, and know nothing of this: so
 * whoever enters next does so in another epoch, and then it cannot go on.
 */
void role_revoke(cluster_node *n, role *s)
{
    if (kept_of(s->who)->id != NULL)
        replica_revoke(&s->of->replica, &n->wme, &s->user, &n->out);
    role_leave(n, s);
}

/* ---- what the replica says ---- */

static void enter(cluster_node *n, role *s, uint64_t token)
{
    if (s->state == ROLE_LOCKS) {
        queue_shrinks(n, s->of);
        durations_add(&n->counts.waits, lapse(s->asked_at, n->now));
    }
    list_remove(&s->in_node);
    s->state = ROLE_INSIDE;
    s->token = token;
    s->since = n->now;
    n->counts.sections++;
    n->counts.held++;
    role_hear(n, s, WDME_OK, token);
}

static void eject(cluster_node *n, role *s)
{
    static const char words[] = "-EJECTED the cluster took the lock away; the operation was "
                                "executed nowhere\r\n";
    static const char late[] =
        "-EJECTED others may have been inside since; the section is over\r\n";
    node_lock *p = s->of;
    n->counts.ejected++;
    if (s->state == ROLE_LOCKS) { /* it wanted to resume */
        role_post(s->who, &(notice){.outcome = true}, late, sizeof late - 1);
        queue_shrinks(n, p);
        drop_seat(s);
        return;
    }
    if (s->state == ROLE_ISSUES)
        role_post(s->who, &(notice){.outcome = true}, words, sizeof words - 1);
    role_post(s->who, &(notice){.push = "ejected", .message.generation = s->user.token}, p->name,
              p->name_bytes);
    stay_ends(n, s);
    drop_seat(s);
}

void role_told(cluster_node *n, role *s, const wme_action *a)
{
    if (a->verb == WME_EJECTED) {
        eject(n, s);
        return;
    }
    if (a->token > s->of->last_token)
        s->of->last_token = a->token;
    if (a->verb == WME_KEPT) {
        role_post(s->who, &(notice){.push = "kept", .message.generation = a->token}, s->of->name,
                  s->of->name_bytes);
        return;
    }
    if (s->state != ROLE_WATCHES) {
        enter(n, s, a->token);
        return;
    }
    n->counts.resets++; /* it was free: who has failed may try again */
    role_hear(n, s, WDME_RESET, a->token);
    list_push_front(&n->dismissed, &s->in_node);
}

void roles_dismiss(cluster_node *n)
{
    if (n->dismisses)
        return;
    n->dismisses = true;
    for (list_link *at; (at = list_pop(&n->dismissed)) != NULL;)
        role_leave(n, OWNER_OF(at, role, in_node));
    n->dismisses = false;
}

void role_outcome(cluster_node *n, role *s, const resp_out *result)
{
    s->state = ROLE_INSIDE;
    if (s->resumes)
        role_resumed(n, s); /* who has asked for this is gone */
    else
        role_post(s->who, &(notice){.outcome = true}, result->at, result->bytes);
}
