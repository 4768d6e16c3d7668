/*
 * Configurations as short strings of bytes. Views are many and alike, so each different one is kept
 * once and named by its number.
 */
#include "explore.h"
#include "seen.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static scope the;
static uint32_t regs;
static bool futexes; /* are there any? */

static struct {
    uint8_t *all; /* width bytes each */
    uint32_t count, capacity, width;
    uint32_t *slot; /* number + 1 by hash; 0 is empty */
    uint32_t slots;
} views;

void pack_begin(const scope *plan)
{
    the = *plan;
    regs = registers();
    futexes = false;
    for (uint32_t r = 0; r < regs; r++)
        futexes = futexes || register_at(r)->bytes == sizeof(baton_futex);
    views.count = 0;
    views.width = regs + (the.subject->locks != 0 ? the.subject->locks : 1);
    if (views.slot != NULL)
        memset(views.slot, 0, views.slots * sizeof *views.slot);
    free(views.all);
    views.all = NULL;
    views.capacity = 0;
}

static void widen_slots(void)
{
    views.slots = views.slots == 0 ? 1024 : 4 * views.slots;
    free(views.slot);
    views.slot = must_zero(views.slots, sizeof *views.slot);
    for (uint32_t v = 0; v < views.count; v++) {
        uint64_t i = seen_hash(views.all + (size_t)v * views.width, views.width);
        while (views.slot[i & (views.slots - 1)] != 0)
            i++;
        views.slot[i & (views.slots - 1)] = v + 1;
    }
}

static uint32_t view_number(const uint8_t *v)
{
    if (2 * views.count >= views.slots)
        widen_slots();
    uint64_t i = seen_hash(v, views.width);
    for (;; i++) {
        uint32_t *slot = &views.slot[i & (views.slots - 1)];
        if (*slot == 0) {
            if (views.count == 1U << 24) {
                fputs("baton-check: more views than it can number; try a smaller bound\n", stderr);
                exit(1);
            }
            if (views.count == views.capacity) {
                views.capacity = views.capacity == 0 ? 1024 : 2 * views.capacity;
                views.all = must_alloc(views.all, (size_t)views.capacity * views.width);
            }
            memcpy(views.all + (size_t)views.count * views.width, v, views.width);
            *slot = ++views.count;
            return views.count - 1;
        }
        if (memcmp(views.all + (size_t)(*slot - 1) * views.width, v, views.width) == 0)
            return *slot - 1;
    }
}

/* ---- writing and reading ---- */

static uint8_t *put(uint8_t *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return to + bytes;
}

static uint8_t *put_view(uint8_t *to, const uint8_t *v)
{
    uint32_t number = view_number(v);
    return put(to, &number, 3);
}

static const uint8_t *get(const uint8_t *from, void *to, size_t bytes)
{
    memcpy(to, from, bytes);
    return from + bytes;
}

static const uint8_t *get_view(const uint8_t *from, uint8_t *v)
{
    uint32_t number = 0;
    from = get(from, &number, 3);
    memcpy(v, views.all + (size_t)number * views.width, views.width);
    return from;
}

size_t pack(const config *c, uint8_t bytes[MAX_PACKED])
{
    uint8_t *to = bytes;
    for (uint32_t p = 0; p < the.processes; p++) {
        const standing *s = &c->process[p];
        to = put(to, &s->at, 3);
        *to++ = (uint8_t)(s->phase | s->passage << 2);
        static_assert(MAX_PROCESSES < 8 && BATON_CHECK_MAX_LOCKS <= 2, "rank and lock fit");
        *to++ = (uint8_t)(s->rank | s->lock << 3 | s->sleep << 4);
        to = put(to, &s->own, 3);
    }
    if (!the.c11) {
        to = put(to, c->value, regs);
    } else {
        to = put(to, c->count, regs);
        for (uint32_t i = 0; i < c->messages; i++) {
            *to++ = c->message[i].value;
            *to++ = c->message[i].rmw;
            to = put_view(to, c->message[i].carries);
        }
        for (uint32_t p = 0; p < the.processes; p++) {
            if (c->process[p].phase == DONE)
                continue; /* what it knows is of no use to anybody */
            to = put_view(to, c->current[p]);
            if (the.fences) {
                to = put_view(to, c->acquirable[p]);
                to = put_view(to, c->released[p]);
            }
        }
        to = put_view(to, c->global);
        if (futexes)
            to = put_view(to, c->woken);
    }
    if (the.watched != 0) {
        to = put(to, c->meter.cached, regs);
        *to++ = c->meter.thesis;
        *to++ = c->meter.standard;
        *to++ = c->meter.dsm;
    }
    return (size_t)(to - bytes);
}

void unpack(const uint8_t *from, config *c)
{
    memset(c, 0, offsetof(config, message));
    for (uint32_t p = 0; p < the.processes; p++) {
        standing *s = &c->process[p];
        uint8_t both;
        from = get(from, &s->at, 3);
        from = get(from, &both, 1);
        s->phase = both & 3;
        s->passage = both >> 2;
        s->rank = *from & 7;
        s->lock = *from >> 3 & 1;
        s->sleep = *from++ >> 4;
        from = get(from, &s->own, 3);
    }
    if (!the.c11) {
        from = get(from, c->value, regs);
    } else {
        from = get(from, c->count, regs);
        for (uint32_t r = 0; r < regs; r++)
            c->messages = (uint16_t)(c->messages + c->count[r]);
        for (uint32_t i = 0; i < c->messages; i++) {
            c->message[i].value = *from++;
            c->message[i].rmw = *from++;
            from = get_view(from, c->message[i].carries);
        }
        for (uint32_t p = 0; p < the.processes; p++) {
            if (c->process[p].phase == DONE)
                continue;
            from = get_view(from, c->current[p]);
            if (the.fences) {
                from = get_view(from, c->acquirable[p]);
                from = get_view(from, c->released[p]);
            }
        }
        from = get_view(from, c->global);
        if (futexes)
            from = get_view(from, c->woken);
    }
    if (the.watched != 0) {
        from = get(from, c->meter.cached, regs);
        c->meter.thesis = from[0];
        c->meter.standard = from[1];
        c->meter.dsm = from[2];
    }
}
