/*
 * Runs in time: the theorems of lockout-free-speedup bound a wait by a number of critical sections,
 * each at most c, and a number of steps, each at most l. Here every process has a clock: a step
 * takes l or next to nothing, a section c or next to nothing, a rest nothing or a while, as an
 * adversary draws. A process whose condition does not hold looks again and again; when it comes to
 * hold, the process may have one read of a look that fails before it, and then looks once more.
 *
 * Runs by chance rarely come near the worst. So the adversary climbs: it changes a few of the draws
 * that have led to the longest wait so far, keeps what does not make that shorter, and begins anew
 * when it gets no further. This shows waits that happen, not the worst that can; it must never show
 * one above the bound.
 */
#include "chance.h"
#include "explore.h"

#include <string.h>

/* In ticks: c is so much longer than l that sections and steps can be read off a sum. */
enum { L = 100, C = 1000000, INSTANT = 1, STEPS_PER_RUN = 2000 };

enum {
    DRAWS_PER_STEP = 4 * MAX_PROCESSES, /* more than any step takes */
    PATIENCE = 1000,                    /* runs without a longer wait, then it begins anew */
    MAX_CHANGES = 8,                    /* of draws, from one run to the next */
    AFTERWARDS = 50,                    /* steps past the end of the longest wait so far */
    MAX_DRAWS = STEPS_PER_RUN * DRAWS_PER_STEP,
};

/* What the adversary draws in a run, in that order; made up as far as it is read. */
typedef struct tape {
    uint64_t random; /* what is not on it yet comes from here */
    uint32_t length, at;
    uint64_t number[MAX_DRAWS];
} tape;

static uint64_t draw_next(tape *t)
{
    if (t->at == MAX_DRAWS)
        return 0;
    if (t->at == t->length)
        t->number[t->length++] = draw(&t->random);
    return t->number[t->at++];
}

/* Percent of the time that each kind of thing takes as long as it may; drawn anew for each run. */
typedef struct temper {
    uint32_t slow_steps[MAX_PROCESSES];
    uint32_t long_sections;
    uint32_t long_rests;
} temper;

typedef struct clocks {
    uint64_t next[MAX_PROCESSES];  /* when it moves */
    uint64_t tried[MAX_PROCESSES]; /* when its try began */
    bool blocked[MAX_PROCESSES];   /* does not move until its condition holds */
    bool trying[MAX_PROCESSES];
} clocks;

static bool perhaps(tape *from, uint32_t percent)
{
    return draw_next(from) % 100 < percent;
}

static uint64_t duration(const config *c, uint32_t p, const temper *t, tape *from)
{
    if (c->process[p].phase == INSIDE)
        return perhaps(from, t->long_sections) ? C : INSTANT;
    if (is_resting(c, p))
        return perhaps(from, t->long_rests) ? draw_next(from) % (3 * (uint64_t)C) : INSTANT;
    return perhaps(from, t->slow_steps[p]) ? L : INSTANT;
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
                           const temper *t, tape *from)
{
    for (uint32_t p = plan->start; p < plan->processes; p++) {
        bool blocked = is_blocked(c, p);
        if (k->blocked[p] && !blocked) {
            uint64_t last_look = perhaps(from, t->slow_steps[p]) ? L : INSTANT;
            k->next[p] = time + last_look + duration(c, p, t, from);
        }
        k->blocked[p] = blocked;
    }
}

/* The longest wait of a run, in ticks, and how far the run and the tape were when it ended. */
typedef struct longest {
    uint64_t wait;
    uint32_t steps, draws;
} longest;

/* One run, of so many steps. */
static longest run_in_time(const scope *plan, const config *first, tape *from, uint32_t steps,
                           timed *out)
{
    static config here;
    static config next;
    figures unused = {0};
    temper t = {.long_sections = (uint32_t)(draw_next(from) % 101),
                .long_rests = (uint32_t)(draw_next(from) % 101)};
    clocks k = {0};
    longest most = {0};
    config_copy(&here, first);
    for (uint32_t p = plan->start; p < plan->processes; p++) {
        t.slow_steps[p] = (uint32_t)(draw_next(from) % 5) * 25;
        k.next[p] = duration(&here, p, &t, from);
    }
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t p = earliest(&k, plan->start, plan->processes);
        if (p == plan->processes) {
            out->trouble = "the lock is broken; explore it with a bound to see how";
            return most;
        }
        uint64_t time = k.next[p];
        if (!k.trying[p] && is_resting(&here, p)) { /* the user asks; the first step comes later */
            k.trying[p] = true;
            k.tried[p] = time;
            k.next[p] = time + (perhaps(from, t.slow_steps[p]) ? L : INSTANT);
            continue;
        }
        uint32_t choices = moves_of(&here, p);
        uint32_t choice = choices > 1 ? (uint32_t)(draw_next(from) % choices) : 0;
        finding found = move(&here, p, choice, &next, &unused);
        if (found == NO_MOVE) { /* a look of several reads that has failed on the way */
            k.next[p] = time + duration(&here, p, &t, from);
            go_back_to_await(&here, p);
            continue;
        }
        if (found != FINE && found != EXIT_WAITS) {
            out->trouble = "the lock is broken; explore it with a bound to see how";
            return most;
        }
        if (k.trying[p] && next.process[p].phase == INSIDE) {
            k.trying[p] = false;
            out->entries++;
            if (time - k.tried[p] > most.wait)
                most = (longest){time - k.tried[p], i + 1, from->at};
        }
        config_copy(&here, &next);
        k.next[p] = time + duration(&here, p, &t, from);
        update_blocked(plan, &here, &k, time, &t, from);
    }
    return most;
}

/* ---- the climb ---- */

/* A few numbers of what has led to the longest wait are drawn anew. */
static void change(tape *t, uint32_t draws, uint64_t *random)
{
    uint64_t changes = 1 + draw(random) % MAX_CHANGES;
    for (uint64_t i = 0; i < changes && draws > 0; i++)
        t->number[draw(random) % draws] = draw(random);
    t->at = 0;
}

static void tape_copy(tape *to, const tape *from)
{
    to->random = from->random;
    to->length = from->length;
    to->at = 0;
    memcpy(to->number, from->number, from->length * sizeof to->number[0]);
}

static uint32_t steps_after(const longest *l)
{
    return l->steps + AFTERWARDS < STEPS_PER_RUN ? l->steps + AFTERWARDS : STEPS_PER_RUN;
}

/* From one seed on until it gets no further, or has made `runs`; returns the longest wait. */
static longest climb(const scope *plan, const config *first, uint64_t seed, uint64_t runs,
                     timed *out)
{
    static tape best;
    static tape next;
    uint64_t random = seed ^ UINT64_C(0x5bd1e9955bd1e995);
    best.random = seed;
    best.length = best.at = 0;
    longest most = run_in_time(plan, first, &best, STEPS_PER_RUN, out);
    out->runs++;
    for (uint32_t idle = 0; out->runs < runs && idle < PATIENCE && out->trouble == NULL; idle++) {
        tape_copy(&next, &best);
        change(&next, most.draws, &random);
        longest now = run_in_time(plan, first, &next, steps_after(&most), out);
        out->runs++;
        if (now.wait < most.wait)
            continue;
        if (now.wait > most.wait)
            idle = 0;
        most = now;
        tape_copy(&best, &next);
    }
    return most;
}

timed explore_timed(const scope *given, uint64_t seed, uint64_t runs, on_progress *progress)
{
    static config first;
    scope plan = *given;
    timed out = {0};
    double start = seconds_now();
    uint64_t most = 0;
    plan.c11 = false;
    plan.passages = 0;
    plan.reduce = false;
    out.trouble = processes_begin(plan.subject, plan.processes, BATON_SPIN);
    if (out.trouble != NULL)
        return out;
    if (model_begin(&plan, &first) != FINE)
        out.trouble = "the lock is broken; explore it with a bound to see how";
    for (uint64_t i = 0; out.runs < runs && out.trouble == NULL; i++) {
        longest reached = climb(&plan, &first, seed + i, runs, &out);
        if (reached.wait > most) {
            most = reached.wait;
            out.seed = seed + i;
        }
        if (progress != NULL)
            progress(&plan, out.runs, out.entries);
    }
    out.sections = (uint32_t)(most / C);
    out.steps = (uint32_t)((most % C + L - 1) / L); /* instants round up to a step */
    out.seconds = seconds_now() - start;
    return out;
}
