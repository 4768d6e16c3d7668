/*
 * Copies of a node's directory, and what may befall a cluster in which one is restored.
 *
 * docs/operations.md promises that an older copy is refused, and stays so, if a node is up that has
 * heard of what was written since; so the judge allows no harm by it. But it promises nothing where
 * the copy speaks to a node that does not know better: a run in which that happens is not judged
 * any further. Who knows better is seen from what nodes say to each other: how often their
 * directories were written. What a node has heard of that it may forget when it ends.
 */
#include "node_fleet.h"

#include <string.h>

void host_is_copied(fleet *f, uint8_t node, uint32_t number)
{
    machine *m = &f->machines[node];
    disk_copy(node);
    m->copy_turn = m->up ? join_turn(&m->node) : m->turn;
    fleet_put(f, f->now + (uint64_t)f->settings.plan.mishaps[number].amount * MILLISECOND,
              FLEET_RESTORES, 0, node, 0, number);
}

/* Never more than one at a time, and not while another one has not all back. */
void host_is_restored(fleet *f, uint8_t node, uint32_t number)
{
    machine *m = &f->machines[node];
    if (f->over || m->disk_away || !hosts_settled(f) || (m->up && !host_may_die(f, node)))
        return;
    if (m->up) {
        m->down_for = (uint64_t)f->settings.plan.mishaps[number].length * MILLISECOND + 1;
        host_dies(f, node);
    }
    fleet_say(f, "", "THE DISK OF NODE %u IS AS IT WAS, %llu TURNS AGO", node,
              (unsigned long long)(m->turn - m->copy_turn));
    disk_move(node, "copy", "data");
    disk_is_new(f, node);
    m->stale = m->turn > m->copy_turn && !host_forgets(f, node);
    m->stale_since = f->now;
    m->turn = m->copy_turn;
    f->counts.stale += m->stale;
}

/* Its turns begin anew, and so does what others know of them. */
void host_is_emptied(fleet *f, uint8_t node)
{
    f->machines[node].stale = false;
    f->machines[node].emptied_at = f->now;
    for (uint8_t i = 0; i < f->settings.nodes; i++)
        f->machines[i].told[node] = 0;
}

void host_hears(fleet *f, uint8_t from, uint8_t to, const peer_said *said)
{
    const machine *speaker = &f->machines[from];
    machine *m = &f->machines[to];
    uint64_t sent = f->lines[from][to].way.sent;
    bool by_copy = speaker->stale && sent >= speaker->stale_since;
    bool tells = said->verb == PEER_HEARTBEAT || said->verb == PEER_BOOT;
    uint64_t turn = said->verb == PEER_BOOT ? said->boot_check.turn : said->turn;
    if (tells && !by_copy && sent >= speaker->emptied_at && m->told[from] < turn)
        m->told[from] = turn;
    if (tells || !by_copy || m->told[from] > speaker->begun)
        return;
    fleet_say(f, "", "NODE %u HEARS OLD DATA, AND CANNOT KNOW BETTER: NOTHING IS PROMISED", to);
    f->counts.unjudged++;
    f->ends = true;
}
