/*
 * Operations, which many share, and lists of actions, which keep those that they name. Nothing is
 * allocated here; an operation goes the way that its maker has said.
 */
#include "out.h"

#include <assert.h>

/* ---- operations ---- */

wme_op *wme_op_keep(wme_op *op)
{
    if (op == NULL)
        return NULL;
    assert(op->holders > 0 && op->holders < UINT32_MAX);
    op->holders++;
    return op;
}

void wme_op_drop(wme_op *op)
{
    if (op == NULL)
        return;
    assert(op->holders > 0);
    if (--op->holders == 0)
        op->free(op);
}

void wme_record_set(wme_record *to, const wme_record *from)
{
    wme_op *before = to->last;
    wme_op_keep(from->last); /* first: both may be the same, and its only holders */
    *to = *from;
    wme_op_drop(before);
}

/* ---- actions ---- */

static void for_each_op(const wme_action *action, void (*what)(wme_op *op))
{
    const wme_message *m = &action->message;
    assert(m->count <= WME_MAX_LOG);
    what(action->op);
    what(m->op);
    what(m->record.last);
    for (uint8_t i = 0; i < m->count; i++)
        what(m->ops[i]);
}

static void keep(wme_op *op)
{
    wme_op_keep(op);
}

void wme_out_append(wme_out *out, const wme_action *action)
{
    assert(out->count < WME_MAX_ACTIONS);
    for_each_op(action, keep);
    out->actions[out->count++] = *action;
}

void wme_out_send(wme_out *out, uint16_t to, const wme_message *message)
{
    if (to != 0)
        wme_out_append(out, &(wme_action){.verb = WME_SEND, .to = to, .message = *message});
}

void wme_out_persist(wme_out *out)
{
    wme_out_append(out, &(wme_action){.verb = WME_PERSIST});
}

bool wme_out_persists(const wme_out *out)
{
    for (uint32_t i = 0; i < out->count; i++)
        if (out->actions[i].verb == WME_PERSIST)
            return true;
    return false;
}

void wme_out_clear(wme_out *out)
{
    for (uint32_t i = 0; i < out->count; i++)
        for_each_op(&out->actions[i], wme_op_drop);
    out->count = 0;
}
