/*
 * The normal phase: figure 1 of the wme paper, and figure 4 (WME-2), with errata 17 to 31. Each
 * handler is atomic. A slot is persisted before its ACK leaves; a GRANTED is not: what a node
 * forgets of these over a crash, the epoch change through which it comes back makes good.
 */
#include "internal.h"

#include <string.h>

/* ---- executing ---- */

void wme_execute_next(step s, wme_op *op)
{
    wme_stub *stub = s.stub;
    wme_action a = {.verb = WME_EXECUTE, .op = op, .number = ++stub->executed};
    stub->known[s.node->me] = stub->executed;
    if (stub->state == WME_CS_ISSUING && stub->issued->id == op->id && op->origin == s.node->me) {
        a.user = stub->inside;
        wme_op_drop(stub->issued);
        stub->issued = NULL;
        stub->state = WME_CS_IDLE;
    }
    wme_out_append(s.out, &a);
}

void wme_execute_open(step s)
{
    if (wme_is_open(s.stub))
        wme_execute_next(s, s.stub->now.last);
}

void wme_commit(step s)
{
    wme_stub *stub = s.stub;
    wme_execute_open(s);
    if (stub->leaves && stub->state == WME_CS_IDLE) /* it left without waiting for this */
        wme_depart(s);
}

/* ---- an operation ---- */

/* Whether this node may take the open operation for acknowledged by counting. */
static bool counts(step s)
{
    return s.node->ack_all || s.stub->now.owner == s.node->me;
}

static void commit_if_acknowledged(step s)
{
    if (!wme_is_open(s.stub) || !counts(s) || !wme_in_majority(s.node, s.stub->acks))
        return;
    if (!s.node->ack_all) {
        wme_message m = {.kind = WME_DOINVOKE, .epoch = s.stub->now.epoch, .sn = s.stub->now.sn};
        wme_out_send(s.out, wme_others(s.node), &m);
    }
    wme_commit(s);
}

void wme_acknowledge(step s, bool again)
{
    wme_stub *stub = s.stub;
    uint8_t owner = stub->now.owner;
    wme_message m = {.kind = WME_ACK,
                     .epoch = stub->now.epoch,
                     .sn = stub->now.sn,
                     .executed = stub->executed,
                     .again = again};
    if (owner != s.node->me)
        wme_out_send(s.out, s.node->ack_all && !again ? wme_others(s.node) : wme_bit(owner), &m);
}

static void accept_invoke(step s, wme_op *op)
{
    wme_stub *stub = s.stub;
    wme_record *now = &stub->now;
    wme_execute_open(s);
    now->sn++;
    now->ops++;
    now->op_sn = now->sn;
    wme_op_keep(op);
    wme_op_drop(now->last);
    now->last = op;
    wme_log_add(stub, op);
    stub->acks = wme_bit(s.node->me) | stub->early_acks;
    stub->early_acks = 0;
    if (s.node->ack_all)
        stub->acks |= wme_bit(now->owner);
    wme_out_persist(s.out);
}

void wme_invoke(step s)
{
    wme_stub *stub = s.stub;
    wme_op *op = stub->issued;
    bool epoch_is_durable = !wme_out_persists(s.out);
    assert(stub->now.owner == s.node->me && !stub->blocked && !wme_is_open(stub));
    if (op->id == 0)
        op->id = wme_op_id(stub->now.epoch, stub->now.sn + 1);
    accept_invoke(s, op);
    wme_message m = {.kind = WME_INVOKE,
                     .epoch = stub->now.epoch,
                     .sn = stub->now.sn,
                     .stable = wme_stable(stub, s.node),
                     .op = op};
    /*
     * Others may write it while this node does. If this one crashes and does not know of it, it
     * makes no other slot in its stead: it comes back blocked in this epoch, if it knows of that.
     * But in WME-1 an INVOKE is the owner's ACK, too.
     */
    bool early = epoch_is_durable && !s.node->ack_all;
    wme_out_append(
        s.out,
        &(wme_action){.verb = WME_SEND, .early = early, .to = wme_others(s.node), .message = m});
    commit_if_acknowledged(s);
}

static void receive_invoke(step s, const wme_early *m)
{
    accept_invoke(s, m->op);
    wme_log_cut(s.stub, m->stable);
    wme_acknowledge(s, false);
    commit_if_acknowledged(s);
}

static void receive_ack(step s, uint8_t from, const wme_message *m)
{
    wme_stub *stub = s.stub;
    if (m->executed > stub->known[from])
        stub->known[from] = m->executed;
    wme_log_cut(stub, wme_stable(stub, s.node));
    if (m->sn == stub->now.sn + 1) {
        stub->early_acks |= wme_bit(from);
    } else if (m->sn == stub->now.op_sn && m->sn == stub->now.sn) {
        stub->acks |= wme_bit(from);
        if (wme_is_open(stub))
            commit_if_acknowledged(s);
        else if (m->again) {
            wme_message done = {.kind = WME_DOINVOKE, .epoch = m->epoch, .sn = m->sn};
            wme_out_send(s.out, wme_bit(from), &done);
        }
    }
}

/* ---- the token ---- */

/* Errata 23, 24: what is granted may be an older request than the one waited for, or none. */
static void accept_granted(step s, uint8_t to, uint64_t request, uint64_t entry)
{
    wme_stub *stub = s.stub;
    wme_record *now = &stub->now;
    wme_execute_open(s);
    now->sn++; /* nobody has acknowledged it early: it is no operation */
    if (now->granted[to] < request)
        now->granted[to] = request;
    if (now->asked[to] <= request)
        wme_queue_remove(now, to);
    now->owner = to;
    now->entry = entry;
    if (to == s.node->me) {
        wme_serve(s);
        return;
    }
    stub->overtaking = 0;
    if (stub->state != WME_REQUESTING)
        stub->state = WME_IDLE;
    wme_ask(s);
}

void wme_grant(step s, uint8_t to, uint64_t request)
{
    wme_message m = {.kind = WME_GRANTED,
                     .epoch = s.stub->now.epoch,
                     .sn = s.stub->now.sn + 1,
                     .to = to,
                     .request = request,
                     .entry = s.stub->now.entry};
    assert(s.stub->now.owner == s.node->me && !s.stub->blocked && !wme_is_open(s.stub));
    wme_out_send(s.out, wme_others(s.node), &m);
    accept_granted(s, to, request, m.entry);
}

static void receive_request(step s, uint8_t from, uint64_t request)
{
    if (s.stub->now.granted[from] >= request)
        return;
    wme_queue_add(&s.stub->now, from, request);
    if (s.stub->state == WME_TOKEN_HELD)
        wme_serve(s);
}

/* ---- messages ---- */

void wme_accept(step s, uint8_t from, const wme_early *m)
{
    wme_stub *stub = s.stub;
    if (m->kind == WME_DOINVOKE) {
        if (m->sn == stub->now.sn && m->sn == stub->now.op_sn)
            wme_commit(s);
        return;
    }
    if (m->kind == WME_REQUEST) {
        receive_request(s, from, m->request);
        return;
    }
    if (m->sn <= stub->now.sn)
        return;
    if (from != stub->now.owner || from == s.node->me) {
        s.node->refused[WME_NOT_THE_OWNER]++;
        return;
    }
    if (m->kind == WME_INVOKE)
        receive_invoke(s, m);
    else if (m->entry < stub->now.entry) /* the fencing number never goes back */
        s.node->refused[WME_MALFORMED]++;
    else
        accept_granted(s, m->to, m->request, m->entry);
}

static void receive_now(step s, uint8_t from, const wme_message *m)
{
    wme_early short_form = {m->kind,    from,     m->to,     m->epoch, m->sn,
                            m->request, m->entry, m->stable, m->op};
    bool slot = m->kind == WME_GRANTED || m->kind == WME_INVOKE;
    if (m->kind == WME_ACK)
        receive_ack(s, from, m);
    else if (m->kind != WME_REQUEST && m->sn > s.stub->now.sn + (slot ? 1 : 0))
        wme_keep_early(s.stub, from, m);
    else
        wme_accept(s, from, &short_form);
    wme_take_early(s);
    wme_watch(s);
}

void wme_receive(wme_stub *stub, wme_node *node, uint8_t from, const wme_message *m, wme_out *out)
{
    step s = {stub, node, out};
    wme_refusal why = wme_check(node, from, m);
    if (why == WME_FINE && m->kind > WME_HERE)
        why = WME_MALFORMED;
    if (why != WME_FINE) {
        node->refused[why]++;
        return;
    }
    if (stub->away != 0) {
        wme_receive_away(s, from, m);
        return;
    }
    if (m->kind == WME_WHERE) {
        wme_receive_where(s, from, m);
        return;
    }
    stub->others_away &= (uint16_t)~wme_bit(from);
    if (m->kind == WME_NEWEP)
        stub->known[from] = m->executed;
    if (m->kind == WME_STATE) {
        wme_receive_state(s, from, m);
    } else if (m->kind == WME_SYNC) {
        wme_receive_sync(s, from, m);
    } else if (m->epoch != stub->now.epoch) {
        if (m->epoch > stub->now.epoch && m->kind != WME_NEWEP)
            wme_keep_early(stub, from, m);
        if (m->kind != WME_ACK && m->kind != WME_DOINVOKE)
            wme_other_epoch(stub, node, from, m->epoch, out);
    } else if (m->kind == WME_NEWEP) {
        wme_block(s);
        wme_gather(s, from, m);
    } else if (!stub->blocked) {
        receive_now(s, from, m);
    }
}

/* ---- time, beginning and end ---- */

void wme_tick(wme_stub *stub, wme_node *node, wme_out *out)
{
    step s = {stub, node, out};
    if (stub->away != 0) {
        wme_ask_where(s);
        return;
    }
    wme_watch(s);
    if (stub->blocked) {
        wme_send_newep(s);
        return;
    }
    if (stub->state == WME_REQUESTING) {
        wme_message m = {.kind = WME_REQUEST, .epoch = stub->now.epoch, .request = stub->request};
        wme_out_send(out, wme_others(node), &m);
    }
    if (wme_is_open(stub))
        wme_acknowledge(s, true);
    wme_send_sync(s, wme_others(node)); /* who has missed an INVOKE gets it by this */
}

void wme_start(wme_stub *stub, const wme_node *node, uint8_t first_owner)
{
    assert(node->nodes >= 1 && node->nodes <= WME_MAX_NODES && first_owner < node->nodes);
    memset(stub, 0, sizeof *stub);
    stub->now.epoch = 1;
    stub->now.owner = first_owner;
    stub->log_from = 1;
    stub->state = first_owner == node->me ? WME_TOKEN_HELD : WME_IDLE;
}

void wme_restart(wme_stub *stub, wme_node *node, const wme_record *durable, uint64_t executed,
                 wme_out *out)
{
    step s = {stub, node, out};
    memset(stub, 0, sizeof *stub);
    assert(executed <= durable->ops && durable->ops - executed <= 1);
    wme_record_set(&stub->now, durable);
    stub->executed = executed;
    stub->known[node->me] = executed;
    stub->log_from = executed + 1;
    if (wme_is_open(stub))
        wme_log_add(stub, stub->now.last);
    stub->request = stub->now.granted[node->me];
    if (stub->now.asked[node->me] > stub->request)
        stub->request = stub->now.asked[node->me];
    wme_block(s);
}

bool wme_may_rest(const wme_stub *stub, const wme_node *node)
{
    bool quiet = stub->state == WME_IDLE || stub->state == WME_TOKEN_HELD; /* so nobody waits */
    return quiet && !stub->blocked && !stub->suspended && !wme_is_open(stub) &&
           stub->now.queued == 0 && stub->request <= stub->now.granted[node->me];
}

bool wme_waits(const wme_stub *stub)
{
    return stub->away != 0 || stub->blocked || stub->state == WME_REQUESTING || wme_is_open(stub) ||
           wme_has_early(stub);
}

bool wme_may_sleep_on(const wme_record *now, uint64_t executed, const wme_message *sync)
{
    return sync->epoch == now->epoch && sync->sn == now->sn && sync->executed == executed &&
           executed == now->ops; /* else the owner waits for an acknowledgement */
}

void wme_wake(wme_stub *stub, const wme_node *node, const wme_record *now, uint64_t executed)
{
    wme_start(stub, node, now->owner);
    wme_record_set(&stub->now, now);
    stub->executed = stub->known[node->me] = executed;
    stub->log_from = executed + 1;
    stub->request = now->granted[node->me];
}

void wme_end(wme_stub *stub)
{
    wme_op_drop(stub->issued);
    wme_op_drop(stub->now.last);
    wme_forget_best(stub);
    wme_log_clear(stub);
    wme_forget_early(stub);
    memset(stub, 0, sizeof *stub);
}
