/* Tables of facts that are emptied for each run without being touched. */
#include "../check/store.h"
#include "history_parts.h"

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
    return (size_t)(x ^ (x >> 32)) & (t->room - 1);
}

/* Where it is, or the free place where it would be. */
static fact *place_of(const facts *t, uint64_t a, uint64_t b)
{
    size_t i = first_place(t, a, b);
    while (!is_free(t, &t->place[i]) && (t->place[i].a != a || t->place[i].b != b))
        i = (i + 1) & (t->room - 1);
    return &t->place[i];
}

static void make_room(facts *t)
{
    facts old = *t;
    if (t->run == 0)
        t->run = 1; /* places are made with 0, which must mean free */
    t->room = old.room == 0 ? FIRST_ROOM : 2 * old.room;
    t->place = must_zero(t->room, sizeof *t->place);
    for (size_t i = 0; i < old.room; i++)
        if (!is_free(&old, &old.place[i]))
            *place_of(t, old.place[i].a, old.place[i].b) = old.place[i];
    free(old.place);
}

void facts_forget(facts *t)
{
    t->count = 0;
    if (++t->run == 0) { /* runs are counted anew: what is left of old ones must not be met */
        t->run = 1;
        if (t->place != NULL)
            memset(t->place, 0, t->room * sizeof *t->place);
    }
}

void facts_free(facts *t)
{
    free(t->place);
    *t = (facts){0};
}

const fact *facts_find(const facts *t, uint64_t a, uint64_t b)
{
    if (t->count == 0)
        return NULL;
    const fact *f = place_of(t, a, b);
    return is_free(t, f) ? NULL : f;
}

const fact *facts_between(const facts *t, uint64_t below, uint64_t above)
{
    for (size_t i = 0; i < t->room; i++)
        if (!is_free(t, &t->place[i]) && t->place[i].a > below && t->place[i].a < above)
            return &t->place[i];
    return NULL;
}

const fact *facts_learn(facts *t, uint64_t a, uint64_t b, uint64_t what, uint32_t who)
{
    if (2 * t->count >= t->room)
        make_room(t);
    fact *f = place_of(t, a, b);
    if (!is_free(t, f))
        return f;
    *f = (fact){a, b, what, who, t->run};
    t->count++;
    return NULL;
}
