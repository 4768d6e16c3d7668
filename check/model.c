/*
 * Moves: what an access does to the memory under either model, and what a call's end means for its
 * process. Knows nothing of search.
 */
#include "model.h"

#include <stdio.h>
#include <string.h>

enum { AWAKE, ASLEEP, STIRRED }; /* standing.sleep */

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

static void copy(config *to, const config *from)
{
    memcpy(to, from, offsetof(config, message) + from->messages * sizeof(message));
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
static void forget_old_messages(config *c)
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
        c->acquirable[p][reg] = (uint8_t)place;
        if (!releases(order))
            memcpy(m->carries, c->released[p], sizeof(view));
    }
    if (releases(order))
        memcpy(m->carries, c->current[p], sizeof(view));
    if (after != NULL)
        join(m->carries, read_from); /* a release sequence goes on */
    m->carries[reg] = (uint8_t)place;
    if (order == memory_order_seq_cst && place > c->global[reg])
        c->global[reg] = (uint8_t)place;
}

static void pass_fence(config *c, uint32_t p, memory_order order)
{
    if (acquires(order))
        join(c->current[p], c->acquirable[p]);
    if (order == memory_order_seq_cst) {
        join(c->current[p], c->global);
        memcpy(c->global, c->current[p], sizeof(view));
    }
    if (releases(order))
        memcpy(c->released[p], c->current[p], sizeof(view));
    join(c->acquirable[p], c->current[p]);
}

/* ---- remote references of the watched process ---- */

enum { VALID = 1, MINE = 2, EXCLUSIVE = 4 };

static void charge(uint8_t *counter, bool remote)
{
    if (remote && *counter < METER_FULL)
        ++*counter;
}

static void meter_access(config *c, uint32_t p, const point *at, bool writes)
{
    uint8_t *line = &c->meter.cached[at->reg];
    if (p + 1 != the.watched) {
        *line = writes ? 0 : (uint8_t)(*line & ~EXCLUSIVE);
        return;
    }
    bool home = register_at(at->reg)->home == p + 1;
    charge(&c->meter.thesis, writes ? !(*line & MINE) : !(*line & (VALID | MINE)));
    charge(&c->meter.standard, writes ? !(*line & EXCLUSIVE) : !(*line & VALID));
    if (at->await == 0) /* looks at a condition are charged when the look succeeds */
        charge(&c->meter.dsm, !home);
    *line = writes ? VALID | MINE | EXCLUSIVE : *line | VALID;
}

/* A look has come to its end: where was it, and was it local? */
static void meter_look(config *c, uint32_t p, const point *last, bool passed, figures *f)
{
    if (p + 1 != the.watched)
        return;
    for (const point *q = last; q->act != ACT_AWAIT; q = point_at(q->parent)) {
        if (q->await == 0 || register_at(q->reg)->home == p + 1)
            continue;
        if (passed)
            charge(&c->meter.dsm, true);
        else
            f->dsm = UNBOUNDED; /* it looks again and again from afar */
    }
}

static void meter_passage_over(config *c, uint32_t p, figures *f)
{
    if (p + 1 != the.watched)
        return;
    f->thesis = c->meter.thesis > f->thesis ? c->meter.thesis : f->thesis;
    f->standard = c->meter.standard > f->standard ? c->meter.standard : f->standard;
    f->dsm = c->meter.dsm > f->dsm ? c->meter.dsm : f->dsm;
    c->meter.thesis = c->meter.standard = c->meter.dsm = 0;
}

/* ---- calls ---- */

uint32_t lock_of(const config *c, uint32_t p)
{
    return (p + c->process[p].passage) % locks;
}

static finding come_to(config *c, uint32_t p, point_id to, figures *f);

static finding enter_section(config *c, uint32_t p, const point *end, figures *f)
{
    standing *me = &c->process[p];
    if (end->steps > f->entry_steps)
        f->entry_steps = end->steps;
    finding found = FINE;
    for (uint32_t q = 0; q < the.processes; q++) {
        standing *other = &c->process[q];
        if (q == p || lock_of(c, q) != lock_of(c, p))
            continue;
        if (other->phase == INSIDE)
            found = TWO_INSIDE;
        if (other->rank != 0 && (me->rank == 0 || other->rank < me->rank) && the.subject->fifo &&
            found == FINE)
            found = NOT_FIFO;
    }
    if (the.c11 && c->current[p][regs + lock_of(c, p)] == 0 && found == FINE)
        found = STALE_SECTION;
    for (uint32_t q = 0; q < the.processes && me->rank != 0; q++)
        if (c->process[q].rank > me->rank)
            c->process[q].rank--;
    me->rank = 0;
    me->phase = INSIDE;
    me->own = (uint16_t)end->memory;
    me->at = 0;
    return found;
}

/* The critical section is over; what was written in it is what the next holder must see. */
static finding leave_section(config *c, uint32_t p, figures *f)
{
    standing *me = &c->process[p];
    if (the.c11) {
        each_view(c, forget_section, lock_of(c, p), 0);
        c->current[p][regs + lock_of(c, p)] = 1;
    }
    me->phase = LEAVING;
    point_id first = call_begin(p, CALL_EXIT, lock_of(c, p), me->own);
    me->own = 0;
    return come_to(c, p, first, f);
}

static finding finish_passage(config *c, uint32_t p, const point *end, figures *f)
{
    standing *me = &c->process[p];
    if (end->steps > f->exit_steps)
        f->exit_steps = end->steps;
    meter_passage_over(c, p, f);
    me->passage++;
    if (the.passages == 0)
        me->passage = (uint8_t)(me->passage % locks);
    else if (me->passage == the.passages) {
        me->phase = DONE;
        me->at = 0;
        return FINE;
    }
    me->phase = TRYING;
    return come_to(c, p, call_begin(p, CALL_ENTER, lock_of(c, p), end->memory), f);
}

/* Process p now stands at that point: what does that mean? */
static finding come_to(config *c, uint32_t p, point_id to, figures *f)
{
    standing *me = &c->process[p];
    const point *at = point_at(to);
    me->at = to;
    if (at->await == 0)
        me->sleep = AWAKE;
    if (at->doorway) {
        uint8_t last = 0;
        for (uint32_t q = 0; q < the.processes; q++)
            if (c->process[q].rank > last)
                last = c->process[q].rank;
        me->rank = (uint8_t)(last + 1);
    }
    switch (at->act) {
    case ACT_END:
        return me->phase == TRYING && at->entered ? enter_section(c, p, at, f)
                                                  : finish_passage(c, p, at, f);
    case ACT_AGAIN:
        return come_to(c, p, call_again(to), f);
    case ACT_WRONG:
        return WRONG_ACCESS;
    case ACT_FENCE:
        return the.c11 && !the.fences ? NEEDS_FENCES : FINE;
    case ACT_AWAIT:
        if (me->phase == LEAVING) {
            f->exit_waits = true;
            return the.subject->wait_free_exit ? EXIT_WAITS : FINE;
        }
        return FINE;
    default:
        return FINE;
    }
}

/* ---- moves ---- */

/* Whether process q waits at that place, asleep or looking. */
static bool waits_at(const config *c, uint32_t q, uint32_t place)
{
    const standing *s = &c->process[q];
    if (s->phase == INSIDE || s->phase == DONE)
        return false;
    const point *at = point_at(s->at);
    const point *await = at->await != 0 ? point_at(at->await) : at;
    return await->act == ACT_AWAIT && await->place == place;
}

static uint32_t sleepers_at(const config *c, uint32_t place)
{
    uint32_t count = 0;
    for (uint32_t q = 0; q < the.processes; q++)
        count += waits_at(c, q, place) && c->process[q].sleep == ASLEEP;
    return count;
}

/*
 * Wakes who sleeps at the place: all, or one, and then `choice` says which. Who is looking there
 * just now will look once more before it sleeps.
 */
static void wake(config *c, const point *at, uint32_t choice)
{
    for (uint32_t q = 0; q < the.processes; q++) {
        standing *s = &c->process[q];
        if (!waits_at(c, q, at->place))
            continue;
        if (s->sleep != ASLEEP)
            s->sleep = point_at(s->at)->await != 0 ? STIRRED : AWAKE;
        else if (at->value > 1 || choice-- == 0)
            s->sleep = AWAKE;
    }
}

/* Where an access is made: a process at an await makes the first access of its look. */
static const point *access_point(const standing *s, point_id *id)
{
    *id = s->at;
    if (point_at(*id)->act == ACT_AWAIT)
        *id = point_next(*id, 0);
    return point_at(*id);
}

uint32_t moves_of(const config *c, uint32_t p)
{
    const standing *s = &c->process[p];
    if (s->phase == DONE || p < the.start || s->sleep == ASLEEP)
        return 0;
    if (s->phase == INSIDE)
        return 1;
    point_id id;
    const point *at = access_point(s, &id);
    if (at->act == ACT_WAKE && at->value == 1) {
        uint32_t sleepers = sleepers_at(c, at->place);
        return sleepers > 1 ? sleepers : 1;
    }
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

finding move(const config *from, uint32_t p, uint32_t choice, config *to, figures *f)
{
    copy(to, from);
    standing *me = &to->process[p];
    if (me->phase == INSIDE) {
        finding found = leave_section(to, p, f);
        if (the.c11)
            forget_old_messages(to);
        return found;
    }
    point_id id;
    const point *at = access_point(me, &id);
    baton_word answer = 0;
    if (id != me->at)
        me->sleep = AWAKE; /* a new look begins: what was woken before is in what it sees */
    if (at->act == ACT_FENCE) {
        if (the.c11)
            pass_fence(to, p, at->order);
    } else if (at->act == ACT_WAKE) {
        wake(to, at, choice);
    } else {
        bool writes;
        if (to->messages + 1 >= MOST_MESSAGES)
            return TOO_LARGE;
        if (!(the.c11 ? access_c11(to, p, at, choice, &answer, &writes)
                      : access_sc(to, at, &answer, &writes)))
            return NO_MOVE;
        if (value_count == MOST_VALUES)
            return TOO_LARGE;
        if (the.watched != 0)
            meter_access(to, p, at, writes);
    }
    point_id next = point_next(id, answer);
    at = point_at(id); /* the tree may have moved */
    if (point_at(next)->act == ACT_FAILED) {
        me->at = point_at(next)->await;
        if (point_at(me->at)->place != 0) {
            me->sleep = me->sleep == STIRRED ? AWAKE : ASLEEP;
            return FINE;
        }
        if (the.watched == 0)
            return NO_MOVE;
        meter_look(to, p, at, false, f);
        return FINE;
    }
    if (the.watched != 0 && at->await != 0 && point_at(next)->await == 0)
        meter_look(to, p, at, true, f);
    finding found = come_to(to, p, next, f);
    if (the.c11)
        forget_old_messages(to);
    return found;
}

/* ---- questions ---- */

baton_word newest_value(const config *c, uint32_t reg)
{
    if (!the.c11)
        return values[c->value[reg]];
    return values[c->message[first_message(c, reg) + c->count[reg] - 1].value];
}

baton_word answer_c11(const config *c, uint32_t p, const point *at, uint32_t choice)
{
    static config scratch;
    baton_word answer = 0;
    bool writes;
    copy(&scratch, c);
    if (at->act != ACT_FENCE && at->act != ACT_WAKE)
        access_c11(&scratch, p, at, choice, &answer, &writes);
    return answer;
}

bool is_blocked(const config *c, uint32_t p)
{
    const standing *s = &c->process[p];
    if (s->phase == INSIDE || s->phase == DONE || point_at(s->at)->act != ACT_AWAIT)
        return false;
    if (point_at(s->at)->place != 0)
        return s->sleep == ASLEEP;
    point_id id = point_next(s->at, 0);
    while (point_at(id)->await != 0) {
        if (point_at(id)->act == ACT_FAILED)
            return true;
        if (point_at(id)->act != ACT_READ)
            return false; /* a condition that writes: let it try */
        id = point_next(id, newest_value(c, point_at(id)->reg));
    }
    return false;
}

bool is_resting(const config *c, uint32_t p)
{
    const standing *s = &c->process[p];
    return s->phase == DONE || (s->phase == TRYING && point_at(s->at)->resting);
}

bool is_deadlocked(const config *c)
{
    bool somebody = false;
    for (uint32_t p = the.start; p < the.processes; p++) {
        if (c->process[p].phase == DONE)
            continue;
        if (!is_blocked(c, p))
            return false;
        somebody = true;
    }
    return somebody;
}

/* Before the first section there is nothing to miss. */
static void know_all_sections(uint8_t *v)
{
    memset(v + regs, 1, locks);
}

void model_begin(const scope *plan, config *first)
{
    static figures unused;
    the = *plan;
    regs = registers();
    locks = the.subject->locks != 0 ? the.subject->locks : 1;
    width = regs + locks;
    value_count = 0;
    memset(first, 0, sizeof *first);
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
        come_to(first, p, call_begin(p, CALL_ENTER, lock_of(first, p), initial_memory()), &unused);
    }
}
