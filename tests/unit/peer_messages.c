/* Messages between nodes: made by chance, compared. */
#include "peer_messages.h"

#include <stdlib.h>
#include <string.h>

/* ---- chance ---- */

uint64_t chance_seed;

uint64_t chance(uint64_t of)
{
    chance_seed ^= chance_seed << 13;
    chance_seed ^= chance_seed >> 7;
    chance_seed ^= chance_seed << 17;
    return chance_seed % of;
}

uint64_t chance_number(uint64_t least, uint64_t max)
{
    switch (chance(4)) {
    case 0:
        return least;
    case 1:
        return max;
    case 2:
        return least + chance(100 < max - least ? 100 : max - least + 1);
    default:
        return least + chance(max - least);
    }
}

/* ---- messages by chance ---- */

static const uint64_t max_slot = (1ULL << WME_ENTRY_BITS) - 1;
static const uint64_t max_number = UINT64_MAX / 2;
static char resource[70000];

static void free_op(wme_op *op)
{
    free(op);
}

static wme_op *some_op(uint8_t nodes)
{
    uint32_t bytes = chance(40) == 0 ? WME_MAX_OP : (uint32_t)chance(chance(9) == 0 ? 3000 : 40);
    wme_op *op = malloc(sizeof *op + bytes);
    assert_non_null(op);
    *op = (wme_op){
        .free = free_op, .holders = 1, .bytes = bytes, .id = chance_number(0, UINT64_MAX - 1)};
    op->origin = (uint8_t)chance(nodes);
    memset(op->data, (int)chance(256), bytes);
    return op;
}

static void fill_record(wme_record *r, uint64_t epoch, uint8_t nodes)
{
    uint8_t first = (uint8_t)chance(nodes);
    *r = (wme_record){.epoch = epoch,
                      .sn = chance_number(0, max_slot),
                      .ops = chance_number(0, max_number),
                      .op_sn = chance_number(0, max_slot),
                      .entry = chance_number(0, max_slot),
                      .owner = (uint8_t)chance(nodes),
                      .queued = (uint8_t)chance(nodes + 1U)};
    for (uint8_t i = 0; i < nodes; i++)
        r->granted[i] = chance_number(0, max_number);
    for (uint8_t i = 0; i < r->queued; i++) {
        r->queue[i] = (uint8_t)((first + i) % nodes);
        r->asked[r->queue[i]] = chance_number(0, max_number);
    }
    r->last = chance(2) ? some_op(nodes) : NULL;
}

static void fill_state(wme_message *m, uint8_t nodes, peer_snapshot *snapshot)
{
    m->snapshot = chance(2);
    if (m->snapshot) {
        for (size_t i = 0; i < sizeof resource; i += 7)
            resource[i] = (char)chance(256);
        *snapshot = (peer_snapshot){resource, chance(chance(2) ? sizeof resource : 100)};
        m->resource = snapshot;
        for (uint8_t i = 0; i < nodes; i++)
            m->answered[i] = chance_number(0, UINT64_MAX - 1);
        return;
    }
    m->count = (uint8_t)chance(WME_MAX_LOG + 1);
    for (uint8_t i = 0; i < m->count; i++)
        m->ops[i] = some_op(nodes);
}

wme_message some_message(wme_kind kind, uint8_t nodes, peer_snapshot *snapshot)
{
    wme_message m = {.kind = kind, .epoch = chance_number(kind != WME_WHERE, WME_MAX_EPOCH)};
    if (kind == WME_GRANTED || kind == WME_INVOKE || kind == WME_ACK || kind == WME_DOINVOKE ||
        kind == WME_SYNC)
        m.sn = chance_number(0, max_slot);
    if (kind == WME_REQUEST || kind == WME_GRANTED || kind == WME_WHERE || kind == WME_HERE)
        m.request = chance_number(0, max_number);
    if (kind == WME_GRANTED) {
        m.entry = chance_number(0, max_slot);
        m.to = (uint8_t)chance(nodes);
    }
    if (kind == WME_ACK || kind == WME_SYNC || kind == WME_STATE || kind == WME_NEWEP)
        m.executed = chance_number(0, max_number);
    if (kind == WME_ACK)
        m.again = chance(2);
    if (kind == WME_NEWEP) {
        m.replaces = chance(2);
        m.resumes = chance(2);
    }
    if (kind == WME_INVOKE) {
        m.stable = chance_number(0, max_number);
        m.op = some_op(nodes);
    }
    if (kind >= WME_PREPARE && kind < WME_DECIDED)
        m.ballot = chance_number(1, max_number);
    if (kind == WME_PROMISE || kind == WME_REFUSED)
        m.accepted = chance_number(0, max_number);
    if (kind == WME_NEWEP || kind == WME_STATE || kind == WME_ACCEPT || kind == WME_DECIDED ||
        (kind == WME_PROMISE && m.accepted != 0))
        fill_record(&m.record, m.epoch, nodes);
    if (kind == WME_STATE)
        fill_state(&m, nodes, snapshot);
    return m;
}

void drop_message(wme_message *m)
{
    wme_op_drop(m->op);
    wme_op_drop(m->record.last);
    for (uint8_t i = 0; i < m->count; i++)
        wme_op_drop(m->ops[i]);
}

/* ---- comparing ---- */

static void expect_op(const wme_op *is, const wme_op *was)
{
    assert_int_equal(is == NULL, was == NULL);
    if (is == NULL)
        return;
    assert_int_equal(is->holders, 1);
    assert_true(is->id == was->id);
    assert_int_equal(is->origin, was->origin);
    assert_int_equal(is->bytes, was->bytes);
    assert_memory_equal(is->data, was->data, is->bytes);
}

static void expect_record(const wme_record *is, const wme_record *was)
{
    assert_true(is->epoch == was->epoch && is->sn == was->sn && is->ops == was->ops);
    assert_true(is->op_sn == was->op_sn && is->entry == was->entry && is->owner == was->owner);
    assert_int_equal(is->queued, was->queued);
    assert_memory_equal(is->queue, was->queue, is->queued);
    assert_memory_equal(is->granted, was->granted, sizeof is->granted);
    assert_memory_equal(is->asked, was->asked, sizeof is->asked);
    expect_op(is->last, was->last);
}

void expect_message(const wme_message *is, const wme_message *was)
{
    assert_int_equal(is->kind, was->kind);
    assert_true(is->epoch == was->epoch && is->sn == was->sn && is->request == was->request);
    assert_true(is->entry == was->entry && is->executed == was->executed);
    assert_true(is->stable == was->stable && is->ballot == was->ballot);
    assert_true(is->accepted == was->accepted && is->to == was->to && is->again == was->again);
    assert_int_equal(is->snapshot, was->snapshot);
    assert_int_equal(is->count, was->count);
    expect_op(is->op, was->op);
    expect_record(&is->record, &was->record);
    for (uint8_t i = 0; i < is->count; i++)
        expect_op(is->ops[i], was->ops[i]);
    assert_memory_equal(is->answered, was->answered, sizeof is->answered);
    assert_int_equal(is->resource == NULL, was->resource == NULL);
    if (is->resource == NULL)
        return;
    const peer_snapshot *a = is->resource, *b = was->resource;
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->at, b->at, a->bytes);
}
