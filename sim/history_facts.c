/* Tables of facts that are emptied for each run without being touched. */
#include "history_parts.h"
#include "seen.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 256 };

static bool is_free(const facts *t, const fact *f)
{
    return f->run != t->run;
}

static size_t first_place(const facts *t, uint64_t a, uint64_t b)
{
    uint64_t x = (a * 0x9e3779b97f4a7c15ULL) ^ (b * 0xc2b2ae3d27d4eb4fULL);
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    return (size_t)(x ^ (x >> 32)) & (t->capacity - 1);
}

/* Where it is, or the free place where it would be. */
static fact *slot_of(const facts *t, uint64_t a, uint64_t b)
{
    size_t i = first_place(t, a, b);
    while (!is_free(t, &t->slot[i]) && (t->slot[i].a != a || t->slot[i].b != b))
        i = (i + 1) & (t->capacity - 1);
    return &t->slot[i];
}

static void make_room(facts *t)
{
    facts old = *t;
    if (t->run == 0)
        t->run = 1; /* places are made with 0, which must mean free */
    t->capacity = old.capacity == 0 ? FIRST_ROOM : 2 * old.capacity;
    t->slot = must_zero(t->capacity, sizeof *t->slot);
    for (size_t i = 0; i < old.capacity; i++)
        if (!is_free(&old, &old.slot[i]))
            *slot_of(t, old.slot[i].a, old.slot[i].b) = old.slot[i];
    free(old.slot);
}

void facts_forget(facts *t)
{
    t->count = 0;
    if (++t->run == 0) { /* runs are counted anew: what is left of old ones must not be met */
        t->run = 1;
        if (t->slot != NULL)
            memset(t->slot, 0, t->capacity * sizeof *t->slot);
    }
}

void facts_free(facts *t)
{
    free(t->slot);
    *t = (facts){0};
}

const fact *facts_find(const facts *t, uint64_t a, uint64_t b)
{
    if (t->count == 0)
        return NULL;
    const fact *f = slot_of(t, a, b);
    return is_free(t, f) ? NULL : f;
}

const fact *facts_between(const facts *t, uint64_t below, uint64_t above)
{
    for (size_t i = 0; i < t->capacity; i++)
        if (!is_free(t, &t->slot[i]) && t->slot[i].a > below && t->slot[i].a < above)
            return &t->slot[i];
    return NULL;
}

const fact *facts_learn(facts *t, uint64_t a, uint64_t b, uint64_t what, uint32_t who)
{
    if (2 * t->count >= t->capacity)
        make_room(t);
    fact *f = slot_of(t, a, b);
    if (!is_free(t, f))
        return f;
    *f = (fact){a, b, what, who, t->run};
    t->count++;
    return NULL;
}
