/* All outcomes of small programs, with the explorer's memory models and none of its properties. */
#include "outcomes.h"
#include "../../check/store.h"
#include "unit.h"

static void never_leaves(void *memory, uint32_t lock, uint32_t process)
{
    (void)memory, (void)lock, (void)process;
}

uint32_t each_outcome(size_t bytes, void (*init)(void *, uint32_t, baton_waiting), body *program,
                      uint32_t processes, bool c11, on_outcome *each, void *context)
{
    static config here;
    static config next;
    baton_check_subject subject = {
        .name = "program", .bytes = bytes, .init = init, .enter = program, .exit = never_leaves};
    scope plan = {
        .subject = &subject, .processes = processes, .passages = 1, .c11 = c11, .fences = c11};
    figures seen_figures = {0};
    uint8_t packed[MOST_PACKED];
    bool fresh;
    assert_null(processes_begin(&subject, processes, BATON_SPIN));
    assert_int_equal(model_begin(&plan, &here), FINE);
    pack_begin(&plan);
    store *seen = store_new();
    store_add(seen, packed, pack(&here, packed), &fresh);
    for (uint32_t i = 0; i < store_count(seen); i++) {
        uint32_t inside = 0;
        unpack(store_get(seen, i), &here);
        for (uint32_t p = 0; p < processes; p++) {
            inside += here.process[p].phase == INSIDE;
            uint32_t choices = here.process[p].phase == INSIDE ? 0 : moves_of(&here, p);
            for (uint32_t choice = 0; choice < choices; choice++)
                if (move(&here, p, choice, &next, &seen_figures) != NO_MOVE)
                    store_add(seen, packed, pack(&next, packed), &fresh);
        }
        if (inside == processes)
            each(&here, context);
    }
    store_free(seen);
    processes_end();
    return seen_figures.entry_steps;
}
