/*
 * Whether a node is new, or has forgotten: scenes, and a little world by chance in which nodes
 * crash, are emptied, and hear each other late, twice or not at all. What is claimed: who has
 * counted never counts as new again; who was emptied has all that was agreed on before it is
 * settled; and all come to settle.
 */
#include "../../src/wme/muster.h"
#include "unit.h"

#include <string.h>

enum { MOST = 5, FLIGHT = 256, LOCKS = 64, RUNS = 3000, STEPS = 400 };

typedef struct letter {
    uint8_t from, to;
    bool lists;       /* or is a muster_message: */
    bool answers;     /* of a list */
    uint64_t nonce;   /* of a list */
    uint64_t records; /* likewise */
    muster_message m;
} letter;

typedef struct node {
    bool up;
    muster muster;
    muster_durable disk;
    uint64_t records; /* locks, a bit for each; on the disk */
    uint64_t owed;    /* had been agreed on when it lost what it knew */
    bool counted;     /* once, in any directory */
    bool knew;        /* SETTLED in this directory */
    bool was_empty;   /* this directory was made after it had counted */
} node;

typedef struct world {
    uint8_t nodes;
    bool memory; /* nothing but disk.state outlives a process */
    node node[MOST];
    letter flight[FLIGHT];
    uint32_t count;
    uint32_t locks;          /* that were made */
    uint64_t agreed;         /* a bit for each */
    uint64_t chance, serial; /* of boot ids and nonces */
} world;

static uint32_t chance(world *w, uint32_t of)
{
    w->chance ^= w->chance << 13;
    w->chance ^= w->chance >> 7;
    w->chance ^= w->chance << 17;
    return (uint32_t)(w->chance >> 11) % of;
}

static int majority(const world *w)
{
    return w->nodes / 2 + 1;
}

/* ---- what happens at a node ---- */

static void send(world *w, letter l)
{
    if (w->count < FLIGHT)
        w->flight[w->count++] = l;
}

/* After each event: what changed is durable, and what was claimed is true. */
static void look(world *w, uint8_t i, muster_state before)
{
    node *n = &w->node[i];
    muster_state now = n->muster.durable.state;
    n->disk = n->muster.durable;
    if (before == MUSTER_NEW && now == MUSTER_SETTLED)
        assert_false(n->was_empty);
    if (now == MUSTER_SETTLED && before != MUSTER_SETTLED) {
        assert_int_equal(n->records & n->owed, n->owed);
        n->counted = n->knew = true;
    }
}

static void start(world *w, uint8_t i)
{
    node *n = &w->node[i];
    muster_state before = n->disk.state;
    n->up = true;
    if (n->disk.boot == 0)
        n->disk.boot = ++w->serial;
    if (w->memory)
        n->records = 0;
    muster_start(&n->muster, i, w->nodes, &n->disk, w->memory, ++w->serial);
    look(w, i, before);
}

static void lose(const world *w, node *n)
{
    if (n->knew)
        n->owed = w->agreed;
    n->knew = false;
}

static void empty(world *w, uint8_t i)
{
    node *n = &w->node[i];
    n->up = false;
    n->disk = (muster_durable){0};
    n->records = 0;
    n->was_empty = n->counted;
    lose(w, n);
}

static void tick(world *w, uint8_t i)
{
    node *n = &w->node[i];
    letter l = {.from = i};
    uint16_t whom = muster_tick(&n->muster, &l.m);
    uint16_t unlisted = muster_unlisted(&n->muster);
    for (l.to = 0; l.to < w->nodes; l.to++) {
        letter list = {.from = i, .to = l.to, .lists = true, .nonce = n->muster.nonce};
        if ((whom >> l.to & 1) != 0)
            send(w, l);
        if ((unlisted >> l.to & 1) != 0)
            send(w, list);
    }
    if (muster_rejoined(&n->muster))
        look(w, i, MUSTER_FORGETFUL);
}

static void hear(world *w, const letter *l)
{
    node *n = &w->node[l->to];
    letter answer = {.from = l->to, .to = l->from, .lists = l->lists, .answers = true};
    if (!n->up)
        return;
    muster_state before = n->muster.durable.state;
    if (!l->lists) {
        bool changed = muster_hear(&n->muster, l->from, &l->m, &answer.m);
        assert_int_equal(changed, memcmp(&n->disk, &n->muster.durable, sizeof n->disk) != 0);
        look(w, l->to, before);
        if (l->m.asks)
            send(w, answer);
    } else if (!l->answers && before == MUSTER_SETTLED) {
        answer.nonce = l->nonce;
        answer.records = n->records;
        send(w, answer);
    } else if (l->answers && l->nonce == n->muster.nonce) {
        n->records |= l->records; /* rejoined at once */
        muster_listed(&n->muster, l->from);
    }
}

static void deliver(world *w, uint32_t at)
{
    letter l = w->flight[at];
    if (chance(w, 8) != 0)
        w->flight[at] = w->flight[--w->count];
    if (chance(w, 8) != 0)
        hear(w, &l);
}

/* A majority of those that know something agrees on a lock. */
static void agree(world *w)
{
    uint16_t those = 0;
    for (uint8_t i = 0; i < w->nodes; i++)
        if (w->node[i].up && w->node[i].muster.durable.state == MUSTER_SETTLED && chance(w, 4) != 0)
            those |= (uint16_t)(1U << i);
    if (__builtin_popcount(those) < majority(w) || w->locks == LOCKS)
        return;
    w->agreed |= 1ULL << w->locks;
    for (uint8_t i = 0; i < w->nodes; i++)
        if ((those >> i & 1) != 0)
            w->node[i].records |= 1ULL << w->locks;
    w->locks++;
    for (uint8_t i = 0; i < w->nodes; i++) /* the others catch up, as long as they know theirs */
        if (w->node[i].knew && w->node[i].disk.state == MUSTER_SETTLED)
            w->node[i].records |= w->agreed;
}

/* Whether so many are left that know what they knew that nothing is lost. */
static bool may_forget(const world *w, uint8_t who)
{
    int know = 0;
    for (uint8_t i = 0; i < w->nodes; i++)
        know += i != who && w->node[i].disk.state == MUSTER_SETTLED &&
                (!w->memory || (w->node[i].up && w->node[i].knew));
    return !w->node[who].counted || know >= (w->nodes == 2 ? 1 : majority(w));
}

static void happen(world *w)
{
    uint8_t i = (uint8_t)chance(w, w->nodes);
    node *n = &w->node[i];
    uint32_t what = chance(w, 40);
    if (!n->up) {
        if (what < 8 && !w->memory && may_forget(w, i) && n->counted)
            empty(w, i);
        if (what < 20)
            start(w, i);
    } else if (what == 0 && (!w->memory || may_forget(w, i))) {
        n->up = false;
        if (w->memory)
            lose(w, n);
    } else if (what < 3) {
        agree(w);
    } else if (what < 12) {
        tick(w, i);
    } else if (w->count > 0) {
        deliver(w, chance(w, w->count));
    }
}

static void test_world(void **state)
{
    const uint8_t *nodes = *state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        world w = {.nodes = *nodes, .memory = seed % 3 == 0, .chance = seed * 0x9e3779b97f4a7c15U};
        for (int k = 0; k < STEPS; k++)
            happen(&w);
        for (uint8_t i = 0; i < w.nodes; i++)
            if (!w.node[i].up)
                start(&w, i);
        for (int k = 0; k < 20; k++) {
            w.count = 0;
            for (uint8_t i = 0; i < w.nodes; i++)
                tick(&w, i);
            for (uint32_t at = 0; at < w.count; at++) {
                letter l = w.flight[at];
                hear(&w, &l);
            }
        }
        for (uint8_t i = 0; i < w.nodes; i++) {
            assert_int_equal(w.node[i].disk.state, MUSTER_SETTLED);
            assert_false(muster_is_lost(&w.node[i].muster));
            assert_int_equal(muster_missing(&w.node[i].muster), 0);
        }
    }
}

/* ---- scenes ---- */

static muster some(uint8_t nodes, muster_state state, bool forgets)
{
    muster m;
    muster_start(&m, 0, nodes, &(muster_durable){.state = state, .boot = 7}, forgets, 99);
    return m;
}

static muster_message answer(uint8_t from, muster_state state, bool other)
{
    return (muster_message){.nonce = 99, .boot = 10U + from, .state = state, .other = other};
}

static void hear_from(muster *m, uint8_t from, muster_state state, bool other)
{
    muster_message what = answer(from, state, other);
    muster_message back;
    muster_hear(m, from, &what, &back);
}

static void test_alone(void **state)
{
    (void)state;
    assert_int_equal(some(1, MUSTER_NEW, false).durable.state, MUSTER_SETTLED);
    muster m = some(1, MUSTER_SETTLED, true);
    assert_int_equal(m.durable.state, MUSTER_FORGETFUL);
    assert_true(muster_is_lost(&m));
}

static void test_all_are_new(void **state)
{
    muster m = some(3, MUSTER_NEW, false);
    (void)state;
    hear_from(&m, 1, MUSTER_NEW, false);
    assert_int_equal(m.durable.state, MUSTER_NEW);
    assert_int_equal(muster_missing(&m), 1 << 2);
    hear_from(&m, 2, MUSTER_NEW, false);
    assert_int_equal(m.durable.state, MUSTER_SETTLED);
    assert_int_equal(m.durable.heard[1], 11);
    assert_int_equal(m.durable.heard[2], 12);
}

static void test_enough_are_settled(void **state)
{
    muster m = some(5, MUSTER_NEW, false);
    (void)state;
    for (uint8_t i = 1; i < 4; i++) {
        assert_int_equal(m.durable.state, MUSTER_NEW);
        hear_from(&m, i, MUSTER_SETTLED, false);
    }
    assert_int_equal(m.durable.state, MUSTER_SETTLED);
    muster_message question;
    assert_int_equal(muster_tick(&m, &question), 1 << 4); /* whom it does not know yet */
}

/* Nobody that has itself forgotten is a witness. */
static void test_forgetful_witness(void **state)
{
    muster m = some(3, MUSTER_NEW, false);
    (void)state;
    hear_from(&m, 1, MUSTER_FORGETFUL, false);
    hear_from(&m, 2, MUSTER_SETTLED, false);
    assert_int_equal(m.durable.state, MUSTER_NEW);
    hear_from(&m, 1, MUSTER_SETTLED, false);
    assert_int_equal(m.durable.state, MUSTER_SETTLED);
}

static void test_known(void **state)
{
    muster m = some(3, MUSTER_NEW, false);
    (void)state;
    hear_from(&m, 1, MUSTER_SETTLED, true);
    assert_int_equal(m.durable.state, MUSTER_FORGETFUL);
    hear_from(&m, 2, MUSTER_SETTLED, false);
    assert_int_equal(m.durable.state, MUSTER_FORGETFUL);
    assert_int_equal(muster_unlisted(&m), 6);
    muster_listed(&m, 1);
    assert_false(muster_rejoined(&m));
    assert_int_equal(muster_missing(&m), 1 << 2);
    muster_listed(&m, 2);
    assert_true(muster_rejoined(&m));
    assert_int_equal(m.durable.state, MUSTER_SETTLED);
    hear_from(&m, 1, MUSTER_SETTLED, true); /* for ever, and it does not matter */
    assert_int_equal(m.durable.state, MUSTER_SETTLED);
}

static void test_answer_of_an_earlier_run(void **state)
{
    muster m = some(2, MUSTER_NEW, false);
    (void)state;
    muster_message what = answer(1, MUSTER_SETTLED, false);
    muster_message back;
    what.nonce = 98;
    assert_true(muster_hear(&m, 1, &what, &back)); /* but its boot id is written down */
    assert_int_equal(m.durable.state, MUSTER_NEW);
}

/* The first boot id stays, and whoever has another is told so. */
static void test_first_boot_id(void **state)
{
    muster m = some(3, MUSTER_SETTLED, false);
    (void)state;
    muster_message question = {.asks = true, .nonce = 5, .boot = 20};
    muster_message back;
    assert_true(muster_hear(&m, 1, &question, &back));
    assert_false(back.other);
    assert_false(muster_hear(&m, 1, &question, &back));
    assert_false(back.other);
    assert_int_equal(back.nonce, 5);
    assert_int_equal(back.boot, 7);
    question.boot = 21;
    assert_false(muster_hear(&m, 1, &question, &back));
    assert_true(back.other);
    assert_int_equal(m.durable.heard[1], 20);
}

static void test_lost(void **state)
{
    muster m = some(5, MUSTER_SETTLED, false);
    muster_message question;
    (void)state;
    hear_from(&m, 1, MUSTER_FORGETFUL, false);
    hear_from(&m, 2, MUSTER_FORGETFUL, false);
    assert_false(muster_is_lost(&m));
    hear_from(&m, 3, MUSTER_FORGETFUL, false);
    assert_true(muster_is_lost(&m));
    hear_from(&m, 3, MUSTER_SETTLED, false);
    assert_false(muster_is_lost(&m));
    hear_from(&m, 3, MUSTER_FORGETFUL, false);
    for (int i = 0; i < 200; i++) /* nobody says so any more */
        muster_tick(&m, &question);
    assert_false(muster_is_lost(&m));
}

int main(void)
{
    static const uint8_t sizes[] = {2, 3, 4, 5};
    suite s = {0};
    suite_add(&s, test_alone, NULL, "a cluster of one");
    suite_add(&s, test_all_are_new, NULL, "all are new");
    suite_add(&s, test_enough_are_settled, NULL, "enough are settled");
    suite_add(&s, test_forgetful_witness, NULL, "who has forgotten is no witness");
    suite_add(&s, test_known, NULL, "somebody knows another boot id");
    suite_add(&s, test_answer_of_an_earlier_run, NULL, "an answer to an earlier run");
    suite_add(&s, test_first_boot_id, NULL, "the first boot id stays");
    suite_add(&s, test_lost, NULL, "a majority has forgotten");
    for (size_t i = 0; i < sizeof sizes; i++)
        suite_add(&s, test_world, &sizes[i], "%u nodes: %d worlds by chance", sizes[i], RUNS);
    return suite_run(&s, "muster");
}
