/*
 * One replica in a cluster of three or five under libFuzzer. The bytes are events: users, ticks,
 * suspicions, restarts, and messages with any fields from anybody, the fields being small, near to
 * those of the replica, or absurd. Whatever comes in, no assertion fails, nothing leaks, memory is
 * bounded and what wme_unsound looks at stays true.
 */
#include "replica.h"
#include "wme_sound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USERS = 4, MAX_OPS = 64 };

typedef struct world {
    const uint8_t *at, *end;
    wme_node node;
    replica replica;
    wme_user user[USERS];
    uint64_t executed; /* by the resource */
    uint64_t token;    /* of the last stay */
    bool written;
    replica_durable disk;
    uint64_t disk_executed;
    wme_out out;
    uint32_t ops;
} world;

static world w;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fails(const char *what)
{
    fprintf(stderr, "fuzz_wme: %s\n", what);
    abort();
}
#define require(condition) ((condition) ? (void)0 : fails(#condition))

/* ---- bytes ---- */

static uint8_t byte(void)
{
    return w.at < w.end ? *w.at++ : 0;
}

/* A number that is near to one that matters, or absurd. */
static uint64_t near(uint64_t number)
{
    uint8_t b = byte();
    switch (b & 15) {
    case 0:
        return 0;
    case 1:
        return (uint64_t)byte() << 56 | (uint64_t)byte() << 32 | byte();
    case 2:
        return UINT64_MAX;
    case 3:
        return b >> 4;
    default:
        return number + (b >> 4) - 4;
    }
}

/* A node, seldom one that is not there. */
static uint8_t some_node(void)
{
    uint8_t b = byte();
    return b >= 250 ? b : (uint8_t)(b % w.node.nodes);
}

/* ---- operations ---- */

static void free_op(wme_op *op)
{
    w.ops--;
    free(op);
}

static wme_op *make_op(void)
{
    wme_op *op = calloc(1, sizeof *op);
    require(op != NULL);
    *op = (wme_op){.free = free_op, .holders = 1};
    const wme_op *issued = w.replica.stub.issued;
    op->id = near(wme_op_id(w.replica.stub.now.epoch, w.replica.stub.now.sn));
    op->origin = some_node();
    if (issued != NULL && byte() & 1) {
        op->id = issued->id;
        op->origin = issued->origin;
    }
    op->bytes = byte() == 255 ? WME_MAX_OP + 1 : 0;
    w.ops++;
    return op;
}

/* ---- messages ---- */

static void fill_record(wme_record *r)
{
    const wme_record *now = &w.replica.stub.now;
    *r = *now;
    wme_op_keep(r->last);
    for (uint8_t changes = byte() & 7; changes > 0; changes--) {
        uint8_t which = byte() % WME_MAX_NODES;
        switch (byte() % 12) {
        case 0:
            r->sn = near(now->sn);
            break;
        case 1:
            r->ops = near(now->ops);
            break;
        case 2:
            r->op_sn = near(now->sn);
            break;
        case 3:
            wme_op_drop(r->last);
            r->last = byte() & 1 ? make_op() : NULL;
            break;
        case 4:
            r->granted[which] = near(now->granted[which]);
            break;
        case 5:
            r->asked[which] = near(now->granted[which]);
            break;
        case 6:
            r->queue[which] = some_node();
            break;
        case 7:
            r->queued = byte() % (WME_MAX_NODES + 2);
            break;
        case 8:
            r->owner = some_node();
            break;
        case 9:
            r->entry = near(now->entry);
            break;
        case 10: /* one slot on, an operation */
            r->sn++;
            r->ops++;
            r->op_sn = r->sn;
            wme_op_drop(r->last);
            r->last = make_op();
            break;
        default:
            r->epoch = near(now->epoch);
        }
    }
}

static void fill_state(wme_message *m)
{
    m->executed = byte() & 1 ? m->record.ops : near(m->record.ops);
    m->snapshot = byte() & 1;
    m->resource = byte() & 7 ? &w : NULL;
    m->count = byte() % (WME_MAX_LOG + 1);
    for (uint8_t i = 0; i < m->count; i++)
        m->ops[i] = byte() == 255 ? NULL : make_op();
    if (w.replica.stub.issued != NULL)
        m->answered[w.node.me] = w.replica.stub.issued->id + (byte() & 1);
}

static void fill(wme_message *m)
{
    const wme_stub *stub = &w.replica.stub;
    uint8_t kind = byte();
    m->kind = kind >= 250 ? (wme_kind)kind : (wme_kind)(kind % WME_KINDS);
    m->epoch = byte() & 3 ? stub->now.epoch : near(stub->now.epoch);
    m->sn = byte() & 1 ? stub->now.sn + 1 : near(stub->now.sn);
    m->request = near(m->kind == WME_HERE ? stub->away : stub->request);
    m->entry = byte() & 1 ? stub->now.entry : near(stub->now.entry);
    m->executed = near(stub->executed);
    m->stable = near(stub->executed);
    const paxos *consensus = w.replica.consensus;
    uint64_t ballot = consensus != NULL ? consensus->ballot : 0;
    m->ballot = byte() & 1 ? ballot : near(ballot + 1);
    m->accepted = near(consensus != NULL ? consensus->durable.promised : 0);
    m->to = some_node();
    uint8_t flags = byte();
    m->again = flags & 1;
    m->replaces = flags & 2;
    m->resumes = flags & 4;
    m->op = byte() == 255 ? NULL : make_op();
    fill_record(&m->record);
    if (byte() & 3)
        m->record.epoch = m->epoch;
    if (m->kind == WME_STATE)
        fill_state(m);
}

/* ---- what a step wants done ---- */

static bool is_user(const wme_user *u)
{
    return u >= w.user && u < w.user + USERS;
}

static void change(const wme_action *a)
{
    if (a->verb == WME_INSTALL) {
        require(a->message.executed > w.executed);
        w.executed = a->message.executed;
    } else if (a->verb == WME_EXECUTE) {
        require(a->number == ++w.executed);
        require(a->op != NULL && a->op->holders > 0 && a->op->origin < w.node.nodes);
        require(a->user == NULL || is_user(a->user));
    }
}

static void carry_out(const wme_action *a)
{
    uint16_t others = (uint16_t)(((1U << w.node.nodes) - 1) & ~(1U << w.node.me));
    if (a->verb == WME_SEND)
        require(a->to != 0 && (a->to & ~others) == 0 && a->message.kind < WME_KINDS);
    if (a->verb == WME_RECALL || a->verb == WME_CRIT || a->verb == WME_REM ||
        a->verb == WME_EJECTED || a->verb == WME_KEPT)
        require(is_user(a->user));
    if (a->verb == WME_CRIT || a->verb == WME_KEPT) {
        require(a->token > w.token); /* the fencing number */
        w.token = a->token;
    }
}

static void finish(void)
{
    bool write = false;
    for (uint32_t i = 0; i < w.out.count; i++) {
        change(&w.out.actions[i]);
        write = write || w.out.actions[i].verb == WME_PERSIST;
    }
    if (write) {
        replica_save(&w.replica, &w.disk);
        w.disk_executed = w.executed;
        w.written = true;
    }
    for (uint32_t i = 0; i < w.out.count; i++)
        carry_out(&w.out.actions[i]);
    wme_out_clear(&w.out);
    const char *why = wme_unsound(&w.replica.stub, &w.node);
    if (why != NULL)
        fails(why);
    require(w.executed == w.replica.stub.executed);
    const paxos *consensus = w.replica.consensus;
    require(consensus == NULL || consensus->durable.epoch == w.replica.stub.now.epoch);
    require(w.ops <= MAX_OPS);
}

/* ---- events ---- */

static void receive(void)
{
    static wme_message m;
    uint8_t from = some_node();
    memset(&m, 0, sizeof m);
    fill(&m);
    replica_receive(&w.replica, &w.node, from, &m, &w.out);
    finish();
    wme_op_drop(m.op);
    wme_op_drop(m.record.last);
    for (uint8_t i = 0; i < m.count; i++)
        wme_op_drop(m.ops[i]);
}

static void forget(void)
{
    replica_end(&w.replica);
    replica_durable_end(&w.disk);
    memset(w.user, 0, sizeof w.user);
    w.written = false;
    w.executed = w.disk_executed = w.token = 0;
    replica_rejoin(&w.replica, &w.node, 1 + byte(), 7, &w.out);
    finish();
}

static void restart(void)
{
    if (w.replica.stub.away != 0) {
        forget(); /* nothing of it was written */
        return;
    }
    replica_end(&w.replica);
    memset(w.user, 0, sizeof w.user);
    if (!w.written)
        replica_unsaved(&w.disk, &w.node, 0);
    w.executed = w.disk_executed;
    replica_restart(&w.replica, &w.node, &w.disk, w.executed, 7, &w.out);
    finish();
}

static void act(uint8_t what)
{
    wme_user *user = &w.user[byte() % USERS];
    switch (what & 3) {
    case 0:
        if (what & 4)
            replica_resume(&w.replica, &w.node, user, near(w.token), &w.out);
        else
            replica_try(&w.replica, &w.node, user, &w.out);
        break;
    case 1: {
        wme_op *op = make_op();
        replica_issue(&w.replica, &w.node, user, op, &w.out);
        wme_op_drop(op);
        break;
    }
    case 2:
        replica_exit(&w.replica, &w.node, user, &w.out);
        break;
    default:
        if (what & 4)
            replica_revoke(&w.replica, &w.node, user, &w.out);
        else
            replica_leave(&w.replica, &w.node, user, &w.out);
        require(user->phase == WME_OUT && user->next == NULL && user->previous == NULL);
    }
    finish();
}

static void step(void)
{
    uint8_t what = byte();
    if (what < 96) {
        act(what);
    } else if (what < 104) {
        replica_tick(&w.replica, &w.node, &w.out);
        finish();
    } else if (what < 112) {
        w.node.suspected ^= (uint16_t)(1U << (byte() % w.node.nodes));
        w.node.suspected &= (uint16_t) ~(1U << w.node.me);
        replica_suspicion(&w.replica, &w.node, &w.out);
        finish();
    } else if (what < 114) {
        restart();
    } else if (what < 115) {
        forget();
    } else {
        receive();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(&w, 0, sizeof w);
    w.at = data;
    w.end = data + size;
    uint8_t how = byte();
    w.node.nodes = how & 1 ? 3 : 5;
    w.node.ack_all = how & 2;
    w.node.me = how & 4 ? 0 : 1; /* 0 has the token first */
    replica_start(&w.replica, &w.node, 0, 7);
    while (w.at < w.end)
        step();
    replica_end(&w.replica);
    replica_durable_end(&w.disk);
    require(w.ops == 0);
    return 0;
}
