/* Breadth first through a model; at random; and one scene that is only counted. */
#include "search.h"
#include "chance.h"
#include "seen.h"

#include <stdlib.h>
#include <string.h>

/* How each world was first reached. */
typedef struct origin {
    uint32_t from;
    happening by;
} origin;

void sim_result_free(sim_result *r)
{
    free(r->run);
    r->run = NULL;
}

static void remember_run(sim_result *r, const origin *origins, uint32_t last)
{
    uint32_t length = 0;
    for (uint32_t i = last; i != 0; i = origins[i].from)
        length++;
    r->run = must_alloc(NULL, (length + 1) * sizeof *r->run);
    r->run_length = length;
    for (uint32_t i = last; i != 0; i = origins[i].from)
        r->run[--length] = origins[i].by;
}

/*
 * The world as it is when it has been packed and unpacked: indexes of letters then mean the same.
 */
static uint32_t keep(const model *m, const limits *of, seen_set *seen, const void *w, bool *fresh)
{
    uint8_t bytes[MAX_WORLD];
    return seen_add(seen, bytes, m->pack(w, of, bytes), fresh);
}

sim_result sim_search(const model *m, const limits *of, uint64_t max, sim_progress *progress)
{
    static _Alignas(16) char here[MAX_WORLD];
    static _Alignas(16) char next[MAX_WORLD];
    happening can[MAX_HAPPENINGS];
    sim_result r = {.ending = SIM_EXHAUSTED};
    double began = seconds_now();
    uint32_t capacity = 1024;
    bool fresh;
    seen_set *seen = seen_new();
    origin *origins = must_alloc(NULL, capacity * sizeof *origins);
    m->start(here, of);
    keep(m, of, seen, here, &fresh);
    for (uint32_t i = 0; i < seen_count(seen) && r.ending == SIM_EXHAUSTED; i++) {
        m->unpack(seen_get(seen, i), of, here);
        r.broken = m->at_rest(here, of);
        if (r.broken != NULL) {
            r.ending = SIM_BROKEN;
            remember_run(&r, origins, i);
            break;
        }
        uint32_t count = m->can(here, of, can);
        for (uint32_t k = 0; k < count && r.ending == SIM_EXHAUSTED; k++) {
            memcpy(next, here, m->bytes);
            m->happen(next, can[k]);
            r.steps++;
            uint32_t to = keep(m, of, seen, next, &fresh);
            if (to >= capacity) {
                capacity *= 2;
                origins = must_alloc(origins, capacity * sizeof *origins);
            }
            if (fresh)
                origins[to] = (origin){i, can[k]};
            r.broken = m->wrong(next);
            if (r.broken != NULL) {
                r.ending = SIM_BROKEN;
                origins[to] = (origin){i, can[k]}; /* wrong is not part of what is kept */
                remember_run(&r, origins, to);
            }
        }
        if (r.ending == SIM_EXHAUSTED && seen_count(seen) > max)
            r.ending = SIM_LIMIT;
        if (progress != NULL && (i & 0xfff) == 0)
            progress(m, seen_count(seen));
    }
    r.worlds = seen_count(seen);
    r.seconds = seconds_now() - began;
    seen_free(seen);
    free(origins);
    return r;
}

/* ---- at random ---- */

enum { LONGEST_RUN = 200000 };

/*
 * Faults are rare compared with everything else, and how rare is drawn for each run; so is how
 * eager the network is, so that some runs have many messages on their way and some few.
 */
static uint32_t choose(const happening *can, uint32_t count, uint64_t *random, uint32_t rarity,
                       uint32_t eagerness)
{
    for (;;) {
        uint32_t pick = (uint32_t)(draw(random) % count);
        deed what = can[pick].deed;
        bool fault = what == LOSES_CONNECTION || what == LEASE_ENDS || what == RESTARTS;
        if (fault && draw(random) % rarity != 0)
            pick = (uint32_t)(draw(random) % count); /* once more: it may be all there is */
        else if (what == DELIVERS && draw(random) % 8 >= eagerness)
            continue;
        return pick;
    }
}

static void run_once(const model *m, const limits *of, uint64_t seed, sim_result *r)
{
    static _Alignas(16) char here[MAX_WORLD];
    happening can[MAX_HAPPENINGS];
    uint64_t random = seed;
    uint32_t rarity = 2 + (uint32_t)(draw(&random) % 100);
    uint32_t eagerness = 1 + (uint32_t)(draw(&random) % 8);
    m->start(here, of);
    r->run_length = 0;
    while (r->broken == NULL && r->run_length < LONGEST_RUN) {
        uint32_t count = m->can(here, of, can);
        if (count == 0)
            break;
        happening what = can[choose(can, count, &random, rarity, eagerness)];
        r->run[r->run_length++] = what;
        m->happen(here, what);
        r->steps++;
        r->broken = m->wrong(here);
        if (r->broken == NULL)
            r->broken = m->at_rest(here, of);
    }
    counts c = m->counted(here);
    r->counts.messages += c.messages;
    r->counts.sections += c.sections;
    r->counts.tries += c.tries;
    r->counts.refused_here += c.refused_here;
}

sim_result sim_random(const model *m, const limits *of, uint64_t seed, uint64_t runs,
                      sim_progress *progress)
{
    sim_result r = {.ending = SIM_RUNS_DONE};
    double began = seconds_now();
    r.run = must_alloc(NULL, LONGEST_RUN * sizeof *r.run);
    for (; r.runs < runs && r.broken == NULL; r.runs++) {
        r.seed = seed + r.runs;
        run_once(m, of, r.seed, &r);
        if (progress != NULL && (r.runs & 0xff) == 0)
            progress(m, r.runs);
    }
    if (r.broken != NULL)
        r.ending = SIM_BROKEN;
    r.seconds = seconds_now() - began;
    return r;
}

/* ---- counting ---- */

/* Delivers everything, first come, first served. */
static void settle(const model *m, const limits *of, void *w)
{
    happening can[MAX_HAPPENINGS];
    while (m->can(w, of, can) > 0 && can[0].deed == DELIVERS)
        m->happen(w, (happening){DELIVERS, 0});
}

sim_result sim_count(const model *m, uint32_t clients, uint32_t sections, uint32_t tries_of_each)
{
    static _Alignas(16) char w[MAX_WORLD];
    limits of = {.clients = clients, .tries = UINT16_MAX};
    sim_result r = {.ending = SIM_COUNTED};
    double began = seconds_now();
    m->start(w, &of);
    for (uint32_t s = 0; s < sections; s++) {
        uint32_t winner = s % clients;
        m->happen(w, (happening){TRIES, winner});
        settle(m, &of, w);
        for (uint32_t t = 0; t < tries_of_each; t++)
            for (uint32_t p = 0; p < clients; p++)
                if (p != winner) {
                    m->happen(w, (happening){TRIES, p});
                    settle(m, &of, w);
                }
        m->happen(w, (happening){EXITS, winner});
        settle(m, &of, w);
    }
    r.broken = m->wrong(w); /* said, but no reason to stop counting */
    r.counts = m->counted(w);
    r.seconds = seconds_now() - began;
    return r;
}

/* ---- for people ---- */

void sim_tell(const model *m, const limits *of, const sim_result *r, FILE *out)
{
    static _Alignas(16) char here[MAX_WORLD];
    static uint8_t bytes[MAX_WORLD];
    bool packed = r->ending == SIM_BROKEN && r->runs == 0; /* a search: see keep */
    m->start(here, of);
    for (uint32_t i = 0; i < r->run_length; i++) {
        char text[MAX_TEXT];
        if (packed) {
            m->pack(here, of, bytes);
            m->unpack(bytes, of, here);
        }
        m->describe(here, r->run[i], text);
        fprintf(out, "%6u  %s\n", i + 1, text);
        m->happen(here, r->run[i]);
    }
    if (r->broken != NULL)
        fprintf(out, "        !! %s\n", r->broken);
}
