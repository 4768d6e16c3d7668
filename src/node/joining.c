/*
 * How a node comes to count: it carries what src/wme/muster wants to know to the other nodes and
 * back, and has the locks that they know rejoined, some at a time.
 */
#include "../net/log.h"
#include "site.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_AWAY = 256,  /* locks that rejoin at the same time, and then no more are asked for */
    SAY_EVERY = 5000, /* milliseconds: what it waits for */
};

/* ---- beginning, and what changes ---- */

bool join_start(cluster_node *n, bool forgets)
{
    muster_durable before = store_muster(n->store);
    muster_start(&n->muster, n->wme.me, n->wme.nodes, &before, forgets, n->chance);
    return store_save_muster(n->store, &n->muster.durable);
}

bool node_takes_part(const cluster_node *n)
{
    return n->muster.durable.state != MUSTER_NEW;
}

static void begin_to_count(cluster_node *n)
{
    detector_settings settings = {NODE_BEAT, NODE_FIRST_TIMEOUT, NODE_MOST_TIMEOUT};
    detector_start(&n->detector, n->wme.me, n->wme.nodes, settings, n->now);
    sites_suspicion(n);
}

/* What fails here fails for good: node_turn_ends says so. */
static void save(cluster_node *n, muster_state before)
{
    static const char *const words[] = {
        [MUSTER_NEW] = "new", [MUSTER_FORGETFUL] = "forgetful", [MUSTER_SETTLED] = "settled"};
    muster_state now = n->muster.durable.state;
    store_save_muster(n->store, &n->muster.durable);
    if (now == MUSTER_FORGETFUL)
        n->first_run = false; /* its old self may have let users in, and told nobody */
    if (now == before)
        return;
    log_line(now == MUSTER_FORGETFUL ? LOG_WARN : LOG_INFO, "muster", "was=%s is=%s", words[before],
             words[now]);
    if (before == MUSTER_NEW)
        begin_to_count(n);
    if (before == MUSTER_NEW && now == MUSTER_SETTLED)
        sites_each(n, site_is_new);
}

/* ---- in words ---- */

static void name_nodes(const cluster_node *n, uint16_t those, char text[128])
{
    size_t length = 0;
    text[0] = '\0';
    for (uint8_t i = 0; i < n->wme.nodes && length < 120; i++)
        if ((those >> i & 1) != 0)
            length += (size_t)snprintf(text + length, 128 - length, "%s%s", length > 0 ? ", " : "",
                                       n->all->node[i].id);
}

const char *join_why(const cluster_node *n, char text[NODE_WHY])
{
    const muster *m = &n->muster;
    char who[128];
    name_nodes(n, muster_missing(m), who);
    if (muster_is_lost(m))
        snprintf(text, NODE_WHY,
                 "a majority of the nodes has lost what it knew; empty the data directories of "
                 "all to begin anew, tokens too");
    else if (m->durable.state == MUSTER_NEW)
        snprintf(text, NODE_WHY, "this node is new and has not heard from %s yet", who);
    else if (m->durable.state == MUSTER_FORGETFUL && who[0] != '\0')
        snprintf(text, NODE_WHY, "this node has lost what it knew, and has not heard from %s yet",
                 who);
    else if (m->durable.state == MUSTER_FORGETFUL)
        snprintf(text, NODE_WHY, "this node has lost what it knew, and rejoins; %zu locks to go",
                 n->away);
    else
        text[0] = '\0';
    return text[0] != '\0' ? text : NULL;
}

const char *join_refuses(cluster_node *n)
{
    if (n->only != NULL || (node_takes_part(n) && !muster_is_lost(&n->muster)))
        return NULL; /* within a program, who enters waits */
    return join_why(n, n->why);
}

/* ---- who is there ---- */

static void hear_muster(cluster_node *n, uint8_t from, const muster_message *m)
{
    muster_message answer;
    muster_state before = n->muster.durable.state;
    if (muster_hear(&n->muster, from, m, &answer))
        save(n, before);
    if (m->asks && n->reached[from])
        peer_say_muster(&n->to_peer[from], &answer);
}

/* ---- which locks ---- */

/* What was never written is no record, and so in no list: written now, it is. */
static void write_site(cluster_node *n, site *p)
{
    if (p->kept.number != 0 || p->replica.stub.away != 0)
        return;
    replica_durable durable = {0};
    replica_save(&p->replica, &durable);
    store_save(n->store, &p->kept, &durable);
    replica_durable_end(&durable);
    n->writes = true;
}

/* A part of the list. */
typedef struct page {
    peer_list list;
    char name[PEER_MOST_LISTED][STORE_MOST_NAME];
} page;

static bool add_name(void *context, byte_string name)
{
    page *p = context;
    peer_list *l = &p->list;
    l->end = l->names < PEER_MOST_LISTED;
    if (!l->end)
        return false;
    memcpy(p->name[l->names], name.at, name.bytes);
    l->name[l->names] = (resp_word){p->name[l->names], name.bytes};
    l->names++;
    return true;
}

static void answer_list(cluster_node *n, uint8_t from, const peer_list *asked)
{
    page answer = {.list = {.nonce = asked->nonce, .end = true}};
    byte_string after = {0};
    if (n->muster.durable.state != MUSTER_SETTLED || !n->reached[from])
        return;
    if (asked->names == 0)
        sites_each(n, write_site);
    else
        after = (byte_string){(const uint8_t *)asked->name[0].at, asked->name[0].bytes};
    if (after.bytes <= STORE_MOST_NAME && store_each(n->store, after, add_name, &answer))
        peer_say_listed(&n->to_peer[from], &answer.list);
}

static void ask_list(cluster_node *n, uint8_t whom)
{
    const name_cursor *c = &n->cursor[whom];
    peer_list l = {.nonce = n->muster.nonce, .names = c->bytes > 0};
    l.name[0] = (resp_word){c->name, c->bytes};
    if (n->reached[whom] && n->away < MOST_AWAY)
        peer_say_list(&n->to_peer[whom], &l);
}

/* The farthest name; pages may come twice. */
static void move_on(name_cursor *c, resp_word to)
{
    size_t both = to.bytes < c->bytes ? to.bytes : c->bytes;
    int sign = memcmp(to.at, c->name, both);
    if (sign < 0 || (sign == 0 && to.bytes <= c->bytes))
        return;
    memcpy(c->name, to.at, to.bytes);
    c->bytes = to.bytes;
}

static void hear_listed(cluster_node *n, uint8_t from, const peer_list *l)
{
    if (n->muster.durable.state != MUSTER_FORGETFUL || l->nonce != n->muster.nonce)
        return;
    for (uint32_t i = 0; i < l->names; i++) {
        if (l->name[i].bytes > STORE_MOST_NAME ||
            site_get(n, l->name[i].at, l->name[i].bytes) == NULL)
            return; /* asked for again at the next tick */
        move_on(&n->cursor[from], l->name[i]);
    }
    if (l->end)
        muster_listed(&n->muster, from);
    else
        ask_list(n, from);
}

bool join_receive(cluster_node *n, uint8_t from, const peer_said *said)
{
    if (said->verb == PEER_MUSTER)
        hear_muster(n, from, &said->muster);
    else if (said->verb == PEER_LIST)
        answer_list(n, from, &said->list);
    else if (said->verb == PEER_LISTED)
        hear_listed(n, from, &said->list);
    else
        return !node_takes_part(n);
    return true;
}

/* ---- time ---- */

/* To the log: now and then, and whenever it waits for somebody else. */
static void say_why(cluster_node *n)
{
    char text[NODE_WHY];
    uint32_t about = muster_missing(&n->muster) | (uint32_t)muster_is_lost(&n->muster) << 16 |
                     (uint32_t)n->muster.durable.state << 17;
    if (join_why(n, text) == NULL || (about == n->says_about && n->now < n->says_after))
        return;
    n->says_about = about;
    n->says_after = n->now + SAY_EVERY;
    log_line(LOG_WARN, "waits", "why=\"%s\"", text);
}

void join_tick(cluster_node *n)
{
    muster_message question;
    if (n->away == 0 && muster_rejoined(&n->muster))
        save(n, MUSTER_FORGETFUL); /* which the others are told below */
    uint16_t whom = muster_tick(&n->muster, &question);
    uint16_t unlisted = muster_unlisted(&n->muster);
    for (uint8_t i = 0; i < n->wme.nodes; i++) {
        if ((whom >> i & 1) != 0 && n->reached[i])
            peer_say_muster(&n->to_peer[i], &question);
        if ((unlisted >> i & 1) != 0)
            ask_list(n, i);
    }
    say_why(n);
}
