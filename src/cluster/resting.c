/*
 * Locks that are on the disk and not in memory. A lock that nobody has used for a while rests: its
 * record is saved as it is, under the number of this run of the node, and as long as that number is
 * good it goes on from there when somebody names it. When a connection is lost others may have gone
 * on without this node, and what they said is lost: then the number changes, and locks begin as
 * after a restart. When a connection stands again, the other node is told how far all these are.
 */
#include "node_lock.h"

#include <string.h>

enum {
    NAMES_AT_ONCE = 128,
    PAGES_AT_ONCE = 8, /* of names, that a peer is told at a tick */
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
    return n->only == NULL && node_lock_find(n, (const char *)name.at, name.bytes) == NULL &&
           store_load(n->store, name, kept, saved) == STORE_FOUND;
}

/* ---- to rest ---- */

/* All others were asked since it was last used whether they know more. */
bool node_lock_rests(cluster_node *n, node_lock *p)
{
    if (n->drains || n->only != NULL || p->asks || !replica_may_rest(&p->replica, &n->wme))
        return false;
    replica_durable saved = {0};
    replica_save(&p->replica, &saved);
    saved.rests = n->run;
    bool kept = store_save(n->store, &p->kept, &saved);
    replica_durable_end(&saved);
    if (!kept)
        return false;
    n->resting++;
    n->writes = true; /* else the turn would grow */
    node_lock_free(n, p);
    return true;
}

/* Whether it speaks of a lock as it is before anybody has used it. */
static bool is_of_the_beginning(const wme_message *sync)
{
    return sync->epoch == 1 && sync->sn == 0 && sync->executed == 0;
}

bool node_lock_knows(const cluster_node *n, resp_word name, const wme_message *sync)
{
    store_lock kept;
    replica_durable saved;
    byte_string its = {(const uint8_t *)name.at, name.bytes};
    if (n->only != NULL || node_lock_find(n, name.at, name.bytes) != NULL)
        return false;
    store_found found = store_load(n->store, its, &kept, &saved);
    if (found == STORE_UNKNOWN)
        return is_of_the_beginning(sync); /* and whoever has forgotten it is told its name */
    if (found == STORE_FAILED)
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
    /* Of what is not in memory, the resource has executed what the disk says: the last operation
     * may be accepted only, and whoever heard that it is executed would take it for acknowledged
     * by a majority. */
    wme_message m = {
        .kind = WME_SYNC, .epoch = saved.now.epoch, .sn = saved.now.sn, .executed = kept.executed};
    due_say_sync(n, peer, (resp_word){name->name, name->bytes}, &m);
    replica_durable_end(&saved);
}

/* What finds no room is told again when there is: it is not compared with what is in memory. */
static void tell_page(cluster_node *n, uint8_t peer)
{
    page p;
    name_cursor before = n->told[peer];
    n->tells[peer] = next_page(n, &n->told[peer], &p);
    for (uint32_t i = 0; n->tells[peer] && i < p.count; i++)
        tell_name(n, peer, &p.name[i]);
    due_syncs_said(n, peer); /* while the names are there */
    if (n->tells[peer] && n->missed[peer])
        n->told[peer] = before;
}

bool resting_is_told(const cluster_node *n)
{
    for (uint8_t peer = 0; peer < n->wme.nodes; peer++)
        if (n->tells[peer])
            return true;
    return false;
}

void resting_tick(cluster_node *n)
{
    for (uint8_t peer = 0; peer < n->wme.nodes; peer++)
        for (int i = 0; i < PAGES_AT_ONCE; i++)
            if (n->tells[peer] && n->reached[peer] && n->to_peer[peer].bytes <= NODE_ENOUGH_OUTPUT)
                tell_page(n, peer);
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
            node_lock_get(n, p.name[i].name, p.name[i].bytes);
    return false;
}

/* ---- for those who look ---- */

void resting_list(const cluster_node *n, uint32_t max,
                  void (*list)(void *context, resp_word name, const wme_record *now,
                               uint64_t executed),
                  void *context)
{
    name_cursor at = {0};
    page p;
    store_lock kept;
    replica_durable saved;
    while (max > 0 && next_page(n, &at, &p))
        for (uint32_t i = 0; max > 0 && i < p.count; i++) {
            if (!load_saved(n, string_of(&p.name[i]), &kept, &saved))
                continue;
            list(context, (resp_word){p.name[i].name, p.name[i].bytes}, &saved.now, kept.executed);
            replica_durable_end(&saved);
            max--;
        }
}
