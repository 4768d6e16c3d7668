/* The clock of the cluster: events one after another, nodes that start and crash, and the end. */
#include "cluster.h"

#include "chance.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EVENTS = 500000 };

void cluster_wrong(cluster *c, const char *property, const char *format, ...)
{
    if (c->trouble.property[0] != '\0')
        return;
    va_list values;
    va_start(values, format);
    snprintf(c->trouble.property, sizeof c->trouble.property, "%s", property);
    vsnprintf(c->trouble.what, sizeof c->trouble.what, format, values);
    va_end(values);
    c->trouble.at = c->now;
    cluster_tell(c, (note){.kind = NOTE_WRONG, .words = c->trouble.what});
}

void cluster_tell(cluster *c, note n)
{
    if (c->teller == NULL)
        return;
    n.at = c->now;
    c->teller->tell(c->teller, &n);
}

/* ---- nodes ---- */

static uint64_t machine_clock(const cluster *c, const machine *m)
{
    return m->clock + (c->now - m->clock_set_at) * (uint64_t)(100 + m->drift) / 100;
}

static void drift(cluster *c, machine *m, int32_t percent)
{
    m->clock = machine_clock(c, m);
    m->clock_set_at = c->now;
    m->drift = percent;
}

static void tick_later(cluster *c, uint8_t node, uint64_t own_us)
{
    const machine *m = &c->machines[node];
    if (c->settings.upkeep)
        events_put(&c->events, (event){.at = c->now + own_us * 100 / (uint64_t)(100 + m->drift),
                                       .kind = EVENT_TICK,
                                       .node = node,
                                       .stamp = m->starts});
}

static void start_place(cluster *c, uint8_t node, uint8_t lock)
{
    machine *m = &c->machines[node];
    lock_copy *at = &m->locks[lock];
    uint8_t first_owner = lock % c->settings.nodes;
    uint64_t chance = draw(&c->start_chance);
    at->lives = true;
    if (!m->booted) {
        replica_start(&at->replica, &m->node, first_owner, chance);
        return;
    }
    if (m->emptied && !at->saved) {
        at->resource = (resource){0};
        if (c->histories[lock] != NULL)
            history_install(c->histories[lock], node, 0, 0, c->now);
        replica_rejoin(&at->replica, &m->node, draw(&c->start_chance) % WME_MAX_NONCE + 1, chance,
                       &c->out);
        carry_out(c, node, lock);
        return;
    }
    replica_durable unsaved = {0};
    if (!at->saved)
        replica_unsaved(&unsaved, &m->node, first_owner);
    at->resource = at->durable_resource; /* of zeroes, if it was never saved */
    if (c->histories[lock] != NULL)
        history_install(c->histories[lock], node, at->resource.count, at->resource.digest, c->now);
    replica_restart(&at->replica, &m->node, at->saved ? &at->durable : &unsaved, at->resource.count,
                    chance, &c->out);
    if (!at->saved)
        replica_durable_end(&unsaved);
    carry_out(c, node, lock);
}

static void machine_start(cluster *c, uint8_t node)
{
    machine *m = &c->machines[node];
    const settings *s = &c->settings;
    m->runs = true;
    m->starts++;
    m->node =
        (wme_node){.me = node, .nodes = s->nodes, .ack_all = s->ack_all, .outside = s->outside};
    cluster_tell(c, (note){.kind = NOTE_START, .node = node, .value = m->starts});
    detector_start(&m->detector, node, s->nodes,
                   (detector_settings){BEAT, FIRST_TIMEOUT, MAX_TIMEOUT}, machine_clock(c, m));
    for (uint8_t l = 0; l < s->locks && m->runs; l++)
        start_place(c, node, l);
    m->booted = true;
    if (!m->runs)
        return;
    people_start(c, node);
    tick_later(c, node, draw(&c->start_chance) % TICK);
}

void machine_end(cluster *c, machine *m)
{
    for (uint8_t l = 0; l < c->settings.locks; l++)
        if (m->locks[l].lives) {
            replica_end(&m->locks[l].replica);
            m->locks[l].lives = false;
        }
}

/* It was down already, or is now, and stays so for a while. */
static void come_back(cluster *c, machine *m)
{
    uint64_t at = c->now + m->away;
    m->restart_at = at > m->restart_at ? at : m->restart_at;
    if (!m->lost)
        events_put(&c->events, (event){.at = m->restart_at,
                                       .kind = EVENT_RESTART,
                                       .node = (uint8_t)(m - c->machines)});
}

static bool is_away(const cluster *c, const machine *m)
{
    bool away = false;
    for (uint8_t l = 0; l < c->settings.locks; l++)
        away |= m->emptied && !m->locks[l].saved;
    return away;
}

/* Enough others must be there who know: a majority, or of two the other. */
static bool may_forget(const cluster *c, uint8_t node)
{
    uint16_t without = plan_lost(&c->settings.plan) | (uint16_t)(1U << node);
    for (uint8_t n = 0; n < c->settings.nodes; n++)
        if (is_away(c, &c->machines[n]))
            without |= (uint16_t)(1U << n);
    int max = c->settings.nodes == 2 ? 1 : (c->settings.nodes - 1) / 2;
    return c->machines[node].booted && __builtin_popcount(without) <= max;
}

static void forget(cluster *c, uint8_t node)
{
    machine *m = &c->machines[node];
    m->forgets = false;
    if (!may_forget(c, node))
        return;
    m->emptied = true;
    c->tally.forgettings++;
    cluster_tell(c, (note){.kind = NOTE_EMPTIED, .node = node});
    for (uint8_t l = 0; l < c->settings.locks; l++) {
        if (m->locks[l].saved)
            replica_durable_end(&m->locks[l].durable);
        m->locks[l].saved = false;
    }
}

void machine_crash(cluster *c, uint8_t node)
{
    machine *m = &c->machines[node];
    cluster_tell(c, (note){.kind = NOTE_CRASH, .node = node});
    c->tally.crashes++;
    m->runs = m->armed = false;
    people_gone(c, node);
    machine_end(c, m);
    if (m->forgets)
        forget(c, node);
    come_back(c, m);
}

/* ---- faults ---- */

static void begin_crash(cluster *c, machine *m, const fault *f)
{
    m->lost |= f->length == FOR_EVER;
    m->away = f->length * (uint64_t)MS;
    m->forgets |= f->kind == FAULT_FORGET;
    if (!m->runs) {
        if (m->forgets)
            forget(c, (uint8_t)(m - c->machines));
        come_back(c, m);
        return;
    }
    m->armed = true;
    m->ambush = f->kind == FAULT_AMBUSH;
    m->actions = f->amount;
    if (f->amount == 0 && !m->ambush)
        machine_crash(c, (uint8_t)(m - c->machines));
}

/* The node of a fault that has one; any, of one that has none. */
static machine *machine_of(cluster *c, const fault *f)
{
    return &c->machines[f->nodes != 0 ? __builtin_ctz(f->nodes) : 0];
}

static void begin_fault(cluster *c, const fault *f)
{
    machine *m = machine_of(c, f);
    uint64_t until = (f->at + f->length) * (uint64_t)MS;
    cluster_tell(c, (note){.kind = NOTE_FAULT, .fault = f});
    if (f->kind == FAULT_CRASH || f->kind == FAULT_AMBUSH || f->kind == FAULT_FORGET)
        begin_crash(c, m, f);
    else if (f->kind == FAULT_PAUSE)
        m->paused_until = until > m->paused_until ? until : m->paused_until;
    else if (f->kind == FAULT_DRIFT)
        drift(c, m, f->amount);
    else
        network_weather(c);
}

static void end_fault(cluster *c, const fault *f)
{
    cluster_tell(c, (note){.kind = NOTE_HEALED, .fault = f});
    if (f->kind == FAULT_DRIFT)
        drift(c, machine_of(c, f), 0);
    else
        network_weather(c);
}

static void restart(cluster *c, uint8_t node)
{
    machine *m = &c->machines[node];
    if (!m->lost && !m->runs && c->now >= m->restart_at)
        machine_start(c, node);
}

/* ---- what happens at a node ---- */

static void suspect(cluster *c, uint8_t node)
{
    machine *m = &c->machines[node];
    c->tally.suspicions += (uint64_t)__builtin_popcount(m->detector.suspected & ~m->node.suspected);
    m->node.suspected = m->detector.suspected;
    cluster_tell(c, (note){.kind = NOTE_SUSPECTS, .node = node, .value = m->node.suspected});
    for (uint8_t l = 0; l < c->settings.locks && m->runs; l++) {
        replica_suspicion(&m->locks[l].replica, &m->node, &c->out);
        carry_out(c, node, l);
    }
}

/* Out of memory and back, now and then, as a node does with locks that nobody uses. */
static void rest(cluster *c, uint8_t node, uint8_t lock)
{
    machine *m = &c->machines[node];
    lock_copy *at = &m->locks[lock];
    replica_durable saved = {0};
    if ((c->now / TICK + node + lock) % 4 != 0 || !replica_may_rest(&at->replica, &m->node))
        return;
    uint64_t decisions = at->replica.decisions;
    replica_save(&at->replica, &saved);
    replica_end(&at->replica);
    replica_wake(&at->replica, &m->node, &saved, at->resource.count, c->now + node);
    replica_durable_end(&saved);
    at->replica.decisions = decisions;
    replica_suspicion(&at->replica, &m->node, &c->out);
    carry_out(c, node, lock);
}

static void tick(cluster *c, uint8_t node)
{
    machine *m = &c->machines[node];
    detector_news news = detector_time(&m->detector, machine_clock(c, m));
    cluster_tell(c, (note){.kind = NOTE_TICK, .node = node});
    if (news.beat)
        network_beat(c, node);
    if (news.changed)
        suspect(c, node);
    for (uint8_t l = 0; l < c->settings.locks && m->runs; l++) {
        replica_tick(&m->locks[l].replica, &m->node, &c->out);
        carry_out(c, node, l);
        if (m->runs)
            rest(c, node, l);
    }
    if (m->runs)
        tick_later(c, node, TICK);
}

static void arrive(cluster *c, const event *e)
{
    machine *m = &c->machines[e->node];
    if (e->letter != NULL)
        cluster_tell(c, (note){.kind = m->runs ? NOTE_ARRIVED : NOTE_MISSED,
                               .node = e->node,
                               .other = e->from,
                               .lock = e->lock,
                               .value = e->letter->serial,
                               .message = &e->letter->message});
    if (!m->runs) {
        c->tally.missed++;
        return;
    }
    if (c->settings.upkeep && detector_heard(&m->detector, e->from, machine_clock(c, m)))
        suspect(c, e->node);
    if (e->letter == NULL || !m->runs)
        return;
    c->received = e->letter;
    replica_receive(&m->locks[e->lock].replica, &m->node, e->from, &e->letter->message, &c->out);
    carry_out(c, e->node, e->lock);
    c->received = NULL;
}

static void decided(cluster *c, const event *e)
{
    machine *m = &c->machines[e->node];
    if (!m->runs)
        return;
    replica_decided(&m->locks[e->lock].replica, &m->node, &e->letter->message.record, &c->out);
    carry_out(c, e->node, e->lock);
}

static bool waits_for_node(cluster *c, const event *e)
{
    const machine *m = &c->machines[e->node];
    if (e->kind > EVENT_PERSON || !m->runs || m->paused_until <= c->now)
        return false;
    event later = *e;
    later.at = m->paused_until;
    events_put(&c->events, later);
    return true;
}

static void happen(cluster *c, const event *e)
{
    machine *m = &c->machines[e->node];
    person *p;
    switch (e->kind) {
    case EVENT_LETTER:
    case EVENT_HEARTBEAT:
        arrive(c, e);
        break;
    case EVENT_ANSWER:
        decided(c, e);
        break;
    case EVENT_QUESTION:
        outside_hear(c, e);
        break;
    case EVENT_TICK:
        if (m->runs && e->stamp == m->starts)
            tick(c, e->node);
        break;
    case EVENT_PERSON:
        p = &m->locks[e->lock].people[e->person];
        if (m->runs && e->stamp == p->stamp)
            person_act(c, p);
        break;
    case EVENT_FAULT_BEGINS:
        begin_fault(c, &c->settings.plan.faults[e->stamp]);
        break;
    case EVENT_FAULT_ENDS:
        end_fault(c, &c->settings.plan.faults[e->stamp]);
        break;
    case EVENT_RESTART:
        restart(c, e->node);
        break;
    default:
        stage_look(c);
    }
}

bool cluster_step(cluster *c)
{
    event e;
    if (c->stage == OVER || c->trouble.property[0] != '\0' || !events_take(&c->events, &e))
        return false;
    c->now = e.at;
    if (waits_for_node(c, &e))
        return true;
    if (++c->tally.events > MAX_EVENTS && c->settings.judged)
        cluster_wrong(c, "endless", "more than %d events", MAX_EVENTS);
    happen(c, &e);
    if (e.letter != NULL)
        letter_done(c, e.letter);
    return true;
}

/* ---- the beginning and the end ---- */

/* The histories of the last run, whose memory the next one uses. */
static history *kept[MAX_LOCKS];

static void meet_people(cluster *c, uint8_t lock)
{
    const settings *s = &c->settings;
    for (uint8_t n = 0; n < s->nodes; n++)
        for (uint8_t i = 0; i < s->people; i++) {
            person *p = &c->machines[n].locks[lock].people[i];
            p->node = n;
            p->lock = lock;
            p->index = i;
            p->number = (uint32_t)n * s->people + i;
        }
    if (!s->judged)
        return;
    uint32_t people = (uint32_t)s->nodes * s->people;
    if (kept[lock] == NULL)
        kept[lock] = history_new(s->nodes, people);
    else
        history_reset(kept[lock], s->nodes, people);
    c->histories[lock] = kept[lock];
}

static void expect_faults(cluster *c)
{
    const plan *p = &c->settings.plan;
    for (uint32_t i = 0; i < p->count; i++) {
        const fault *f = &p->faults[i];
        event e = {.at = f->at * (uint64_t)MS, .kind = EVENT_FAULT_BEGINS, .stamp = i};
        machine *m = machine_of(c, f);
        if (f->kind == FAULT_LATE) {
            e.at = (f->at + f->length) * (uint64_t)MS;
            m->restart_at = e.at > m->restart_at ? e.at : m->restart_at;
            e.kind = EVENT_RESTART;
            e.node = (uint8_t)(m - c->machines);
        }
        events_put(&c->events, e);
        if (f->kind <= FAULT_PAUSE || f->length == FOR_EVER)
            continue;
        e.at = (f->at + f->length) * (uint64_t)MS;
        e.kind = EVENT_FAULT_ENDS;
        events_put(&c->events, e);
    }
}

cluster *cluster_new(const settings *s, teller *t)
{
    cluster *c = calloc(1, sizeof *c);
    if (c == NULL) {
        fputs("baton-sim: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    c->settings = *s;
    c->teller = t;
    c->ops_before = ops_alive();
    uint64_t seed = s->seed;
    c->network_chance = draw(&seed);
    c->people_chance = draw(&seed);
    c->start_chance = draw(&seed);
    for (uint8_t l = 0; l < s->locks; l++)
        meet_people(c, l);
    expect_faults(c);
    if (s->people_act)
        events_put(&c->events, (event){.at = s->horizon * (uint64_t)MS, .kind = EVENT_LOOK});
    for (uint8_t n = 0; n < s->nodes; n++)
        if (c->machines[n].restart_at == 0)
            machine_start(c, n);
    return c;
}

void cluster_free(cluster *c)
{
    events_free(&c->events);
    letters_free(c);
    free(c);
}
