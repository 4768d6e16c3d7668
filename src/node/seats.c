/*
 * Sessions in a cluster: each has a seat in every lock that it holds, waits for, or failed to get.
 * A TRY that needs the token from elsewhere waits for a moment; if that is not enough it fails, and
 * its seat stays in the queue, so that the session can be told when the lock is free.
 */
#include "site.h"

#include <stdlib.h>
#include <string.h>

/* ---- what sessions hear ---- */

void seat_post(session_roles *to, const notice *what, const void *text, size_t bytes)
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

void seat_hear(cluster_node *n, const seat *s, wdme_kind kind, uint64_t generation)
{
    wdme_message m = {.kind = kind, .request = s->request, .generation = generation};
    if (s->who == n->speaker)
        s->who->hear(s->who, m, s->of->name, s->of->name_bytes);
    else
        seat_post(s->who, &(notice){.message = m}, s->of->name, s->of->name_bytes);
}

void seats_push(const site *p, const char *what)
{
    for (const seat *s = p->seats; s != NULL; s = s->next)
        seat_post(s->who, &(notice){.push = what, .message.generation = s->user.token}, p->name,
                  p->name_bytes);
}

/* ---- seats ---- */

seat *seat_find(const session_roles *who, const site *of)
{
    seat *s = who->seats;
    while (s != NULL && s->of != of)
        s = s->next_of_session;
    return s;
}

seat *seat_add(cluster_node *n, session_roles *who, site *of, uint32_t request)
{
    seat *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (seat){.who = who, .of = of, .request = request, .asked_at = n->now};
    s->next_of_session = who->seats;
    who->seats = s;
    s->next = of->seats;
    if (s->next != NULL)
        s->next->previous = s;
    of->seats = s;
    return s;
}

static void drop_seat(seat *s)
{
    seat **link = &s->who->seats;
    while (*link != s)
        link = &(*link)->next_of_session;
    *link = s->next_of_session;
    *(s->previous != NULL ? &s->previous->next : &s->of->seats) = s->next;
    if (s->next != NULL)
        s->next->previous = s->previous;
    free(s);
}

static uint64_t lapse(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

bool seat_is_inside(const seat *s)
{
    return s != NULL && (s->state == SEAT_INSIDE || s->state == SEAT_ISSUES);
}

/* Its first token stays good, though it may have another in a later epoch. */
bool seat_has(const seat *s, uint64_t token)
{
    return seat_is_inside(s) && (s->user.token == token || s->token == token);
}

bool node_holds(const session_roles *who)
{
    const seat *s = who->seats;
    while (s != NULL && !seat_is_inside(s))
        s = s->next_of_session;
    return s != NULL;
}

void seat_waits(cluster_node *n, seat *s)
{
    s->state = SEAT_LOCKS;
    s->asked_at = n->now;
    s->of->waiters++;
    n->counts.waiting++;
}

static void wait_ends(cluster_node *n, site *p)
{
    p->waiters--;
    n->counts.waiting--;
}

static void stay_ends(cluster_node *n, const seat *s)
{
    n->counts.held--;
    durations_add(&n->counts.holds, lapse(s->since, n->now));
}

/* The session has nothing to do with the lock any more. */
void seat_leave(cluster_node *n, seat *s)
{
    site *p = s->of;
    if (s->state == SEAT_LOCKS)
        wait_ends(n, p);
    else if (seat_is_inside(s))
        stay_ends(n, s);
    replica_leave(&p->replica, &n->wme, &s->user, &n->out);
    drop_seat(s);
    site_carry_out(n, p);
}

/* ---- what the replica says ---- */

static void enter(cluster_node *n, seat *s, uint64_t token)
{
    if (s->state == SEAT_LOCKS) {
        wait_ends(n, s->of);
        durations_add(&n->counts.waits, lapse(s->asked_at, n->now));
    }
    s->state = SEAT_INSIDE;
    s->token = token;
    s->since = n->now;
    n->counts.sections++;
    n->counts.held++;
    seat_hear(n, s, WDME_OK, token);
}

static void eject(cluster_node *n, seat *s)
{
    static const char words[] = "-EJECTED the cluster took the lock away; the operation was "
                                "executed nowhere\r\n";
    static const char late[] =
        "-EJECTED others may have been inside since; the section is over\r\n";
    site *p = s->of;
    n->counts.ejected++;
    if (s->state == SEAT_LOCKS) { /* it wanted to resume */
        seat_post(s->who, &(notice){.outcome = true}, late, sizeof late - 1);
        wait_ends(n, p);
        drop_seat(s);
        return;
    }
    if (s->state == SEAT_ISSUES)
        seat_post(s->who, &(notice){.outcome = true}, words, sizeof words - 1);
    seat_post(s->who, &(notice){.push = "ejected", .message.generation = s->user.token}, p->name,
              p->name_bytes);
    stay_ends(n, s);
    drop_seat(s);
}

void seat_told(cluster_node *n, seat *s, const wme_action *a)
{
    if (a->verb == WME_EJECTED) {
        eject(n, s);
        return;
    }
    if (a->token > s->of->last_token)
        s->of->last_token = a->token;
    if (a->verb == WME_KEPT) {
        seat_post(s->who, &(notice){.push = "kept", .message.generation = a->token}, s->of->name,
                  s->of->name_bytes);
        return;
    }
    if (s->state != SEAT_WATCHES) {
        enter(n, s, a->token);
        return;
    }
    n->counts.resets++; /* it was free: who has failed may try again */
    seat_hear(n, s, WDME_RESET, a->token);
    s->next_dismissed = n->dismissed;
    n->dismissed = s;
}

void seats_dismiss(cluster_node *n)
{
    if (n->dismisses)
        return;
    n->dismisses = true;
    while (n->dismissed != NULL) {
        seat *s = n->dismissed;
        n->dismissed = s->next_dismissed;
        seat_leave(n, s);
    }
    n->dismisses = false;
}

void seat_outcome(cluster_node *n, seat *s, const resp_out *result)
{
    s->state = SEAT_INSIDE;
    if (s->resumes)
        seat_resumed(n, s); /* who has asked for this is gone */
    else
        seat_post(s->who, &(notice){.outcome = true}, result->at, result->bytes);
}

/* ---- what sessions say ---- */

/* The largest token that may be in use, as far as is known here. */
static uint64_t generation_now(const site *p)
{
    const wme_record *now = &p->replica.stub.now;
    uint64_t token = now->epoch << WME_ENTRY_BITS | now->entry;
    return token > p->last_token ? token : p->last_token;
}

static void fail(cluster_node *n, seat *s)
{
    n->counts.failed++;
    s->state = SEAT_WATCHES;
    seat_hear(n, s, WDME_FAIL, generation_now(s->of));
}

static void try(cluster_node *n, seat *s)
{
    site *p = s->of;
    bool taken_here = p->replica.stub.inside != NULL || p->replica.stub.first != NULL;
    s->state = SEAT_TRIES;
    replica_try(&p->replica, &n->wme, &s->user, &n->out);
    session_roles *who = s->who;
    site_carry_out(n, p);
    s = seat_find(who, p); /* it may have come and gone */
    if (s != NULL && s->state == SEAT_TRIES && taken_here)
        fail(n, s);
}

void seats_time(cluster_node *n, site *p)
{
    for (seat *s = p->seats, *next; s != NULL; s = next) {
        next = s->next;
        if (s->state == SEAT_TRIES && n->now >= s->asked_at + NODE_TRY_PATIENCE)
            fail(n, s);
    }
}

/* A session that has failed before asks again: its seat is in the queue already. */
static registry_verdict ask_again(cluster_node *n, seat *s, wdme_message m)
{
    if (s->state != SEAT_WATCHES)
        return REGISTRY_TWICE;
    s->request = m.request;
    if (m.kind == WDME_TRY) {
        n->counts.failed++;
        seat_hear(n, s, WDME_FAIL, generation_now(s->of));
    } else {
        seat_waits(n, s);
    }
    return REGISTRY_DONE;
}

static registry_verdict ask(cluster_node *n, session_roles *me, site *p, wdme_message m)
{
    seat *s = seat_find(me, p);
    n->counts.tries += m.kind == WDME_TRY;
    if (s != NULL)
        return ask_again(n, s, m);
    if (m.kind == WDME_LOCK && p->waiters >= n->most_waiters)
        return REGISTRY_CROWD;
    s = seat_add(n, me, p, m.request);
    if (s == NULL)
        return REGISTRY_NO_ROOM;
    if (m.kind == WDME_TRY) {
        try(n, s);
        return REGISTRY_DONE;
    }
    seat_waits(n, s);
    replica_try(&p->replica, &n->wme, &s->user, &n->out);
    site_carry_out(n, p);
    return REGISTRY_DONE;
}

static void exit_section(cluster_node *n, session_roles *me, const char *name, size_t bytes,
                         uint64_t token)
{
    const site *p = site_find(n, name, bytes);
    seat *s = p != NULL ? seat_find(me, p) : NULL;
    wdme_message m = {.kind = WDME_EXIT_DONE, .generation = token};
    if (!seat_has(s, token)) {
        n->counts.stale++;
        m.kind = WDME_STALE;
    } else {
        seat_leave(n, s);
    }
    me->hear(me, m, name, bytes);
}

static registry_verdict node_tell(registry *r, session_roles *me, const char *name, size_t bytes,
                                  wdme_message m, uint64_t now)
{
    cluster_node *n = node_of(r);
    n->now = now;
    if (n->drains && m.kind != WDME_EXIT)
        return REGISTRY_ENDS;
    r->why_not = join_refuses(n);
    if (r->why_not != NULL && m.kind != WDME_EXIT)
        return REGISTRY_NOT_READY;
    n->speaker = me;
    registry_verdict verdict = REGISTRY_DONE;
    if (m.kind == WDME_EXIT) {
        exit_section(n, me, name, bytes, m.generation);
    } else {
        site *p = bytes <= STORE_MOST_NAME ? site_get(n, name, bytes) : NULL;
        if (p != NULL)
            p->used_at = now;
        verdict = p != NULL ? ask(n, me, p, m) : REGISTRY_NO_ROOM;
    }
    n->speaker = NULL;
    return verdict;
}

/* What others have accepted must still find room, so operations end a good while before it does. */
bool node_is_full(const cluster_node *n)
{
    store_usage used = store_used(n->store);
    return used.bytes > used.most - used.most / 8;
}

/* The session's seat, if it is inside with that token. */
static seat *find_inside(const cluster_node *n, const session_roles *me, byte_string name,
                         uint64_t token)
{
    const site *p = site_find(n, (const char *)name.at, name.bytes);
    seat *s = p != NULL ? seat_find(me, p) : NULL;
    return seat_has(s, token) ? s : NULL;
}

static const char stale[] = "STALE the section with this token is over, or was never yours";

const char *node_issue(cluster_node *n, session_roles *me, byte_string name, uint64_t token,
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

const char *node_issue_op(cluster_node *n, session_roles *me, byte_string name, uint64_t token,
                          wme_op *issued)
{
    seat *s = find_inside(n, me, name, token);
    if (s == NULL)
        return stale;
    site *p = s->of;
    s->state = SEAT_ISSUES;
    wme_refusal why = replica_issue(&p->replica, &n->wme, &s->user, issued, &n->out);
    if (why != WME_FINE) {
        s->state = SEAT_INSIDE;
        return why == WME_OVERSIZED ? "ERR the operation is too large"
                                    : "ERR this section has an operation under way";
    }
    site_carry_out(n, p);
    return NULL;
}

static void node_wait_over(registry *r, session_roles *me, const char *name, size_t bytes,
                           uint64_t now)
{
    cluster_node *n = node_of(r);
    site *p = site_find(n, name, bytes);
    seat *s = p != NULL ? seat_find(me, p) : NULL;
    n->now = now;
    if (s == NULL || s->state != SEAT_LOCKS)
        return;
    n->counts.timeouts++;
    me->hear(me, (wdme_message){.kind = WDME_TIMEOUT, .request = s->request}, name, bytes);
    seat_leave(n, s);
}

/* ---- the end of a lease, of a session, of a section by force ---- */

/* Taken away while it waits for an outcome: that may come yet, but not to this session. */
static void take_away(cluster_node *n, seat *s)
{
    static const char words[] = "-LOST the lock was taken away; the operation may be executed "
                                "nevertheless\r\n";
    n->counts.lost++;
    if (s->state == SEAT_ISSUES)
        seat_post(s->who, &(notice){.outcome = true}, words, sizeof words - 1);
    seat_hear(n, s, WDME_LOST, s->user.token);
    seat_leave(n, s);
}

static uint32_t node_lease_over(registry *r, session_roles *me, uint64_t now)
{
    cluster_node *n = node_of(r);
    uint32_t held = 0;
    n->now = now;
    for (seat *s = me->seats, *next; s != NULL; s = next) {
        next = s->next_of_session;
        if (!seat_is_inside(s))
            continue;
        held++;
        take_away(n, s);
    }
    return held;
}

static uint32_t node_leave(registry *r, session_roles *me, uint64_t now)
{
    cluster_node *n = node_of(r);
    uint32_t held = 0;
    n->now = now;
    for (seat *s = me->seats, *next; s != NULL; s = next) {
        next = s->next_of_session;
        held += seat_is_inside(s);
        if (!seat_is_inside(s) || !seats_may_linger(n, me))
            seat_leave(n, s);
    }
    if (me->seats != NULL)
        seats_linger(n, me);
    return held;
}

static bool node_release(registry *r, const char *name, size_t bytes, uint64_t generation,
                         uint64_t now)
{
    cluster_node *n = node_of(r);
    site *p = site_find(n, name, bytes);
    n->now = now;
    for (seat *s = p != NULL ? p->seats : NULL; s != NULL; s = s->next)
        if (seat_has(s, generation)) {
            if (s->who->session != NULL) /* it may come to another node, and not know of this */
                replica_revoke(&p->replica, &n->wme, &s->user, &n->out);
            take_away(n, s);
            return true;
        }
    return false;
}

const registry_ways node_ways = {
    .leave = node_leave,
    .tell = node_tell,
    .wait_over = node_wait_over,
    .lease_over = node_lease_over,
    .release = node_release,
    .each = report_each,
    .count = report_count,
    .locks = report_locks,
};
