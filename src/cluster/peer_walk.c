/*
 * Which fields a message between nodes has, in which order, and what they may be. Reading and
 * writing are the same walk: they cannot differ.
 */
#include "peer_walk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SLOT   ((1ULL << WME_ENTRY_BITS) - 1)
#define MAX_NUMBER (UINT64_MAX / 2) /* as wme_check has it */

/* ---- which kind has what ---- */

enum {
    SN = 1 << 0,
    REQUEST = 1 << 1,
    ENTRY = 1 << 2,
    EXECUTED = 1 << 3,
    STABLE = 1 << 4,
    BALLOT = 1 << 5,
    ACCEPTED = 1 << 6,
    TO = 1 << 7,
    AGAIN = 1 << 8,
    OP = 1 << 9,
    RECORD = 1 << 10,
    MISSED = 1 << 11,      /* operations, or the resource as a whole */
    IF_ACCEPTED = 1 << 12, /* no record without a ballot for it */
    OWNERS = 1 << 13,      /* whether the owner is replaced, and who should be it */
};

static const struct kind {
    const char *name;
    uint32_t has; /* besides an epoch */
} kinds[WME_KINDS] = {
    [WME_REQUEST] = {"REQUEST", REQUEST},
    [WME_GRANTED] = {"GRANTED", SN | REQUEST | ENTRY | TO},
    [WME_INVOKE] = {"INVOKE", SN | STABLE | OP},
    [WME_ACK] = {"ACK", SN | EXECUTED | AGAIN},
    [WME_DOINVOKE] = {"DOINVOKE", SN},
    [WME_NEWEP] = {"NEWEP", EXECUTED | OWNERS | RECORD},
    [WME_SYNC] = {"SYNC", SN | EXECUTED},
    [WME_STATE] = {"STATE", EXECUTED | RECORD | MISSED},
    [WME_WHERE] = {"WHERE", REQUEST},
    [WME_HERE] = {"HERE", REQUEST},
    [WME_PREPARE] = {"PREPARE", BALLOT},
    [WME_PROMISE] = {"PROMISE", BALLOT | ACCEPTED | RECORD | IF_ACCEPTED},
    [WME_ACCEPT] = {"ACCEPT", BALLOT | RECORD},
    [WME_ACCEPTED] = {"ACCEPTED", BALLOT},
    [WME_REFUSED] = {"REFUSED", BALLOT | ACCEPTED},
    [WME_DECIDED] = {"DECIDED", RECORD},
};

const char *peer_kind_name(wme_kind kind)
{
    return kind < WME_KINDS ? kinds[kind].name : "unknown";
}

/* ---- one number, one piece of bytes ---- */

void walk_complain(walk *w, const char *complaint)
{
    if (w->complaint == NULL)
        w->complaint = complaint;
}

static void write_number(walk *w, uint64_t value)
{
    char digits[20];
    char *first = digits + sizeof digits;
    do {
        *--first = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    size_t count = (size_t)(digits + sizeof digits - first);
    memcpy(w->to, first, count);
    w->to[count] = ' ';
    w->to += count + 1;
}

/* Behind each number is a space, or the end of them all. One way to write each: no 0 before it. */
static bool read_number(walk *w, uint64_t *value)
{
    const char *at = w->at;
    if (at >= w->end || (*at == '0' && at + 1 < w->end && at[1] != ' '))
        return false;
    *value = 0;
    for (; at < w->end && *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*value, (uint64_t)10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
            return false;
    if (at == w->at || (at < w->end && (*at != ' ' || at + 1 == w->end)))
        return false;
    w->at = at < w->end ? at + 1 : at;
    return true;
}

static void number(walk *w, uint64_t *value, uint64_t least, uint64_t max, const char *complaint)
{
    if (w->complaint != NULL)
        return;
    uint64_t its = *value;
    if ((w->reads && !read_number(w, &its)) || its < least || its > max) {
        walk_complain(w, complaint);
        return;
    }
    *value = its;
    if (!w->reads)
        write_number(w, its);
}
#define NUMBER(w, value, least, max, what) \
    number(w, value, least, max, "ERR " what " is missing, no number, or out of range")

static void small_number(walk *w, uint8_t *value, uint8_t max, const char *complaint)
{
    uint64_t its = *value;
    number(w, &its, 0, max, complaint);
    *value = (uint8_t)its;
}
#define SMALL(w, value, max, what) \
    small_number(w, value, max, "ERR " what " is missing, no number, or out of range")

static void flag(walk *w, bool *value, const char *complaint)
{
    uint8_t its = *value;
    small_number(w, &its, 1, complaint);
    *value = its == 1;
}
#define FLAG(w, value, what) flag(w, value, "ERR " what " is neither 0 nor 1")

static resp_word blob(walk *w, resp_word its, size_t max)
{
    if (w->complaint != NULL)
        return (resp_word){0};
    if (w->reads && w->blobs == w->max_blobs) {
        walk_complain(w, "ERR an operation or a snapshot is missing");
        return (resp_word){0};
    }
    assert(w->blobs < WALK_MAX_BLOBS);
    if (w->reads)
        its = w->blob[w->blobs];
    if (its.bytes > max) {
        walk_complain(w, "ERR an operation or a snapshot is too large");
        return (resp_word){0};
    }
    w->blob[w->blobs++] = its;
    return its;
}

/* ---- operations, records ---- */

static void free_op(wme_op *op)
{
    free(op);
}

static wme_op *make_op(walk *w, uint64_t id, uint8_t origin, resp_word data)
{
    if (w->complaint != NULL)
        return NULL;
    wme_op *op = malloc(sizeof *op + data.bytes);
    if (op == NULL) {
        walk_complain(w, "OOM out of memory");
        return NULL;
    }
    *op = (wme_op){
        .free = free_op, .holders = 1, .bytes = (uint32_t)data.bytes, .id = id, .origin = origin};
    if (data.bytes > 0)
        memcpy(op->data, data.at, data.bytes);
    return op;
}

static void operation(walk *w, wme_op **op)
{
    uint64_t id = 0;
    uint8_t origin = 0;
    resp_word data = {0};
    if (!w->reads) {
        if (*op == NULL) {
            walk_complain(w, "ERR an operation is missing");
            return;
        }
        id = (*op)->id;
        origin = (*op)->origin;
        data = (resp_word){(const char *)(*op)->data, (*op)->bytes};
    }
    NUMBER(w, &id, 0, UINT64_MAX, "the id of an operation");
    SMALL(w, &origin, w->nodes - 1, "the origin of an operation");
    data = blob(w, data, WME_MAX_OP);
    if (w->reads)
        *op = make_op(w, id, origin, data);
}

static void queue(walk *w, wme_record *r)
{
    uint16_t seen = 0;
    SMALL(w, &r->queued, w->nodes, "how many are queued");
    for (uint8_t i = 0; i < r->queued && w->complaint == NULL; i++) {
        uint8_t *node = &r->queue[i];
        SMALL(w, node, w->nodes - 1, "a node in the queue");
        if (w->complaint == NULL && (seen >> *node & 1) != 0)
            walk_complain(w, "ERR a node is in the queue twice");
        seen |= (uint16_t)(1U << *node);
        NUMBER(w, &r->asked[*node], 0, MAX_NUMBER, "a request in the queue");
    }
}

/* Its epoch is that of the message. */
static void record(walk *w, wme_record *r)
{
    bool has_last = r->last != NULL;
    NUMBER(w, &r->sn, 0, MAX_SLOT, "the slot of the record");
    NUMBER(w, &r->ops, 0, MAX_NUMBER, "the record's number of operations");
    NUMBER(w, &r->op_sn, 0, MAX_SLOT, "the slot of the last operation");
    NUMBER(w, &r->entry, 0, MAX_SLOT, "the entry of the record");
    SMALL(w, &r->owner, w->nodes - 1, "the owner");
    for (uint8_t i = 0; i < w->nodes; i++)
        NUMBER(w, &r->granted[i], 0, MAX_NUMBER, "a request that was granted");
    queue(w, r);
    FLAG(w, &has_last, "whether there is a last operation");
    if (has_last)
        operation(w, &r->last);
}

/* ---- messages ---- */

static void snapshot(walk *w, wme_message *m, peer_snapshot *in)
{
    peer_snapshot *its = w->reads ? in : m->resource;
    for (uint8_t i = 0; i < w->nodes; i++)
        NUMBER(w, &m->answered[i], 0, UINT64_MAX, "the id of what was answered last");
    if (its == NULL) {
        walk_complain(w, "ERR a snapshot is missing");
        return;
    }
    resp_word bytes = blob(w, (resp_word){its->at, its->bytes}, PEER_MAX_SNAPSHOT);
    if (!w->reads)
        return;
    *in = (peer_snapshot){bytes.at, bytes.bytes};
    m->resource = in;
}

static void missed(walk *w, wme_message *m, peer_snapshot *in)
{
    FLAG(w, &m->snapshot, "whether there is a snapshot");
    if (m->snapshot) {
        snapshot(w, m, in);
        return;
    }
    SMALL(w, &m->count, WME_MAX_LOG, "how many operations there are");
    for (uint8_t i = 0; i < m->count && w->complaint == NULL; i++)
        operation(w, &m->ops[i]);
}

void walk_message(walk *w, wme_message *m, peer_snapshot *in)
{
    uint32_t has = kinds[m->kind].has;
    NUMBER(w, &m->epoch, m->kind == WME_WHERE ? 0 : 1, WME_MAX_EPOCH, "the epoch");
    if (has & SN)
        NUMBER(w, &m->sn, 0, MAX_SLOT, "the slot");
    if (has & REQUEST)
        NUMBER(w, &m->request, 0, MAX_NUMBER, "the request");
    if (has & ENTRY)
        NUMBER(w, &m->entry, 0, MAX_SLOT, "the entry");
    if (has & EXECUTED)
        NUMBER(w, &m->executed, 0, MAX_NUMBER, "how many were executed");
    if (has & STABLE)
        NUMBER(w, &m->stable, 0, MAX_NUMBER, "how many are stable");
    if (has & BALLOT)
        NUMBER(w, &m->ballot, 0, MAX_NUMBER, "the ballot");
    if (has & ACCEPTED)
        NUMBER(w, &m->accepted, 0, MAX_NUMBER, "the ballot of the record, or promised");
    if (has & TO)
        SMALL(w, &m->to, w->nodes - 1, "the new owner");
    if (has & AGAIN)
        FLAG(w, &m->again, "whether it is repeated");
    if (has & OWNERS) {
        FLAG(w, &m->replaces, "whether the owner is replaced");
        FLAG(w, &m->resumes, "whether somebody resumes");
    }
    if (has & OP)
        operation(w, &m->op);
    if (has & RECORD && (!(has & IF_ACCEPTED) || m->accepted != 0)) {
        if (w->reads)
            m->record.epoch = m->epoch;
        else if (m->record.epoch != m->epoch)
            walk_complain(w, "ERR a record of another epoch");
        record(w, &m->record);
    }
    if (has & MISSED)
        missed(w, m, in);
}
