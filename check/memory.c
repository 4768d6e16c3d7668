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
static baton_word values[MAX_VALUES];
static uint32_t value_count;

static uint8_t value_index(baton_word value)
{
    for (uint32_t i = 0; i < value_count; i++)
        if (values[i] == value)
            return (uint8_t)i;
    if (value_count == MAX_VALUES)
        return MAX_VALUES;
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
    change(c->woken, a, b);
    for (uint32_t i = 0; i < c->messages; i++)
        change(c->message[i].carries, a, b);
}

static void make_room_at(uint8_t *v, uint32_t reg, uint32_t position)
{
    if (v[reg] >= position)
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
static message *insert(config *c, uint32_t reg, uint32_t position)
{
    each_view(c, make_room_at, reg, position);
    size_t index = first_message(c, reg) + position;
    memmove(&c->message[index + 1], &c->message[index], (c->messages - index) * sizeof(message));
    c->messages++;
    c->count[reg]++;
    c->message[index] = (message){0};
    return &c->message[index];
}

/* ---- c11: registers that are used in order ---- */

/*
 * A seq_cst access respects the global view. So who accesses a register by such only has no use for
 * a message behind that view, and knowing less than the global view makes no difference to it; nor
 * does it to the only one who writes a register, who knows the newest message. A register that all
 * use in one of these two ways is *in order*: of its messages, those behind the global view are
 * forgotten, and views that differ only there are the same. How registers are used is not known
 * before, so it is noted: a bit for each process.
 */
static struct {
    uint8_t writers;
    uint8_t others; /* who access it other than by seq_cst */
} uses[MAX_REGISTERS];
static bool scouting;

static bool is_in_order(uint32_t reg)
{
    uint8_t writers = uses[reg].writers;
    if (register_at(reg)->bytes != sizeof(baton_reg))
        return false; /* a futex: the kernel, which looks at it, knows no seq_cst */
    return uses[reg].others == 0 || (uses[reg].others == writers && (writers & (writers - 1)) == 0);
}

bool memory_keeps_order(uint32_t p, const point *at)
{
    bool was = is_in_order(at->reg);
    if (at->act != ACT_READ)
        uses[at->reg].writers |= (uint8_t)(1 << p);
    if (at->order != memory_order_seq_cst)
        uses[at->reg].others |= (uint8_t)(1 << p);
    return scouting || !was || is_in_order(at->reg);
}

void memory_scout(bool on)
{
    scouting = on;
    if (on)
        memset(uses, 0, sizeof uses);
}

/* Whether the process will move again: what others know is of no use to anybody. */
static bool takes_part(const config *c, uint32_t p)
{
    return p >= the.start && c->process[p].phase != DONE;
}

/* Drops messages that no process can read any more; what is left is counted from 0 again. */
void memory_forget(config *c)
{
    size_t first = 0; /* message of the register */
    for (uint32_t reg = 0; reg < regs; first += c->count[reg++]) {
        uint32_t lowest = UINT8_MAX;
        for (uint32_t p = 0; p < the.processes; p++)
            if (takes_part(c, p) && c->current[p][reg] < lowest)
                lowest = c->current[p][reg];
        if (lowest == UINT8_MAX)
            lowest = c->count[reg] - 1U; /* all are done */
        if (the.reduce && !scouting && is_in_order(reg) && c->global[reg] > lowest)
            lowest = c->global[reg];
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

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t oldest_allowed(const config *c, uint32_t p, uint32_t reg, memory_order order)
{
    uint32_t oldest = c->current[p][reg];
    if (order == memory_order_seq_cst && c->global[reg] > oldest)
        oldest = c->global[reg];
    return oldest;
}

/* What reading message number `place` does to what the process knows. */
static void learn(config *c, uint32_t p, uint32_t reg, uint32_t position, memory_order order)
{
    const message *m = &c->message[first_message(c, reg) + position];
    if (position > c->current[p][reg])
        c->current[p][reg] = (uint8_t)position;
    if (acquires(order))
        join(c->current[p], m->carries);
    if (the.fences) {
        join(c->acquirable[p], m->carries);
        join(c->acquirable[p], c->current[p]);
    }
    if (order == memory_order_seq_cst && position > c->global[reg])
        c->global[reg] = (uint8_t)position;
}

/* Writes a message at that place. `after` is what a read-modify-write has read, or NULL. */
static void put(config *c, uint32_t p, uint32_t reg, uint32_t position, uint8_t value,
                memory_order order, const uint8_t *after)
{
    view read_from;
    if (after != NULL)
        memcpy(read_from, after, sizeof read_from);
    message *m = insert(c, reg, position);
    m->value = value;
    m->rmw = after != NULL;
    c->current[p][reg] = (uint8_t)position;
    if (the.fences) {
        if (position > c->acquirable[p][reg]) /* it may be placed before what a fence would show */
            c->acquirable[p][reg] = (uint8_t)position;
        if (!releases(order))
            memcpy(m->carries, c->released[p], sizeof(view));
    }
    if (releases(order))
        memcpy(m->carries, c->current[p], sizeof(view));
    if (after != NULL)
        join(m->carries, read_from); /* a release sequence goes on */
    if (register_at(reg)->clock)
        memset(m->carries, 0, sizeof(view));
    m->carries[reg] = (uint8_t)position;
    if (order == memory_order_seq_cst && position > c->global[reg])
        c->global[reg] = (uint8_t)position;
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

/*
 * The kernel orders all that is done to one futex, and nothing else: whoever comes to sleep there
 * later reads no older value than those who have woken others there had seen.
 */
void memory_futex_wake(config *c, uint32_t p, uint32_t reg)
{
    if (the.c11 && c->current[p][reg] > c->woken[reg])
        c->woken[reg] = c->current[p][reg];
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
    return register_holds(at->reg, at->act == ACT_ADD ? old + at->value : at->value);
}

/* Whether a read-modify-write may read that message: no other has read it and is placed there. */
static bool has_room_behind(const config *c, uint32_t reg, uint32_t position)
{
    return position + 1U == c->count[reg] || !c->message[first_message(c, reg) + position + 1].rmw;
}

/* Makes the access; false if this choice does not exist. Choice 0 is the newest message. */
static bool access_c11(config *c, uint32_t p, const point *at, uint32_t choice, baton_word *answer,
                       bool *writes)
{
    uint32_t reg = at->reg;
    uint32_t newest = c->count[reg] - 1U;
    size_t first = first_message(c, reg);
    *writes = at->act != ACT_READ && at->act != ACT_FUTEX_WAIT;
    if (at->act == ACT_WRITE) {
        uint32_t position = newest + 1 - choice;
        *answer = 0;
        if (choice > 0 && c->message[first + position].rmw)
            return false;
        put(c, p, reg, position, value_index(at->value), at->order, NULL);
        return true;
    }

    uint32_t position = newest - choice;
    baton_word old = values[c->message[first + position].value];
    *answer = old;
    if (at->act == ACT_CAS)
        *answer = *writes = old == at->expect;
    if (!*writes) {
        learn(c, p, reg, position, at->act == ACT_CAS ? failure_order(at->order) : at->order);
        return true;
    }
    /* a read-modify-write: comes right behind what it has read */
    if (!has_room_behind(c, reg, position))
        return false;
    view carried;
    memcpy(carried, c->message[first + position].carries, sizeof carried);
    learn(c, p, reg, position, at->order);
    put(c, p, reg, position + 1, value_index(modified(at, old)), at->order, carried);
    return true;
}

static bool access_sc(config *c, const point *at, baton_word *answer, bool *writes)
{
    baton_word old = values[c->value[at->reg]];
    *writes = at->act != ACT_READ && at->act != ACT_FUTEX_WAIT &&
              (at->act != ACT_CAS || old == at->expect);
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
    return c->messages + 1 >= MAX_MESSAGES || value_count == MAX_VALUES;
}

/* Whether a register is read or written there. */
static bool is_access(const point *at)
{
    return at->act != ACT_FENCE && at->act != ACT_WAKE && at->act != ACT_FUTEX_WAKE;
}

uint32_t memory_choices(const config *c, uint32_t p, const point *at)
{
    if (!the.c11 || !is_access(at))
        return 1;
    uint32_t oldest = at->act == ACT_FUTEX_WAIT ? larger(c->current[p][at->reg], c->woken[at->reg])
                                                : oldest_allowed(c, p, at->reg, at->order);
    return c->count[at->reg] - oldest; /* messages, or as many places behind the oldest */
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
    if (is_access(at))
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
    know_all_sections(first->woken);
    for (uint32_t p = 0; p < the.processes; p++) {
        know_all_sections(first->current[p]);
        if (the.fences) {
            know_all_sections(first->acquirable[p]);
            know_all_sections(first->released[p]);
        }
    }
}
