/* See boot_check.h. */
#include "boot_check.h"

#include "out.h"

#include <assert.h>

enum {
    MEMORY = 64, /* ticks: whoever is forgetful says so more often */
    TELLS = 3,   /* how often it is said that this is over; then it is forgotten */
};

static uint16_t others(const boot_check *m)
{
    return (uint16_t)(((1U << m->nodes) - 1U) & ~wme_bit(m->me));
}

/* N - majority + 1: one of these is in every majority that had the node in it. */
static int enough(const boot_check *m)
{
    return m->nodes - m->nodes / 2;
}

/* Nobody asks how old the table of a node is that says that it has forgotten: so it has none. */
static void forget(boot_durable *d)
{
    d->state = BOOT_FORGETFUL;
    for (int i = 0; i < WME_MAX_NODES; i++)
        d->heard[i] = d->lives[i] = d->runs[i] = d->turns[i] = 0;
}

void boot_start(boot_check *m, uint8_t me, uint8_t nodes, const boot_durable *durable, bool forgets,
                uint64_t begin, uint64_t nonce)
{
    assert(me < nodes && nodes <= WME_MAX_NODES && durable->boot != 0);
    *m =
        (boot_check){.me = me, .nodes = nodes, .durable = *durable, .begin = begin, .nonce = nonce};
    m->durable.life++;
    if (m->durable.state == BOOT_FORGETFUL || (forgets && m->durable.state == BOOT_SETTLED))
        forget(&m->durable);
    if (nodes == 1 && m->durable.state == BOOT_NEW)
        m->durable.state = BOOT_SETTLED;
}

/* Nobody has said that it knows another boot id: else this node would not be new any more. */
static bool may_count(const boot_check *m)
{
    bool all = m->answered == others(m) && m->forgetful == 0;
    return all || __builtin_popcount(m->settled) >= enough(m);
}

static void hear_answer(boot_check *m, uint8_t from, const boot_message *what)
{
    if (m->durable.state == BOOT_NEW && what->other)
        forget(&m->durable);
    if (what->other) { /* it is asked again, by who is in a later life then */
        m->answered &= (uint16_t)~wme_bit(from);
        if (m->durable.state == BOOT_FORGETFUL && m->durable.life <= what->known)
            m->durable.life = what->known + 1;
        return;
    }
    m->answered |= wme_bit(from);
    if (m->durable.state == BOOT_NEW && may_count(m))
        m->durable.state = BOOT_SETTLED;
}

/*
 * Whether its data may be those that were last heard of, or what became of them. A run has the same
 * data in all its lives; and who says that it has forgotten goes on with none.
 */
static bool is_later(const boot_durable *d, uint8_t from, const boot_message *what)
{
    bool same = d->heard[from] == what->boot;
    if (same && what->run == d->runs[from])
        return true;
    if (what->life <= d->lives[from])
        return false;
    return what->state == BOOT_FORGETFUL || (same && what->begin >= d->turns[from]);
}

typedef struct heard_id {
    bool fine;    /* the data are not older than what was heard of them before */
    bool unheard; /* or they may be what became of these while this node was away: so it is old */
    bool news;    /* there was something to be written down */
} heard_id;

static heard_id take_id(boot_check *m, uint8_t from, const boot_message *what)
{
    boot_durable *d = &m->durable;
    bool first = d->heard[from] == 0;
    bool other_run = first || d->runs[from] != what->run;
    heard_id its = {.fine = first || is_later(d, from, what)};
    its.unheard = d->heard[from] != what->boot && what->life > d->lives[from];
    m->outdated &= (uint16_t)~wme_bit(from);
    if (!its.fine && what->state != BOOT_NEW)
        m->outdated |= wme_bit(from);
    its.news = its.fine && (first || what->life > d->lives[from]);
    if (!its.news)
        return its;
    d->heard[from] = what->boot;
    d->lives[from] = what->life;
    d->runs[from] = what->run;
    if (other_run)
        d->turns[from] = what->begin;
    return its;
}

void boot_hear_turn(boot_check *m, uint8_t from, uint64_t turn)
{
    if ((m->met & wme_bit(from)) == 0)
        return; /* of a later run, maybe, than the one that was heard of */
    if ((m->outdated & wme_bit(from)) != 0 || turn <= m->durable.turns[from])
        return;
    m->durable.turns[from] = turn;
    m->unsaved = true;
}

/*
 * Whether this node's data are old. Not if the one who says so has older ones; nor if that was said
 * of an earlier life, and comes late: since then this node was heard as who it is.
 */
static bool is_refused(const boot_check *m, const boot_message *what, heard_id its)
{
    return m->durable.state == BOOT_SETTLED && what->other && (its.fine || its.unheard) &&
           what->known >= m->durable.life;
}

bool boot_hear(boot_check *m, uint8_t from, const boot_message *what, boot_message *answer)
{
    assert(from < m->nodes && from != m->me && what->boot != 0);
    boot_state before = m->durable.state;
    bool was_outdated = m->durable.outdated;
    uint64_t life = m->durable.life;
    heard_id its = take_id(m, from, what);
    uint64_t later = m->durable.lives[from] > what->life ? m->durable.lives[from] : what->life;
    bool answers = !what->asks && what->nonce == m->nonce;
    uint16_t bit = wme_bit(from);
    bool counts = (m->outdated & bit) == 0;
    m->settled &= (uint16_t)~bit;
    m->forgetful &= (uint16_t)~bit;
    if (what->state == BOOT_FORGETFUL) {
        m->forgetful |= bit;
        m->recently |= bit;
        m->listed &= (uint16_t)~bit; /* it has lost what it told */
    }
    if (what->state == BOOT_SETTLED && answers && counts)
        m->settled |= bit;
    m->met |= its.fine ? bit : 0;
    if (its.fine)
        boot_hear_turn(m, from, what->turn);
    if (answers && is_refused(m, what, its))
        m->durable.outdated = true;
    if (answers && counts)
        hear_answer(m, from, what);
    *answer = (boot_message){.nonce = what->nonce,
                             .boot = m->durable.boot,
                             .state = m->durable.state,
                             .other = m->durable.heard[from] != what->boot ||
                                      m->durable.runs[from] != what->run,
                             .life = m->durable.life,
                             .known = its.fine ? m->durable.lives[from] : later,
                             .run = m->nonce,
                             .begin = m->begin};
    return its.news || before != m->durable.state || life != m->durable.life ||
           was_outdated != m->durable.outdated;
}

void boot_listed(boot_check *m, uint8_t from)
{
    m->listed |= wme_bit(from);
}

uint16_t boot_unlisted(const boot_check *m)
{
    return m->durable.state == BOOT_FORGETFUL ? m->settled & (uint16_t)~m->listed : 0;
}

/* All are listed that can be: what is left is to rejoin them. */
static bool is_listed(const boot_check *m)
{
    return m->durable.state == BOOT_FORGETFUL && m->answered == others(m) &&
           (m->listed | m->forgetful) == others(m) && __builtin_popcount(m->listed) >= enough(m);
}

bool boot_rejoined(boot_check *m)
{
    if (!is_listed(m))
        return false;
    m->durable.state = BOOT_SETTLED;
    m->tells = TELLS;
    return true;
}

/*
 * Who is settled asks, too, until it knows everybody's boot id, and all have heard of this start:
 * others may have to be told, or know better.
 */
uint16_t boot_tick(boot_check *m, boot_message *question)
{
    uint16_t whom = others(m);
    if (++m->ticks % MEMORY == 0) {
        m->forgetful &= m->recently;
        m->recently = 0;
    }
    for (uint8_t i = 0; i < m->nodes && m->durable.state == BOOT_SETTLED && m->tells == 0; i++)
        if (m->durable.heard[i] != 0 && (m->answered & wme_bit(i)) != 0)
            whom &= (uint16_t)~wme_bit(i);
    *question = (boot_message){.asks = true,
                               .nonce = m->nonce,
                               .boot = m->durable.boot,
                               .state = m->durable.state,
                               .life = m->durable.life,
                               .run = m->nonce,
                               .begin = m->begin};
    if (m->tells > 0)
        m->tells--;
    return m->durable.outdated ? 0 : whom;
}

uint16_t boot_missing(const boot_check *m)
{
    uint16_t there = m->durable.state == BOOT_NEW ? m->answered & (uint16_t)~m->forgetful
                                                  : m->listed | m->forgetful;
    return m->durable.state == BOOT_SETTLED ? 0 : others(m) & (uint16_t)~there;
}

bool boot_is_stuck(const boot_check *m)
{
    bool forgetful = m->durable.state == BOOT_FORGETFUL || m->forgetful != 0;
    return m->durable.state != BOOT_SETTLED && forgetful && m->answered == others(m) &&
           m->settled == 0;
}

bool boot_is_lost(const boot_check *m)
{
    int know =
        m->nodes - __builtin_popcount(m->forgetful) - (m->durable.state == BOOT_FORGETFUL ? 1 : 0);
    return know < (m->nodes <= 2 ? 1 : m->nodes / 2 + 1);
}
