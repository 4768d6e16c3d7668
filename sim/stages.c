/*
 * How a run comes to its end: the faults are over, all settles, people work on in quiet for a
 * while and then stop; then everything must be as it should.
 */
#include "cluster.h"

enum {
    LOOK = 20 * MS,
    CALM = 300 * MS,                                  /* settled for so long is settled */
    WORK = 500 * MS,                                  /* of the people in the quiet period */
    PATIENCE = 15000 * MS,                            /* with what should settle */
    OPS_OF_A_PLACE = WME_MAX_LOG + WME_MAX_EARLY + 8, /* kept by stub, consensus and disk */
};

static bool is_alive(const cluster *c, uint8_t node)
{
    return c->machines[node].runs && !c->machines[node].lost;
}

static uint16_t all_alive(const cluster *c)
{
    uint16_t alive = 0;
    for (uint8_t n = 0; n < c->settings.nodes; n++)
        if (is_alive(c, n))
            alive |= (uint16_t)(1 << n);
    return alive;
}

static const lock_copy *some_copy(const cluster *c, uint8_t lock)
{
    return &c->machines[__builtin_ctz(all_alive(c))].locks[lock];
}

static bool people_rest(const cluster *c, const lock_copy *at)
{
    for (uint8_t i = 0; i < c->settings.people; i++)
        if (at->people[i].mood != OUTSIDE)
            return false;
    return true;
}

/* NULL, or why this place is not as it should be when nothing goes wrong. */
static const char *why_unsettled(const cluster *c, uint8_t node, uint8_t lock)
{
    const machine *m = &c->machines[node];
    const lock_copy *at = &m->locks[lock];
    const lock_copy *model = some_copy(c, lock);
    if (at->replica.stub.blocked)
        return "is in an epoch change";
    if (at->replica.stub.suspended)
        return "is suspended";
    if (at->replica.stub.now.epoch != model->replica.stub.now.epoch)
        return "is in another epoch";
    if (c->stage < CLOSING)
        return NULL;
    if (!people_rest(c, at))
        return "has people who wait";
    if (at->resource.count != model->resource.count ||
        at->resource.digest != model->resource.digest)
        return "has another resource";
    if (at->replica.stub.state == WME_REQUESTING)
        return "still asks for the token";
    return NULL;
}

static const char *why_not_settled(const cluster *c, uint8_t *node, uint8_t *lock)
{
    uint16_t alive = all_alive(c);
    for (*node = 0; *node < c->settings.nodes; ++*node) {
        const machine *m = &c->machines[*node];
        *lock = 0;
        if (m->lost)
            continue;
        if (!m->runs)
            return "does not run";
        if ((m->node.suspected & alive) != 0)
            return "suspects somebody who runs";
        if ((m->node.suspected | alive) != (1 << c->settings.nodes) - 1)
            return "does not suspect somebody who is crashed";
        for (; *lock < c->settings.locks; ++*lock) {
            const char *why = why_unsettled(c, *node, *lock);
            if (why != NULL)
                return why;
        }
    }
    return NULL;
}

/* ---- from stage to stage ---- */

/* Crashes that are still to come, come now, or never. */
static void end_faults(cluster *c)
{
    for (uint8_t n = 0; n < c->settings.nodes; n++) {
        machine *m = &c->machines[n];
        if (m->lost && m->runs)
            machine_crash(c, n);
        m->armed = false;
    }
}

static void enter_stage(cluster *c, stage next)
{
    c->stage = next;
    c->stage_since = c->settled_since = c->now;
}

static void begin_quiet(cluster *c)
{
    c->tally.settling = c->now - c->stage_since;
    enter_stage(c, QUIET);
    cluster_tell(c, (note){.kind = NOTE_QUIET});
    for (uint8_t l = 0; l < c->settings.locks; l++)
        if (c->histories[l] != NULL)
            history_quiet(c->histories[l], c->now);
}

void stage_look(cluster *c)
{
    uint8_t node;
    uint8_t lock;
    if (why_not_settled(c, &node, &lock) != NULL)
        c->settled_since = c->now;
    bool calm = c->now - c->settled_since >= CALM;
    uint64_t since = c->now - c->stage_since;
    switch (c->stage) {
    case FAULTY:
        end_faults(c);
        enter_stage(c, SETTLING);
        break;
    case SETTLING: /* old letters may still be on their way */
        if ((calm && since > SLOWEST) || since > PATIENCE)
            begin_quiet(c);
        break;
    case QUIET:
        if (since > WORK)
            enter_stage(c, CLOSING);
        break;
    default:
        if (calm || since > PATIENCE)
            enter_stage(c, OVER);
    }
    events_put(&c->events, (event){.at = c->now + LOOK, .kind = EVENT_LOOK});
}

/* ---- the end ---- */

static void judge_memory(cluster *c)
{
    uint64_t max = (uint64_t)c->settings.nodes * c->settings.locks * OPS_OF_A_PLACE;
    uint64_t kept = ops_alive() - c->ops_before;
    if (kept > max)
        cluster_wrong(c, "memory", "%llu operations are kept, at most %llu should be",
                      (unsigned long long)kept, (unsigned long long)max);
}

static void judge_nice_run(cluster *c)
{
    if (c->settings.plan.count != 0)
        return;
    if (c->tally.suspicions != 0)
        cluster_wrong(c, "nice run", "somebody was suspected");
    for (uint8_t n = 0; n < c->settings.nodes; n++)
        for (uint8_t l = 0; l < c->settings.locks; l++)
            if (c->machines[n].locks[l].replica.decisions != 0)
                cluster_wrong(c, "nice run", "consensus was needed at node %u", n);
}

static void judge(cluster *c)
{
    uint8_t node;
    uint8_t lock;
    for (uint8_t l = 0; l < c->settings.locks; l++) {
        history_end(c->histories[l], all_alive(c), c->now);
        const history_verdict *v = history_wrong(c->histories[l]);
        if (v->broken != HISTORY_FINE)
            cluster_wrong(c, history_property_name(v->broken), "lock %u: %s", l, v->what);
    }
    const char *why = why_not_settled(c, &node, &lock);
    if (why != NULL)
        cluster_wrong(c, "settles", "node %u %s, lock %u", node, why, lock);
    judge_nice_run(c);
    judge_memory(c);
}

static void drop_letters(cluster *c)
{
    for (event e; events_take(&c->events, &e);)
        if (e.letter != NULL)
            letter_done(c, e.letter);
}

/* Only if all came to its end: before that, replicas may differ. */
static void tell_final_states(cluster *c)
{
    uint16_t alive = c->stage == OVER ? all_alive(c) : 0;
    for (uint8_t n = 0; n < c->settings.nodes; n++)
        for (uint8_t l = 0; l < c->settings.locks && (alive >> n & 1) != 0; l++)
            cluster_tell(c, (note){.kind = NOTE_FINAL,
                                   .node = n,
                                   .lock = l,
                                   .until = c->machines[n].locks[l].resource.digest});
}

void cluster_close(cluster *c)
{
    c->tally.end = c->now;
    drop_letters(c);
    tell_final_states(c);
    if (c->settings.judged && c->trouble.property[0] == '\0')
        judge(c);
    outside_end(c);
    for (uint8_t n = 0; n < c->settings.nodes; n++) {
        machine *m = &c->machines[n];
        machine_end(c, m);
        for (uint8_t l = 0; l < c->settings.locks; l++)
            if (m->locks[l].saved)
                replica_durable_end(&m->locks[l].durable);
    }
    if (ops_alive() != c->ops_before)
        cluster_wrong(c, "memory", "%lld operations are kept by nobody",
                      (long long)(ops_alive() - c->ops_before));
}
