/*
 * Rejoining: a node that has lost what it knew of a lock is away until it is in an epoch in which
 * its old self never was. It asks the others where they are, and adopts nothing before.
 *
 *   asks WHERE ──N - majority + 1 say HERE──► counts_from = E + 2 ──STATE of that epoch──► is back
 *                                             E: the largest epoch among them
 *
 * Why so. A majority that has the old self in it and any N - majority + 1 others have a node in
 * common that is not the old self. If the old self was in epoch e, a majority had accepted the end
 * of e - 1, so one of those asked is in e - 1 at least: e <= E + 1. What the old self has promised,
 * accepted or acknowledged, and what of that is still under way, is of these epochs; they are ended
 * by majorities of the others, and the new self has its first word in E + 2. So within an epoch a
 * node never forgets, and nothing else need be shown. A HERE for an earlier asking may be older
 * than the old self's last word: hence the nonce.
 */
#include "internal.h"

#include <string.h>

void wme_ask_where(step s)
{
    wme_message m = {.kind = WME_WHERE, .epoch = s.stub->counts_from, .request = s.stub->away};
    wme_out_send(s.out, wme_others(s.node), &m);
}

void wme_rejoin(wme_stub *stub, wme_node *node, uint64_t nonce, wme_out *out)
{
    step s = {stub, node, out};
    assert(node->nodes >= 1 && node->nodes <= WME_MAX_NODES);
    assert(nonce > 0 && nonce <= WME_MAX_NONCE);
    memset(stub, 0, sizeof *stub);
    stub->log_from = 1;
    stub->blocked = true;
    stub->away = nonce;
    wme_ask_where(s);
}

static void receive_here(step s, uint8_t from, const wme_message *m)
{
    wme_stub *stub = s.stub;
    int enough = s.node->nodes - wme_majority(s.node) + 1;
    if (m->request != stub->away || stub->counts_from != 0)
        return;
    stub->gathered |= wme_bit(from);
    if (m->epoch > stub->newest)
        stub->newest = m->epoch;
    if (__builtin_popcount(stub->gathered) < enough)
        return;
    stub->counts_from = stub->newest + 2;
    wme_ask_where(s);
}

void wme_receive_away(step s, uint8_t from, const wme_message *m)
{
    if (m->kind == WME_HERE)
        receive_here(s, from, m);
    else if (m->kind == WME_STATE && s.stub->counts_from != 0 && m->epoch >= s.stub->counts_from)
        wme_receive_state(s, from, m);
}

/*
 * Of two nodes both are in every majority: what was agreed on before the other lost what it knew,
 * this one has. So it may vote for the other, in the epochs in which that does not count.
 */
bool wme_stands_in(const wme_stub *stub, const wme_node *node, const wme_message *m)
{
    return node->nodes == 2 && m->kind == WME_WHERE && m->epoch > stub->now.epoch;
}

void wme_receive_where(step s, uint8_t from, const wme_message *m)
{
    wme_stub *stub = s.stub;
    wme_message here = {.kind = WME_HERE, .epoch = stub->now.epoch, .request = m->request};
    wme_out_send(s.out, wme_bit(from), &here);
    stub->known[from] = 0;
    if (m->epoch != 0 && m->epoch <= stub->now.epoch) {
        wme_send_state(s, from);
        return;
    }
    stub->others_away |= wme_bit(from);
    if (m->epoch != 0)
        wme_block(s);
    wme_message vote = {.record = stub->now, .replaces = wme_doubts(s, stub->now.owner)};
    if (wme_stands_in(stub, s.node, m))
        wme_gather(s, from, &vote);
    wme_watch(s);
}
