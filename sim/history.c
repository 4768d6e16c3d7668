/* A history: its life and its verdict. */
#include "history.h"
#include "history_parts.h"
#include "seen.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *history_property_name(history_property p)
{
    static const char *const names[HISTORY_PROPERTIES] = {
        [HISTORY_FINE] = "fine",
        [HISTORY_WELL_FORMED] = "well-formedness",
        [HISTORY_WME1] = "WME1",
        [HISTORY_WME2] = "WME2",
        [HISTORY_WME3] = "WME3",
        [HISTORY_ONE_COPY] = "1CS",
        [HISTORY_OUTCOME] = "outcome",
        [HISTORY_EJECTED] = "ejected",
        [HISTORY_ONE_SLOT] = "one slot",
        [HISTORY_AGREEMENT] = "agreement",
        [HISTORY_LOST] = "lost",
        [HISTORY_RESUMED] = "resumed",
        [HISTORY_STARVATION_FREEDOM] = "starvation freedom",
        [HISTORY_RELEASE_PROGRESS] = "release progress",
        [HISTORY_OPERATION_PROGRESS] = "operation progress",
        [HISTORY_DIVERGED] = "diverged",
    };
    return p < HISTORY_PROPERTIES ? names[p] : "?";
}

/* ---- its life ---- */

void *history_grow(void *array, size_t count, size_t *capacity, size_t each)
{
    if (count < *capacity)
        return array;
    *capacity = count < 128 ? 256 : 2 * count;
    return must_alloc(array, *capacity * each);
}

history *history_new(uint32_t nodes, uint32_t users)
{
    history *h = must_zero(1, sizeof *h);
    history_reset(h, nodes, users);
    return h;
}

void history_free(history *h)
{
    if (h == NULL)
        return;
    facts_free(&h->keys);
    facts_free(&h->tokens);
    facts_free(&h->slots);
    facts_free(&h->epochs);
    free(h->person);
    free(h->operation);
    free(h->execution);
    free(h->gap);
    free(h);
}

void history_reset(history *h, uint32_t nodes, uint32_t users)
{
    assert(nodes <= MAX_REPLICAS);
    h->nodes = nodes;
    h->users = users;
    h->person = history_grow(h->person, users, &h->person_capacity, sizeof *h->person);
    for (uint32_t i = 0; i < users; i++)
        h->person[i] = (person){.at = OUTSIDE, .pending = NO_OPERATION};
    memset(h->replica, 0, sizeof h->replica);
    h->operations = h->gaps = 0;
    h->execution = history_grow(h->execution, 0, &h->execution_capacity, sizeof *h->execution);
    h->execution[0] = (execution){.operation = NO_OPERATION};
    h->executions = 1;
    facts_forget(&h->keys);
    facts_forget(&h->tokens);
    facts_forget(&h->slots);
    facts_forget(&h->epochs);
    h->now = h->last_ended = h->last_token = h->last_told = h->last_epoch = 0;
    h->stalls = false;
    h->quiet_from = UINT64_MAX;
    h->counts = (history_counts){0};
    h->verdict = (history_verdict){.broken = HISTORY_FINE};
}

bool history_goes_on(history *h, uint64_t at)
{
    assert(at >= h->now);
    h->now = at;
    return h->verdict.broken == HISTORY_FINE;
}

void history_break(history *h, history_property p, uint64_t at, const char *words, ...)
{
    va_list arguments;
    if (h->verdict.broken != HISTORY_FINE)
        return;
    h->verdict.broken = p;
    h->verdict.at = at;
    va_start(arguments, words);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): not true, says clang-tidy 14 only */
    vsnprintf(h->verdict.what, sizeof h->verdict.what, words, arguments);
    va_end(arguments);
}

void history_held(history *h, history_property p)
{
    if (h->verdict.broken == HISTORY_FINE)
        h->counts.judged[p]++;
}

const history_verdict *history_wrong(const history *h)
{
    return &h->verdict;
}

history_counts history_count(const history *h)
{
    return h->counts;
}
