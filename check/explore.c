/*
 * Breadth first through all configurations, or at random through some. Every configuration is kept
 * whole and compared whole, so merging two runs that meet loses nothing: what comes after a
 * configuration depends on the configuration alone.
 *
 * A look at a condition that does not hold is not a move. It changes nothing that others can see,
 * and a process that has not looked knows less, so may do all that one who has looked may do. A
 * process that waits is therefore blocked until a look can succeed.
 */
#include "explore.h"
#include "chance.h"
#include "memory.h"
#include "seen.h"

#include <stdlib.h>
#include <string.h>

const char *property_of(finding found, const char **detail)
{
    const char *unused;
    const char **to = detail != NULL ? detail : &unused;
    *to = "";
    switch (found) {
    case TWO_INSIDE:
        *to = "two are in the critical section";
        return "mutual exclusion";
    case STALE_SECTION:
        *to = "may not see what the last holder wrote";
        return "mutual exclusion";
    case NOT_FIFO:
        *to = "overtakes one whose doorway was earlier";
        return "FIFO";
    case NO_DOORWAY:
        *to = "enters, but its doorway has no end: nothing orders it";
        return "FIFO";
    case EXIT_WAITS:
        *to = "exit has come to an await";
        return "wait-free exit";
    case BAD_OUTCOME:
        *to = model_verdict();
        return "outcome";
    case NOT_UNSHARED:
        *to = "a process reads there what another has written";
        return "unshared registers";
    case WRONG_ACCESS:
        *to = "an access that no lock may make";
        return "memory safety";
    default:
        return NULL;
    }
}

/* How each configuration was first reached, and where the moves from it stand in the list. */
typedef struct origin {
    uint32_t from;
    step step;
    bool done; /* all processes have made their passages: the end of a run */
    uint64_t first_move;
} origin;

static void remember_run(result *r, const origin *origins, uint32_t last, step final,
                         bool has_final)
{
    uint32_t length = has_final ? 1 : 0;
    for (uint32_t i = last; i != 0; i = origins[i].from)
        length++;
    r->run = must_alloc(NULL, (length + 1) * sizeof *r->run);
    r->run_length = length;
    if (has_final)
        r->run[--length] = final;
    for (uint32_t i = last; i != 0; i = origins[i].from)
        r->run[--length] = origins[i].step;
}

static const char *begin(const scope *plan, config *first, finding *found)
{
    const char *trouble =
        processes_begin(plan->subject, plan->processes, plan->park ? BATON_PARK : BATON_SPIN);
    if (trouble != NULL)
        return trouble;
    if (plan->reduce && plan->watched == 0) /* what a look costs depends on the way to its end */
        processes_merge_points(MERGE_COUNTED);
    *found = model_begin(plan, first);
    pack_begin(plan);
    return NULL;
}

void result_free(result *r)
{
    free(r->run);
    r->run = NULL;
}

typedef struct search {
    const scope *plan;
    seen_set *seen;
    origin *origins;
    uint32_t capacity;
    uint32_t *moves; /* where each move leads; those of one configuration stand together */
    uint64_t move_count, move_capacity;
    result *result;
} search;

static void add_move(search *s, uint32_t to)
{
    if (s->move_count == s->move_capacity) {
        s->move_capacity *= 2;
        s->moves = must_alloc(s->moves, s->move_capacity * sizeof *s->moves);
    }
    s->moves[s->move_count++] = to;
}

/* Room for the origins of all that was seen, and one more. */
static void make_room(search *s)
{
    while (seen_count(s->seen) >= s->capacity) {
        s->capacity *= 2;
        s->origins = must_alloc(s->origins, s->capacity * sizeof *s->origins);
    }
}

static bool all_done(const scope *plan, const config *c)
{
    for (uint32_t p = plan->start; p < plan->processes; p++)
        if (c->process[p].phase != DONE)
            return false;
    return true;
}

/* ---- processes that are alike ---- */

/* Whether it has been through its first doorway; through its first entry, where none is marked. */
static bool has_come(const config *c, uint32_t p)
{
    const standing *s = &c->process[p];
    return s->rank != 0 || s->passage > 0 || s->phase != TRYING;
}

/*
 * Whether p comes before one with a smaller number. If processes are alike, every run has another
 * in which they come in the order of their numbers, and which is the same but for names: no other
 * need be explored.
 */
static bool comes_too_early(const scope *plan, const config *before, const config *after,
                            uint32_t p)
{
    if (!plan->reduce || !plan->subject->alike || plan->watched != 0 || has_come(before, p) ||
        !has_come(after, p))
        return false;
    for (uint32_t q = plan->start; q < p; q++)
        if (!has_come(before, q))
            return true;
    return false;
}

/* How many complete runs each that was explored stands for: all come, in one of so many orders. */
static double orders(const scope *plan)
{
    double count = 1;
    for (uint32_t k = 2; k <= plan->processes - plan->start; k++)
        count *= k;
    return plan->reduce && plan->subject->alike ? count : 1;
}

/* All moves from configuration `number`. Returns FINE, or what ended the search. */
static finding expand(search *s, uint32_t number, const config *here)
{
    static config next;
    uint8_t bytes[MAX_PACKED];
    s->origins[number].first_move = s->move_count;
    s->origins[number].done = all_done(s->plan, here);
    for (uint32_t p = s->plan->start; p < s->plan->processes; p++) {
        uint32_t choices = moves_of(here, p);
        for (uint32_t choice = 0; choice < choices; choice++) {
            step made = {(uint8_t)p, (uint8_t)choice};
            finding found = move(here, p, choice, &next, &s->result->figures);
            s->result->moves++;
            if (found == NO_MOVE || comes_too_early(s->plan, here, &next, p))
                continue;
            if (found != FINE) {
                remember_run(s->result, s->origins, number, made, true);
                return found;
            }
            bool fresh;
            uint32_t to = seen_add(s->seen, bytes, pack(&next, bytes), &fresh);
            make_room(s);
            if (fresh)
                s->origins[to] = (origin){.from = number, .step = made};
            add_move(s, to);
        }
    }
    return FINE;
}

/*
 * How many complete runs there are: ways to each configuration, added up in an order in which every
 * move leads forward. There is one, since a bounded run never comes back to where it was.
 */
static double count_runs(const search *s)
{
    uint32_t count = seen_count(s->seen);
    uint32_t *missing = must_zero(count, sizeof *missing); /* moves that lead here, not yet added */
    uint32_t *order = must_alloc(NULL, ((size_t)count + 1) * sizeof *order);
    double *ways = must_zero(count, sizeof *ways);
    double runs = 0;
    uint32_t ready = 1;
    for (uint64_t m = 0; m < s->move_count; m++)
        missing[s->moves[m]]++;
    order[0] = 0;
    ways[0] = 1;
    for (uint32_t i = 0; i < ready; i++) {
        uint32_t from = order[i];
        if (s->origins[from].done)
            runs += ways[from];
        for (uint64_t m = s->origins[from].first_move; m < s->origins[from + 1].first_move; m++) {
            uint32_t to = s->moves[m];
            ways[to] += ways[from];
            if (--missing[to] == 0)
                order[ready++] = to;
        }
    }
    free(missing);
    free(order);
    free(ways);
    return runs;
}

/* What a finding means for the search. */
static void conclude(result *r, finding found)
{
    if (found == TOO_LARGE) {
        r->ending = IMPOSSIBLE;
        r->trouble = "more messages, values or points than the model keeps";
    } else if (found != FINE) {
        r->ending = VIOLATION;
        r->property = property_of(found, &r->detail);
    }
}

/* The search proper. Returns a finding if it must be made again, for want of what that says. */
static finding search_all(search *s, uint64_t limit, on_progress *progress)
{
    static config here;
    result *r = s->result;
    for (uint32_t i = 0; i < seen_count(s->seen); i++) {
        unpack(seen_get(s->seen, i), &here);
        if (is_deadlocked(&here)) {
            r->ending = VIOLATION;
            r->property = "deadlock freedom";
            r->detail = "nobody can move any more";
            remember_run(r, s->origins, i, (step){0, 0}, false);
            return FINE;
        }
        finding found = expand(s, i, &here);
        if (found == NEEDS_FENCES || found == NEEDS_VIEWS)
            return found;
        conclude(r, found);
        if (found == FINE && seen_count(s->seen) > limit)
            r->ending = LIMIT;
        if (r->ending != EXHAUSTED)
            return FINE;
        if (progress != NULL && (i & 0x3fff) == 0)
            progress(s->plan, seen_count(s->seen), r->moves);
    }
    s->origins[seen_count(s->seen)].first_move = s->move_count;
    if (s->plan->watched == 0) /* a watched search comes back to where it was when a look fails */
        r->executions = count_runs(s) * orders(s->plan);
    return FINE;
}

static result explore_once(const scope *plan, uint64_t limit, on_progress *progress, finding *needs)
{
    static config first;
    result r = {.ending = EXHAUSTED};
    double start = seconds_now();
    finding found;
    r.trouble = begin(plan, &first, &found);
    if (r.trouble != NULL) {
        r.ending = IMPOSSIBLE;
        return r;
    }
    if (found == NEEDS_FENCES) {
        *needs = found;
        return r;
    }
    search s = {.plan = plan,
                .seen = seen_new(),
                .capacity = 1 << 12,
                .move_capacity = 1 << 12,
                .result = &r};
    s.origins = must_alloc(NULL, s.capacity * sizeof *s.origins);
    s.moves = must_alloc(NULL, s.move_capacity * sizeof *s.moves);
    s.origins[0] = (origin){0};
    uint8_t bytes[MAX_PACKED];
    bool fresh;
    seen_add(s.seen, bytes, pack(&first, bytes), &fresh);
    conclude(&r, found);
    if (r.ending == EXHAUSTED)
        *needs = search_all(&s, limit, progress);
    r.states = seen_count(s.seen);
    r.seconds = seconds_now() - start;
    seen_free(s.seen);
    free(s.origins);
    free(s.moves);
    return r;
}

/* ---- at random ---- */

enum { LONGEST_RUN = 100000 };

/* One run; FINE at its end, or what went wrong. r->run holds its steps. */
static finding run_once(const scope *plan, const config *first, uint64_t *random, result *r)
{
    static config now_at;
    static config next;
    config_copy(&now_at, first);
    r->run_length = 0;
    while (r->run_length < LONGEST_RUN) {
        if (is_deadlocked(&now_at)) {
            r->property = "deadlock freedom";
            r->detail = "nobody can move any more";
            return FINE;
        }
        step can[MAX_PROCESSES * 64];
        uint32_t count = 0;
        for (uint32_t p = plan->start; p < plan->processes; p++) {
            uint32_t choices = is_blocked(&now_at, p) ? 0 : moves_of(&now_at, p);
            for (uint32_t c = 0; c < choices && count < MAX_PROCESSES * 64; c++)
                can[count++] = (step){(uint8_t)p, (uint8_t)c};
        }
        finding found = NO_MOVE;
        bool looked_in_vain = false;
        while (count > 0 && found == NO_MOVE && !looked_in_vain) {
            uint32_t pick = (uint32_t)(draw(random) % count);
            step s = can[pick];
            can[pick] = can[--count];
            found = move(&now_at, s.process, s.choice, &next, &r->figures);
            r->moves++;
            looked_in_vain = found == NO_MOVE && go_back_to_await(&now_at, s.process);
            if (found != NO_MOVE || looked_in_vain)
                r->run[r->run_length++] = s;
        }
        if (looked_in_vain)
            continue;
        if (found == NO_MOVE)
            return FINE; /* the end */
        if (found != FINE)
            return found;
        config_copy(&now_at, &next);
    }
    return FINE;
}

/*
 * Random runs before the search, to see who accesses which register how. What they miss the search
 * finds out, and is made again.
 */
static void scout(const scope *given)
{
    enum { SCOUTS = 100 };
    static config first;
    scope plan = *given;
    plan.fences = true;
    result r = {.run = must_alloc(NULL, (LONGEST_RUN + 1) * sizeof *r.run)};
    finding found;
    memory_scout(true);
    if (begin(&plan, &first, &found) == NULL && found == FINE) {
        for (uint64_t random = 1; random <= SCOUTS; random++) {
            uint64_t state = random;
            run_once(&plan, &first, &state, &r);
        }
    }
    memory_scout(false);
    result_free(&r);
}

result explore(const scope *given, uint64_t limit, on_progress *progress)
{
    scope plan = *given;
    finding needs = FINE;
    if (plan.reduce && plan.c11)
        scout(&plan);
    result r = explore_once(&plan, limit, progress, &needs);
    while (needs != FINE) {
        if (needs == NEEDS_FENCES)
            plan.fences = true;
        result_free(&r);
        needs = FINE;
        r = explore_once(&plan, limit, progress, &needs);
    }
    return r;
}

result explore_randomly(const scope *given, uint64_t seed, uint64_t runs, on_progress *progress)
{
    static config first;
    scope plan = *given;
    plan.fences = plan.c11;
    plan.reduce = false;
    result r = {.ending = LIMIT};
    double start = seconds_now();
    finding found;
    r.trouble = begin(&plan, &first, &found);
    if (r.trouble != NULL) {
        r.ending = IMPOSSIBLE;
        return r;
    }
    conclude(&r, found);
    r.run = must_alloc(NULL, (LONGEST_RUN + 1) * sizeof *r.run);
    for (uint64_t i = 0; i < runs && r.ending == LIMIT; i++) {
        uint64_t random = seed + i;
        found = run_once(&plan, &first, &random, &r);
        if (r.property != NULL)
            r.ending = VIOLATION;
        else
            conclude(&r, found);
        r.executions += 1;
        if (progress != NULL && (i & 0xff) == 0)
            progress(&plan, i, r.moves);
    }
    r.seconds = seconds_now() - start;
    return r;
}
