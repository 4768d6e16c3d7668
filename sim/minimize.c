/*
 * Takes faults out of the plan, then makes those that are left shorter and milder, as long as the
 * same property still breaks. Each try is one run.
 */
#include "minimize.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST_RUN = 120 /* s */ };

/* One run in a process of its own: an assertion that fails there is a result here. */
static trouble run_apart(const settings *s)
{
    trouble *found =
        mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    trouble none = {.property = "process", .what = "no process could be started"};
    if (found == MAP_FAILED)
        return none;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        fclose(stderr); /* what an assertion says, it says in every try */
        alarm(LONGEST_RUN);
        *found = run(s, NULL).trouble;
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        munmap(found, sizeof *found);
        return none;
    }
    if (status != 0) {
        snprintf(found->property, sizeof found->property, "assertion");
        snprintf(found->what, sizeof found->what, "the run ends by signal %d", WTERMSIG(status));
    }
    trouble copy = *found;
    munmap(found, sizeof *found);
    return copy;
}

typedef struct search {
    wishes wishes;
    uint64_t seed;
    minimized best;
} search;

/* Takes the plan if it breaks the same. */
static bool try_plan(search *s, const plan *p)
{
    wishes with_plan = s->wishes;
    with_plan.plan = p;
    settings of = run_settings(&with_plan, s->seed);
    trouble found = run_apart(&of);
    s->best.runs++;
    if (strcmp(found.property, s->best.trouble.property) != 0)
        return false;
    s->best.trouble = found;
    s->best.plan = *p;
    return true;
}

/* So many at a time, first many, in the end one. */
static bool take_out(search *s)
{
    bool any = false;
    for (uint32_t some = s->best.plan.count; some > 0; some /= 2)
        for (uint32_t at = 0; at < s->best.plan.count;) {
            plan smaller = s->best.plan;
            uint32_t out = some < smaller.count - at ? some : smaller.count - at;
            memmove(&smaller.faults[at], &smaller.faults[at + out],
                    (smaller.count - at - out) * sizeof smaller.faults[0]);
            smaller.count -= out;
            if (try_plan(s, &smaller))
                any = true;
            else
                at += some;
        }
    return any;
}

static bool try_fault(search *s, uint32_t at, fault changed)
{
    plan other = s->best.plan;
    other.faults[at] = changed;
    return try_plan(s, &other);
}

static bool shorten(search *s, uint32_t at)
{
    bool any = false;
    for (fault f = s->best.plan.faults[at]; f.length > 1; any = true) {
        f.length /= 2;
        if (!try_fault(s, at, f))
            break;
    }
    fault f = s->best.plan.faults[at];
    if (f.length == FOR_EVER && f.kind == FAULT_CRASH) {
        f.length = 100;
        any |= try_fault(s, at, f);
    }
    return any;
}

static bool soften(search *s, uint32_t at)
{
    fault f = s->best.plan.faults[at];
    bool may_be_0 = f.kind == FAULT_CRASH || f.kind == FAULT_FORGET;
    int32_t least = may_be_0 ? 0 : 1;
    if (f.amount <= least)
        return false;
    f.amount = may_be_0 ? 0 : f.amount / 2;
    return try_fault(s, at, f);
}

minimized minimize(const wishes *w, uint64_t seed)
{
    settings first = run_settings(w, seed);
    search s = {.wishes = *w, .seed = seed, .best = {.plan = first.plan, .runs = 1}};
    /* With a plan of its own, nothing is left to the seed that depends on the plan. */
    s.wishes.nodes = first.nodes;
    s.wishes.locks = first.locks;
    s.wishes.ack = first.ack_all ? "all" : "owner";
    s.best.faults_before = first.plan.count;
    s.best.trouble = run_apart(&first);
    if (s.best.trouble.property[0] == '\0')
        return s.best;
    for (bool any = true; any;) {
        any = take_out(&s);
        for (uint32_t i = 0; i < s.best.plan.count; i++) {
            any |= shorten(&s, i);
            any |= soften(&s, i);
        }
    }
    return s.best;
}
