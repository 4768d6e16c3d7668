/*
 * Consensus outside of the cluster: a register for each lock, that never fails itself. On the way
 * to it and back all goes wrong that can, in good weather too: questions and answers are lost, come
 * twice, and come when nobody thinks of them any more.
 */
#include "cluster.h"

#include "../check/chance.h"

enum {
    LOST = 10, /* percent */
    DOUBLED = 10,
    LATE = 10,
    MOST_LATE = 1500 * MS,
};

static void carry(cluster *c, event e)
{
    if (network_happens(c, LOST) || network_happens(c, c->lose))
        return;
    e.at = c->now + network_delay(c);
    if (network_happens(c, LATE))
        e.at += draw(&c->network_chance) % MOST_LATE;
    e.letter->copies++;
    events_put(&c->events, e);
}

static void carry_some(cluster *c, event e, wme_kind kind, const wme_record *r)
{
    wme_message m = {.kind = kind, .epoch = r->epoch, .record = *r};
    e.letter = letter_write(c, &m, NULL);
    carry(c, e);
    if (network_happens(c, DOUBLED))
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
    switch (outside_judge(proposal->epoch, at->values)) {
    case OUTSIDE_MINE:
        wme_record_set(&at->value, proposal);
        at->values++;
        carry_some(c, answer, WME_DECIDED, proposal);
        break;
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
        wme_record_set(&c->registers[l].value, &(wme_record){0});
}
