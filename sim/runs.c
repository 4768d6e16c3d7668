/* Runs of wme: what each adds to the sums. */
#include "runs.h"

#include <assert.h>

static void larger(uint64_t *to, uint64_t value)
{
    if (value > *to)
        *to = value;
}

static void add_run(sums *to, const run_result *r)
{
    to->events += r->tally.events;
    to->actions += r->tally.actions;
    for (int k = 0; k < WME_KINDS; k++)
        to->messages += r->tally.sent[k];
    to->heartbeats += r->tally.heartbeats;
    to->lost += r->tally.lost;
    to->crashes += r->tally.crashes;
    to->forgettings += r->tally.forgettings;
    to->suspicions += r->tally.suspicions;
    to->suspended += r->tally.suspended;
    to->decisions += r->decisions;
    to->sections += r->counts.sections;
    to->operations += r->counts.outcomes;
    to->ejected += r->counts.ejected;
    to->resumed += r->counts.resumed;
    to->installs += r->counts.installs;
    to->virtual_us += r->tally.end;
    larger(&to->longest_wait, r->counts.longest_wait);
    larger(&to->longest_stall, r->counts.longest_stall);
    larger(&to->longest_settling, r->tally.settling);
    larger(&to->max_epochs, r->epochs);
    for (int p = 0; p < HISTORY_PROPERTIES; p++)
        to->judged[p] += r->counts.judged[p];
}

static void add_sums(sums *to, const sums *more)
{
    to->events += more->events;
    to->actions += more->actions;
    to->messages += more->messages;
    to->heartbeats += more->heartbeats;
    to->lost += more->lost;
    to->crashes += more->crashes;
    to->forgettings += more->forgettings;
    to->suspicions += more->suspicions;
    to->suspended += more->suspended;
    to->decisions += more->decisions;
    to->sections += more->sections;
    to->operations += more->operations;
    to->ejected += more->ejected;
    to->resumed += more->resumed;
    to->installs += more->installs;
    to->virtual_us += more->virtual_us;
    larger(&to->longest_wait, more->longest_wait);
    larger(&to->longest_stall, more->longest_stall);
    larger(&to->longest_settling, more->longest_settling);
    larger(&to->max_epochs, more->max_epochs);
    for (int p = 0; p < HISTORY_PROPERTIES; p++)
        to->judged[p] += more->judged[p];
}

static_assert(sizeof(sums) <= MAX_SUMS, "a worker has room for them");

static void run_one(const void *wished, uint64_t seed, void *to, trouble *found)
{
    settings s = run_settings(wished, seed);
    run_result r = run(&s, NULL);
    add_run(to, &r);
    *found = r.trouble;
}

static void add_more(void *to, const void *more)
{
    add_sums(to, more);
}

runs_result runs_all(const wishes *w, uint64_t seed, uint64_t runs, uint32_t jobs, bool keep_going)
{
    labour l = {.wishes = w, .run = run_one, .add = add_more, .sums_bytes = sizeof(sums)};
    runs_result r = {0};
    r.harvest = workers_run(&l, seed, runs, jobs, keep_going, &r.sums);
    r.sums.runs = r.harvest.runs;
    return r;
}
