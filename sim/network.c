/* Letters on their way, heartbeats, and the weather that the plan has for them. */
#include "cluster.h"

#include "chance.h"

#include <math.h>
#include <stdlib.h>

/* ---- letters ---- */

static bool has_record(wme_kind kind)
{
    return kind == WME_NEWEP || kind == WME_STATE || kind == WME_PROMISE || kind == WME_ACCEPT ||
           kind == WME_DECIDED;
}

static letter *letter_new(cluster *c)
{
    letter *l = c->free_letters;
    if (l != NULL)
        c->free_letters = l->next;
    else if ((l = malloc(sizeof *l)) == NULL) {
        fputs("baton-sim: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    c->letters++;
    if (c->letters > c->tally.max_letters)
        c->tally.max_letters = c->letters;
    return l;
}

/* The sender's hold on the operations ends with its step: the letter has its own. */
static void seal(letter *l, const wme_message *m, const resource *r)
{
    l->message = *m;
    if (m->kind == WME_INVOKE)
        wme_op_keep(m->op);
    if (has_record(m->kind))
        wme_op_keep(m->record.last);
    if (m->kind != WME_STATE)
        return;
    for (uint8_t i = 0; i < m->count; i++)
        wme_op_keep(m->ops[i]);
    l->message.resource = NULL;
    if (!m->snapshot)
        return;
    l->resource = *r;
    l->message.resource = &l->resource;
    for (int i = 0; i < WME_MAX_NODES; i++)
        l->message.answered[i] = r->answered[i];
}

letter *letter_write(cluster *c, const wme_message *m, const resource *r)
{
    letter *l = letter_new(c);
    seal(l, m, r);
    l->copies = 1;
    l->serial = ++c->serial;
    return l;
}

void letter_done(cluster *c, letter *l)
{
    if (--l->copies > 0)
        return;
    const wme_message *m = &l->message;
    if (m->kind == WME_INVOKE)
        wme_op_drop(m->op);
    if (has_record(m->kind) && m->record.last != NULL)
        wme_op_drop(m->record.last);
    if (m->kind == WME_STATE)
        for (uint8_t i = 0; i < m->count; i++)
            wme_op_drop(m->ops[i]);
    l->next = c->free_letters;
    c->free_letters = l;
    c->letters--;
}

void letters_free(cluster *c)
{
    for (letter *next; c->free_letters != NULL; c->free_letters = next) {
        next = c->free_letters->next;
        free(c->free_letters);
    }
}

/* ---- the way ---- */

static double some_share(uint64_t *chance) /* of 1, never 0 */
{
    return (double)((draw(chance) >> 11) + 1) * 0x1p-53;
}

static uint64_t long_tail(uint64_t *chance, uint32_t mean)
{
    return (uint64_t)(-log(some_share(chance)) * mean);
}

uint64_t network_delay(cluster *c)
{
    const settings *s = &c->settings;
    uint64_t us = s->least_delay;
    if (s->delay == DELAY_UNIFORM)
        us += draw(&c->network_chance) % (2 * (uint64_t)s->mean_delay + 1);
    else if (s->delay == DELAY_LONG_TAIL)
        us += long_tail(&c->network_chance, s->mean_delay);
    if (c->slow > 0)
        us += long_tail(&c->network_chance, c->slow);
    return us < SLOWEST ? us : SLOWEST;
}

bool network_happens(cluster *c, uint32_t percent)
{
    return percent > 0 && draw(&c->network_chance) % 100 < percent;
}

/* One copy on its way. */
static void dispatch(cluster *c, event e)
{
    bool lost = c->machines[e.from].cut >> e.node & 1 || network_happens(c, c->lose);
    e.at = c->now + network_delay(c);
    if (e.kind == EVENT_LETTER) {
        cluster_tell(c, (note){.kind = NOTE_SENT,
                               .node = e.from,
                               .other = e.node,
                               .lock = e.lock,
                               .value = e.letter->serial,
                               .until = lost ? 0 : e.at,
                               .message = &e.letter->message});
        if (!lost)
            e.letter->copies++;
    }
    if (lost)
        c->tally.lost++;
    else
        events_put(&c->events, e);
}

static void dispatch_all(cluster *c, event e, uint16_t to)
{
    for (e.node = 0; e.node < c->settings.nodes; e.node++) {
        if (!(to >> e.node & 1) || e.node == e.from)
            continue;
        dispatch(c, e);
        if (network_happens(c, c->duplicate)) {
            c->tally.doubled++;
            dispatch(c, e);
        }
    }
}

void network_post(cluster *c, uint8_t from, uint16_t to, uint8_t lock, const wme_message *m)
{
    letter *l = letter_write(c, m, &c->machines[from].locks[lock].resource);
    if (m->kind == WME_STATE && m->snapshot && l->resource.count != m->executed)
        cluster_wrong(c, "snapshot", "node %u sends a resource of %llu operations as one of %llu",
                      from, (unsigned long long)l->resource.count, (unsigned long long)m->executed);
    c->tally.sent[m->kind] +=
        (uint64_t)__builtin_popcount(to & ((1U << c->settings.nodes) - 1) & ~(1U << from));
    dispatch_all(c, (event){.kind = EVENT_LETTER, .from = from, .lock = lock, .letter = l}, to);
    letter_done(c, l);
}

void network_beat(cluster *c, uint8_t from)
{
    c->tally.heartbeats += c->settings.nodes - 1U;
    dispatch_all(c, (event){.kind = EVENT_HEARTBEAT, .from = from}, UINT16_MAX);
}

/* ---- the weather ---- */

static void cut(cluster *c, uint16_t from, uint16_t to)
{
    for (int i = 0; i < c->settings.nodes; i++)
        if (from >> i & 1)
            c->machines[i].cut |= to;
}

void network_weather(cluster *c)
{
    c->lose = c->duplicate = c->slow = 0;
    for (int i = 0; i < c->settings.nodes; i++)
        c->machines[i].cut = 0;
    for (uint32_t i = 0; i < c->settings.plan.count; i++) {
        const fault *f = &c->settings.plan.faults[i];
        if (c->now < f->at * (uint64_t)MS || c->now >= (f->at + f->length) * (uint64_t)MS)
            continue;
        uint32_t amount = (uint32_t)f->amount;
        if (f->kind == FAULT_LOSE)
            c->lose = amount > c->lose ? amount : c->lose;
        else if (f->kind == FAULT_DUPLICATE)
            c->duplicate = amount > c->duplicate ? amount : c->duplicate;
        else if (f->kind == FAULT_SLOW)
            c->slow = amount * MS > c->slow ? amount * MS : c->slow;
        else if (f->kind == FAULT_CUT)
            cut(c, f->nodes, f->others);
        else if (f->kind == FAULT_SPLIT) {
            cut(c, f->nodes, (uint16_t)~f->nodes);
            cut(c, (uint16_t)~f->nodes, f->nodes);
        }
    }
}
