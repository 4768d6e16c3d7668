/* Counts messages and steps of the shipped replicas, in scenes without chance or upkeep. */
#include "count.h"

#include "cluster.h"

#include <assert.h>

enum { STEP = 1 * MS };

static uint64_t all_sent(const cluster *c)
{
    uint64_t sent = 0;
    for (int k = 0; k < WME_KINDS; k++)
        sent += c->tally.sent[k];
    return sent;
}

static uint32_t steps_since(const cluster *c, uint64_t start)
{
    assert((c->now - start) % STEP == 0);
    return (uint32_t)((c->now - start) / STEP);
}

static uint64_t slowest(const cluster *c)
{
    uint64_t least = UINT64_MAX;
    for (uint8_t n = 0; n < c->settings.nodes; n++)
        if (c->machines[n].locks[0].resource.count < least)
            least = c->machines[n].locks[0].resource.count;
    return least;
}

/*
 * The person does something, then all messages arrive; `then` is the mood in which it has what it
 * wanted. All have it when every replica has executed what had been issued.
 */
static cost scene(cluster *c, void (*act)(cluster *, person *), person *p, mood then)
{
    uint64_t sent = all_sent(c);
    uint64_t start = c->now;
    cost spent = {0};
    act(c, p);
    bool done = p->mood == then;
    bool all_done = done && slowest(c) == c->keys;
    while (cluster_step(c)) {
        if (!done && p->mood == then) {
            done = true;
            spent.steps = steps_since(c, start);
        }
        if (done && !all_done && slowest(c) == c->keys) {
            all_done = true;
            spent.steps_all = steps_since(c, start);
        }
    }
    assert(done && all_done);
    spent.messages = all_sent(c) - sent;
    return spent;
}

costs count_wme(uint8_t nodes, bool ack_all)
{
    settings s = {.seed = 1,
                  .nodes = nodes,
                  .locks = 1,
                  .people = 1,
                  .ack_all = ack_all,
                  .delay = DELAY_CONSTANT,
                  .least_delay = STEP};
    cluster *c = cluster_new(&s, NULL);
    person *p = &c->machines[1].locks[0].people[0]; /* the token is at node 0 */
    person *next = &c->machines[nodes - 1].locks[0].people[0];
    costs all;
    all.enter_elsewhere = scene(c, person_try, p, THINKING);
    all.operation = scene(c, person_issue, p, THINKING);
    all.exit_alone = scene(c, person_exit, p, OUTSIDE);
    all.enter_here = scene(c, person_try, p, THINKING);
    scene(c, person_try, next, WAITING);
    all.exit_handing = scene(c, person_exit, p, OUTSIDE);
    assert(next->mood == THINKING);
    cluster_close(c);
    cluster_free(c);
    return all;
}
