/*
 * Whether a node is new, or has forgotten: little worlds by chance in which nodes
 * crash, are emptied, and hear each other late, twice or not at all. What is claimed: who has
 * counted never counts as new again; who was emptied has all that was agreed on before it is
 * settled; and all come to settle. In other worlds, where messages keep their order as they do on a
 * connection, copies of directories are restored: nobody is refused but who was one.
 */
#include "boot_worlds.h"

#include <string.h>

enum { MAX = 5, FLIGHT = 256, LOCKS = 64, STEPS = 400 };

typedef struct letter {
    uint8_t from, to;
    bool beats;       /* is a heartbeat, */
    uint64_t turn;    /* with this; */
    bool lists;       /* or is a boot_message: */
    bool answers;     /* of a list */
    uint64_t nonce;   /* of a list */
    uint64_t records; /* likewise */
    boot_message m;
} letter;

typedef struct directory {
    boot_durable disk;
    uint64_t turn, written; /* as below */
} directory;

typedef struct node {
    bool up;
    boot_check boot_check;
    boot_durable disk;
    uint64_t records; /* locks, a bit for each; on the disk */
    uint64_t owed;    /* had been agreed on when it lost what it knew */
    uint64_t turn;    /* of its data, */
    uint64_t written; /* and how often else something was written on the disk */
    directory copy;   /* of it, at some time */
    bool restored;    /* once */
    bool counted;     /* once, in any directory */
    bool knew;        /* SETTLED in this directory */
    bool was_empty;   /* this directory was made after it had counted */
} node;

typedef struct world {
    uint8_t nodes;
    bool memory; /* nothing but disk.state outlives a process */
    bool copies; /* are made and restored; messages keep their order */
    node node[MAX];
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
static void look(world *w, uint8_t i, boot_state before)
{
    node *n = &w->node[i];
    boot_state now = n->boot_check.durable.state;
    if (!n->restored) /* what a copy does on its own may hide what it is */
        n->written += memcmp(&n->disk, &n->boot_check.durable, sizeof n->disk) != 0;
    n->disk = n->boot_check.durable;
    assert_false(n->disk.outdated && !n->restored);
    if (w->copies) {
        n->counted |= now == BOOT_SETTLED;
        return;
    }
    if (before == BOOT_NEW && now == BOOT_SETTLED)
        assert_false(n->was_empty);
    if (now == BOOT_SETTLED && before != BOOT_SETTLED) {
        assert_int_equal(n->records & n->owed, n->owed);
        n->counted = n->knew = true;
    }
}

static void start(world *w, uint8_t i)
{
    node *n = &w->node[i];
    boot_state before = n->disk.state;
    n->up = true;
    if (n->disk.boot == 0)
        n->disk.boot = ++w->serial;
    if (w->memory || n->disk.state == BOOT_FORGETFUL)
        n->records = n->turn = 0; /* what is not all there counts for nothing */
    boot_start(&n->boot_check, i, w->nodes, &n->disk, w->memory, n->turn + n->written, ++w->serial);
    n->disk.life = n->boot_check.durable.life; /* which is not counted */
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
    n->disk = (boot_durable){0};
    n->records = n->turn = n->written = 0;
    n->restored = false;
    n->copy = (directory){0}; /* of those that come back after another was used: see the scenes */
    n->was_empty = n->counted;
    lose(w, n);
}

static uint64_t turn_of(const node *n)
{
    return n->turn + n->written;
}

static void beat(world *w, uint8_t from, uint8_t to)
{
    const node *n = &w->node[from];
    const boot_durable *m = &n->boot_check.durable;
    if (w->copies && from != to && m->state != BOOT_NEW && !m->outdated)
        send(w, (letter){.from = from, .to = to, .beats = true, .turn = turn_of(n)});
}

static void tick(world *w, uint8_t i)
{
    node *n = &w->node[i];
    letter l = {.from = i};
    uint16_t whom = boot_tick(&n->boot_check, &l.m);
    uint16_t unlisted = boot_unlisted(&n->boot_check);
    for (l.to = 0; l.to < w->nodes; l.to++) {
        letter list = {.from = i, .to = l.to, .lists = true, .nonce = n->boot_check.nonce};
        if ((whom >> l.to & 1) != 0)
            send(w, l);
        if ((unlisted >> l.to & 1) != 0)
            send(w, list);
        beat(w, i, l.to);
    }
    if (boot_rejoined(&n->boot_check))
        look(w, i, BOOT_FORGETFUL);
}

static void hear(world *w, const letter *l)
{
    node *n = &w->node[l->to];
    letter answer = {.from = l->to, .to = l->from, .lists = l->lists, .answers = true};
    if (!n->up)
        return;
    boot_state before = n->boot_check.durable.state;
    if (l->beats) {
        boot_hear_turn(&n->boot_check, l->from, l->turn);
    } else if (!l->lists) {
        bool changed = boot_hear(&n->boot_check, l->from, &l->m, &answer.m);
        bool differs = memcmp(&n->disk, &n->boot_check.durable, sizeof n->disk) != 0;
        assert_true(w->copies ? changed <= differs : changed == differs);
        if (changed)
            look(w, l->to, before);
        if (l->m.asks && !n->disk.outdated) {
            answer.m.turn = w->copies ? turn_of(n) : 0;
            send(w, answer);
        }
    } else if (!l->answers && before == BOOT_SETTLED) {
        answer.nonce = l->nonce;
        answer.records = n->records;
        send(w, answer);
    } else if (l->answers && l->nonce == n->boot_check.nonce) {
        n->records |= l->records; /* rejoined at once */
        boot_listed(&n->boot_check, l->from);
    }
}

/* Those of one connection, and what else leaves or reaches a node that starts. */
static bool is_on(const letter *l, uint8_t from, uint8_t to)
{
    return from == to ? l->from == from || l->to == to : l->from == from && l->to == to;
}

static void cut(world *w, uint8_t from, uint8_t to)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < w->count; i++)
        if (!is_on(&w->flight[i], from, to))
            w->flight[left++] = w->flight[i];
    w->count = left;
}

/* The first of a connection; or the connection is lost, with all that is under way. */
static void deliver_in_order(world *w, uint32_t at)
{
    uint32_t first = 0;
    while (!is_on(&w->flight[first], w->flight[at].from, w->flight[at].to))
        first++;
    letter l = w->flight[first];
    if (chance(w, 16) == 0) {
        cut(w, l.from, l.to);
        return;
    }
    w->count--;
    memmove(&w->flight[first], &w->flight[first + 1], (w->count - first) * sizeof l);
    hear(w, &l);
}

static void deliver(world *w, uint32_t at)
{
    letter l = w->flight[at];
    if (w->copies) {
        deliver_in_order(w, at);
        return;
    }
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
        if (w->node[i].up && w->node[i].boot_check.durable.state == BOOT_SETTLED &&
            chance(w, 4) != 0)
            those |= (uint16_t)(1U << i);
    if (__builtin_popcount(those) < majority(w) || w->locks == LOCKS)
        return;
    w->agreed |= 1ULL << w->locks;
    for (uint8_t i = 0; i < w->nodes; i++)
        if ((those >> i & 1) != 0)
            w->node[i].records |= 1ULL << w->locks;
    w->locks++;
    for (uint8_t i = 0; i < w->nodes; i++) /* the others catch up, as long as they know theirs */
        if (w->node[i].knew && w->node[i].disk.state == BOOT_SETTLED)
            w->node[i].records |= w->agreed;
}

/* Whether so many are left that know what they knew that nothing is lost. */
static bool may_forget(const world *w, uint8_t who)
{
    int know = 0;
    for (uint8_t i = 0; i < w->nodes; i++)
        know += i != who && w->node[i].disk.state == BOOT_SETTLED &&
                (!w->memory || (w->node[i].up && w->node[i].knew));
    return !w->node[who].counted || know >= (w->nodes == 2 ? 1 : majority(w));
}

static void copy(node *n)
{
    n->copy = (directory){.disk = n->disk, .turn = n->turn, .written = n->written};
}

static void restore(world *w, uint8_t i)
{
    node *n = &w->node[i];
    if (n->copy.disk.boot == 0 || n->restored)
        return;
    n->disk = n->copy.disk;
    n->turn = n->copy.turn;
    n->written = n->copy.written;
    n->restored = true;
}

/* What else may become of directories where copies are made. */
static void happen_to_copy(world *w, uint8_t i)
{
    node *n = &w->node[i];
    uint32_t what = chance(w, 40);
    if (what < 2)
        copy(n);
    else if (what < 4 && !n->up)
        restore(w, i);
    else if (what < 6 && !n->up && n->counted)
        empty(w, i);
    else if (what < 8 && n->up)
        n->disk = n->boot_check.durable; /* turns that were heard of */
    else if (what < 10 && n->up && !n->restored && !w->memory)
        n->turn++;
}

static void happen(world *w)
{
    uint8_t i = (uint8_t)chance(w, w->nodes);
    node *n = &w->node[i];
    uint32_t what = chance(w, 40);
    if (w->copies)
        happen_to_copy(w, i);
    if (!n->up) {
        if (what < 8 && !w->memory && may_forget(w, i) && n->counted)
            empty(w, i);
        if (what < 20) {
            if (w->copies)
                cut(w, i, i);
            start(w, i);
        }
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

void test_world(void **state)
{
    const uint8_t *nodes = *state;
    for (uint64_t seed = 1; seed <= BOOT_WORLDS; seed++) {
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
            assert_int_equal(w.node[i].disk.state, BOOT_SETTLED);
            assert_false(boot_is_lost(&w.node[i].boot_check));
            assert_int_equal(boot_missing(&w.node[i].boot_check), 0);
        }
    }
}

void test_copies(void **state)
{
    const uint8_t *nodes = *state;
    uint32_t refused = 0;
    for (uint64_t seed = 1; seed <= BOOT_WORLDS; seed++) {
        world w = {.nodes = *nodes, .memory = seed % 3 == 0, .chance = seed * 0x9e3779b97f4a7c15U};
        w.copies = true;
        for (int k = 0; k < 2 * STEPS; k++)
            happen(&w);
        for (uint8_t i = 0; i < w.nodes; i++)
            refused += w.node[i].disk.outdated;
    }
    print_message("# %u copies refused\n", refused);
    assert_true(refused > 100);
}
