/*
 * Locks that are on the disk and not in memory. A lock that nobody has used for a while rests: its
 * record is saved as it is, under the number of this run of the node, and as long as that number is
 * good it goes on from there when somebody names it. When a connection is lost others may have gone
 * on without this node, and what they said is lost: then the number changes, and locks begin as
 * after a restart. When a connection stands again, the other node is told how far all these are.
 */
#include "site.h"

#include <string.h>

enum {
    NAMES_AT_ONCE = 128,
    MOST_TO_TELL = 1 << 20, /* bytes for a peer; more go when these are sent */
};

/* ---- names, some at a time ---- */

typedef struct page {
    uint32_t count;
    name_cursor name[NAMES_AT_ONCE];
} page;

static bool add_name(void *context, byte_string name)
{
    page *p = context;
    if (p->count == NAMES_AT_ONCE)
        return false;
    name_cursor *to = &p->name[p->count++];
    memcpy(to->name, name.at, name.bytes);
    to->bytes = name.bytes;
    return true;
}

static byte_string string_of(const name_cursor *c)
{
    return (byte_string){(const uint8_t *)c->name, c->bytes};
}

/* The names behind the cursor, which moves; false at the end of all. */
static bool next_page(const cluster_node *n, name_cursor *cursor, page *p)
{
    p->count = 0;
    if (!store_each(n->store, string_of(cursor), add_name, p) || p->count == 0)
        return false;
    *cursor = p->name[p->count - 1];
    return true;
}

/* What the disk has of a lock that is not in memory; `saved` is to be ended. */
static bool load_saved(const cluster_node *n, byte_string name, store_lock *kept,
                       replica_durable *saved)
{
    return n->only == NULL && site_find(n, (const char *)name.at, name.bytes) == NULL &&
           store_load(n->store, name, kept, saved) == STORE_FOUND;
}

/* ---- to rest ---- */

/* All others were asked since it was last used whether they know more. */
bool site_rests(cluster_node *n, site *p)
{
    if (n->now < p->used_at + NODE_REST_AFTER || p->compared_at <= p->used_at || n->drains ||
        n->only != NULL || p->asks || !replica_may_rest(&p->replica, &n->wme))
        return false;
    replica_durable saved = {0};
    replica_save(&p->replica, &saved);
    saved.rests = n->run;
    bool kept = store_save(n->store, &p->kept, &saved);
    replica_durable_end(&saved);
    if (!kept)
        return false;
    site **at = &n->bucket[p->hash & (n->buckets - 1)];
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    n->resting++;
    n->writes = true; /* else the turn would grow */
    site_free(n, p);
    return true;
}

bool site_knows(const cluster_node *n, resp_word name, const wme_message *sync)
{
    store_lock kept;
    replica_durable saved;
    if (!load_saved(n, (byte_string){(const uint8_t *)name.at, name.bytes}, &kept, &saved))
        return false;
    bool old = wme_may_sleep_on(&saved.now, kept.executed, sync);
    replica_durable_end(&saved);
    return old;
}

/* ---- connections ---- */

void resting_lost(cluster_node *n)
{
    n->run++;
    n->resting = 0;
}

void resting_tell(cluster_node *n, uint8_t peer)
{
    n->tells[peer] = true;
    n->told[peer].bytes = 0;
}

static void tell_name(cluster_node *n, uint8_t peer, const name_cursor *name)
{
    store_lock kept;
    replica_durable saved;
    if (!load_saved(n, string_of(name), &kept, &saved))
        return;
    wme_message m = {
        .kind = WME_SYNC, .epoch = saved.now.epoch, .sn = saved.now.sn, .executed = saved.now.ops};
    peer_say(&n->to_peer[peer], n->wme.nodes, (resp_word){name->name, name->bytes}, &m);
    n->counts.sent++;
    replica_durable_end(&saved);
}

void resting_tick(cluster_node *n)
{
    page p;
    for (uint8_t peer = 0; peer < n->wme.nodes; peer++) {
        if (!n->tells[peer] || !n->reached[peer] || n->to_peer[peer].bytes > MOST_TO_TELL)
            continue;
        n->tells[peer] = next_page(n, &n->told[peer], &p);
        for (uint32_t i = 0; n->tells[peer] && i < p.count; i++)
            tell_name(n, peer, &p.name[i]);
    }
}

/* ---- the end of the node ---- */

static bool rests_with_token(const cluster_node *n, byte_string name)
{
    store_lock kept;
    replica_durable saved;
    if (!load_saved(n, name, &kept, &saved))
        return false;
    bool here = saved.rests == n->run && saved.now.owner == n->wme.me;
    replica_durable_end(&saved);
    return here;
}

bool resting_wake(cluster_node *n)
{
    page p;
    if (n->resting == 0 || !next_page(n, &n->woken, &p))
        return true;
    for (uint32_t i = 0; i < p.count; i++)
        if (rests_with_token(n, string_of(&p.name[i])))
            site_get(n, p.name[i].name, p.name[i].bytes);
    return false;
}

/* ---- for those who look ---- */

void resting_list(const cluster_node *n, uint32_t most,
                  void (*list)(void *context, resp_word name, const wme_record *now,
                               uint64_t executed),
                  void *context)
{
    name_cursor at = {0};
    page p;
    store_lock kept;
    replica_durable saved;
    while (most > 0 && next_page(n, &at, &p))
        for (uint32_t i = 0; most > 0 && i < p.count; i++) {
            if (!load_saved(n, string_of(&p.name[i]), &kept, &saved))
                continue;
            list(context, (resp_word){p.name[i].name, p.name[i].bytes}, &saved.now, kept.executed);
            replica_durable_end(&saved);
            most--;
        }
}
