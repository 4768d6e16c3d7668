/*
 * Sections that outlive their connections. What a session that has said who it is (SESSION) holds
 * stays held when its connection is gone, by a detached session, until its lease is over. Meanwhile
 * the session can go on with it over another connection (RESUME); or at another node, when this one
 * is dead.
 */
#include "node_lock.h"

#include <stdlib.h>
#include <string.h>

/* A session without a connection; nobody hears what is said to it. */
typedef struct detached_session {
    lock_session who; /* first: found from it */
    list_link link;
} detached_session;

/*
 * Many sections may end at once: of one session, or of many whose machine is gone. Each may end an
 * epoch, too, and all of them in one turn would keep this node from its peers.
 */
bool roles_may_revoke(cluster_node *n)
{
    return n->revoked++ < NODE_REVOKED_AT_ONCE;
}

/* ---- staying ---- */

bool roles_may_linger(const cluster_node *n, const lock_session *who)
{
    return kept_of(who)->lingers_until > n->now && n->detached_count < n->max_detached;
}

bool role_lingers(const role *s)
{
    return s->who->post == NULL;
}

/* Who has asked to go on with it, and still waits for that, is gone: it knows no newer token. */
static void hand_to(role *s, lock_session *who)
{
    list_remove(&s->in_session);
    s->who = who;
    s->resumes = false;
    list_push_front(&kept_of(who)->roles, &s->in_session);
}

void roles_linger(cluster_node *n, lock_session *who)
{
    detached_session *g = calloc(1, sizeof *g);
    if (g == NULL)
        abort(); /* as role_post does */
    memcpy(g->who.from, who->from, sizeof g->who.from);
    cluster_session *from = kept_of(who);
    *kept_of(&g->who) = (cluster_session){.id = from->id, .lingers_until = from->lingers_until};
    list_start(&kept_of(&g->who)->roles);
    from->id = NULL;
    LIST_EACH (at, &from->roles)
        hand_to(OWNER_OF(at, role, in_session), &g->who);
    list_push_front(&n->detached, &g->link);
    n->detached_count++;
}

void detached_time(cluster_node *n)
{
    LIST_EACH (at, &n->detached) {
        detached_session *g = OWNER_OF(at, detached_session, link);
        cluster_session *kept = kept_of(&g->who);
        while (n->now >= kept->lingers_until && !list_is_empty(&kept->roles) &&
               roles_may_revoke(n)) {
            n->counts.lost++;
            role_revoke(n, OWNER_OF(kept->roles.next, role, in_session));
        }
        if (!list_is_empty(&kept->roles))
            continue;
        list_remove(&g->link);
        n->detached_count--;
        free(kept->id);
        free(g);
    }
}

void detached_free(cluster_node *n)
{
    LIST_EACH (at, &n->detached) {
        detached_session *g = OWNER_OF(at, detached_session, link);
        free(kept_of(&g->who)->id);
        free(g);
    }
}

/* ---- going on ---- */

void role_resumed(cluster_node *n, role *s)
{
    s->resumes = false;
    s->token = s->user.token;
    role_hear(n, s, WDME_OK, s->token);
}

/* The section is here: of a detached session, or over a connection not known to be gone. */
static void take_over(cluster_node *n, role *s, lock_session *me)
{
    static const char words[] = "-LOST the session goes on over another connection\r\n";
    if (s->state == ROLE_ISSUES)
        role_post(s->who, &(notice){.outcome = true}, words, sizeof words - 1);
    hand_to(s, me);
    if (s->state == ROLE_ISSUES)
        s->resumes = true;
    else
        role_resumed(n, s);
}

static role *find_section(const node_lock *p, const lock_session *me, uint64_t token)
{
    LIST_EACH (at, &p->roles) {
        role *s = OWNER_OF(at, role, in_lock);
        const char *id = kept_of(s->who)->id;
        if (role_has(s, token) && id != NULL && strcmp(id, kept_of(me)->id) == 0)
            return s;
    }
    return NULL;
}

static const char *resume_from_elsewhere(cluster_node *n, node_lock *p, lock_session *me,
                                         uint64_t token)
{
    if (n->drains)
        return "DRAINING this node is about to end; go to another";
    role *s = role_add(n, me, p, 0);
    if (s == NULL)
        return "OOM the node is out of memory";
    role_waits(n, s);
    replica_resume(&p->replica, &n->wme, &s->user, token, &n->out);
    node_lock_carry_out(n, p);
    return NULL;
}

/*
 * In the epoch after that of the section there was one stay so far, at another node: that may be
 * this section, which its node has kept, and could not tell whose connection was gone.
 */
static bool may_be_kept_elsewhere(const cluster_node *n, const wme_record *now, uint64_t token)
{
    return now->owner != n->wme.me && now->entry == 1 &&
           now->epoch == (token >> WME_ENTRY_BITS) + 1;
}

const char *node_resume(cluster_node *n, lock_session *me, byte_string name, uint64_t token,
                        uint64_t now)
{
    n->now = now;
    if (kept_of(me)->id == NULL)
        return "ERR say who you are first, with SESSION";
    if (join_refuses(n) != NULL)
        return "SUSPENDED this node does not count yet, or too few do; go to another";
    node_lock *p =
        name.bytes <= STORE_MAX_NAME ? node_lock_get(n, (const char *)name.at, name.bytes) : NULL;
    if (p == NULL)
        return "OOM the node is out of memory";
    due_used(n, p);
    role *s = find_section(p, me, token);
    if (s != NULL && s->who == me)
        return "TWICE this session holds the lock already";
    if (role_find(me, p) != NULL)
        return "TWICE this connection holds the lock, or waits for it, already";
    if (s != NULL && p->replica.stub.suspended)
        return "SUSPENDED this node sees no majority; go to another";
    if (s == NULL && may_be_kept_elsewhere(n, &p->replica.stub.now, token))
        return "SUSPENDED the section may still be held at another node; go there";
    n->speaker = me;
    const char *trouble = NULL;
    if (s != NULL)
        take_over(n, s, me);
    else
        trouble = resume_from_elsewhere(n, p, me, token);
    n->speaker = NULL;
    return trouble;
}
