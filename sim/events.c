/* A binary heap of events. */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>

static bool before(const event *a, const event *b)
{
    return a->at != b->at ? a->at < b->at : a->sequence < b->sequence;
}

static void grow(events *of)
{
    of->capacity = of->capacity == 0 ? 256 : 2 * of->capacity;
    event *larger = realloc(of->heap, of->capacity * sizeof *larger);
    if (larger == NULL) {
        fputs("baton-sim: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    of->heap = larger;
}

void events_put(events *of, event e)
{
    if (of->count == of->capacity)
        grow(of);
    e.sequence = of->sequence++;
    uint32_t i = of->count++;
    for (; i > 0 && before(&e, &of->heap[(i - 1) / 2]); i = (i - 1) / 2)
        of->heap[i] = of->heap[(i - 1) / 2];
    of->heap[i] = e;
}

bool events_take(events *of, event *e)
{
    if (of->count == 0)
        return false;
    *e = of->heap[0];
    const event *moved = &of->heap[--of->count];
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < of->count; i = child) {
        if (child + 1 < of->count && before(&of->heap[child + 1], &of->heap[child]))
            child++;
        if (!before(&of->heap[child], moved))
            break;
        of->heap[i] = of->heap[child];
    }
    of->heap[i] = *moved;
    return true;
}

void events_free(events *of)
{
    free(of->heap);
    *of = (events){0};
}
