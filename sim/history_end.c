/*
 * What can be judged only when all is over: what is lost, and who never had an answer. First what
 * causes other things: who is inside for ever keeps all others waiting.
 */
#include "history_parts.h"

#include <inttypes.h>

static bool is_in(uint32_t runs, uint32_t node)
{
    return (runs >> node & 1) != 0;
}

static void look_for_lost(history *h, uint32_t runs, uint64_t at)
{
    for (uint32_t i = 0; i < h->nodes; i++) {
        const replica *r = &h->replica[i];
        if (is_in(runs, i) && r->number < h->last_told)
            history_break(h, HISTORY_LOST, at,
                          "node %" PRIu32 " ends at number %" PRIu64
                          ", an outcome was told of number %" PRIu64,
                          i, r->number, h->last_told);
        if (is_in(runs, i) && r->number < r->highest)
            history_break(h, HISTORY_LOST, at,
                          "node %" PRIu32 " ends at number %" PRIu64 ", it was at %" PRIu64
                          " before",
                          i, r->number, r->highest);
        if (is_in(runs, i) && h->last_told > 0)
            history_held(h, HISTORY_LOST);
    }
}

static void look_for_unanswered(history *h, uint32_t runs, uint64_t at)
{
    for (uint32_t i = 0; i < h->users; i++) {
        const person *who = &h->person[i];
        if (!is_in(runs, who->node) || who->pending == NO_OPERATION)
            continue;
        const operation *op = &h->operation[who->pending];
        if (op->issued < at)
            history_break(h, HISTORY_OPERATION_PROGRESS, at,
                          "operation %" PRIu64 " of user %" PRIu32 ", issued at %" PRIu64
                          ", has no answer",
                          op->key, i, op->issued);
    }
    for (uint32_t i = 0; i < h->users; i++) {
        const person *who = &h->person[i];
        if (is_in(runs, who->node) && who->at == LEAVING && who->left < at)
            history_break(h, HISTORY_RELEASE_PROGRESS, at,
                          "exit of user %" PRIu32 ", said at %" PRIu64 ", has no answer", i,
                          who->left);
    }
}

/* The user of the last section stays inside, of its own will: others may wait for ever. */
static bool somebody_stays(const history *h, uint32_t runs)
{
    for (uint32_t i = 0; i < h->users; i++) {
        const person *who = &h->person[i];
        if (who->at == INSIDE && who->token == h->last_token && is_in(runs, who->node))
            return true;
    }
    return false;
}

static void look_for_starved(history *h, uint32_t runs, uint64_t at)
{
    if (somebody_stays(h, runs))
        return;
    for (uint32_t i = 0; i < h->users; i++) {
        const person *who = &h->person[i];
        if (is_in(runs, who->node) && who->at == WAITING && who->tried < at)
            history_break(h, HISTORY_STARVATION_FREEDOM, at,
                          "user %" PRIu32 " at node %" PRIu32 " waits since %" PRIu64, i, who->node,
                          who->tried);
    }
}

/* Digests need no comparison any more: equal numbers had equal ones. */
static void look_for_diverged(history *h, uint32_t runs, uint64_t at)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < h->nodes; i++) {
        if (!is_in(runs, i))
            continue;
        if (first == UINT32_MAX)
            first = i;
        if (h->replica[i].number != h->replica[first].number)
            history_break(h, HISTORY_DIVERGED, at,
                          "node %" PRIu32 " ends at number %" PRIu64 ", node %" PRIu32
                          " at %" PRIu64,
                          first, h->replica[first].number, i, h->replica[i].number);
        if (i != first)
            history_held(h, HISTORY_DIVERGED);
    }
}

void history_quiet(history *h, uint64_t at)
{
    h->quiet_from = at;
}

void history_end(history *h, uint32_t runs, uint64_t at)
{
    if (!history_goes_on(h, at))
        return;
    look_for_lost(h, runs, at);
    look_for_unanswered(h, runs, at);
    look_for_starved(h, runs, at);
    look_for_diverged(h, runs, at);
}
