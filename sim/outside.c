/* Questions to the register outside, and its answers, as letters of this cluster: see errand.h. */
#include "cluster.h"

static void carry(cluster *c, event e)
{
    if (errand_is_lost(&c->network_chance) || network_happens(c, c->lose))
        return;
    e.at = c->now + network_delay(c);
    e.at += errand_is_late(&c->network_chance);
    e.letter->copies++;
    events_put(&c->events, e);
}

static void carry_some(cluster *c, event e, wme_kind kind, const wme_record *r)
{
    wme_message m = {.kind = kind, .epoch = r->epoch, .record = *r};
    e.letter = letter_write(c, &m, NULL);
    carry(c, e);
    if (errand_comes_twice(&c->network_chance))
        carry(c, e);
    letter_done(c, e.letter);
}

void outside_ask(cluster *c, uint8_t node, uint8_t lock, const wme_record *proposal)
{
    event e = {.kind = EVENT_QUESTION, .node = node, .lock = lock};
    carry_some(c, e, WME_ACCEPT, proposal);
}

void outside_hear(cluster *c, const event *question)
{
    outside_register *at = &c->registers[question->lock];
    const wme_record *proposal = &question->letter->message.record;
    event answer = {.kind = EVENT_ANSWER, .node = question->node, .lock = question->lock};
    switch (register_hears(at, proposal)) {
    case OUTSIDE_MINE:
    case OUTSIDE_THIS:
        carry_some(c, answer, WME_DECIDED, &at->value);
        break;
    case OUTSIDE_LATER:
        break;
    default:
        cluster_wrong(c, "register", "epoch %llu of lock %u is to be ended after %llu were",
                      (unsigned long long)proposal->epoch, question->lock,
                      (unsigned long long)at->values);
    }
}

void outside_end(cluster *c)
{
    for (uint8_t l = 0; l < c->settings.locks; l++)
        register_free(&c->registers[l]);
}
