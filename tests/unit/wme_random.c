/*
 * Scenes by chance: messages lost, repeated and in any order, suspicions right and wrong, crashes.
 * All the while no two nodes use one token and no two resources disagree. In the end everything is
 * mended, everybody gets in, and every operation was executed once if its user was told an outcome,
 * and not at all if its user was ejected.
 */
#include "wme_tests.h"

#include <string.h>

enum { RUNS = 400, USERS = 2, MAX_KEYS = 64, LAST = SCENE_USERS - 1 };

typedef enum fate { UNKNOWN, EXECUTED, NOWHERE } fate;

typedef struct play {
    scene *w;
    uint64_t chance;
    uint32_t loss, suspicion, crashes;   /* in a hundred */
    uint32_t issued[SCENE_NODES][USERS]; /* key that has no answer yet, or 0 */
    size_t heard[SCENE_NODES][USERS];    /* of what users were told */
    fate fates[MAX_KEYS + SCENE_NODES + 1];
    uint64_t token; /* the largest so far */
} play;

static uint32_t chance(play *p, uint32_t of)
{
    p->chance ^= p->chance << 13;
    p->chance ^= p->chance >> 7;
    p->chance ^= p->chance << 17;
    return (uint32_t)(p->chance >> 11) % of;
}

/* ---- what must be true all the while ---- */

static void hear(play *p, uint8_t node, uint8_t user)
{
    scene_user *u = scene_user_at(p->w, node, user);
    uint32_t *key = &p->issued[node][user];
    for (size_t *at = &p->heard[node][user]; u->told[*at] != 0; ++*at) {
        if (strchr("OAE", u->told[*at]) != NULL) {
            p->fates[*key] = u->told[*at] == 'E' ? NOWHERE : EXECUTED;
            *key = 0;
        }
    }
    if (u->token > p->token)
        p->token = u->token;
}

static bool has_token(const scene *w, uint8_t node)
{
    const wme_stub *s = &w->node[node].replica.stub;
    return w->node[node].up && !s->blocked && s->state >= WME_TOKEN_HELD;
}

static void expect_one_copy(scene *w)
{
    for (uint8_t a = 0; a < w->nodes; a++)
        for (uint8_t b = 0; b < a; b++) {
            const scene_resource *x = &w->node[a].resource, *y = &w->node[b].resource;
            uint64_t both = x->count < y->count ? x->count : y->count;
            assert_memory_equal(x->keys, y->keys, both * sizeof *x->keys);
            if (has_token(w, a) && has_token(w, b))
                assert_int_not_equal(scene_stub(w, a)->now.epoch, scene_stub(w, b)->now.epoch);
        }
}

static void look(play *p)
{
    for (uint8_t i = 0; i < p->w->nodes; i++)
        for (uint8_t u = 0; u < USERS; u++) {
            if (p->w->node[i].up)
                hear(p, i, u);
            else
                p->issued[i][u] = 0, p->heard[i][u] = 0; /* it went with its node */
        }
    expect_one_copy(p->w);
}

/* ---- what happens ---- */

static void act(play *p, uint8_t node)
{
    scene *w = p->w;
    uint8_t user = (uint8_t)chance(p, USERS);
    scene_user *u = scene_user_at(w, node, user);
    if (p->heard[node][user] > SCENE_TOLD / 2) {
        memset(u->told, 0, sizeof u->told);
        p->heard[node][user] = 0;
    }
    switch (chance(p, 14)) {
    case 0:
        scene_leave(w, node, user);
        p->issued[node][user] = 0;
        p->heard[node][user] = 0;
        break;
    case 1:
    case 2:
        scene_exit(w, node, user);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        scene_try(w, node, user);
        break;
    case 13:
        scene_rest(w, node);
        break;
    case 7:
        scene_yield(w, node, (uint8_t)chance(p, w->nodes));
        break;
    default:
        if (u->wme.phase == WME_INSIDE && p->issued[node][user] == 0 && w->next_key < MAX_KEYS &&
            scene_issue(w, node, user) == WME_FINE)
            p->issued[node][user] = w->next_key;
    }
}

static void suspect(play *p, uint8_t node)
{
    uint8_t whom = (uint8_t)chance(p, p->w->nodes);
    if (whom == node)
        return;
    if (p->w->node[node].wme.suspected >> whom & 1)
        scene_trust(p->w, node, whom);
    else
        scene_suspect(p->w, node, whom);
}

/* One of the oldest, or any. */
static void pass_message(play *p)
{
    scene *w = p->w;
    uint32_t among = chance(p, 3) > 0 && w->count > 4 ? 4 : w->count;
    if (among == 0)
        return;
    uint32_t at = chance(p, among);
    scene_letter *letter = w->flight[at];
    memmove(&w->flight[1], &w->flight[0], at * sizeof *w->flight);
    w->flight[0] = letter; /* so it is the oldest now */
    if (chance(p, 12) == 0)
        scene_deliver_copy(w, ANY, ANY, ANY);
    else if (chance(p, 100) < p->loss || w->count > SCENE_FLIGHT / 2)
        scene_lose(w);
    else
        scene_deliver(w, ANY, ANY, ANY);
}

/* One at a time: enough others know. */
static bool may_forget(const scene *w, uint8_t node)
{
    for (uint8_t i = 0; i < w->nodes; i++)
        if (i != node && w->node[i].emptied && !w->node[i].disk.written)
            return false;
    return true;
}

static void happen(play *p)
{
    uint8_t node = (uint8_t)chance(p, p->w->nodes);
    uint32_t what = chance(p, 100);
    if (chance(p, 150) == 0)
        scene_cut(p->w, node, !p->w->node[node].cut);
    if (!p->w->node[node].up) {
        if (what < 5 && may_forget(p->w, node))
            scene_forget(p->w, node);
        if (what < 25)
            scene_restart(p->w, node);
    } else if (what < p->crashes) {
        if (what % 3 == 0)
            scene_crash(p->w, node);
        else if (what % 3 == 1)
            p->w->node[node].dies = true;
        else
            p->w->node[node].dies_unwritten = true;
    } else if (what < p->crashes + p->suspicion) {
        suspect(p, node);
    } else if (what < 30) {
        act(p, node);
    } else if (what < 40) {
        scene_tick(p->w, node);
    } else {
        pass_message(p);
    }
    look(p);
}

/* ---- the end ---- */

static void mend(play *p)
{
    scene *w = p->w;
    for (uint8_t i = 0; i < w->nodes; i++) {
        w->node[i].dies = w->node[i].dies_unwritten = w->node[i].cut = false;
        if (!w->node[i].up)
            scene_restart(w, i);
        for (uint8_t j = 0; j < w->nodes; j++)
            scene_trust(w, i, j);
        for (uint8_t u = 0; u < USERS; u++)
            scene_leave(w, i, u);
    }
    for (int i = 0; i < 80; i++) /* consensus may have to wait for its turn */
        scene_tick_all(w);
}

static void expect_everybody_gets_in(play *p)
{
    scene *w = p->w;
    for (uint8_t i = 0; i < w->nodes; i++)
        scene_try(w, i, LAST);
    scene_tick_all(w);
    for (uint8_t k = 0; k < w->nodes; k++) {
        uint8_t in = 0;
        while (in < w->nodes && scene_user_at(w, in, LAST)->wme.phase != WME_INSIDE)
            in++;
        assert_true(in < w->nodes);
        scene_issue(w, in, LAST);
        scene_settle(w);
        scene_exit(w, in, LAST);
        scene_tick_all(w);
        assert_string_equal(scene_told(w, in, LAST), "COR");
        assert_true(scene_user_at(w, in, LAST)->token > p->token);
        p->token = scene_user_at(w, in, LAST)->token;
    }
}

static void expect_fates(const play *p)
{
    const scene_resource *r = &p->w->node[0].resource;
    uint32_t times[MAX_KEYS + SCENE_NODES + 1] = {0};
    for (uint8_t i = 1; i < p->w->nodes; i++)
        assert_int_equal(p->w->node[i].resource.count, r->count);
    for (uint64_t i = 0; i < r->count; i++)
        times[r->keys[i]]++;
    for (uint32_t key = 1; key <= p->w->next_key; key++) {
        assert_true(times[key] <= 1);
        if (p->fates[key] != UNKNOWN)
            assert_int_equal(times[key], p->fates[key] == EXECUTED);
    }
}

static void test_random(void **state)
{
    const uint8_t *nodes = *state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        play p = {.chance = seed * 0x9e3779b97f4a7c15U};
        p.w = scene_open(*nodes, seed & 1);
        p.loss = seed % 3 == 0 ? 0 : chance(&p, 30);
        p.suspicion = chance(&p, 4);
        p.crashes = chance(&p, 4);
        for (uint32_t steps = 150 + chance(&p, 400); steps > 0; steps--)
            happen(&p);
        mend(&p);
        expect_everybody_gets_in(&p);
        expect_fates(&p);
        scene_close(p.w);
    }
}

void wme_random_tests(suite *s)
{
    static const uint8_t sizes[] = {2, 3, 5};
    for (size_t i = 0; i < sizeof sizes; i++)
        suite_add(s, test_random, &sizes[i], "%u nodes: %u scenes by chance", sizes[i], RUNS);
}
