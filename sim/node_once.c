/* See node_once.h. */
#include "node_once.h"

#include "chance.h"
#include "log.h"

#include <string.h>

const char *const scene_names[NODE_SCENES] = {
    [SCENE_ANY] = "any", [SCENE_FAILOVER] = "failover", [SCENE_AGED] = "aged"};

static uint32_t pick(uint64_t *chance, uint32_t least, uint32_t max)
{
    return least + (uint32_t)(draw(chance) % (max - least + 1));
}

static void draw_failover(fleet_settings *s, uint64_t *chance)
{
    s->plan = (node_plan){.count = 1};
    bool hangs = draw(chance) % 3 == 0;
    s->plan.mishaps[0] = (mishap){.kind = hangs ? MISHAP_PAUSE : MISHAP_CRASH,
                                  .at = pick(chance, 700, 1500),
                                  .length = pick(chance, 3000, 6000),
                                  .nodes = (uint16_t)(1U << pick(chance, 0, s->nodes - 1U)),
                                  .amount = (int32_t)pick(chance, 0, TURN_POINTS - 1)};
    s->lease = 10000;
    s->locks = s->clients = FLEET_LOCKS;
    s->horizon = 6000;
    s->max_detached = NODE_MAX_DETACHED;
}

/*
 * Where nodes keep what they have, and who ends epochs: mostly their disks, and they themselves.
 * Some scenes are about neither, and have it so unless somebody asks.
 */
static void draw_modes(fleet_settings *s, const node_wishes *w, uint64_t *chance)
{
    uint16_t all = (uint16_t)((1U << s->nodes) - 1);
    uint64_t how = draw(chance) % 12;
    uint16_t some = (uint16_t)(draw(chance) & all);
    bool failover = w->scene == SCENE_FAILOVER;
    s->in_memory = s->aged || failover || how > 1 ? 0 : how == 1 ? all : some;
    s->outside = draw(chance) % 5 == 0 && !failover;
    if (w->durability != NULL)
        s->in_memory = strcmp(w->durability, "memory") == 0 ? all : 0;
    if (w->consensus != NULL)
        s->outside = strcmp(w->consensus, "outside") == 0;
    s->aged = s->aged && s->in_memory == 0;
}

/* Some mind their leases, as the seed says: by a stream of its own, lest others be shifted. */
static void draw_keepers(fleet_settings *s, const node_wishes *w, uint64_t seed)
{
    enum { ALL = (1 << FLEET_CLIENTS) - 1 };
    uint64_t chance = seed * 2 + 1 + (UINT64_C(1) << 62);
    bool library = w->clients != NULL && strcmp(w->clients, "library") == 0;
    bool script = w->clients != NULL && !library;
    s->keepers = (uint16_t)(draw(&chance) & ALL);
    if (library || w->scene == SCENE_FAILOVER)
        s->keepers = ALL;
    if (script)
        s->keepers = 0;
    s->kept_is_promised = w->scene == SCENE_FAILOVER;
}

/* Everything is drawn, whether it is used or not: a wish changes nothing but what it is about. */
fleet_settings once_settings(const node_wishes *w, uint64_t seed)
{
    static const uint8_t usual[] = {3, 3, 3, 5, 5, 5, 1, 2, 4, 7};
    uint64_t chance = seed * 2 + 1;
    fleet_settings s = {.seed = draw(&chance)};
    uint64_t plan_chance = draw(&chance);
    s.nodes = usual[draw(&chance) % sizeof usual];
    s.ack_all = draw(&chance) % 3 == 0;
    s.locks = (uint8_t)(draw(&chance) % 3 == 0 ? pick(&chance, 2, FLEET_LOCKS) : 1);
    if (w->nodes != 0)
        s.nodes = w->nodes;
    if (w->locks != 0)
        s.locks = w->locks;
    if (w->ack != NULL)
        s.ack_all = strcmp(w->ack, "all") == 0;
    s.clients = (uint8_t)pick(&chance, 1, FLEET_CLIENTS);
    s.delay = pick(&chance, 50, 3000);
    s.disk = pick(&chance, 10, 5000);
    s.gather = draw(&chance) % 4 == 0 ? pick(&chance, 1000, 60000) : 200;
    s.lease = pick(&chance, 200, 1500);
    s.think = pick(&chance, 5, 100);
    s.horizon = pick(&chance, 600, 3000);
    s.max_detached = draw(&chance) % 4 == 0 ? pick(&chance, 0, 2) : NODE_MAX_DETACHED;
    s.rest_after = draw(&chance) % 2 == 0 ? pick(&chance, 20, 1000) : NODE_REST_AFTER;
    s.aged = draw(&chance) % 16 == 0 || w->scene == SCENE_AGED;
    draw_modes(&s, w, &chance);
    s.patrols = draw(&chance) % 4 == 0;
    if (w->scene == SCENE_FAILOVER)
        draw_failover(&s, &plan_chance);
    else
        node_plan_draw(&s.plan, w->mishaps, s.nodes, s.horizon, &plan_chance);
    draw_keepers(&s, w, seed);
    if (w->plan != NULL)
        s.plan = *w->plan;
    for (uint32_t i = 0; i < s.plan.count; i++)
        if (s.horizon < mishap_end(&s.plan.mishaps[i], s.nodes))
            s.horizon = mishap_end(&s.plan.mishaps[i], s.nodes) + 100;
    return s;
}

static once_result run_fleet(const fleet_settings *s, FILE *trace, teller *to, judge *heard)
{
    once_result r = {0};
    log_set_level(LOG_ERROR);
    fleet *f = fleet_new(s, trace, to);
    while (fleet_step(f))
        ;
    f->counts.virtual_us = f->now;
    f->counts.in_memory = __builtin_popcount(s->in_memory) == s->nodes;
    f->counts.mixed = s->in_memory != 0 && f->counts.in_memory == 0;
    f->counts.outside = s->outside;
    r.trouble = f->judge.trouble;
    f->trace = NULL; /* that its nodes end is of no interest */
    f->teller = NULL;
    for (uint8_t i = 0; i < s->nodes; i++)
        f->counts.deaths -= f->machines[i].up;
    for (uint8_t i = 0; i < s->nodes; i++)
        if (f->machines[i].up)
            host_dies(f, i);
    r.counts = f->counts;
    if (heard != NULL)
        *heard = f->judge;
    fleet_free(f);
    return r;
}

once_result once_run(const fleet_settings *s, FILE *trace, teller *to)
{
    return run_fleet(s, trace, to, NULL);
}

once_result once_run_heard(const fleet_settings *s, judge *heard)
{
    return run_fleet(s, NULL, NULL, heard);
}

void once_command(const node_wishes *w, const fleet_settings *s, uint64_t seed, char text[512])
{
    char kinds[MISHAPS_TEXT];
    mishaps_text(w->mishaps, kinds);
    size_t length = (size_t)snprintf(
        text, 512, "baton-sim node -n %u --ack %s --locks %u --scene %s %s %s", s->nodes,
        s->ack_all ? "all" : "owner", w->locks != 0 ? w->locks : s->locks, scene_names[w->scene],
        w->plan_file != NULL ? "--plan" : "--faults", w->plan_file != NULL ? w->plan_file : kinds);
    if (w->durability != NULL)
        length += (size_t)snprintf(text + length, 512 - length, " --durability %s", w->durability);
    if (w->consensus != NULL)
        length += (size_t)snprintf(text + length, 512 - length, " --consensus %s", w->consensus);
    if (w->clients != NULL)
        length += (size_t)snprintf(text + length, 512 - length, " --clients %s", w->clients);
    snprintf(text + length, 512 - length, " --seed %llu", (unsigned long long)seed);
}
