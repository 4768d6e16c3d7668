/*
 * Automaton B: the register of one lock. Each function here is atomic: whoever calls them sees to
 * that. So joining the losers is one with failing (erratum 15), and an exit is looked at together
 * with who holds the register in which generation (erratum 14).
 */
#include "wdme.h"

#include <assert.h>
#include <stddef.h>

static void send(wdme_context *b, uint32_t to, wdme_kind kind, uint32_t request,
                 uint64_t generation)
{
    b->send(b->context, to, (wdme_message){kind, request, generation});
}

/* ---- the queue, and the losers ---- */

static void enqueue(wdme_context *b, uint32_t i, uint32_t request)
{
    wdme_register *reg = b->reg;
    b->members[i].waits = true;
    b->members[i].request = request;
    b->members[i].before = reg->last;
    b->members[i].after = WDME_NOBODY;
    if (reg->last != WDME_NOBODY)
        b->members[reg->last].after = i;
    else
        reg->first = i;
    reg->last = i;
    reg->waiting++;
}

static void dequeue(wdme_context *b, uint32_t i)
{
    wdme_register *reg = b->reg;
    wdme_member *me = &b->members[i];
    if (!me->waits)
        return;
    if (me->before != WDME_NOBODY)
        b->members[me->before].after = me->after;
    else
        reg->first = me->after;
    if (me->after != WDME_NOBODY)
        b->members[me->after].before = me->before;
    else
        reg->last = me->before;
    me->waits = false;
    reg->waiting--;
}

/* It waits already, with a request that it has given up, or gives up now: its place stays. */
static void wait_anew(wdme_member *me, uint32_t request)
{
    if ((int32_t)(request - me->request) > 0) /* a late message must not undo a newer one */
        me->request = request;
}

static void lose(wdme_context *b, uint32_t i)
{
    if (b->members[i].loses)
        return;
    b->members[i].loses = true;
    b->members[i].next_loser = b->reg->losers;
    b->reg->losers = i;
}

static void drop_loser(wdme_context *b, uint32_t i)
{
    uint32_t *link = &b->reg->losers;
    if (!b->members[i].loses)
        return;
    while (*link != i) {
        assert(*link != WDME_NOBODY);
        link = &b->members[*link].next_loser;
    }
    *link = b->members[i].next_loser;
    b->members[i].loses = false;
}

/* ---- sections ---- */

void wdme_register_start(wdme_context *b)
{
    *b->reg = (wdme_register){
        .generation = (*b->next_generation)++,
        .holder = WDME_NOBODY,
        .first = WDME_NOBODY,
        .last = WDME_NOBODY,
        .losers = WDME_NOBODY,
    };
}

static void let_in(wdme_context *b, uint32_t i, uint32_t request)
{
    b->reg->holder = i;
    send(b, i, WDME_OK, request, b->reg->generation);
}

/* The holder is out: the next generation begins, with who is first in the queue, or free. */
static void next_section(wdme_context *b)
{
    wdme_register *reg = b->reg;
    reg->holder = WDME_NOBODY;
    reg->generation = (*b->next_generation)++;
    uint32_t next = reg->first;
    if (next != WDME_NOBODY) {
        dequeue(b, next);
        let_in(b, next, b->members[next].request);
        return;
    }
    for (uint32_t i = reg->losers; i != WDME_NOBODY; i = b->members[i].next_loser) {
        b->members[i].loses = false;
        send(b, i, WDME_RESET, 0, reg->generation);
    }
    reg->losers = WDME_NOBODY;
}

static void leave(wdme_context *b, uint32_t i, uint64_t generation)
{
    wdme_register *reg = b->reg;
    if (reg->holder != i || reg->generation != generation) {
        send(b, i, WDME_STALE, 0, generation);
        return;
    }
    send(b, i, WDME_EXIT_DONE, 0, generation);
    next_section(b);
}

void wdme_register_receive(wdme_context *b, uint32_t from, wdme_message m)
{
    wdme_register *reg = b->reg;
    switch (m.kind) {
    case WDME_TRY:
        if (reg->holder == WDME_NOBODY) {
            let_in(b, from, m.request);
        } else {
            lose(b, from);
            send(b, from, WDME_FAIL, m.request, reg->generation);
        }
        break;
    case WDME_LOCK:
        if (b->members[from].waits)
            wait_anew(&b->members[from], m.request);
        else if (reg->holder == WDME_NOBODY)
            let_in(b, from, m.request);
        else
            enqueue(b, from, m.request);
        break;
    case WDME_CANCEL:
        if (b->members[from].request == m.request)
            dequeue(b, from); /* if it waits */
        break;
    case WDME_EXIT:
        leave(b, from, m.generation);
        break;
    default:
        break; /* not for a register */
    }
}

void wdme_register_lease_over(wdme_context *b, uint32_t member)
{
    if (b->reg->holder != member)
        return;
    send(b, member, WDME_LOST, 0, b->reg->generation);
    next_section(b);
}

void wdme_register_wait_over(wdme_context *b, uint32_t member)
{
    if (!b->members[member].waits)
        return;
    dequeue(b, member);
    send(b, member, WDME_TIMEOUT, b->members[member].request, 0);
}

void wdme_register_gone(wdme_context *b, uint32_t member)
{
    dequeue(b, member);
    drop_loser(b, member);
    if (b->reg->holder == member)
        next_section(b);
}
