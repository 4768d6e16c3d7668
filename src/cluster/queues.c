/*
 * How many wait for each lock, and what the longest queue is, without a look at all locks: it is
 * counted how many locks have a queue of each length. A queue changes by one, and so does the
 * longest.
 */
#include "node_lock.h"

#include <stdlib.h>
#include <string.h>

/* False if there is no memory: then longer queues count as the longest that there is room for. */
static bool make_room(cluster_node *n, uint32_t length)
{
    if (length < n->queue_room)
        return true;
    uint32_t room = length * 2 + 16;
    uint32_t *grown = realloc(n->queues, room * sizeof *grown);
    if (grown == NULL)
        return false;
    memset(grown + n->queue_room, 0, (room - n->queue_room) * sizeof *grown);
    n->queues = grown;
    n->queue_room = room;
    return true;
}

/* Locks with no queue are not counted, nor those with one that there is no room for. */
static void count(cluster_node *n, uint32_t length, uint32_t more)
{
    if (length > 0 && make_room(n, length))
        n->queues[length] += more;
}

void queue_grows(cluster_node *n, node_lock *p)
{
    count(n, p->waiters, UINT32_MAX); /* one less */
    count(n, ++p->waiters, 1);
    n->counts.waiting++;
    if (p->waiters > n->counts.longest_queue)
        n->counts.longest_queue = p->waiters;
}

void queue_shrinks(cluster_node *n, node_lock *p)
{
    uint32_t before = p->waiters--;
    count(n, before, UINT32_MAX);
    count(n, p->waiters, 1);
    n->counts.waiting--;
    if (before == n->counts.longest_queue && before < n->queue_room && n->queues[before] == 0)
        n->counts.longest_queue = p->waiters;
}

void queues_free(cluster_node *n)
{
    free(n->queues);
}
