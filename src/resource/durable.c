/* See durable.h. */
#include "durable.h"

#include <string.h>

typedef enum op_form { NO_OP, AN_OP, SAME_OP } op_form;

/* ---- writing ---- */

static void put_op(byte_writer *w, const wme_op *o, const wme_op *before)
{
    if (o == NULL) {
        put_number(w, NO_OP);
    } else if (o == before) {
        put_number(w, SAME_OP);
    } else {
        put_number(w, AN_OP);
        put_number(w, o->id);
        put_number(w, o->origin);
        put_string(w, (byte_string){o->data, o->bytes});
    }
}

static void put_record(byte_writer *w, const wme_record *r, const wme_op *before)
{
    put_number(w, r->epoch);
    put_number(w, r->sn);
    put_number(w, r->ops);
    put_number(w, r->op_sn);
    put_number(w, r->owner);
    put_number(w, r->entry);
    for (int i = 0; i < WME_MAX_NODES; i++) {
        put_number(w, r->granted[i]);
        put_number(w, r->asked[i]);
    }
    put_number(w, r->queued);
    put_raw(w, r->queue, r->queued);
    put_op(w, r->last, before);
}

size_t durable_encode(const replica_durable *d, uint8_t bytes[MAX_DURABLE])
{
    byte_writer w = {.at = bytes, .capacity = MAX_DURABLE};
    put_record(&w, &d->now, NULL);
    put_number(&w, d->consensus.epoch);
    put_number(&w, d->consensus.promised);
    put_number(&w, d->consensus.accepted);
    if (d->consensus.accepted != 0)
        put_record(&w, &d->consensus.value, d->now.last);
    put_number(&w, d->rests);
    return w.used;
}

/* ---- reading ---- */

static wme_op *take_op(byte_reader *r, wme_op *before)
{
    op_form form = (op_form)take_number(r, SAME_OP);
    if (form == NO_OP)
        return NULL;
    if (form == SAME_OP) {
        r->bad = r->bad || before == NULL;
        return wme_op_keep(before);
    }
    uint64_t id = take_number(r, UINT64_MAX);
    uint8_t origin = (uint8_t)take_number(r, WME_MAX_NODES - 1);
    byte_string data = take_string(r, WME_MAX_OP);
    wme_op *made = r->bad ? NULL : op_new((uint32_t)data.bytes);
    if (made == NULL) {
        r->bad = true;
        return NULL;
    }
    made->id = id;
    made->origin = origin;
    if (data.bytes > 0)
        memcpy(made->data, data.at, data.bytes);
    return made;
}

static void take_record(byte_reader *r, wme_record *to, wme_op *before)
{
    unsigned seen = 0;
    to->epoch = take_number(r, WME_MAX_EPOCH);
    to->sn = take_number(r, UINT64_MAX);
    to->ops = take_number(r, UINT64_MAX);
    to->op_sn = take_number(r, to->sn);
    to->owner = (uint8_t)take_number(r, WME_MAX_NODES - 1);
    to->entry = take_number(r, UINT64_MAX);
    for (int i = 0; i < WME_MAX_NODES; i++) {
        to->granted[i] = take_number(r, UINT64_MAX);
        to->asked[i] = take_number(r, UINT64_MAX);
    }
    to->queued = (uint8_t)take_number(r, WME_MAX_NODES);
    byte_string queue = take_raw(r, to->queued);
    for (size_t i = 0; i < queue.bytes; i++) {
        to->queue[i] = queue.at[i];
        r->bad = r->bad || queue.at[i] >= WME_MAX_NODES || (seen >> queue.at[i] & 1) != 0;
        seen |= r->bad ? 0 : 1U << queue.at[i];
    }
    to->last = take_op(r, before);
    r->bad = r->bad || (to->op_sn != 0 && to->last == NULL);
}

bool durable_decode(byte_string bytes, replica_durable *d)
{
    byte_reader r = {.at = bytes.at, .left = bytes.bytes};
    memset(d, 0, sizeof *d);
    take_record(&r, &d->now, NULL);
    d->consensus.epoch = take_number(&r, WME_MAX_EPOCH);
    d->consensus.promised = take_number(&r, UINT64_MAX);
    r.bad = r.bad || (d->consensus.promised != 0 && d->consensus.epoch != d->now.epoch);
    d->consensus.accepted = take_number(&r, UINT64_MAX);
    if (d->consensus.accepted != 0)
        take_record(&r, &d->consensus.value, d->now.last);
    d->rests = take_number(&r, UINT64_MAX);
    if (all_read(&r))
        return true;
    replica_durable_end(d);
    return false;
}
