/* Mishaps: what each does to the fleet. */
#include "node_fleet.h"

#include <string.h>

enum {
    DOOM_PATIENCE = 300 * MILLISECOND, /* for a turn that writes, or for a change: */
    AMBUSH_PATIENCE = 3000 * MILLISECOND,
    DRAIN_PATIENCE = 1500 * MILLISECOND,
    DARK_PATIENCE = 1000 * MILLISECOND,
    SECOND_LIFE = 2500 * MILLISECOND, /* of a node whose disk is away */
};

static uint16_t all_nodes(const fleet *f)
{
    return (uint16_t)((1U << f->settings.nodes) - 1);
}

static uint8_t first_of(uint16_t nodes)
{
    return (uint8_t)__builtin_ctz(nodes);
}

static void doom(fleet *f, uint8_t node, const mishap *m)
{
    machine *at = &f->machines[node];
    if (!at->up || at->doom >= 0)
        return;
    at->doom = m->amount;
    at->doom_waits = m->kind == MISHAP_AMBUSH;
    at->doom_until = f->now + (at->doom_waits ? AMBUSH_PATIENCE : DOOM_PATIENCE);
    at->down_for = (uint64_t)m->length * MILLISECOND + 1;
}

/* The same by a failure of its power; most likely while it writes. */
static void darken(fleet *f, uint8_t node, uint64_t down_for, uint32_t again)
{
    machine *at = &f->machines[node];
    if (!at->up || at->doom >= 0)
        return;
    at->doom = fleet_happens(f, 75) ? POINT_COMMIT : (int)fleet_pick(f, 0, TURN_POINTS - 1);
    at->doom_waits = false;
    at->doom_until = f->now + DARK_PATIENCE;
    at->doom_darkens = true;
    at->dark_again = again;
    at->down_for = at->down_again = down_for;
}

static void kill_in_commit(fleet *f, uint8_t node, const mishap *m)
{
    machine *at = &f->machines[node];
    if (!at->up || at->doom >= 0)
        return;
    at->doom = POINT_COMMIT;
    at->doom_waits = false;
    at->doom_until = f->now + DARK_PATIENCE;
    at->down_for = (uint64_t)m->amount * MILLISECOND + 1;
    at->dark_after = (uint64_t)m->length * MILLISECOND + 1;
}

static void fill_disk(fleet *f, uint8_t node, const mishap *m)
{
    disk *d = &f->machines[node].disk;
    d->fails = DISK_FULL;
    d->until_sync = false;
    d->calls = (uint32_t)m->amount;
}

static void die(fleet *f, uint8_t node, uint64_t down_for)
{
    if (f->machines[node].up && !host_may_die(f, node))
        return;
    f->machines[node].down_for = down_for;
    if (f->machines[node].up)
        host_dies(f, node);
}

/* The disk is lost between the death of a node and its next start. */
static void lose_disk(fleet *f, uint8_t node, const mishap *m)
{
    machine *at = &f->machines[node];
    if (!at->up || !hosts_settled(f))
        return; /* with one more that knows nothing, too few might know anything */
    die(f, node, (uint64_t)m->length * MILLISECOND + 1);
    at->settled = false;
    host_is_emptied(f, node);
    if (m->kind == MISHAP_WIPE) {
        disk_empty(node, "data");
        note_machine(f, NOTE_EMPTIED, node);
        disk_is_new(f, node);
        at->doom_settled = m->amount - 1;
        at->down_again = (uint64_t)m->length * MILLISECOND + 1;
    } else {
        disk_move(node, "data", "away");
        disk_is_new(f, node);
        at->disk_away = true;
        fleet_put(f, f->now + (uint64_t)m->length * MILLISECOND + SECOND_LIFE, FLEET_DIES, 0, node,
                  0, 0);
    }
}

/* The disk that was away is back; or the other half of a swap begins. */
void host_died_again(fleet *f, uint8_t node)
{
    machine *at = &f->machines[node];
    bool back = at->disk_away;
    if (!at->up || f->over || !host_may_die(f, node))
        return;
    die(f, node, fleet_pick(f, 1, UINT64_C(300) * MILLISECOND));
    if (back) {
        disk_move(node, "away", "data");
        disk_is_new(f, node);
        at->disk_away = false;
    }
}

void host_started(fleet *f, uint8_t node)
{
    machine *at = &f->machines[node];
    if (!f->over && at->dark_after > 0)
        fleet_put(f, f->now + at->dark_after, FLEET_DARKENS, 0, node, at->start, 0);
    if (!f->over && at->dark_again > 0)
        darken(f, node, at->down_again, at->dark_again - 1);
    at->dark_after = 0;
}

/* Whether its node runs or not. */
void host_darkens(fleet *f, uint8_t node)
{
    machine *at = &f->machines[node];
    if (f->over || (at->up && !host_may_die(f, node)))
        return;
    if (!at->up) {
        disk_tears(f, node);
        return;
    }
    at->doom_darkens = true;
    die(f, node, fleet_pick(f, 1, UINT64_C(500) * MILLISECOND));
}

static void swap(fleet *f, const mishap *m)
{
    uint64_t length = (uint64_t)m->length * MILLISECOND;
    for (uint8_t i = 0; i < f->settings.nodes; i++)
        if ((m->nodes >> i & 1) != 0)
            die(f, i, length);
}

static void swap_back(fleet *f, const mishap *m)
{
    uint64_t length = (uint64_t)m->length * MILLISECOND;
    for (uint8_t i = 0; i < f->settings.nodes; i++)
        if ((m->nodes >> i & 1) == 0)
            die(f, i, length);
}

static void drop(fleet *f, const mishap *m)
{
    for (uint8_t a = 0; a < f->settings.nodes; a++)
        for (uint8_t b = 0; b < f->settings.nodes; b++)
            if ((m->nodes >> a & 1) != 0 && (m->others >> b & 1) != 0 && a != b)
                line_break(f, a, b, (uint64_t)m->length * MILLISECOND);
}

/* What there is room for, for each of the others; 1: for nothing, as 0 has no limit. */
static void set_room(machine *at, size_t bytes)
{
    if (!at->up)
        return;
    at->node.max_output = bytes;
    for (uint8_t i = 0; i < at->all.nodes; i++)
        at->node.to_peer[i].max = at->node.early[i].max = bytes;
}

static void drain(fleet *f, uint8_t node, const mishap *m)
{
    machine *at = &f->machines[node];
    bool alone = f->settings.nodes == 1 && host_forgets(f, node); /* all would be off */
    if (!at->up || at->drains || alone)
        return;
    at->drains = true;
    at->drain_until = f->now + DRAIN_PATIENCE;
    at->down_for = (uint64_t)m->length * MILLISECOND + 1;
    host_touched(f, node);
}

/* Where it is from now on nobody knows who was started before; one after the other is told. */
static void move_away(fleet *f, uint8_t node, const mishap *m)
{
    uint64_t length = (uint64_t)m->length * MILLISECOND + 1;
    uint64_t at = f->now + length;
    if (!f->machines[node].up || !host_may_die(f, node))
        return;
    die(f, node, length);
    f->machines[node].address++;
    for (uint8_t i = 0; i < f->settings.nodes; i++)
        if (i != node)
            fleet_put(f, at += (uint64_t)m->amount * MILLISECOND, FLEET_ROLLS, 0, i, 0, 0);
}

void host_rolls(fleet *f, uint8_t node)
{
    const mishap soon = {.length = 20};
    if (!f->over)
        drain(f, node, &soon);
}

static void begin(fleet *f, const mishap *m)
{
    uint64_t until = f->now + (uint64_t)m->length * MILLISECOND;
    uint8_t node = first_of(m->nodes);
    switch (m->kind) {
    case MISHAP_CRASH:
    case MISHAP_AMBUSH:
        doom(f, node, m);
        break;
    case MISHAP_WIPE:
    case MISHAP_AWAY:
        lose_disk(f, node, m);
        break;
    case MISHAP_SWAP:
        swap(f, m);
        break;
    case MISHAP_PAUSE:
        f->machines[node].paused_until = until;
        note_pause(f, m);
        break;
    case MISHAP_DRIFT:
        f->machines[node].drift = m->amount;
        break;
    case MISHAP_CUT:
        lines_cut(f, m->nodes, m->others, until);
        break;
    case MISHAP_SPLIT:
        lines_cut(f, m->nodes, all_nodes(f) & (uint16_t)~m->nodes, until);
        lines_cut(f, all_nodes(f) & (uint16_t)~m->nodes, m->nodes, until);
        break;
    case MISHAP_DROP:
        drop(f, m);
        break;
    case MISHAP_CHOKE:
        set_room(&f->machines[node], 1);
        break;
    case MISHAP_SLOW:
        f->slow = (uint32_t)m->amount * MILLISECOND;
        break;
    case MISHAP_DRAIN:
        drain(f, node, m);
        break;
    case MISHAP_POWER:
        for (uint8_t i = 0; i < f->settings.nodes; i++)
            if ((m->nodes >> i & 1) != 0)
                darken(f, i, (uint64_t)m->length * MILLISECOND + 1, (uint32_t)m->amount - 1);
        break;
    case MISHAP_KILL:
        kill_in_commit(f, node, m);
        break;
    case MISHAP_FULL:
        fill_disk(f, node, m);
        break;
    case MISHAP_RESTORE:
        host_is_copied(f, node, (uint32_t)(m - f->settings.plan.mishaps));
        break;
    case MISHAP_MOVE:
        move_away(f, node, m);
        break;
    case MISHAP_KINDS:
        break;
    }
}

/* A disk that comes back is an old one, and is emptied: one node more that has forgotten. Where
 * others forget whenever they die, that could be the majority. */
static bool can_be(const fleet *f, const mishap *m)
{
    return m->kind != MISHAP_AWAY || f->settings.in_memory == 0;
}

void mishap_begins(fleet *f, uint32_t number)
{
    const mishap *m = &f->settings.plan.mishaps[number];
    char text[128];
    if (f->over || !can_be(f, m))
        return;
    mishap_text(m, text);
    fleet_say(f, "", "MISHAP %s", text);
    f->counts.begun[m->kind]++;
    begin(f, m);
    fleet_put(f, f->now + (uint64_t)m->length * MILLISECOND, FLEET_ENDS, 0, 0, 0, number);
}

void mishap_ends(fleet *f, uint32_t number)
{
    const mishap *m = &f->settings.plan.mishaps[number];
    if (m->kind == MISHAP_SLOW)
        f->slow = 0;
    if (m->kind == MISHAP_FULL)
        f->machines[first_of(m->nodes)].disk.fails = DISK_WORKS;
    if (m->kind == MISHAP_CHOKE)
        set_room(&f->machines[first_of(m->nodes)], NODE_MAX_PEER_OUTPUT);
    if (m->kind == MISHAP_SWAP && !f->over)
        swap_back(f, m);
}

/* Nothing goes wrong from now on: all are up, all lines can be dialed. Clocks stay as they are. */
void fleet_calm(fleet *f)
{
    f->over = true;
    f->over_at = f->now;
    f->slow = 0;
    for (uint8_t i = 0; i < f->settings.nodes; i++) {
        machine *m = &f->machines[i];
        m->doom = m->doom_settled = -1;
        m->doom_darkens = false;
        m->dark_after = m->dark_again = 0;
        m->disk.fails = DISK_WORKS;
        m->paused_until = 0;
        set_room(m, NODE_MAX_PEER_OUTPUT);
        if (!m->drains)
            m->down_for = 0;
        for (uint8_t k = 0; k < f->settings.nodes; k++) {
            f->lines[i][k].cut_until = 0;
            m->knows[k] = f->machines[k].address;
        }
        if (!m->up)
            host_start(f, i);
    }
}
