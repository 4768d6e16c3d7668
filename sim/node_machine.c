/* A machine: its node starts, has turns, and dies within them. */
#include "node_fleet.h"

#include "chance.h"

#include <stdlib.h>
#include <string.h>

enum { START_AGAIN = 70 * MILLISECOND };

uint64_t host_clock(const fleet *f, uint8_t node)
{
    int64_t us = (int64_t)f->now;
    return (uint64_t)(1000 + us * (1000 + f->machines[node].drift) / 1000 / MILLISECOND);
}

uint64_t host_free_at(const fleet *f, uint8_t node)
{
    const machine *m = &f->machines[node];
    return m->busy_until > m->paused_until ? m->busy_until : m->paused_until;
}

bool host_forgets(const fleet *f, uint8_t node)
{
    return (f->settings.in_memory >> node & 1) != 0;
}

bool hosts_settled(const fleet *f)
{
    for (uint8_t i = 0; i < f->settings.nodes; i++)
        if (!f->machines[i].settled || f->machines[i].stale)
            return false;
    return true;
}

bool host_may_die(const fleet *f, uint8_t node)
{
    return !host_forgets(f, node) || (f->settings.nodes > 1 && hosts_settled(f));
}

static void say(const fleet *f, uint8_t node, const char *what)
{
    char who[16];
    snprintf(who, sizeof who, "node %u", node);
    fleet_say(f, who, "%s", what);
}

/* ---- the beginning ---- */

/* The list as it is by now, which no two starts have in the same order. */
static void make_peers(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    char list[FLEET_NODES * 32];
    char words[PEERS_COMPLAINT];
    char id[2] = {(char)('a' + node), '\0'};
    size_t length = 0;
    for (uint32_t i = 0; i < f->settings.nodes; i++) {
        uint32_t which = (i + m->start) % f->settings.nodes;
        m->knows[which] = f->machines[which].address;
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%c=10.0.0.%u:%u",
                                   i > 0 ? "," : "", (int)('a' + which), which + 1,
                                   7000 + m->knows[which]);
    }
    if (!peers_parse(&m->all, list, id, words) || m->all.me != node)
        fleet_out_of_order("a list of peers is not understood");
}

/* Its disk has: that is allowed if it is full, and if the node says so. */
static void has_failed(fleet *f, uint8_t node, const char *why)
{
    bool full = f->machines[node].disk.ran_out;
    char text[COMPLAINT + 16];
    char directory[128];
    disk_path(node, "data", directory); /* the number of this process is in it, another each time */
    const char *where = strstr(why, directory);
    if (where != NULL)
        snprintf(text, sizeof text, "FAILS: %.*sits data%s", (int)(where - why), why,
                 where + strlen(directory));
    else
        snprintf(text, sizeof text, "FAILS: %s", why);
    say(f, node, text);
    if (full && (strstr(why, "no space is left") != NULL || strstr(why, "disk is full") != NULL))
        f->counts.full++;
    else
        judge_wrong(&f->judge, "store", f->now, "node %u %s: %.150s", node,
                    full ? "does not say that its disk is full" : "fails", why);
}

static void open_store(fleet *f, uint8_t node)
{
    char directory[128];
    char why[COMPLAINT];
    char id[2] = {(char)('a' + node), '\0'};
    disk_path(node, "data", directory);
    store_options options = {.directory = directory,
                             .cluster = "sim",
                             .node = id,
                             .durability = host_forgets(f, node) ? STORE_MEMORY : STORE_DISK,
                             .boot = draw(&f->chance) >> 1 | 1,
                             .journal_bytes = DISK_JOURNAL,
                             .max_bytes = DISK_BYTES};
    f->machines[node].store = store_open(&options, why);
    if (f->machines[node].store != NULL)
        disk_opened(f, node);
    else
        has_failed(f, node, why);
}

static bool start_node(fleet *f, machine *m)
{
    bool first_run = !store_booted(m->store);
    node_beginning beginning = {.all = &m->all,
                                .store = m->store,
                                .first_run = first_run,
                                .forgets = host_forgets(f, m->all.me),
                                .ack_all = f->settings.ack_all,
                                .chance = draw(&f->chance),
                                .now = host_clock(f, m->all.me)};
    if (!store_mark_booted(m->store))
        return false;
    if (!node_start(&m->node, &beginning)) {
        node_end(&m->node);
        return false;
    }
    m->node.max_detached = f->settings.max_detached;
    m->node.rest_after = f->settings.rest_after;
    m->node.wme.outside = f->settings.outside;
    m->node.patrols = f->settings.patrols;
    m->service = (service){.locks = &m->node.locks,
                           .limits = {.word_bytes = 65536, .command_bytes = 1 << 18},
                           .max_output = 1 << 20,
                           .max_name = STORE_MAX_NAME,
                           .longest_lease = 86400000,
                           .more = node_commands};
    return true;
}

void host_start(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    if (m->up)
        return;
    disk_use(f, node);
    m->disk.ran_out = false;
    make_peers(f, node);
    open_store(f, node);
    if (m->store != NULL && !start_node(f, m)) {
        has_failed(f, node, store_why(m->store));
        store_close(m->store);
        m->store = NULL;
    }
    if (m->store == NULL) { /* somebody tries again before long */
        fleet_put(f, f->now + START_AGAIN, FLEET_STARTS, 0, node, 0, 0);
        return;
    }
    f->rejoins = f->rejoins || (host_forgets(f, node) && m->start > 0);
    /* What is not settled rejoins, whatever it has; and what has forgotten begins with nothing. */
    bool settled = m->node.boot_check.durable.state == BOOT_SETTLED;
    m->stale = m->stale && settled;
    m->settled = m->settled && settled;
    m->begun = m->turn;
    memset(m->told, 0, sizeof m->told);
    m->up = true;
    m->drains = m->turn_due = false;
    m->start++;
    m->busy_until = 0;
    m->doom = -1;
    m->epochs_seen = 0;
    f->counts.starts++;
    say(f, node, "STARTS");
    note_machine(f, NOTE_START, node);
    fleet_put(f, f->now + fleet_pick(f, 0, (uint64_t)NODE_TICK * MILLISECOND), FLEET_TICK, 0, node,
              m->start, 0);
    for (uint8_t i = 0; i < f->settings.nodes; i++)
        if (i != node)
            fleet_put(f, f->now + fleet_delay(f), FLEET_DIAL, node, i, ++f->lines[node][i].stamp,
                      0);
    host_started(f, node);
}

/* ---- turns ---- */

void host_touched(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    if (m->turn_due || !m->up)
        return;
    m->turn_due = true;
    fleet_put(f, f->now + fleet_pick(f, 0, f->settings.gather), FLEET_TURN, 0, node, m->start, 0);
}

void host_tick(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    if (m->node.boot_check.durable.outdated) { /* somebody does what it asks for */
        m->down_for = UINT64_C(50) * MILLISECOND;
        m->settled = false;
        host_dies(f, node);
        host_is_emptied(f, node);
        disk_empty(node, "data");
        disk_is_new(f, node);
        return;
    }
    guests_time(f, node);
    size_t resting = m->node.resting;
    node_tick(&m->node, host_clock(f, node));
    f->counts.rested += m->node.resting > resting;
    host_touched(f, node);
    fleet_put(f, f->now + (uint64_t)NODE_TICK * MILLISECOND, FLEET_TICK, 0, node, m->start, 0);
}

static void send_all(fleet *f, uint8_t node, resp_out said[WME_MAX_NODES], uint64_t at, bool part)
{
    for (uint8_t to = 0; to < f->settings.nodes; to++)
        line_send(f, node, to, &said[to], at, part);
}

/* Whether an epoch, or the node's part in the cluster, has changed since the last turn. */
static bool has_changed(machine *m)
{
    uint64_t seen = m->node.counts.epochs * 4 + (uint64_t)m->node.boot_check.durable.state + 1;
    bool changed = m->epochs_seen != 0 && m->epochs_seen != seen;
    m->epochs_seen = seen;
    return changed;
}

/* Whether it dies in this turn: in one that has something to write, if there is any before long. */
static bool is_doomed(const fleet *f, const machine *m, bool changed)
{
    if (m->doom < 0 || !host_may_die(f, m->all.me))
        return false;
    return f->now >= m->doom_until || (m->doom_waits ? changed : m->node.writes);
}

/* It has got back all that it had lost, and is to die of joy. */
static void doom_if_settled(const fleet *f, machine *m)
{
    bool settled = m->node.boot_check.durable.state == BOOT_SETTLED;
    if (m->doom_settled >= 0 && settled && !m->settled) {
        m->doom = m->doom_settled;
        m->doom_until = f->now;
        m->down_for = m->down_again;
        m->doom_settled = -1;
    }
    m->settled = settled;
}

/* It is killed between two calls of its commit; most likely before the last, which is the sync. */
static void die_in_commit(fleet *f, machine *m)
{
    disk *d = &m->disk;
    disk_fault before = d->fails;
    d->fails = DISK_DIES;
    d->until_sync = true;
    d->calls = fleet_happens(f, 60) ? UINT32_MAX : (uint32_t)fleet_pick(f, 0, 9);
    node_turn_ends(&m->node); /* if nothing was to be written it is true, and dead all the same */
    d->fails = before;
    d->until_sync = false;
}

/* The turn ends as far as the disk is concerned; false if it has failed, and the node is dead. */
static bool commit(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    if (node_turn_ends(&m->node))
        return true;
    has_failed(f, node, store_why(m->store));
    m->down_for = START_AGAIN;
    host_dies(f, node);
    return false;
}

/* What it does of the turn before it dies. */
static void die_in_turn(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    int point = m->doom;
    f->counts.points[point]++;
    if (point >= 1)
        send_all(f, node, m->node.early, f->now, point == 1);
    if (point == POINT_COMMIT)
        die_in_commit(f, m);
    else if (point >= 3 && !commit(f, node))
        return;
    if (point == 4) {
        send_all(f, node, m->node.to_peer, f->now, true);
        guests_send(f, node, f->now, true);
    }
    host_dies(f, node);
}

static void end_drain(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    m->node.writes = true; /* as driver_last_turn does */
    if (commit(f, node))
        host_dies(f, node);
}

void host_turn(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    m->turn_due = false;
    guest_notices(f, node);
    if (m->drains)
        guests_drain(f, node);
    bool drained = m->drains && (node_hand_over(&m->node) || f->now >= m->drain_until) &&
                   host_may_die(f, node);
    bool writes = m->node.writes;
    doom_if_settled(f, m);
    if (is_doomed(f, m, has_changed(m))) {
        die_in_turn(f, node);
        return;
    }
    send_all(f, node, m->node.early, f->now, false);
    if (!commit(f, node))
        return;
    f->counts.turns++;
    note_states(f, node);
    f->counts.commits += writes;
    m->busy_until = f->now + (writes ? fleet_pick(f, 1, 2 * (uint64_t)f->settings.disk) : 1);
    send_all(f, node, m->node.to_peer, m->busy_until, false);
    guests_send(f, node, m->busy_until, false);
    outside_asks(f, node);
    if (m->first_notice != NULL)
        host_touched(f, node);
    if (drained)
        end_drain(f, node);
}

/* ---- the end ---- */

void host_dies(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    if (!m->up)
        return;
    m->up = false;
    m->settled = m->settled && !host_forgets(f, node);
    m->start++; /* whatever is on its way to that node finds nobody */
    m->doom = -1;
    f->counts.deaths++;
    f->counts.epochs += m->node.counts.epochs;
    f->counts.ejected += m->node.counts.ejected;
    say(f, node, "DIES");
    note_machine(f, NOTE_CRASH, node);
    guests_die(f, node);
    while (m->first_notice != NULL) {
        notice *n = m->first_notice;
        m->first_notice = n->next;
        free(n);
    }
    m->last_notice = NULL;
    m->turn = join_turn(&m->node);
    node_end(&m->node);
    store_close(m->store);
    m->store = NULL;
    lines_die(f, node);
    if (m->doom_darkens)
        disk_tears(f, node);
    m->doom_darkens = false;
    if (m->down_for > 0)
        fleet_put(f, f->now + m->down_for, FLEET_STARTS, 0, node, 0, 0);
    m->down_for = 0;
}
