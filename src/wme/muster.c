/* See muster.h. */
#include "muster.h"

#include "out.h"

#include <assert.h>

enum {
    MEMORY = 64, /* ticks: whoever is forgetful says so more often */
    TELLS = 3,   /* how often it is said that this is over; then it is forgotten */
};

static uint16_t others(const muster *m)
{
    return (uint16_t)(((1U << m->nodes) - 1U) & ~wme_bit(m->me));
}

/* N - majority + 1: one of these is in every majority that had the node in it. */
static int enough(const muster *m)
{
    return m->nodes - m->nodes / 2;
}

void muster_start(muster *m, uint8_t me, uint8_t nodes, const muster_durable *durable, bool forgets,
                  uint64_t nonce)
{
    assert(me < nodes && nodes <= WME_MOST_NODES && durable->boot != 0);
    *m = (muster){.me = me, .nodes = nodes, .durable = *durable, .nonce = nonce};
    if (forgets && m->durable.state == MUSTER_SETTLED)
        m->durable.state = MUSTER_FORGETFUL;
    if (nodes == 1 && m->durable.state == MUSTER_NEW)
        m->durable.state = MUSTER_SETTLED;
}

/* Nobody has said that it knows another boot id: else this node would not be new any more. */
static bool may_count(const muster *m)
{
    bool all = m->answered == others(m) && m->forgetful == 0;
    return all || __builtin_popcount(m->settled) >= enough(m);
}

static void hear_answer(muster *m, uint8_t from, const muster_message *what)
{
    if (what->nonce != m->nonce)
        return;
    m->answered |= wme_bit(from);
    if (m->durable.state == MUSTER_NEW && what->other)
        m->durable.state = MUSTER_FORGETFUL;
    if (m->durable.state == MUSTER_NEW && may_count(m))
        m->durable.state = MUSTER_SETTLED;
}

bool muster_hear(muster *m, uint8_t from, const muster_message *what, muster_message *answer)
{
    assert(from < m->nodes && from != m->me && what->boot != 0);
    muster_state before = m->durable.state;
    bool first = m->durable.heard[from] == 0;
    if (first)
        m->durable.heard[from] = what->boot;
    uint16_t bit = wme_bit(from);
    m->settled &= (uint16_t)~bit;
    m->forgetful &= (uint16_t)~bit;
    if (what->state == MUSTER_FORGETFUL) {
        m->forgetful |= bit;
        m->recently |= bit;
        m->listed &= (uint16_t)~bit; /* it has lost what it told */
    }
    if (what->state == MUSTER_SETTLED && !what->asks && what->nonce == m->nonce)
        m->settled |= bit;
    if (!what->asks)
        hear_answer(m, from, what);
    *answer = (muster_message){.nonce = what->nonce,
                               .boot = m->durable.boot,
                               .state = m->durable.state,
                               .other = m->durable.heard[from] != what->boot};
    return first || before != m->durable.state;
}

void muster_listed(muster *m, uint8_t from)
{
    m->listed |= wme_bit(from);
}

uint16_t muster_unlisted(const muster *m)
{
    return m->durable.state == MUSTER_FORGETFUL ? m->settled & (uint16_t)~m->listed : 0;
}

bool muster_is_listed(const muster *m)
{
    return m->durable.state == MUSTER_FORGETFUL && m->answered == others(m) &&
           (m->listed | m->forgetful) == others(m) && __builtin_popcount(m->listed) >= enough(m);
}

bool muster_rejoined(muster *m)
{
    if (!muster_is_listed(m))
        return false;
    m->durable.state = MUSTER_SETTLED;
    m->tells = TELLS;
    return true;
}

/* Who is settled asks, too, until it knows everybody's boot id: others may have to be told. */
uint16_t muster_tick(muster *m, muster_message *question)
{
    uint16_t whom = others(m);
    if (++m->ticks % MEMORY == 0) {
        m->forgetful &= m->recently;
        m->recently = 0;
    }
    for (uint8_t i = 0; i < m->nodes && m->durable.state == MUSTER_SETTLED && m->tells == 0; i++)
        if (m->durable.heard[i] != 0)
            whom &= (uint16_t)~wme_bit(i);
    *question = (muster_message){
        .asks = true, .nonce = m->nonce, .boot = m->durable.boot, .state = m->durable.state};
    if (m->tells > 0)
        m->tells--;
    return whom;
}

uint16_t muster_missing(const muster *m)
{
    uint16_t there = m->durable.state == MUSTER_NEW ? m->answered & (uint16_t)~m->forgetful
                                                    : m->listed | m->forgetful;
    return m->durable.state == MUSTER_SETTLED ? 0 : others(m) & (uint16_t)~there;
}

bool muster_is_lost(const muster *m)
{
    int know = m->nodes - __builtin_popcount(m->forgetful) -
               (m->durable.state == MUSTER_FORGETFUL ? 1 : 0);
    return know < (m->nodes <= 2 ? 1 : m->nodes / 2 + 1);
}
