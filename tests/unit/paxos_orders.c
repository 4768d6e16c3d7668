/*
 * Three nodes, of which two propose, in all runs up to a round, with a crash at any point. What was
 * ever sent may arrive at any time, again and again, or never: so the network is a set that only
 * grows, and a crash between two actions is a crash after both or before the event.
 */
#include "paxos_orders.h"

#include "paxos_world.h"

#include <stdlib.h>
#include <string.h>

enum {
    MEMBERS = 3,
    PROPOSERS = 2,
    MAX_ROUND = 2, /* of an attempt that begins */
    CRASHES = 1,
    MAX_MESSAGES = 64,
    MAX_DEEP = 1 << 12,
    TABLE = 1 << 22,
};

/* What counts of a node: how long it waits does not, and values are numbers. */
typedef struct image {
    uint8_t wants, decided, phase, ballot, highest, from, best, proposal;
    uint8_t promised, accepted, value;
    uint8_t saved_promised, saved_accepted, saved_value;
} image;

typedef struct note {
    uint8_t kind, from, to, ballot, accepted, value;
} note;

typedef struct scene {
    image member[MEMBERS];
    uint8_t crashes, decided;
    uint8_t notes;
    note air[MAX_MESSAGES + 2]; /* in order, none twice; room to read by words */
} scene;

typedef struct search {
    uint64_t *seen; /* fingerprints; 0 is free */
    uint64_t states;
    uint8_t decisions; /* a bit for each value that was decided in some run */
    scene *todo;
    uint32_t count;
    wme_out out;
} search;

/* ---- between images and nodes ---- */

static paxos wake(const image *i)
{
    paxos p;
    paxos_start(&p, EPOCH, 0, 0);
    p.durable.promised = i->promised;
    p.durable.accepted = i->accepted;
    p.durable.value = plain_record(i->value);
    p.wants = i->wants;
    p.decided = i->decided;
    p.phase = (paxos_phase)i->phase;
    p.ballot = i->ballot;
    p.highest = i->highest;
    p.from = i->from;
    p.best = i->best;
    p.proposal = plain_record(i->proposal);
    p.wait = 1; /* any time may be the end of it */
    return p;
}

static void draw_image(image *i, const paxos *p)
{
    i->promised = (uint8_t)p->durable.promised;
    i->accepted = (uint8_t)p->durable.accepted;
    i->value = (uint8_t)p->durable.value.ops;
    i->wants = p->wants;
    i->decided = p->decided;
    i->phase = (uint8_t)p->phase;
    i->ballot = (uint8_t)p->ballot;
    i->highest = (uint8_t)p->highest;
    i->from = (uint8_t)p->from;
    i->best = (uint8_t)p->best;
    i->proposal = (uint8_t)p->proposal.ops;
}

static void put_note(scene *s, note n)
{
    uint8_t k = 0;
    int order = 1;
    while (k < s->notes && (order = memcmp(&s->air[k], &n, sizeof n)) < 0)
        k++;
    if (k < s->notes && order == 0)
        return;
    assert_true(s->notes < MAX_MESSAGES);
    memmove(&s->air[k + 1], &s->air[k], (s->notes - k) * sizeof n);
    s->air[k] = n;
    s->notes++;
}

/* ---- the search ---- */

static bool is_new(search *all, const scene *s)
{
    size_t length = offsetof(scene, air) + s->notes * sizeof s->air[0];
    uint64_t print = 0, word;
    for (size_t k = 0; k < length; k += sizeof word) { /* beyond the last note all is zero */
        memcpy(&word, (const uint8_t *)s + k, sizeof word);
        print = (print ^ word) * 0x9e3779b97f4a7c15U;
        print ^= print >> 32;
    }
    print |= print == 0;
    size_t place = print >> 40;
    for (; all->seen[place % TABLE] != 0; place++)
        if (all->seen[place % TABLE] == print)
            return false;
    all->seen[place % TABLE] = print;
    assert_true(++all->states < TABLE / 2);
    return true;
}

static void add(search *all, const scene *s)
{
    if (!is_new(all, s))
        return;
    assert_true(all->count < MAX_DEEP);
    all->todo[all->count++] = *s;
}

/* The scene after member i did what is in `out`. */
static void follow(search *all, scene s, uint8_t i, const paxos *p)
{
    draw_image(&s.member[i], p);
    for (uint32_t k = 0; k < all->out.count; k++) {
        const wme_action *action = &all->out.actions[k];
        const wme_message *m = &action->message;
        if (action->verb == WME_PERSIST) {
            s.member[i].saved_promised = s.member[i].promised;
            s.member[i].saved_accepted = s.member[i].accepted;
            s.member[i].saved_value = s.member[i].value;
        } else if (action->verb == WME_DECISION) {
            if (s.decided != 0 && s.decided != m->record.ops)
                fail_msg("two decisions: %d and %d", s.decided, (int)m->record.ops);
            s.decided = (uint8_t)m->record.ops;
            all->decisions |= (uint8_t)(1U << s.decided);
        }
        /* Who is refused, or told, might as well not have heard it. */
        bool counts = action->verb == WME_SEND && m->kind != WME_REFUSED && m->kind != WME_DECIDED;
        for (uint8_t to = 0; counts && to < MEMBERS; to++)
            if (action->to >> to & 1)
                put_note(&s, (note){(uint8_t)m->kind, i, to, (uint8_t)m->ballot,
                                    (uint8_t)m->accepted, (uint8_t)m->record.ops});
    }
    wme_out_clear(&all->out);
    add(all, &s);
}

static void receive(search *all, const scene *s, const note *n)
{
    wme_node node = {.me = n->to, .nodes = MEMBERS};
    paxos p = wake(&s->member[n->to]);
    wme_message m = {.kind = (wme_kind)n->kind,
                     .epoch = EPOCH,
                     .ballot = n->ballot,
                     .accepted = n->accepted,
                     .record = plain_record(n->value)};
    paxos_receive(&p, &node, n->from, &m, &all->out);
    follow(all, *s, n->to, &p);
}

static void go_on(search *all, const scene *s, uint8_t i)
{
    wme_node node = {.me = i, .nodes = MEMBERS};
    paxos p = wake(&s->member[i]);
    wme_record value = plain_record(1U + i + PROPOSERS * s->crashes);
    if (p.highest >= 1 + MAX_ROUND * WME_MAX_NODES)
        return;
    if (!p.wants)
        paxos_propose(&p, &node, &value, &all->out);
    else if (p.phase == PAXOS_RESTS)
        paxos_tick(&p, &node, &all->out);
    follow(all, *s, i, &p);
}

static void come_back(search *all, scene s, uint8_t i)
{
    paxos p;
    paxos_durable saved = {EPOCH, s.member[i].saved_promised, s.member[i].saved_accepted,
                           plain_record(s.member[i].saved_value)};
    paxos_restart(&p, &saved, 0, 0);
    s.crashes++;
    follow(all, s, i, &p);
}

void test_all_orders(void **state)
{
    static search all;
    scene *now = calloc(1, sizeof *now);
    (void)state;
    all = (search){.seen = calloc(TABLE, sizeof *all.seen),
                   .todo = calloc(MAX_DEEP, sizeof *all.todo)};
    assert_true(now != NULL && all.seen != NULL && all.todo != NULL);
    add(&all, now);
    while (all.count > 0) {
        *now = all.todo[--all.count];
        for (uint8_t k = 0; k < now->notes; k++)
            receive(&all, now, &now->air[k]);
        for (uint8_t i = 0; i < PROPOSERS; i++)
            go_on(&all, now, i);
        for (uint8_t i = 0; i < MEMBERS && now->crashes < CRASHES; i++)
            come_back(&all, *now, i);
    }
    print_message("# %llu states\n", (unsigned long long)all.states);
    assert_int_equal(all.decisions & 0x6, 0x6); /* each of the two may win */
    free(all.seen);
    free(all.todo);
    free(now);
}
