/* All outcomes of small programs, with the explorer's memory models and none of its properties. */
#include "outcomes.h"
#include "explore.h"
#include "unit.h"

static on_outcome *on_each;
static void *with;

static const char *pass_on(const baton_check_outcome *outcome)
{
    on_each(outcome, with);
    return NULL;
}

uint32_t each_outcome(size_t bytes, void (*init)(void *, uint32_t, baton_waiting), body *program,
                      uint32_t processes, bool c11, on_outcome *each, void *context)
{
    baton_check_subject subject = {
        .name = "program", .bytes = bytes, .init = init, .enter = program, .judge = pass_on};
    scope plan = {.subject = &subject, .processes = processes, .passages = 1, .c11 = c11};
    on_each = each;
    with = context;
    result r = explore(&plan, DEFAULT_LIMIT, NULL);
    assert_int_equal(r.ending, EXHAUSTED);
    uint32_t steps = r.figures.entry_steps;
    result_free(&r);
    return steps;
}
