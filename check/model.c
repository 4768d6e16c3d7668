/*
 * Moves: one access of one process, and what it means if its call ends there. Knows nothing of
 * search, and of memory only that it answers.
 */
#include "memory.h"
#include "meter.h"

#include <stdio.h>
#include <string.h>

static scope plan;
static uint32_t locks;
void config_copy(config *to, const config *from)
{
    memcpy(to, from, offsetof(config, message) + from->messages * sizeof(message));
}

/* ---- calls ---- */

/* What a process has won when it is inside: the same each time. */
static uint32_t all_won[MAX_PROCESSES];

/* Counts who has won where. */
static void count_winners(const config *c, figures *f)
{
    uint8_t winners[32] = {0};
    uint8_t holders[32] = {0};
    for (uint32_t p = 0; p < plan.processes; p++) {
        const standing *s = &c->process[p];
        uint32_t won = s->phase == DONE ? 0 : all_won[p];
        uint32_t kept = won;
        if (s->phase == TRYING)
            won = kept = point_at(s->at)->won;
        else if (s->phase == LEAVING)
            kept &= ~point_at(s->at)->lost;
        for (uint32_t where = 0; where < 32 && won >> where != 0; where++) {
            winners[where] = (uint8_t)(winners[where] + (won >> where & 1));
            holders[where] = (uint8_t)(holders[where] + (kept >> where & 1));
        }
    }
    for (uint32_t where = 0; where < 32; where++) {
        f->winners[where] = winners[where] > f->winners[where] ? winners[where] : f->winners[where];
        f->holders[where] = holders[where] > f->holders[where] ? holders[where] : f->holders[where];
    }
}

static finding come_to(config *c, uint32_t p, point_id to, figures *f);

/* Takes the process out of the order of doorways; those behind it move up. */
static void drop_rank(config *c, uint32_t p)
{
    uint8_t mine = c->process[p].rank;
    for (uint32_t q = 0; q < plan.processes && mine != 0; q++)
        if (c->process[q].rank > mine)
            c->process[q].rank--;
    c->process[p].rank = 0;
}

static finding enter_section(config *c, uint32_t p, const point *end, figures *f)
{
    standing *me = &c->process[p];
    if (end->steps > f->entry_steps)
        f->entry_steps = end->steps;
    finding found = FINE;
    for (uint32_t q = 0; q < plan.processes; q++) {
        standing *other = &c->process[q];
        if (q == p || other->lock != me->lock)
            continue;
        if (other->phase == INSIDE)
            found = TWO_INSIDE;
        if (other->rank != 0 && other->rank < me->rank && plan.subject->fifo && found == FINE)
            found = NOT_FIFO;
    }
    if (plan.subject->fifo && me->rank == 0 && found == FINE)
        found = NO_DOORWAY;
    if (!memory_knows_section(c, p, me->lock) && found == FINE)
        found = STALE_SECTION;
    drop_rank(c, p);
    all_won[p] = end->won;
    me->phase = INSIDE;
    me->own = end->memory;
    me->at = 0;
    return found;
}

/* The critical section is over; what was written in it is what the next holder must see. */
static finding leave_section(config *c, uint32_t p, figures *f)
{
    standing *me = &c->process[p];
    memory_section_over(c, p, me->lock);
    me->phase = LEAVING;
    point_id first = call_begin(p, CALL_EXIT, me->lock, me->own);
    me->own = 0;
    return come_to(c, p, first, f);
}

/* In its remainder. Where there are several locks, it chooses one before it tries. */
static finding begin_passage(config *c, uint32_t p, uint32_t memory, figures *f)
{
    standing *me = &c->process[p];
    me->phase = TRYING;
    me->lock = 0;
    if (locks == 1)
        return come_to(c, p, call_begin(p, CALL_ENTER, 0, memory), f);
    me->own = memory;
    return come_to(c, p, call_choice(), f);
}

static finding choose_lock(config *c, uint32_t p, uint32_t lock, figures *f)
{
    standing *me = &c->process[p];
    point_id first = call_begin(p, CALL_ENTER, lock, me->own);
    me->lock = (uint8_t)lock;
    me->own = 0;
    return come_to(c, p, first, f);
}

static finding finish_passage(config *c, uint32_t p, const point *end, figures *f)
{
    standing *me = &c->process[p];
    uint32_t *max = me->phase == LEAVING ? &f->exit_steps : &f->entry_steps; /* or a failed try */
    if (end->steps > *max)
        *max = end->steps;
    drop_rank(c, p);
    meter_passage_over(c, p, f);
    if (plan.passages != 0 && ++me->passage == plan.passages) {
        me->phase = DONE;
        me->lock = 0;
        me->at = 0;
        return FINE;
    }
    return begin_passage(c, p, end->memory, f);
}

/* ---- programs ---- */

static const char *verdict;
static figures *noting;

const char *model_verdict(void)
{
    return verdict;
}

void baton_check_figure(const char *name, uint32_t value)
{
    for (uint32_t i = 0; i < MAX_NOTED; i++) {
        if (noting->noted[i].name == NULL)
            noting->noted[i].name = name;
        if (strcmp(noting->noted[i].name, name) == 0) {
            if (value > noting->noted[i].max)
                noting->noted[i].max = value;
            return;
        }
    }
}

/* The process has run its program; if it was the last, the outcome is judged. */
static finding finish_program(config *c, uint32_t p, const point *end, figures *f)
{
    standing *me = &c->process[p];
    if (end->steps > f->entry_steps)
        f->entry_steps = end->steps;
    me->phase = DONE;
    me->own = end->memory;
    me->at = 0;
    baton_check_outcome o = {.processes = plan.processes};
    for (uint32_t q = 0; q < plan.processes; q++) {
        if (c->process[q].phase != DONE && q >= plan.start)
            return FINE;
        o.own[q] = memory_at(c->process[q].own);
    }
    baton_word values[MAX_REGISTERS];
    for (uint32_t r = 0; r < registers(); r++)
        values[r] = newest_value(c, r);
    o.memory = memory_with(values);
    noting = f;
    const char *wrong = plan.subject->judge(&o);
    if (wrong != NULL)
        verdict = wrong;
    return wrong != NULL ? BAD_OUTCOME : FINE;
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
        drop_rank(c, p);
        for (uint32_t q = 0; q < plan.processes; q++)
            if (c->process[q].rank > last)
                last = c->process[q].rank;
        me->rank = (uint8_t)(last + 1);
    }
    switch (at->act) {
    case ACT_END:
        if (plan.subject->judge != NULL)
            return finish_program(c, p, at, f);
        return me->phase == TRYING && at->entered ? enter_section(c, p, at, f)
                                                  : finish_passage(c, p, at, f);
    case ACT_AGAIN: {
        point_id first = call_again(to);
        if (point_at(first)->act == ACT_AGAIN)
            return WRONG_ACCESS; /* round and round without an access */
        if (me->phase == LEAVING) {
            f->exit_waits = true;
            if (plan.subject->wait_free_exit)
                return EXIT_WAITS;
        }
        return come_to(c, p, first, f);
    }
    case ACT_WRONG:
        return WRONG_ACCESS;
    case ACT_FENCE:
        return plan.c11 && !plan.fences ? NEEDS_FENCES : FINE;
    case ACT_AWAIT: {
        point_id look = point_next(to, 0);
        if (point_at(look)->await == 0)
            return come_to(c, p, look, f); /* its condition holds whatever the registers say */
        if (me->phase == LEAVING) {
            f->exit_waits = true;
            return plan.subject->wait_free_exit ? EXIT_WAITS : FINE;
        }
        return FINE;
    }
    default:
        return FINE;
    }
}

/* ---- registers that are not shared ---- */

static uint32_t unshared_writers[MAX_REGISTERS]; /* a bit for each process that was seen to */
static uint32_t unshared_readers[MAX_REGISTERS];

/* Whether the process is about to access a register in which nobody sees what another does. */
static bool is_unobserved(const standing *s)
{
    if (plan.c11 || plan.watched != 0 || (s->phase != TRYING && s->phase != LEAVING))
        return false;
    const point *at = point_at(s->at);
    if (at->act == ACT_FENCE)
        return plan.subject->judge != NULL; /* nothing in sc; of locks it is counted as a step */
    return (at->act == ACT_READ || at->act == ACT_WRITE) && at->await == 0 &&
           register_at(at->reg)->unshared;
}

/* Notes who reads and who writes it; false if somebody reads what another may have written. */
static bool keeps_unshared(uint32_t p, const point *at)
{
    if (at->act != ACT_WRITE)
        unshared_readers[at->reg] |= 1U << p;
    if (at->act != ACT_READ)
        unshared_writers[at->reg] |= 1U << p;
    for (uint32_t q = 0; q < plan.processes; q++)
        if ((unshared_readers[at->reg] >> q & 1) != 0 &&
            (unshared_writers[at->reg] & ~(1U << q)) != 0)
            return false;
    return true;
}

/* Makes all such accesses at once: when they are made makes no difference to anybody. */
static finding go_on_unobserved(config *c, uint32_t p, figures *f)
{
    standing *me = &c->process[p];
    finding found = FINE;
    while (found == FINE && is_unobserved(me)) {
        const point *at = point_at(me->at);
        baton_word answer = 0;
        bool writes;
        if (at->act == ACT_FENCE) {
            found = come_to(c, p, point_next(me->at, 0), f);
            continue;
        }
        if (!keeps_unshared(p, at))
            return NOT_UNSHARED;
        memory_access(c, p, at, 0, &answer, &writes);
        found = come_to(c, p, point_next(me->at, answer), f);
    }
    return found;
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
    for (uint32_t q = 0; q < plan.processes; q++)
        count += waits_at(c, q, place) && c->process[q].sleep == ASLEEP;
    return count;
}

/*
 * Wakes who sleeps at the place: all, or one, and then `choice` says which. Who is looking there
 * just now will look once more before it sleeps.
 */
static void wake(config *c, const point *at, uint32_t choice)
{
    for (uint32_t q = 0; q < plan.processes; q++) {
        standing *s = &c->process[q];
        if (!waits_at(c, q, at->place))
            continue;
        if (s->sleep != ASLEEP)
            s->sleep = point_at(s->at)->await != 0 ? STIRRED : AWAKE;
        else if (at->value > 1 || choice-- == 0)
            s->sleep = AWAKE;
    }
}

/* Whether process q sleeps at that register. */
static bool sleeps_at(const config *c, uint32_t q, uint32_t reg)
{
    const point *at = point_at(c->process[q].at);
    return at->act == ACT_FUTEX_WAIT && at->reg == reg && c->process[q].sleep == ASLEEP;
}

static uint32_t sleepers_at_futex(const config *c, uint32_t reg)
{
    uint32_t count = 0;
    for (uint32_t q = 0; q < plan.processes; q++)
        count += sleeps_at(c, q, reg);
    return count;
}

/* Wakes who sleeps at the register: all, or one, and then `choice` says which. */
static finding wake_at_futex(config *c, uint32_t p, const point *at, uint32_t choice, figures *f)
{
    uint32_t reg = at->reg;
    bool all = at->value > 1;
    finding found = FINE;
    memory_futex_wake(c, p, reg);
    for (uint32_t q = 0; q < plan.processes && found == FINE; q++)
        if (sleeps_at(c, q, reg) && (all || choice-- == 0))
            found = come_to(c, q, point_next(c->process[q].at, WOKEN), f);
    return found;
}

/*
 * Compares and falls asleep, in one step; or wakes up without cause. Returns whether the process
 * goes on, and then how its sleep has ended.
 */
static bool goes_on_at_futex(config *c, uint32_t p, const point *at, uint32_t choice,
                             baton_word *answer)
{
    standing *me = &c->process[p];
    baton_word holds;
    bool writes;
    if (me->sleep == ASLEEP) {
        *answer = WITHOUT_CAUSE;
        return true;
    }
    memory_access(c, p, at, choice, &holds, &writes);
    if (holds == at->expect)
        me->sleep = ASLEEP;
    *answer = WOKEN;
    return me->sleep != ASLEEP;
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
    if (s->phase == DONE || p < plan.start)
        return 0;
    if (s->sleep == ASLEEP) /* in a futex, once in each call without cause */
        return point_at(s->at)->act == ACT_FUTEX_WAIT && !point_at(s->at)->roused;
    if (s->phase == INSIDE)
        return 1;
    point_id id;
    const point *at = access_point(s, &id);
    if (at->act == ACT_FAILED)
        return 0; /* a condition that cannot hold */
    if (at->act == ACT_WAKE && at->value == 1) {
        uint32_t sleepers = sleepers_at(c, at->place);
        return sleepers > 1 ? sleepers : 1;
    }
    if (at->act == ACT_FUTEX_WAKE && at->value == 1) {
        uint32_t sleepers = sleepers_at_futex(c, at->reg);
        return sleepers > 1 ? sleepers : 1;
    }
    if (at->act == ACT_CHOOSE)
        return (uint32_t)at->value;
    return memory_choices(c, p, at);
}

/* What the process does at the point, and what it is answered. */
static finding act_at(config *to, uint32_t p, const point *at, uint32_t choice, baton_word *answer,
                      figures *f)
{
    bool writes;
    switch (at->act) {
    case ACT_FENCE:
        if (plan.c11)
            memory_fence(to, p, at->order);
        return FINE;
    case ACT_WAKE:
        wake(to, at, choice);
        return FINE;
    case ACT_FUTEX_WAKE:
        return wake_at_futex(to, p, at, choice, f);
    case ACT_CHOOSE:
        *answer = choice;
        return FINE;
    default:
        break;
    }
    if (memory_is_full(to))
        return TOO_LARGE;
    f->registers = registers();
    f->acts |= 1U << at->act;
    if (register_at(at->reg)->unshared && !keeps_unshared(p, at))
        return NOT_UNSHARED;
    if (plan.c11 && plan.reduce && !memory_keeps_order(p, at))
        return NEEDS_VIEWS;
    if (!memory_access(to, p, at, choice, answer, &writes))
        return NO_MOVE;
    if (plan.watched != 0)
        meter_access(to, p, at, writes);
    return FINE;
}

finding move(const config *from, uint32_t p, uint32_t choice, config *to, figures *f)
{
    config_copy(to, from);
    standing *me = &to->process[p];
    if (me->phase == INSIDE) {
        finding found = leave_section(to, p, f);
        if (plan.c11)
            memory_forget(to);
        return found;
    }
    if (points() >= MAX_POINTS)
        return TOO_LARGE;
    point_id id;
    const point *at = access_point(me, &id);
    if (id == call_choice()) {
        finding found = choose_lock(to, p, choice, f);
        return found == FINE ? go_on_unobserved(to, p, f) : found;
    }
    baton_word answer = 0;
    if (id != me->at)
        me->sleep = AWAKE; /* a new look begins: what was woken before is in what it sees */
    if (at->act == ACT_FUTEX_WAIT) {
        if (!goes_on_at_futex(to, p, at, choice, &answer)) {
            if (plan.c11)
                memory_forget(to);
            return FINE;
        }
    } else {
        finding done = act_at(to, p, at, choice, &answer, f);
        if (done != FINE)
            return done;
    }
    point_id next = point_next(id, answer);
    at = point_at(id); /* the tree may have moved */
    if (point_at(next)->act == ACT_FAILED) {
        me->at = point_at(next)->await;
        if (point_at(me->at)->place != 0) {
            me->sleep = me->sleep == STIRRED ? AWAKE : ASLEEP;
            return FINE;
        }
        if (plan.watched == 0)
            return NO_MOVE;
        meter_look(to, p, at, false, f);
        return FINE;
    }
    if (plan.watched != 0 && at->await != 0 && point_at(next)->await == 0)
        meter_look(to, p, at, true, f);
    finding found = come_to(to, p, next, f);
    if (found == FINE)
        found = go_on_unobserved(to, p, f);
    if (point_at(next)->won != 0)
        count_winners(to, f);
    if (plan.c11)
        memory_forget(to);
    return found;
}

/* ---- questions ---- */

bool is_blocked(const config *c, uint32_t p)
{
    const standing *s = &c->process[p];
    if (point_at(s->at)->act == ACT_FUTEX_WAIT)
        return s->sleep == ASLEEP;
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
    if (plan.subject->judge != NULL) /* a program is to be run: nobody may stay away */
        return s->phase == DONE;
    return s->phase == DONE || (s->phase == TRYING && point_at(s->at)->resting);
}

bool go_back_to_await(config *c, uint32_t p)
{
    standing *s = &c->process[p];
    if (s->phase == INSIDE || s->phase == DONE || point_at(s->at)->await == 0)
        return false;
    s->at = point_at(s->at)->await;
    return true;
}

/* Who rests owes nothing: somebody waits, and all others wait too or have no need to move. */
bool is_deadlocked(const config *c)
{
    bool somebody = false;
    for (uint32_t p = plan.start; p < plan.processes; p++) {
        if (is_resting(c, p))
            continue;
        if (!is_blocked(c, p))
            return false;
        somebody = true;
    }
    return somebody;
}

finding model_begin(const scope *asked, config *first)
{
    static figures unused;
    finding worst = FINE;
    plan = *asked;
    locks = plan.subject->locks != 0 ? plan.subject->locks : 1;
    memset(first, 0, sizeof *first);
    memory_begin(asked, first);
    memset(unshared_writers, 0, sizeof unshared_writers);
    memset(unshared_readers, 0, sizeof unshared_readers);
    meter_begin(asked->watched);
    for (uint32_t p = 0; p < plan.processes; p++) {
        finding found = begin_passage(first, p, INITIAL_MEMORY, &unused);
        if (found == FINE)
            found = go_on_unobserved(first, p, &unused);
        if (found != FINE)
            worst = found;
    }
    return worst;
}
