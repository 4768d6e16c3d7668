/*
 * Runs in time: the theorems of lockout-free-speedup bound a wait by a number of critical sections,
 * each at most c, and a number of steps, each at most l. Here every process has a clock: a step
 * takes l or next to nothing, a section c or next to nothing, a rest nothing or a while, as an
 * adversary draws. A process whose condition does not hold looks again and again; when it comes to
 * hold, the process may have one read of a look that fails before it, and then looks once more.
 *
 * This shows waits that happen, not the worst that can; it must never show one above the bound.
 */
#include "chance.h"
#include "explore.h"

#include <string.h>

/* In ticks: c is so much longer than l that sections and steps can be read off a sum. */
enum { L = 100, C = 1000000, INSTANT = 1, STEPS_PER_RUN = 2000 };

/* Percent of the time that each kind of thing takes as long as it may; drawn anew for each run. */
typedef struct temper {
    uint32_t slow_steps[MOST_PROCESSES];
    uint32_t long_sections;
    uint32_t long_rests;
} temper;

typedef struct clocks {
    uint64_t next[MOST_PROCESSES];  /* when it moves */
    uint64_t tried[MOST_PROCESSES]; /* when its try began */
    bool blocked[MOST_PROCESSES];   /* does not move until its condition holds */
    bool trying[MOST_PROCESSES];
} clocks;

static bool perhaps(uint64_t *random, uint32_t percent)
{
    return draw(random) % 100 < percent;
}

static uint64_t duration(const config *c, uint32_t p, const temper *t, uint64_t *random)
{
    if (c->process[p].phase == INSIDE)
        return perhaps(random, t->long_sections) ? C : INSTANT;
    if (is_resting(c, p))
        return perhaps(random, t->long_rests) ? draw(random) % (3 * (uint64_t)C) : INSTANT;
    return perhaps(random, t->slow_steps[p]) ? L : INSTANT;
}

static uint32_t earliest(const clocks *k, uint32_t start, uint32_t processes)
{
    uint32_t first = processes;
    for (uint32_t p = start; p < processes; p++)
        if (!k->blocked[p] && (first == processes || k->next[p] < k->next[first]))
            first = p;
    return first;
}

/* Who is blocked now, and when those move who no longer are. */
static void update_blocked(const scope *plan, const config *c, clocks *k, uint64_t time,
                           const temper *t, uint64_t *random)
{
    for (uint32_t p = plan->start; p < plan->processes; p++) {
        bool blocked = is_blocked(c, p);
        if (k->blocked[p] && !blocked) {
            uint64_t last_look = perhaps(random, t->slow_steps[p]) ? L : INSTANT;
            k->next[p] = time + last_look + duration(c, p, t, random);
        }
        k->blocked[p] = blocked;
    }
}

/* One run; the longest wait in it, in ticks. */
static uint64_t run_in_time(const scope *plan, const config *first, uint64_t *random, timed *out)
{
    static config here;
    static config next;
    figures unused = {0};
    temper t = {.long_sections = (uint32_t)(draw(random) % 101),
                .long_rests = (uint32_t)(draw(random) % 101)};
    clocks k = {0};
    uint64_t longest = 0;
    config_copy(&here, first);
    for (uint32_t p = plan->start; p < plan->processes; p++) {
        t.slow_steps[p] = (uint32_t)(draw(random) % 5) * 25;
        k.next[p] = duration(&here, p, &t, random);
    }
    for (int i = 0; i < STEPS_PER_RUN; i++) {
        uint32_t p = earliest(&k, plan->start, plan->processes);
        if (p == plan->processes) {
            out->trouble = "the lock is broken; explore it with a bound to see how";
            return 0;
        }
        uint64_t time = k.next[p];
        if (!k.trying[p] && is_resting(&here, p)) { /* the user asks; the first step comes later */
            k.trying[p] = true;
            k.tried[p] = time;
            k.next[p] = time + (perhaps(random, t.slow_steps[p]) ? L : INSTANT);
            continue;
        }
        finding found = move(&here, p, 0, &next, &unused);
        if (found == NO_MOVE) { /* a look of several reads that has failed on the way */
            k.next[p] = time + duration(&here, p, &t, random);
            go_back_to_await(&here, p);
            continue;
        }
        if (found != FINE && found != EXIT_WAITS) {
            out->trouble = "the lock is broken; explore it with a bound to see how";
            return 0;
        }
        if (k.trying[p] && next.process[p].phase == INSIDE) {
            k.trying[p] = false;
            out->entries++;
            if (time - k.tried[p] > longest)
                longest = time - k.tried[p];
        }
        config_copy(&here, &next);
        k.next[p] = time + duration(&here, p, &t, random);
        update_blocked(plan, &here, &k, time, &t, random);
    }
    return longest;
}

timed explore_timed(const scope *given, uint64_t seed, uint64_t runs, on_progress *progress)
{
    static config first;
    scope plan = *given;
    timed out = {0};
    double start = seconds_now();
    uint64_t longest = 0;
    plan.c11 = false;
    plan.passages = 0;
    out.trouble = processes_begin(plan.subject, plan.processes, BATON_SPIN);
    if (out.trouble != NULL)
        return out;
    if (model_begin(&plan, &first) != FINE)
        out.trouble = "the lock is broken; explore it with a bound to see how";
    for (uint64_t i = 0; i < runs && out.trouble == NULL; i++) {
        uint64_t random = seed + i;
        uint64_t wait = run_in_time(&plan, &first, &random, &out);
        out.runs++;
        if (wait > longest) {
            longest = wait;
            out.seed = seed + i;
        }
        if (progress != NULL && (i & 0xff) == 0)
            progress(&plan, i, out.entries);
    }
    out.sections = (uint32_t)(longest / C);
    out.steps = (uint32_t)((longest % C + L - 1) / L); /* instants round up to a step */
    out.seconds = seconds_now() - start;
    return out;
}
