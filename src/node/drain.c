/*
 * A node that is about to end: a token that it took with it would be missed by others until they
 * suspect the node, so it gives away those that nobody uses.
 */
#include "site.h"

enum { MOST_AT_ONCE = 1 << 20 }; /* bytes for a peer; more go when these are sent */

/* Somebody who is reached and trusted; the tokens of many locks go to all of them. */
static bool find_heir(const cluster_node *n, const site *p, uint8_t *heir)
{
    for (uint8_t i = 0; i < n->wme.nodes; i++) {
        *heir = (uint8_t)((p->hash + i) % n->wme.nodes);
        if (*heir != n->wme.me && n->reached[*heir] && (n->wme.suspected >> *heir & 1) == 0)
            return true;
    }
    return false;
}

/*
 * True if there is nothing more to do for this lock. Each token goes once: its heir may end, too.
 */
static bool hand_over(cluster_node *n, site *p)
{
    const wme_stub *s = &p->replica.stub;
    const seat *inside = (const seat *)(const void *)s->inside;
    uint8_t heir;
    if (inside != NULL)
        return seat_lingers(inside); /* then it goes on elsewhere as soon as this node is gone */
    if (p->handed_over || s->suspended || !find_heir(n, p, &heir))
        return true;
    if (s->now.owner != n->wme.me) /* a token that was asked for would come when nobody is here */
        return s->state != WME_REQUESTING;
    if (n->to_peer[heir].bytes > MOST_AT_ONCE)
        return false;
    p->handed_over = replica_yield(&p->replica, &n->wme, heir, &n->out);
    site_carry_out(n, p);
    return p->handed_over;
}

bool node_hand_over(cluster_node *n)
{
    bool all = resting_wake(n);
    n->drains = true;
    for (size_t b = 0; b < n->buckets; b++)
        for (site *p = n->bucket[b]; p != NULL; p = p->next)
            all = hand_over(n, p) && all;
    return all;
}
