/*
 * A node that is about to end: a token that it took with it would be missed by others until they
 * suspect the node, so it gives away those that nobody uses.
 */
#include "node_lock.h"

/* Somebody who is reached and trusted; the tokens of many locks go to all of them. */
static bool find_heir(const cluster_node *n, const node_lock *p, uint8_t *heir)
{
    for (uint8_t i = 0; i < n->wme.nodes; i++) {
        *heir = (uint8_t)((p->entry.hash + i) % n->wme.nodes);
        if (*heir != n->wme.me && n->reached[*heir] && (n->wme.suspected >> *heir & 1) == 0)
            return true;
    }
    return false;
}

/*
 * True if there is nothing more to do for this lock. Each token goes once: its heir may end, too.
 */
static bool hand_over(cluster_node *n, node_lock *p)
{
    const wme_stub *s = &p->replica.stub;
    const role *inside = (const role *)(const void *)s->inside;
    uint8_t heir;
    if (inside != NULL)
        return role_lingers(inside); /* then it goes on elsewhere as soon as this node is gone */
    if (p->handed_over || s->suspended || !find_heir(n, p, &heir))
        return true;
    if (s->now.owner != n->wme.me) /* a token that was asked for would come when nobody is here */
        return s->state != WME_REQUESTING;
    if (n->to_peer[heir].bytes > NODE_ENOUGH_OUTPUT)
        return false;
    p->handed_over = replica_yield(&p->replica, &n->wme, heir, &n->out);
    node_lock_carry_out(n, p);
    return p->handed_over;
}

/*
 * A look at a million locks takes longer than others wait before they suspect this node: so each
 * call looks at some, and begins anew behind the last. What comes into memory meanwhile is not
 * missed, as a table that grows moves nothing to the front; and none leaves it: nothing rests.
 */
bool node_hand_over(cluster_node *n)
{
    n->keeps |= !resting_wake(n);
    if (!n->drains)
        join_heard_turns(n);
    n->drains = true;
    for (int i = 0; i < NODE_HANDED_AT_ONCE && n->handed < n->loaded.buckets; i++, n->handed++) {
        name_walk bucket = name_walk_bucket(&n->loaded, n->handed);
        for (node_lock *p; (p = node_lock_next(&bucket)) != NULL;)
            n->keeps |= !hand_over(n, p);
    }
    if (n->handed < n->loaded.buckets)
        return false;
    bool all = !n->keeps;
    n->handed = 0;
    n->keeps = false;
    return all;
}
