/* One run. */
#include "one_run.h"

#include "chance.h"

#include <string.h>

static uint32_t pick(uint64_t *chance, uint32_t least, uint32_t max)
{
    return least + (uint32_t)(draw(chance) % (max - least + 1));
}

/* Everything is drawn, whether it is used or not: a wish changes nothing but what it is about. */
settings run_settings(const wishes *w, uint64_t seed)
{
    uint64_t chance = seed * 2 + 1;
    settings s = {.seed = draw(&chance), .upkeep = true, .people_act = true, .judged = true};
    uint64_t plan_chance = draw(&chance);
    s.nodes = draw(&chance) % 2 ? 3 : 5;
    s.ack_all = draw(&chance) % 2;
    s.locks = (uint8_t)(draw(&chance) % 4 == 0 ? pick(&chance, 2, 3) : 1);
    if (w->nodes != 0)
        s.nodes = w->nodes;
    if (w->locks != 0)
        s.locks = w->locks;
    if (w->ack != NULL)
        s.ack_all = strcmp(w->ack, "all") == 0;
    s.people = (uint8_t)pick(&chance, 1, MAX_PEOPLE);
    s.delay = (delay_kind)pick(&chance, DELAY_CONSTANT, DELAY_LONG_TAIL);
    s.least_delay = pick(&chance, 100, 2 * MS);
    s.mean_delay = pick(&chance, 100, 4 * MS);
    s.horizon = pick(&chance, 300, 2000);
    /* So many people share the time: a run is to have some hundred sections at most. */
    s.rest = pick(&chance, 5, 40) * MS * s.nodes * s.people * s.locks / 2;
    s.outside = w->outside;
    s.fail_epoch = w->fail_epoch;
    if (w->plan != NULL)
        s.plan = *w->plan;
    else
        plan_draw(&s.plan, w->faults, s.nodes, s.horizon, &plan_chance);
    uint32_t end = plan_end(&s.plan);
    s.horizon = end > s.horizon ? end : s.horizon;
    return s;
}

static void add_counts(history_counts *to, history_counts more)
{
    to->tries += more.tries;
    to->sections += more.sections;
    to->issued += more.issued;
    to->outcomes += more.outcomes;
    to->ejected += more.ejected;
    to->resumed += more.resumed;
    to->executed += more.executed;
    to->installs += more.installs;
    to->stale += more.stale;
    for (int p = 0; p < HISTORY_PROPERTIES; p++)
        to->judged[p] += more.judged[p];
    if (more.longest_wait > to->longest_wait)
        to->longest_wait = more.longest_wait;
    if (more.longest_stall > to->longest_stall)
        to->longest_stall = more.longest_stall;
}

static void count_places(run_result *r, const cluster *c)
{
    for (uint8_t n = 0; n < c->settings.nodes; n++)
        for (uint8_t l = 0; l < c->settings.locks; l++) {
            const replica *at = &c->machines[n].locks[l].replica;
            r->decisions += at->decisions;
            if (at->stub.now.epoch > r->epochs)
                r->epochs = at->stub.now.epoch;
        }
}

run_result run(const settings *s, teller *t)
{
    run_result r = {0};
    cluster *c = cluster_new(s, t);
    while (cluster_step(c))
        ;
    count_places(&r, c);
    cluster_close(c);
    for (uint8_t l = 0; l < s->locks; l++)
        add_counts(&r.counts, history_count(c->histories[l]));
    r.trouble = c->trouble;
    r.tally = c->tally;
    cluster_free(c);
    return r;
}

void run_command(const settings *s, const wishes *w, uint64_t seed, char text[512])
{
    char faults[128];
    char epoch[48] = "";
    faults_text(w->faults, faults);
    if (w->fail_epoch != 0)
        snprintf(epoch, sizeof epoch, " --fail-if-epoch %llu", (unsigned long long)w->fail_epoch);
    snprintf(text, 512, "baton-sim wme -n %u --ack %s --locks %u%s %s %s%s --seed %llu", s->nodes,
             s->ack_all ? "all" : "owner", s->locks, s->outside ? " --consensus outside" : "",
             w->plan_file ? "--plan" : "--faults", w->plan_file ? w->plan_file : faults, epoch,
             (unsigned long long)seed);
}
