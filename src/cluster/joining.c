/*
 * How a node comes to count: it carries what wme/boot_check wants to know to the other nodes and
 * back, and has the locks that they know rejoined, some at a time.
 */
#include "log.h"
#include "node_lock.h"

#include <stdio.h>
#include <string.h>

enum {
    WRITTEN_AT_ONCE = 4096, /* buckets of locks, of one each or so */
    MAX_AWAY = 256,         /* locks that rejoin at the same time, and then no more are asked for */
    SAY_EVERY = 5000,       /* milliseconds: what it waits for */
    WRITE_EVERY = 10000,    /* which turns it has heard of */
};

/* ---- beginning, and what changes ---- */

/* What fails here fails for good: node_turn_ends says so. */
static bool write_boot(cluster_node *n)
{
    n->boot_check.unsaved = false;
    return store_save_boot(n->store, &n->boot_check.durable);
}

bool join_start(cluster_node *n, bool forgets)
{
    boot_durable before = store_boot(n->store);
    uint64_t begin = store_turn(n->store) + before.writes;
    boot_start(&n->boot_check, n->wme.me, n->wme.nodes, &before, forgets, begin, n->chance);
    return write_boot(n);
}

bool node_takes_part(const cluster_node *n)
{
    const boot_durable *m = &n->boot_check.durable;
    return m->state != BOOT_NEW && !m->outdated;
}

/*
 * Grows with all that is written in the directory, in the data or beside them. But not with a
 * start, or a copy that is started often enough would catch up; nor with the turns of others, or
 * nodes that do nothing would have news for each other for ever.
 */
uint64_t join_turn(const cluster_node *n)
{
    return store_turn(n->store) + n->boot_check.durable.writes;
}

void join_heard_turns(cluster_node *n)
{
    if (n->boot_check.unsaved)
        write_boot(n);
}

static void begin_to_count(cluster_node *n)
{
    detector_settings settings = {NODE_BEAT, NODE_FIRST_TIMEOUT, NODE_MAX_TIMEOUT};
    detector_start(&n->detector, n->wme.me, n->wme.nodes, settings, n->now);
    node_locks_suspicion(n);
    for (uint8_t i = 0; i < n->wme.nodes; i++)
        if (n->reached[i])
            due_link(n, i); /* it was deaf to what came before */
}

static void save(cluster_node *n, boot_state before)
{
    static const char *const words[] = {
        [BOOT_NEW] = "new", [BOOT_FORGETFUL] = "forgetful", [BOOT_SETTLED] = "settled"};
    boot_state now = n->boot_check.durable.state;
    /* That all is back is written at once, beside the turn: so what came back in this turn must be
     * there before. Else who dies in between knows nothing of it, and says that it knows all. */
    if (now == BOOT_SETTLED && before != now)
        store_commit(n->store);
    n->boot_check.durable.writes++;
    write_boot(n);
    if (now == BOOT_FORGETFUL)
        n->first_run = false; /* its old self may have let users in, and told nobody */
    if (now == before)
        return;
    log_line(now == BOOT_FORGETFUL ? LOG_WARN : LOG_INFO, "boot_check", "was=%s is=%s",
             words[before], words[now]);
    if (before == BOOT_NEW)
        begin_to_count(n);
    if (before == BOOT_NEW && now == BOOT_SETTLED)
        node_locks_each(n, node_lock_is_new);
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
    const boot_check *m = &n->boot_check;
    char who[128];
    name_nodes(n, boot_missing(m), who);
    if (m->durable.outdated)
        snprintf(text, NODE_WHY,
                 "the data of this node are older than what others have heard of it: a copy was "
                 "restored, or another directory used since; empty it, and the node rejoins");
    else if (boot_is_lost(m))
        snprintf(text, NODE_WHY,
                 "a majority of the nodes has lost what it knew; empty the data directories of "
                 "all to begin anew, tokens too");
    else if (boot_is_stuck(m))
        snprintf(text, NODE_WHY,
                 "a node has lost its data, and none of all nodes has ever counted since; empty "
                 "the data directories of all to begin anew, tokens too");
    else if (m->durable.state == BOOT_NEW)
        snprintf(text, NODE_WHY, "this node is new and has not heard from %s yet", who);
    else if (m->durable.state == BOOT_FORGETFUL && who[0] != '\0')
        snprintf(text, NODE_WHY, "this node has lost what it knew, and has not heard from %s yet",
                 who);
    else if (m->durable.state == BOOT_FORGETFUL)
        snprintf(text, NODE_WHY, "this node has lost what it knew, and rejoins; %zu locks to go",
                 n->away);
    else
        text[0] = '\0';
    return text[0] != '\0' ? text : NULL;
}

const char *join_refuses(cluster_node *n)
{
    if (n->only != NULL || (node_takes_part(n) && !boot_is_lost(&n->boot_check)))
        return NULL; /* within a program, who enters waits */
    return join_why(n, n->why);
}

/* ---- who is there ---- */

static void hear_boot(cluster_node *n, uint8_t from, const boot_message *m)
{
    boot_message answer;
    boot_state before = n->boot_check.durable.state;
    if (boot_hear(&n->boot_check, from, m, &answer))
        save(n, before);
    answer.turn = join_turn(n);
    if (m->asks && n->reached[from] && !n->boot_check.durable.outdated)
        peer_say_boot(&n->to_peer[from], &answer);
}

/* ---- which locks ---- */

/* What was never written is no record, and so in no list: written now, it is. */
static void write_site(cluster_node *n, node_lock *p)
{
    if (p->kept.number != 0 || p->replica.stub.away != 0)
        return;
    replica_durable durable = {0};
    replica_save(&p->replica, &durable);
    store_save(n->store, &p->kept, &durable);
    replica_durable_end(&durable);
    n->writes = true;
}

/*
 * All of them, some each time it asks, as a million at once would keep this node from its peers;
 * true if that were all. A lock that comes into memory behind this is none that the asker's old
 * self has known.
 */
static bool write_locks(cluster_node *n, uint8_t asker, uint64_t nonce)
{
    size_t *at = &n->written[asker];
    if (n->written_for[asker] != nonce)
        *at = 0;
    n->written_for[asker] = nonce;
    for (int i = 0; i < WRITTEN_AT_ONCE && *at < n->loaded.buckets; i++, ++*at) {
        name_walk bucket = name_walk_bucket(&n->loaded, *at);
        for (node_lock *p; (p = node_lock_next(&bucket)) != NULL;)
            write_site(n, p);
    }
    return *at >= n->loaded.buckets;
}

/* A part of the list. */
typedef struct page {
    peer_list list;
    char name[PEER_MAX_LISTED][STORE_MAX_NAME];
} page;

static bool add_name(void *context, byte_string name)
{
    page *p = context;
    peer_list *l = &p->list;
    l->end = l->names < PEER_MAX_LISTED;
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
    const boot_durable *m = &n->boot_check.durable;
    if (m->state != BOOT_SETTLED || m->outdated || !n->reached[from])
        return;
    if (asked->names == 0 && !write_locks(n, from, asked->nonce))
        return; /* it asks again */
    if (asked->names > 0)
        after = (byte_string){(const uint8_t *)asked->name[0].at, asked->name[0].bytes};
    if (after.bytes <= STORE_MAX_NAME && store_each(n->store, after, add_name, &answer))
        peer_say_listed(&n->to_peer[from], &answer.list);
}

static void ask_list(cluster_node *n, uint8_t whom)
{
    const name_cursor *c = &n->cursor[whom];
    peer_list l = {.nonce = n->boot_check.nonce, .names = c->bytes > 0};
    l.name[0] = (resp_word){c->name, c->bytes};
    if (n->reached[whom] && n->away < MAX_AWAY)
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
    if (n->boot_check.durable.state != BOOT_FORGETFUL || l->nonce != n->boot_check.nonce)
        return;
    for (uint32_t i = 0; i < l->names; i++) {
        if (l->name[i].bytes > STORE_MAX_NAME ||
            node_lock_get(n, l->name[i].at, l->name[i].bytes) == NULL)
            return; /* asked for again at the next tick */
        move_on(&n->cursor[from], l->name[i]);
    }
    if (l->end)
        boot_listed(&n->boot_check, from);
    else
        ask_list(n, from);
}

bool join_receive(cluster_node *n, uint8_t from, const peer_said *said)
{
    if (said->verb == PEER_BOOT)
        hear_boot(n, from, &said->boot_check);
    else if (said->verb == PEER_HEARTBEAT)
        boot_hear_turn(&n->boot_check, from, said->turn);
    else if (said->verb == PEER_LIST)
        answer_list(n, from, &said->list);
    else if (said->verb == PEER_LISTED)
        hear_listed(n, from, &said->list);
    else
        return !node_takes_part(n) || (n->boot_check.outdated >> from & 1) != 0;
    return true;
}

/* ---- time ---- */

/* To the log: now and then, and whenever it waits for somebody else. */
static void say_why(cluster_node *n)
{
    char text[NODE_WHY];
    uint32_t about = boot_missing(&n->boot_check) | (uint32_t)boot_is_lost(&n->boot_check) << 16 |
                     (uint32_t)boot_is_stuck(&n->boot_check) << 21 |
                     (uint32_t)n->boot_check.durable.state << 17 |
                     (uint32_t)n->boot_check.durable.outdated << 20;
    if (join_why(n, text) == NULL || (about == n->says_about && n->now < n->says_after))
        return;
    n->says_about = about;
    n->says_after = n->now + SAY_EVERY;
    log_line(LOG_WARN, "waits", "why=\"%s\"", text);
}

void join_tick(cluster_node *n)
{
    boot_message question;
    if (n->away == 0 && boot_rejoined(&n->boot_check))
        save(n, BOOT_FORGETFUL); /* which the others are told below, */
    if (!store_works(n->store))  /* but not if it is not written: a question leaves early */
        return;
    uint16_t whom = boot_tick(&n->boot_check, &question);
    question.turn = join_turn(n);
    uint16_t unlisted = boot_unlisted(&n->boot_check);
    for (uint8_t i = 0; i < n->wme.nodes; i++) {
        if ((whom >> i & 1) != 0 && n->reached[i])
            peer_say_boot(&n->early[i], &question); /* first of all, on a new connection */
        if ((unlisted >> i & 1) != 0)
            ask_list(n, i);
    }
    if (n->now >= n->writes_after) {
        join_heard_turns(n);
        n->writes_after = n->now + WRITE_EVERY;
    }
    say_why(n);
}
