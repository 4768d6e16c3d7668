/* Records: the queue of those who ask for the token, and whether a record from afar can be true. */
#include "internal.h"

#include <string.h>

uint8_t wme_queue_place(const wme_record *r, uint8_t node)
{
    uint8_t at = 0;
    while (at < r->queued && r->queue[at] != node)
        at++;
    return at;
}

void wme_queue_add(wme_record *r, uint8_t node, uint64_t request)
{
    if (wme_queue_place(r, node) == r->queued) {
        assert(r->queued < WME_MAX_NODES);
        r->queue[r->queued++] = node;
        r->asked[node] = request;
    } else if (r->asked[node] < request) {
        r->asked[node] = request;
    }
}

void wme_queue_remove(wme_record *r, uint8_t node)
{
    uint8_t at = wme_queue_place(r, node);
    if (at == r->queued)
        return;
    r->queued--;
    memmove(&r->queue[at], &r->queue[at + 1], (size_t)(r->queued - at));
    r->asked[node] = 0;
}

bool wme_queue_first(wme_record *r, uint16_t but, uint8_t *node)
{
    for (uint8_t at = 0; at < r->queued;) {
        *node = r->queue[at];
        if (r->asked[*node] <= r->granted[*node])
            wme_queue_remove(r, *node);
        else if ((but & wme_bit(*node)) != 0)
            at++;
        else
            return true;
    }
    return false;
}

/* Of an operation or a request: no cluster comes beyond it. */
#define MAX_NUMBER (UINT64_MAX / 2)

static bool is_valid(const wme_record *r, uint8_t nodes)
{
    uint16_t seen = 0;
    if (r->owner >= nodes || r->queued > nodes || r->op_sn > r->sn ||
        (r->sn | r->entry) >> WME_ENTRY_BITS != 0 || r->ops > MAX_NUMBER)
        return false;
    if (r->op_sn != 0 && (r->last == NULL || r->ops == 0))
        return false;
    for (uint8_t i = 0; i < nodes; i++)
        if (r->granted[i] > MAX_NUMBER || r->asked[i] > MAX_NUMBER)
            return false;
    for (uint8_t i = 0; i < r->queued; i++) {
        if (r->queue[i] >= nodes || (seen & wme_bit(r->queue[i])) != 0)
            return false;
        seen |= wme_bit(r->queue[i]);
    }
    return true;
}

/* ---- messages ---- */

static bool has_record(const wme_message *m)
{
    return m->kind == WME_NEWEP || m->kind == WME_STATE || m->kind == WME_ACCEPT ||
           m->kind == WME_DECIDED || (m->kind == WME_PROMISE && m->accepted != 0);
}

static wme_refusal check_op(const wme_node *node, const wme_op *op)
{
    if (op->bytes > WME_MAX_OP)
        return WME_OVERSIZED;
    return op->origin < node->nodes ? WME_FINE : WME_MALFORMED;
}

static wme_refusal check_state(const wme_node *node, const wme_message *m)
{
    if (m->count > WME_MAX_LOG || m->count > m->executed || m->record.ops < m->executed ||
        m->record.ops - m->executed > 1)
        return WME_MALFORMED;
    bool open = m->record.ops > m->executed;
    if (open && (m->record.last == NULL || m->record.op_sn != m->record.sn))
        return WME_MALFORMED;
    if (open && m->record.owner == node->me) /* who has it open would know */
        return WME_MALFORMED;
    if (m->snapshot && m->resource == NULL)
        return WME_MALFORMED;
    wme_refusal why = WME_FINE;
    for (uint8_t i = 0; i < m->count && why == WME_FINE; i++)
        why = m->ops[i] == NULL ? WME_MALFORMED : check_op(node, m->ops[i]);
    return why;
}

wme_refusal wme_check_record(const wme_node *node, const wme_record *r)
{
    if (r->epoch == 0 || r->epoch > WME_MAX_EPOCH)
        return WME_ABSURD_EPOCH;
    if (!is_valid(r, node->nodes))
        return WME_MALFORMED;
    return r->last == NULL ? WME_FINE : check_op(node, r->last);
}

wme_refusal wme_check(const wme_node *node, uint8_t from, const wme_message *m)
{
    if (from >= node->nodes || from == node->me)
        return WME_UNKNOWN_SENDER;
    if (m->kind >= WME_KINDS || m->to >= node->nodes || (m->sn | m->entry) >> WME_ENTRY_BITS != 0 ||
        m->executed > MAX_NUMBER || m->request > MAX_NUMBER)
        return WME_MALFORMED;
    if ((m->epoch == 0 && m->kind != WME_WHERE) || m->epoch > WME_MAX_EPOCH)
        return WME_ABSURD_EPOCH;
    wme_refusal why = WME_FINE;
    if (m->kind == WME_INVOKE)
        why = m->op == NULL ? WME_MALFORMED : check_op(node, m->op);
    if (has_record(m))
        why = m->record.epoch == m->epoch ? wme_check_record(node, &m->record) : WME_MALFORMED;
    if (m->kind == WME_STATE && why == WME_FINE)
        why = check_state(node, m);
    return why;
}
