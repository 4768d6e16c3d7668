/*
 * Sections that outlive their connections. What a session that has said who it is (SESSION) holds
 * stays held when its connection is gone, by a ghost, until its lease is over. Meanwhile the
 * session can go on with it over another connection (RESUME); or at another node, when this one is
 * dead.
 */
#include "site.h"

#include <stdlib.h>
#include <string.h>

/* A session without a connection; nobody hears what is said to it. */
typedef struct ghost {
    session_roles roles; /* first: found from it */
    struct ghost *next;
} ghost;

/* ---- staying ---- */

bool seats_may_linger(const cluster_node *n, const session_roles *who)
{
    return who->lingers_until > n->now && n->ghost_count < NODE_MOST_GHOSTS;
}

bool seat_lingers(const seat *s)
{
    return s->who->post == NULL;
}

static void hand_to(seat *s, session_roles *who)
{
    seat **link = &s->who->seats;
    while (*link != s)
        link = &(*link)->next_of_session;
    *link = s->next_of_session;
    s->who = who;
    s->next_of_session = who->seats;
    who->seats = s;
}

void seats_linger(cluster_node *n, session_roles *who)
{
    ghost *g = calloc(1, sizeof *g);
    if (g == NULL)
        abort(); /* as seat_post does */
    memcpy(g->roles.from, who->from, sizeof g->roles.from);
    g->roles.session = who->session;
    who->session = NULL;
    g->roles.lingers_until = who->lingers_until;
    while (who->seats != NULL)
        hand_to(who->seats, &g->roles);
    g->next = n->ghosts;
    n->ghosts = g;
    n->ghost_count++;
}

void ghosts_time(cluster_node *n)
{
    for (ghost **link = &n->ghosts; *link != NULL;) {
        ghost *g = *link;
        while (n->now >= g->roles.lingers_until && g->roles.seats != NULL) {
            n->counts.lost++;
            seat_leave(n, g->roles.seats);
        }
        if (g->roles.seats != NULL) {
            link = &g->next;
            continue;
        }
        *link = g->next;
        n->ghost_count--;
        free(g->roles.session);
        free(g);
    }
}

void ghosts_free(cluster_node *n)
{
    while (n->ghosts != NULL) {
        ghost *g = n->ghosts;
        n->ghosts = g->next;
        free(g->roles.session);
        free(g);
    }
}

/* ---- going on ---- */

void seat_resumed(cluster_node *n, seat *s)
{
    s->resumes = false;
    s->token = s->user.token;
    seat_hear(n, s, WDME_OK, s->token);
}

/* The section is here, held by a ghost, or over a connection that is not known to be gone. */
static void take_over(cluster_node *n, seat *s, session_roles *me)
{
    static const char words[] = "-LOST the session goes on over another connection\r\n";
    if (s->state == SEAT_ISSUES)
        seat_post(s->who, &(notice){.outcome = true}, words, sizeof words - 1);
    hand_to(s, me);
    if (s->state == SEAT_ISSUES)
        s->resumes = true;
    else
        seat_resumed(n, s);
}

static seat *find_section(const site *p, const session_roles *me, uint64_t token)
{
    seat *s = p->seats;
    while (s != NULL && (!seat_has(s, token) || s->who->session == NULL ||
                         strcmp(s->who->session, me->session) != 0))
        s = s->next;
    return s;
}

static const char *resume_from_elsewhere(cluster_node *n, site *p, session_roles *me,
                                         uint64_t token)
{
    if (n->drains)
        return "DRAINING this node is about to end; go to another";
    seat *s = seat_add(n, me, p, 0);
    if (s == NULL)
        return "OOM the node is out of memory";
    seat_waits(n, s);
    replica_resume(&p->replica, &n->wme, &s->user, token, &n->out);
    site_carry_out(n, p);
    return NULL;
}

const char *node_resume(cluster_node *n, session_roles *me, byte_string name, uint64_t token,
                        uint64_t now)
{
    n->now = now;
    if (me->session == NULL)
        return "ERR say who you are first, with SESSION";
    if (join_refuses(n) != NULL)
        return "SUSPENDED this node does not count yet, or too few do; go to another";
    site *p = name.bytes <= STORE_MOST_NAME ? site_get(n, (const char *)name.at, name.bytes) : NULL;
    if (p == NULL)
        return "OOM the node is out of memory";
    seat *s = find_section(p, me, token);
    if (s != NULL && s->who == me)
        return "TWICE this session holds the lock already";
    if (seat_find(me, p) != NULL)
        return "TWICE this connection holds the lock, or waits for it, already";
    if (s != NULL && p->replica.stub.suspended)
        return "SUSPENDED this node sees no majority; go to another";
    n->speaker = me;
    const char *trouble = NULL;
    if (s != NULL)
        take_over(n, s, me);
    else
        trouble = resume_from_elsewhere(n, p, me, token);
    n->speaker = NULL;
    return trouble;
}
