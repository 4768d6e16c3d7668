/*
 * Which locks have something to do, and when; no tick looks at all of them. Links lose nothing
 * while they last, so what may have been lost is known, and to whom.
 *
 *   news      a link has begun, something was dropped for want of room, somebody is suspected, or
 *             not any more. All locks hear of it, some at each tick: those that have not are unseen
 *   repeats   a lock that waits for other nodes says so again, after pauses that double: the answer
 *             may be lost with a link that this node only listens to
 *   rest      a lock that nobody uses is `idle`, and after a while at rest; before that it is
 *             compared once more, as no patrol comes there
 *   patrol    for safety, all are compared one after the other, at a rate that does not depend on
 *             how many there are
 */
#include "node_lock.h"
#include "out.h"

enum {
    NEWS_AT_ONCE = 20000,  /* locks that hear of news at a tick, */
    REPEATS_AT_ONCE = 512, /* that repeat at once, */
    LATER_AT_ONCE = 64,    /* or after each longer pause, */
    REST_EVERY = 10,       /* ticks, as each time costs a commit; and then */
    RESTS_AT_ONCE = 512,   /* that do; */
    PATROL_EVERY = 4,      /* ticks, and then */
    PATROL_PART = 16,      /* of so many locks one, but */
    PATROL_AT_ONCE = 96,   /* these at most; */
    ORPHANS_AT_ONCE = 256, /* that begin an epoch, of */
    ORPHANS_AMONG = 1024,  /* that are looked at */
};

void due_start(cluster_node *n)
{
    list_start(&n->calm);
    list_start(&n->unseen);
    list_start(&n->idle);
    for (uint32_t i = 0; i < NODE_PAUSES; i++)
        list_start(&n->repeats[i]);
}

void due_add(cluster_node *n, node_lock *p)
{
    list_push_back(&n->calm, &p->in_all);
    list_start(&p->in_time);
    p->heard = n->news;
}

void due_remove(node_lock *p)
{
    list_remove(&p->in_all);
    list_remove(&p->in_time);
}

/* ---- comparing ---- */

static void send_syncs(cluster_node *n, uint8_t to)
{
    peer_syncs *batch = &n->syncs[to];
    if (batch->names == 0)
        return;
    if (n->reached[to] && peer_say_syncs(&n->to_peer[to], batch) == NULL)
        n->counts.sent++;
    else
        node_drops(n, to);
    batch->names = 0;
}

/* Before any lock that they name can go. */
static void send_all_syncs(cluster_node *n)
{
    for (uint8_t to = 0; to < n->wme.nodes; to++)
        send_syncs(n, to);
}

void due_say_sync(cluster_node *n, uint8_t to, resp_word name, const wme_message *sync)
{
    peer_syncs_add(&n->syncs[to], name, sync);
    if (n->syncs[to].names == PEER_MAX_LISTED)
        send_syncs(n, to);
}

void due_syncs_said(cluster_node *n, uint8_t to)
{
    send_syncs(n, to);
}

/* A lock that waits has more to say to them than how far it is. */
static void compare(cluster_node *n, node_lock *p, uint16_t with)
{
    const wme_stub *s = &p->replica.stub;
    if (p->place == PLACE_REPEATS) {
        replica_tick(&p->replica, &n->wme, &n->out);
        for (uint32_t i = 0; i < n->out.count; i++)
            n->out.actions[i].to &= with;
        node_lock_carry_out(n, p);
        return;
    }
    wme_message m = {
        .kind = WME_SYNC, .epoch = s->now.epoch, .sn = s->now.sn, .executed = s->executed};
    for (uint8_t to = 0; to < n->wme.nodes; to++)
        if ((with & wme_bit(to)) != 0)
            due_say_sync(n, to, (resp_word){p->name, p->name_bytes}, &m);
}

static uint16_t all_reached(const cluster_node *n)
{
    uint16_t those = 0;
    for (uint8_t i = 0; i < n->wme.nodes; i++)
        if (n->reached[i])
            those |= wme_bit(i);
    return those;
}

/* ---- news ---- */

void due_begins(cluster_node *n, node_lock *p)
{
    p->suspects = n->wme.suspected;
    replica_suspicion(&p->replica, &n->wme, &n->out);
    node_lock_carry_out(n, p);
}

/* False if it knows that already: else it would say again what it has said. */
static bool hear_suspicion(cluster_node *n, node_lock *p)
{
    if (p->suspects == n->wme.suspected)
        return false;
    due_begins(n, p);
    return true;
}

/*
 * Who is here must know at once whether there is a majority, and who waits elsewhere whether it is
 * trusted again; a lock that was told that there is no majority could not rest; and where one waits
 * for others, the node may not take part yet, and no tick comes to it. Others hear of a suspicion
 * when somebody here uses them, or as look_after_orphans says.
 */
static bool cares_who_is_suspected(const node_lock *p)
{
    const wme_stub *s = &p->replica.stub;
    return !list_is_empty(&p->roles) || p->place == PLACE_REPEATS || s->now.queued > 0 ||
           s->suspended;
}

static void hear_news(cluster_node *n, node_lock *p)
{
    uint64_t heard = p->heard;
    uint16_t with = 0;
    p->heard = n->news;
    if (cares_who_is_suspected(p))
        hear_suspicion(n, p);
    for (uint8_t i = 0; i < n->wme.nodes && node_takes_part(n); i++)
        if (n->reached[i] && n->link_news[i] > heard)
            with |= wme_bit(i);
    if (with != 0)
        compare(n, p, with);
}

/* What is said now leaves before long: else it would be dropped before it is sent. */
static bool has_room(const cluster_node *n)
{
    for (uint8_t i = 0; i < n->wme.nodes; i++)
        if (n->reached[i] && n->to_peer[i].bytes > NODE_ENOUGH_OUTPUT)
            return false;
    return true;
}

static void spread_news(cluster_node *n)
{
    for (uint32_t i = 0; i < NEWS_AT_ONCE && !list_is_empty(&n->unseen) && has_room(n); i++) {
        node_lock *p = OWNER_OF(list_pop(&n->unseen), node_lock, in_all);
        list_push_back(&n->calm, &p->in_all);
        hear_news(n, p);
    }
    send_all_syncs(n);
}

static void have_news(cluster_node *n)
{
    n->news++;
    list_move_all(&n->calm, &n->unseen);
}

void due_suspicions(cluster_node *n)
{
    have_news(n);
    spread_news(n);
}

void due_link(cluster_node *n, uint8_t peer)
{
    have_news(n);
    n->link_news[peer] = n->news;
    spread_news(n);
}

void due_compare(cluster_node *n, node_lock *p)
{
    p->heard = 0;
    list_remove(&p->in_all);
    list_push_back(&n->unseen, &p->in_all);
}

/* As soon as there is room again, it is as if the link had begun anew. */
static void make_good(cluster_node *n)
{
    for (uint8_t i = 0; i < n->wme.nodes; i++)
        if (n->missed[i] && n->to_peer[i].bytes <= NODE_ENOUGH_OUTPUT) {
            n->missed[i] = false;
            due_link(n, i);
        }
}

static bool is_all_said(const cluster_node *n)
{
    for (uint8_t i = 0; i < n->wme.nodes; i++)
        if (n->missed[i])
            return false;
    return true;
}

/* ---- when ---- */

static void put(node_lock *p, list_head *into, lock_place place, uint64_t due)
{
    list_remove(&p->in_time);
    list_push_back(into, &p->in_time);
    p->place = place;
    p->due = due;
}

/* Consensus counts ticks; and nobody gets in meanwhile. */
static bool is_in_a_hurry(const node_lock *p)
{
    return p->replica.stub.blocked;
}

void due_sort(cluster_node *n, node_lock *p)
{
    if (replica_waits(&p->replica)) {
        if (p->place == PLACE_REPEATS && (p->pause == 0 || !is_in_a_hurry(p)))
            return;
        p->pause = 0;
        put(p, &n->repeats[0], PLACE_REPEATS, n->ticks + 1);
    } else if (list_is_empty(&p->roles) && replica_may_rest(&p->replica, &n->wme)) {
        if (p->place != PLACE_IDLE)
            put(p, &n->idle, PLACE_IDLE, n->ticks + n->rest_after / NODE_TICK);
    } else {
        list_remove(&p->in_time);
        p->place = PLACE_NONE;
    }
}

void due_used(cluster_node *n, node_lock *p)
{
    hear_suspicion(n, p);
}

/* The first of a list, if its time has come. */
static node_lock *first_due(const cluster_node *n, const list_head *of)
{
    node_lock *p = OWNER_OF(list_first(of), node_lock, in_time);
    return p != NULL && p->due <= n->ticks ? p : NULL;
}

static void repeat_after(cluster_node *n, uint32_t pause, uint32_t max)
{
    node_lock *p;
    for (uint32_t i = 0; i < max && (p = first_due(n, &n->repeats[pause])) != NULL; i++) {
        if (p->pause + 1 < NODE_PAUSES)
            p->pause++;
        put(p, &n->repeats[p->pause], PLACE_REPEATS, n->ticks + (UINT64_C(1) << p->pause));
        replica_tick(&p->replica, &n->wme, &n->out);
        node_lock_carry_out(n, p);
    }
}

static void repeat(cluster_node *n)
{
    repeat_after(n, 0, REPEATS_AT_ONCE);
    for (uint32_t pause = 1; pause < NODE_PAUSES; pause++)
        repeat_after(n, pause, LATER_AT_ONCE);
}

/* ---- rest, and patrol ---- */

/*
 * Whoever knows more says so, and wakes it. But nobody would be told again what was dropped: only
 * locks in memory are when there is room, and so none rests before that.
 */
static void rest(cluster_node *n)
{
    list_head tired;
    node_lock *p;
    if (n->ticks % REST_EVERY != 0)
        return;
    list_start(&tired);
    for (int i = 0; i < RESTS_AT_ONCE && (p = first_due(n, &n->idle)) != NULL; i++) {
        compare(n, p, all_reached(n));
        list_remove(&p->in_time);
        list_push_back(&tired, &p->in_time);
    }
    send_all_syncs(n);
    while ((p = OWNER_OF(list_pop(&tired), node_lock, in_time)) != NULL)
        if (!is_all_said(n) || !node_lock_rests(n, p))
            put(p, &n->idle, PLACE_IDLE, n->ticks + n->rest_after / NODE_TICK);
}

static void patrol(cluster_node *n)
{
    size_t count = 1 + n->loaded.count / PATROL_PART;
    if (!n->patrols || n->ticks % PATROL_EVERY != 0)
        return;
    for (size_t i = 0; i < count && i < PATROL_AT_ONCE && !list_is_empty(&n->calm); i++) {
        node_lock *p = OWNER_OF(list_pop(&n->calm), node_lock, in_all);
        list_push_back(&n->calm, &p->in_all);
        if (p->place != PLACE_REPEATS)
            compare(n, p, all_reached(n));
    }
    send_all_syncs(n);
}

/*
 * Locks that nobody uses here, and whose owner may be dead, begin an epoch, some at each tick: many
 * share a commit then, and whoever comes for them later need not wait for that.
 */
static void look_after_orphans(cluster_node *n)
{
    uint32_t told = 0;
    for (int i = 0; i < ORPHANS_AMONG && n->wme.suspected != 0 && !list_is_empty(&n->calm); i++) {
        node_lock *p = OWNER_OF(list_pop(&n->calm), node_lock, in_all);
        list_push_back(&n->calm, &p->in_all);
        if (hear_suspicion(n, p) && (++told == ORPHANS_AT_ONCE || !has_room(n)))
            return;
    }
}

void due_tick(cluster_node *n)
{
    n->ticks++;
    make_good(n);
    spread_news(n);
    repeat(n);
    patrol(n);
    look_after_orphans(n);
    rest(n);
}
