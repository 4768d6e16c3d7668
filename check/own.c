/* Own memories of processes, each different one once. */
#include "own.h"
#include "process.h"
#include "seen.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_GIVEN_UP = 16 };

/* What a process has given up and not taken again, in bytes of the arena. */
typedef struct given_up {
    uint32_t count;
    struct {
        uint32_t start, end;
    } object[MAX_GIVEN_UP];
} given_up;

static struct {
    char *arena;
    size_t bytes;
    given_up now;
    char *all; /* arena and given_up, one after the other */
    uint32_t count, capacity;
} own;

/* Each begins at a line, as the arena does. */
static size_t stride(void)
{
    size_t line = BATON_CACHE_LINE;
    return (own.bytes + sizeof(given_up) + line - 1) / line * line;
}

static void make_room(void)
{
    own.capacity = own.capacity == 0 ? 64 : 2 * own.capacity;
    char *wider = must_align(BATON_CACHE_LINE, own.capacity * stride());
    if (own.count > 0)
        memcpy(wider, own.all, own.count * stride());
    free(own.all);
    own.all = wider;
}

const char *memory_at(uint32_t number)
{
    return own.all + number * stride();
}

void own_begin(char *arena, size_t bytes)
{
    own_end();
    own.arena = arena;
    own.bytes = bytes;
    own_save();
}

void own_end(void)
{
    free(own.all);
    memset(&own, 0, sizeof own);
}

void own_load(uint32_t number)
{
    memcpy(own.arena, memory_at(number), own.bytes);
    memcpy(&own.now, memory_at(number) + own.bytes, sizeof own.now);
}

/* Few differ, so they are compared one by one. */
uint32_t own_save(void)
{
    for (uint32_t i = 0; i < own.count; i++)
        if (memcmp(memory_at(i), own.arena, own.bytes) == 0 &&
            memcmp(memory_at(i) + own.bytes, &own.now, sizeof own.now) == 0)
            return i;
    if (own.count == own.capacity)
        make_room();
    char *to = own.all + own.count * stride();
    memcpy(to, own.arena, own.bytes);
    memcpy(to + own.bytes, &own.now, sizeof own.now);
    return own.count++;
}

bool own_give_up(uint32_t start, uint32_t bytes)
{
    own_take(start);
    if (own.now.count == MAX_GIVEN_UP)
        return false;
    own.now.object[own.now.count].start = start;
    own.now.object[own.now.count].end = start + bytes;
    own.now.count++;
    return true;
}

void own_take(uint32_t start)
{
    given_up *g = &own.now;
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->object[i].start == start) {
            g->object[i] = g->object[--g->count];
            memset(&g->object[g->count], 0, sizeof g->object[0]); /* equal memories stay equal */
            return;
        }
    }
}

bool own_has_given_up(uint32_t byte)
{
    for (uint32_t i = 0; i < own.now.count; i++)
        if (byte >= own.now.object[i].start && byte < own.now.object[i].end)
            return true;
    return false;
}
