/* One person issues operations without end; the footprint is taken after the first and the last. */
#include "million.h"

#include "chance.h"
#include "cluster.h"

#include <malloc.h>

enum { WARM_UP = 1000, SLACK = 4096 /* bytes: pools grow by a letter or two */ };

static footprint take_footprint(const cluster *c)
{
    footprint f = {.operations = UINT64_MAX, .kept = ops_alive(), .heap = mallinfo2().uordblks};
    for (uint8_t n = 0; n < c->settings.nodes; n++) {
        const lock_copy *at = &c->machines[n].locks[0];
        uint64_t log = at->replica.stub.now.ops + 1 - at->replica.stub.log_from;
        f.log = log > f.log ? log : f.log;
        f.operations = at->resource.count < f.operations ? at->resource.count : f.operations;
    }
    return f;
}

/* Until the person has its outcome, or is inside. */
static void let_happen(cluster *c, const person *p)
{
    while (p->mood != THINKING && cluster_step(c))
        ;
}

million million_run(uint8_t nodes, bool ack_all, uint64_t operations)
{
    settings s = {.seed = 1,
                  .nodes = nodes,
                  .locks = 1,
                  .people = 1,
                  .ack_all = ack_all,
                  .upkeep = true,
                  .delay = DELAY_UNIFORM,
                  .least_delay = 100,
                  .mean_delay = 100};
    million m = {.stub = sizeof(wme_stub), .replica = sizeof(replica)};
    double start = seconds_now();
    cluster *c = cluster_new(&s, NULL);
    person *p = &c->machines[0].locks[0].people[0];
    person_try(c, p);
    let_happen(c, p);
    for (uint64_t i = 0; i < operations && p->mood == THINKING; i++) {
        if (i == WARM_UP)
            m.before = take_footprint(c);
        person_issue(c, p);
        let_happen(c, p);
    }
    for (uint64_t until = c->now + 1000 * (uint64_t)MS; c->now < until && cluster_step(c);)
        ;
    m.after = take_footprint(c);
    m.epoch = c->machines[0].locks[0].replica.stub.now.epoch;
    m.flat = m.after.operations == operations && m.after.kept <= m.before.kept + WME_MAX_LOG &&
             m.after.heap <= m.before.heap + SLACK;
    m.seconds = seconds_now() - start;
    cluster_close(c);
    cluster_free(c);
    return m;
}
