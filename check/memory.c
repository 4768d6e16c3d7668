/*
 * Memory: what an access to a register does and answers, under either model. Knows nothing of
 * locks.
 */
#include "memory.h"

#include <string.h>

static scope the;
static uint32_t regs;
static uint32_t locks;
static uint32_t width; /* of a view: registers, then locks */
static baton_word values[MOST_VALUES];
static uint32_t value_count;

static uint8_t value_index(baton_word value)
{
    for (uint32_t i = 0; i < value_count; i++)
        if (values[i] == value)
            return (uint8_t)i;
    if (value_count == MOST_VALUES)
        return MOST_VALUES;
    values[value_count] = value;
    return (uint8_t)value_count++;
}

/* ---- c11: views and messages ---- */

static size_t first_message(const config *c, uint32_t reg)
{
    size_t first = 0;
    for (uint32_t r = 0; r < reg; r++)
        first += c->count[r];
    return first;
}

static void join(uint8_t *to, const uint8_t *from)
{
    for (uint32_t r = 0; r < width; r++)
        if (from[r] > to[r])
            to[r] = from[r];
}

/* Calls `change` for every view there is. */
static void each_view(config *c, void (*change)(uint8_t *view, uint32_t a, uint32_t b), uint32_t a,
                      uint32_t b)
{
    for (uint32_t p = 0; p < the.processes; p++) {
        change(c->current[p], a, b);
        if (the.fences) {
            change(c->acquirable[p], a, b);
            change(c->released[p], a, b);
        }
    }
    change(c->global, a, b);
    for (uint32_t i = 0; i < c->messages; i++)
        change(c->message[i].carries, a, b);
}

static void make_room_at(uint8_t *v, uint32_t reg, uint32_t place)
{
    if (v[reg] >= place)
        v[reg]++;
}

static void forget_below(uint8_t *v, uint32_t reg, uint32_t lowest)
{
    v[reg] = (uint8_t)(v[reg] > lowest ? v[reg] - lowest : 0);
}

static void forget_section(uint8_t *v, uint32_t lock, uint32_t unused)
{
    (void)unused;
    v[regs + lock] = 0;
}

/* Puts a message into its register at that place; views keep pointing to what they pointed to. */
static message *insert(config *c, uint32_t reg, uint32_t place)
{
    each_view(c, make_room_at, reg, place);
    size_t index = first_message(c, reg) + place;
    memmove(&c->message[index + 1], &c->message[index], (c->messages - index) * sizeof(message));
    c->messages++;
    c->count[reg]++;
    c->message[index] = (message){0};
    return &c->message[index];
}

/* Whether the process will move again: what others know is of no use to anybody. */
static bool takes_part(const config *c, uint32_t p)
{
    return p >= the.start && c->process[p].phase != DONE;
}

/* Drops messages that no process can read any more; what is left is counted from 0 again. */
void memory_forget(config *c)
{
    for (uint32_t reg = 0; reg < regs; reg++) {
        uint32_t lowest = UINT8_MAX;
        for (uint32_t p = 0; p < the.processes; p++)
            if (takes_part(c, p) && c->current[p][reg] < lowest)
                lowest = c->current[p][reg];
        if (lowest == UINT8_MAX)
            lowest = c->count[reg] - 1U; /* all are done */
        size_t first = first_message(c, reg);
        if (lowest > 0) {
            memmove(&c->message[first], &c->message[first + lowest],
                    (c->messages - first - lowest) * sizeof(message));
            c->messages = (uint16_t)(c->messages - lowest);
            c->count[reg] = (uint8_t)(c->count[reg] - lowest);
            each_view(c, forget_below, reg, lowest);
        }
        c->message[first].rmw = 0;
    }
}

static bool acquires(memory_order order)
{
    return order == memory_order_acquire || order == memory_order_acq_rel ||
           order == memory_order_seq_cst;
}

static bool releases(memory_order order)
{
    return order == memory_order_release || order == memory_order_acq_rel ||
           order == memory_order_seq_cst;
}

static uint32_t oldest_allowed(const config *c, uint32_t p, uint32_t reg, memory_order order)
{
    uint32_t oldest = c->current[p][reg];
    if (order == memory_order_seq_cst && c->global[reg] > oldest)
        oldest = c->global[reg];
    return oldest;
}

/* What reading message number `place` does to what the process knows. */
static void learn(config *c, uint32_t p, uint32_t reg, uint32_t place, memory_order order)
{
    const message *m = &c->message[first_message(c, reg) + place];
    if (place > c->current[p][reg])
        c->current[p][reg] = (uint8_t)place;
    if (acquires(order))
        join(c->current[p], m->carries);
    if (the.fences) {
        join(c->acquirable[p], m->carries);
        join(c->acquirable[p], c->current[p]);
    }
    if (order == memory_order_seq_cst && place > c->global[reg])
        c->global[reg] = (uint8_t)place;
}

/* Writes a message at that place. `after` is what a read-modify-write has read, or NULL. */
static void put(config *c, uint32_t p, uint32_t reg, uint32_t place, uint8_t value,
                memory_order order, const uint8_t *after)
{
    view read_from;
    if (after != NULL)
        memcpy(read_from, after, sizeof read_from);
    message *m = insert(c, reg, place);
    m->value = value;
    m->rmw = after != NULL;
    c->current[p][reg] = (uint8_t)place;
    if (the.fences) {
        if (place > c->acquirable[p][reg]) /* it may be placed before what a fence would show */
            c->acquirable[p][reg] = (uint8_t)place;
        if (!releases(order))
            memcpy(m->carries, c->released[p], sizeof(view));
    }
    if (releases(order))
        memcpy(m->carries, c->current[p], sizeof(view));
    if (after != NULL)
        join(m->carries, read_from); /* a release sequence goes on */
    if (register_at(reg)->clock)
        memset(m->carries, 0, sizeof(view));
    m->carries[reg] = (uint8_t)place;
    if (order == memory_order_seq_cst && place > c->global[reg])
        c->global[reg] = (uint8_t)place;
}

void memory_fence(config *c, uint32_t p, memory_order order)
{
    if (acquires(order))
        join(c->current[p], c->acquirable[p]);
    if (order == memory_order_seq_cst) {
        /*
         * Registers only: two fences in a row do not synchronise, so they tell nothing of sections.
         */
        for (uint32_t r = 0; r < regs; r++) {
            if (c->global[r] > c->current[p][r])
                c->current[p][r] = c->global[r];
            c->global[r] = c->current[p][r];
        }
    }
    if (releases(order))
        memcpy(c->released[p], c->current[p], sizeof(view));
    join(c->acquirable[p], c->current[p]);
}

/* ---- accesses ---- */

static memory_order failure_order(memory_order order)
{
    return order == memory_order_acq_rel   ? memory_order_acquire
           : order == memory_order_release ? memory_order_relaxed
                                           : order;
}

/* The new value of a read-modify-write that finds `old`. */
static baton_word modified(const point *at, baton_word old)
{
    return at->act == ACT_ADD ? old + at->value : at->value;
}

/* Makes the access; false if this choice does not exist. */
static bool access_c11(config *c, uint32_t p, const point *at, uint32_t choice, baton_word *answer,
                       bool *writes)
{
    uint32_t reg = at->reg;
    uint32_t newest = c->count[reg] - 1U;
    size_t first = first_message(c, reg);
    *answer = 0;
    *writes = at->act != ACT_READ;
    switch (at->act) {
    case ACT_READ: {
        uint32_t place = newest - choice;
        *answer = values[c->message[first + place].value];
        learn(c, p, reg, place, at->order);
        return true;
    }
    case ACT_WRITE: {
        uint32_t place = newest + 1 - choice;
        if (choice > 0 && c->message[first + place].rmw)
            return false;
        put(c, p, reg, place, value_index(at->value), at->order, NULL);
        return true;
    }
    case ACT_CAS: {
        uint32_t place = newest - (choice == 0 ? 0 : choice - 1);
        bool equal = values[c->message[first + place].value] == at->expect;
        if (equal != (choice == 0))
            return false;
        *answer = equal;
        *writes = equal;
        if (!equal) {
            learn(c, p, reg, place, failure_order(at->order));
            return true;
        }
        break;
    }
    default:
        *answer = values[c->message[first + newest].value];
        break;
    }
    /* a read-modify-write: reads the newest message and comes right behind it */
    baton_word old = values[c->message[first + newest].value];
    view carried;
    memcpy(carried, c->message[first + newest].carries, sizeof carried);
    learn(c, p, reg, newest, at->order);
    put(c, p, reg, newest + 1, value_index(modified(at, old)), at->order, carried);
    return true;
}

static bool access_sc(config *c, const point *at, baton_word *answer, bool *writes)
{
    baton_word old = values[c->value[at->reg]];
    *writes = at->act != ACT_READ && (at->act != ACT_CAS || old == at->expect);
    *answer = at->act == ACT_CAS ? old == at->expect : at->act == ACT_WRITE ? 0 : old;
    if (*writes)
        c->value[at->reg] = value_index(modified(at, old));
    return true;
}

bool memory_access(config *c, uint32_t p, const point *at, uint32_t choice, baton_word *answer,
                   bool *writes)
{
    return the.c11 ? access_c11(c, p, at, choice, answer, writes)
                   : access_sc(c, at, answer, writes);
}

bool memory_is_full(const config *c)
{
    return c->messages + 1 >= MOST_MESSAGES || value_count == MOST_VALUES;
}

uint32_t memory_choices(const config *c, uint32_t p, const point *at)
{
    if (!the.c11)
        return 1;
    switch (at->act) {
    case ACT_READ:
    case ACT_WRITE: /* as many places behind the oldest as there are messages from it on */
        return c->count[at->reg] - oldest_allowed(c, p, at->reg, at->order);
    case ACT_CAS: /* success, or a failure at any message */
        return 1 + c->count[at->reg] - oldest_allowed(c, p, at->reg, at->order);
    default:
        return 1;
    }
}

baton_word newest_value(const config *c, uint32_t reg)
{
    if (!the.c11)
        return values[c->value[reg]];
    return values[c->message[first_message(c, reg) + c->count[reg] - 1].value];
}

baton_word memory_answer(const config *c, uint32_t p, const point *at, uint32_t choice)
{
    static config scratch;
    baton_word answer = 0;
    bool writes;
    if (at->act == ACT_CHOOSE)
        return choice;
    config_copy(&scratch, c);
    if (at->act != ACT_FENCE && at->act != ACT_WAKE)
        memory_access(&scratch, p, at, choice, &answer, &writes);
    return answer;
}

/* ---- critical sections: what was written in the last one is what the next holder must see ---- */

void memory_section_over(config *c, uint32_t p, uint32_t lock)
{
    if (!the.c11)
        return;
    each_view(c, forget_section, lock, 0);
    c->current[p][regs + lock] = 1;
}

bool memory_knows_section(const config *c, uint32_t p, uint32_t lock)
{
    return !the.c11 || c->current[p][regs + lock] != 0;
}

/* Before the first section there is nothing to miss. */
static void know_all_sections(uint8_t *v)
{
    memset(v + regs, 1, locks);
}

void memory_begin(const scope *plan, config *first)
{
    the = *plan;
    regs = registers();
    locks = the.subject->locks != 0 ? the.subject->locks : 1;
    width = regs + locks;
    value_count = 0;
    for (uint32_t r = 0; r < regs; r++) {
        uint8_t value = value_index(register_at(r)->initial);
        if (the.c11) {
            first->message[r].value = value;
            know_all_sections(first->message[r].carries);
            first->count[r] = 1;
            first->messages++;
        } else {
            first->value[r] = value;
        }
    }
    know_all_sections(first->global);
    for (uint32_t p = 0; p < the.processes; p++) {
        know_all_sections(first->current[p]);
        if (the.fences) {
            know_all_sections(first->acquirable[p]);
            know_all_sections(first->released[p]);
        }
    }
}
