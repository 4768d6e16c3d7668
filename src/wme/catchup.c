/*
 * Catching up: how a node that was cut off, paused or restarted gets what it missed. Who hears that
 * another is behind sends it the state of the lock, with the operations that lead there if they are
 * still in its log, or else with the resource as a whole. And the other way: messages that come
 * before their time are kept for a while (erratum 26).
 */
#include "internal.h"

/* ---- the log ---- */

void wme_log_add(wme_stub *stub, wme_op *op)
{
    uint64_t number = stub->now.ops;
    if (stub->log == NULL)
        stub->log = wme_room(WME_MAX_LOG, sizeof(wme_op *));
    if (number - stub->log_from == WME_MAX_LOG)
        wme_op_drop(stub->log[stub->log_from++ % WME_MAX_LOG]);
    assert(number >= stub->log_from && number - stub->log_from < WME_MAX_LOG);
    stub->log[number % WME_MAX_LOG] = wme_op_keep(op);
}

void wme_log_drop_last(wme_stub *stub)
{
    uint64_t number = stub->now.ops;
    assert(number >= stub->log_from && number > stub->executed);
    wme_op_drop(stub->log[number % WME_MAX_LOG]);
    wme_op_drop(stub->now.last);
    stub->now.last = NULL;
}

static void free_log(wme_stub *stub)
{
    free(stub->log);
    stub->log = NULL;
}

void wme_log_cut(wme_stub *stub, uint64_t stable)
{
    while (stub->log_from <= stable && stub->log_from <= stub->executed)
        wme_op_drop(stub->log[stub->log_from++ % WME_MAX_LOG]);
    if (stub->log_from > stub->now.ops)
        free_log(stub);
}

void wme_log_clear(wme_stub *stub)
{
    for (; stub->log_from <= stub->now.ops; stub->log_from++)
        wme_op_drop(stub->log[stub->log_from % WME_MAX_LOG]);
    free_log(stub);
}

uint64_t wme_stable(const wme_stub *stub, const wme_node *node)
{
    uint64_t least = stub->executed;
    for (uint8_t i = 0; i < node->nodes; i++)
        if (i != node->me && stub->known[i] < least)
            least = stub->known[i];
    return least;
}

/* ---- messages that come early ---- */

static void forget(wme_early *e)
{
    wme_op_drop(e->op);
    *e = (wme_early){0};
}

void wme_forget_early(wme_stub *stub)
{
    for (int i = 0; stub->early != NULL && i < WME_MAX_EARLY; i++)
        forget(&stub->early[i]);
    free(stub->early);
    stub->early = NULL;
}

bool wme_has_early(const wme_stub *stub)
{
    for (int i = 0; stub->early != NULL && i < WME_MAX_EARLY; i++)
        if (stub->early[i].epoch != 0)
            return true;
    return false;
}

void wme_keep_early(wme_stub *stub, uint8_t from, const wme_message *m)
{
    if (m->kind == WME_ACK)
        return; /* it is repeated if it matters */
    if (stub->early == NULL)
        stub->early = wme_room(WME_MAX_EARLY, sizeof(wme_early));
    wme_early *e = &stub->early[stub->next_early];
    stub->next_early = (uint8_t)((stub->next_early + 1) % WME_MAX_EARLY);
    forget(e); /* the oldest: what is lost here is found out by SYNC */
    *e = (wme_early){m->kind,    from,     m->to,     m->epoch,          m->sn,
                     m->request, m->entry, m->stable, wme_op_keep(m->op)};
}

static bool its_time(const wme_stub *stub, const wme_early *e)
{
    if (e->epoch != stub->now.epoch)
        return false;
    if (e->kind == WME_GRANTED || e->kind == WME_INVOKE)
        return e->sn == stub->now.sn + 1;
    return e->kind == WME_REQUEST || e->sn == stub->now.sn;
}

static bool too_late(const wme_stub *stub, const wme_early *e)
{
    return e->epoch < stub->now.epoch ||
           (e->epoch == stub->now.epoch && e->kind != WME_REQUEST && e->sn < stub->now.sn);
}

void wme_take_early(step s)
{
    wme_stub *stub = s.stub;
    for (int i = 0; i < WME_MAX_EARLY && !stub->blocked && stub->early != NULL;) {
        wme_early e = stub->early[i];
        if (e.epoch != 0 && its_time(stub, &e)) {
            stub->early[i] = (wme_early){0};
            wme_accept(s, e.from, &e);
            wme_op_drop(e.op);
            i = 0; /* others may have become due */
        } else {
            if (e.epoch != 0 && too_late(stub, &e))
                forget(&stub->early[i]);
            i++;
        }
    }
    if (!wme_has_early(stub))
        wme_forget_early(stub);
}

/* ---- who is behind ---- */

void wme_send_sync(step s, uint16_t to)
{
    wme_message m = {.kind = WME_SYNC,
                     .epoch = s.stub->now.epoch,
                     .sn = s.stub->now.sn,
                     .executed = s.stub->executed};
    if (s.stub->away == 0) /* else it asks WHERE */
        wme_out_send(s.out, to, &m);
}

void wme_send_state(step s, uint8_t to)
{
    wme_stub *stub = s.stub;
    wme_message m = {.kind = WME_STATE,
                     .epoch = stub->now.epoch,
                     .executed = stub->executed,
                     .record = stub->now};
    uint64_t has = stub->known[to];
    if (has + 1 >= stub->log_from) {
        for (uint64_t k = has + 1; k <= stub->executed; k++)
            m.ops[m.count++] = stub->log[k % WME_MAX_LOG];
    } else {
        m.snapshot = true;
    }
    wme_out_send(s.out, wme_bit(to), &m);
}

void wme_other_epoch(wme_stub *stub, wme_node *node, uint8_t from, uint64_t epoch, wme_out *out)
{
    step s = {stub, node, out};
    if (epoch < stub->now.epoch)
        wme_send_state(s, from);
    else if (epoch > stub->now.epoch)
        wme_send_sync(s, wme_bit(from));
}

void wme_receive_sync(step s, uint8_t from, const wme_message *m)
{
    wme_stub *stub = s.stub;
    stub->known[from] = m->executed; /* less than before if it comes back from a crash */
    wme_log_cut(stub, wme_stable(stub, s.node));
    if (m->epoch < stub->now.epoch || (m->epoch == stub->now.epoch && m->sn < stub->now.sn)) {
        wme_send_state(s, from);
    } else if (m->epoch > stub->now.epoch ||
               (m->epoch == stub->now.epoch && m->sn > stub->now.sn && !stub->blocked)) {
        wme_send_sync(s, wme_bit(from));
    } else if (m->executed > stub->executed && m->sn == stub->now.sn && !stub->blocked) {
        wme_commit(s); /* who has executed it has seen a majority */
    } else if (m->executed < stub->executed && m->sn == stub->now.op_sn) {
        wme_message done = {.kind = WME_DOINVOKE, .epoch = m->epoch, .sn = m->sn};
        wme_out_send(s.out, wme_bit(from), &done);
    }
}

/* ---- catching up ---- */

/* Errata 17: what was accepted here and is not in the state is forgotten, not executed. */
static void forget_open(wme_stub *stub)
{
    if (!wme_is_open(stub))
        return;
    wme_log_drop_last(stub);
    stub->now.ops--;
}

static void install(step s, const wme_message *m)
{
    wme_stub *stub = s.stub;
    wme_action a = {.verb = WME_INSTALL, .message = *m};
    wme_log_clear(stub);
    stub->executed = stub->now.ops = m->executed;
    stub->known[s.node->me] = m->executed;
    stub->log_from = m->executed + 1;
    wme_out_append(s.out, &a);
    if (stub->state != WME_CS_ISSUING || stub->issued->id == 0 ||
        m->answered[s.node->me] != stub->issued->id)
        return;
    a = (wme_action){.verb = WME_RECALL, .user = stub->inside, .op = stub->issued};
    if (stub->inside != NULL)
        wme_out_append(s.out, &a);
    wme_op_drop(stub->issued);
    stub->issued = NULL;
    stub->state = WME_CS_IDLE;
}

/* Brings the resource to m->executed; false if the message has not all that is missing. */
static bool catch_up(step s, const wme_message *m)
{
    wme_stub *stub = s.stub;
    if (m->executed <= stub->executed)
        return m->executed == stub->executed;
    if (!m->snapshot && m->executed - m->count > stub->executed)
        return false;
    forget_open(stub);
    if (m->snapshot)
        install(s, m);
    while (stub->executed < m->executed) {
        wme_op *op = m->ops[m->count - (m->executed - stub->executed)];
        stub->now.ops++;
        wme_log_add(stub, op);
        wme_execute_next(s, op);
    }
    return true;
}

/* Those who ask here and are not in the queue that came. */
static void merge_queue(wme_record *into, const wme_record *from)
{
    for (uint8_t i = 0; i < from->queued; i++) {
        uint8_t node = from->queue[i];
        if (from->asked[node] > into->granted[node])
            wme_queue_add(into, node, from->asked[node]);
    }
}

/* Whether the state is ahead of this node, and can be true. */
static bool may_adopt(step s, const wme_message *m)
{
    const wme_record *now = &s.stub->now;
    if (m->epoch != now->epoch)
        return m->epoch > now->epoch;
    if (s.stub->blocked || m->record.sn <= now->sn)
        return false;
    if (now->owner == s.node->me) /* only this node makes slots now */
        s.node->refused[WME_NOT_THE_OWNER]++;
    else if (m->record.entry < now->entry) /* the fencing number never goes back */
        s.node->refused[WME_MALFORMED]++;
    else
        return true;
    return false;
}

/* The resource has executed what the state says. The last operation may be open, as it is there. */
static void adopt(step s, const wme_record *state)
{
    wme_stub *stub = s.stub;
    forget_open(stub);
    wme_record_set(&stub->now, state);
    stub->early_acks = 0;
    wme_out_persist(s.out);
    if (!wme_is_open(stub))
        return;
    wme_log_add(stub, stub->now.last);
    stub->acks = wme_bit(s.node->me) | (s.node->ack_all ? wme_bit(state->owner) : 0);
    wme_acknowledge(s, false);
}

void wme_receive_state(step s, uint8_t from, const wme_message *m)
{
    wme_stub *stub = s.stub;
    bool new_epoch = m->epoch > stub->now.epoch;
    wme_record state = m->record;
    if (!may_adopt(s, m))
        return;
    if (!new_epoch) {
        wme_execute_open(s); /* a later slot was made: it is acknowledged by a majority */
        merge_queue(&state, &stub->now);
    }
    if (!catch_up(s, m)) {
        wme_send_sync(s, wme_bit(from));
        return;
    }
    stub->away = 0; /* from here on it counts */
    adopt(s, &state);
    if (new_epoch) {
        wme_eject(s); /* others may have been inside in between */
        wme_settle(s);
    } else if (state.owner == s.node->me) {
        wme_serve(s);
    } else {
        wme_ask_again(s);
    }
    wme_take_early(s);
    wme_watch(s);
}
