/*
 * The epoch change: figure 2 of the wme paper with errata 17 to 31. A node that suspects the owner
 * of the token, or hears that another does, accepts nothing more in this epoch and says how far it
 * is. Who has heard a majority proposes the farthest of these; what consensus decides is where the
 * next epoch begins. An operation that somebody has executed was acknowledged by a majority, so it
 * is in the farthest record of any majority.
 */
#include "internal.h"

void wme_watch(step s)
{
    if (wme_doubts(s, s.stub->now.owner)) /* a level, not an edge: erratum 28 */
        wme_block(s);
}

void wme_send_newep(step s)
{
    const wme_record *now = &s.stub->now;
    wme_message m = {
        .kind = WME_NEWEP, .epoch = now->epoch, .executed = s.stub->executed, .record = *now};
    m.resumes = s.stub->first != NULL && s.stub->first->resumes != 0;
    m.replaces = wme_doubts(s, now->owner);
    if (m.replaces)
        m.record.owner = s.node->me;
    wme_out_send(s.out, wme_others(s.node), &m);
    wme_gather(s, s.node->me, &m);
}

void wme_block(step s)
{
    if (s.stub->blocked)
        return;
    /* Not persisted: a node comes back from a crash blocked, whatever it was before. */
    s.stub->blocked = true;
    wme_send_newep(s);
}

/*
 * Whether its record is farther than the best so far; or, of two that are equally far, the one
 * whose owner is not doubted, and rather the owner itself than who would take its place: else who
 * is inside there, and came back just in time, were ejected for nothing.
 */
static bool better(step s, const wme_message *newep)
{
    const wme_record *a = &newep->record;
    const wme_record *b = s.stub->best;
    if (a->sn != b->sn)
        return a->sn > b->sn;
    return !wme_doubts(s, a->owner) && (wme_doubts(s, b->owner) || !newep->replaces);
}

/*
 * Who takes the place of a suspected owner is nobody's concern; but if somebody waits to resume, it
 * can only as the first, and only in the next epoch. So one who suspects the owner is enough.
 *
 * An epoch that begins with a dead owner is followed by another, and after two nobody can resume.
 * So nothing is proposed yet (false) if the owner has not spoken, whatever the change began with:
 * either it will, since it hears of the change as all do, or before long this node suspects it.
 */
static bool choose_owner(step s)
{
    wme_stub *stub = s.stub;
    uint16_t those = stub->resuming & (uint16_t)~wme_doubted(s);
    if (those != 0 && stub->replaced && !stub->owner_speaks)
        stub->best->owner = (uint8_t)__builtin_ctz(those);
    if ((stub->gathered & wme_bit(stub->best->owner)) != 0)
        return true;
    if (!wme_doubts(s, stub->best->owner))
        return false;
    stub->best->owner = s.node->me;
    return true;
}

void wme_forget_best(wme_stub *stub)
{
    if (stub->best != NULL)
        wme_op_drop(stub->best->last);
    free(stub->best);
    stub->best = NULL;
}

void wme_gather(step s, uint8_t from, const wme_message *newep)
{
    wme_stub *stub = s.stub;
    if (stub->proposed || !stub->blocked)
        return;
    bool first = stub->best == NULL;
    if (first)
        stub->best = wme_room(1, sizeof *stub->best);
    if (first || better(s, newep))
        wme_record_set(stub->best, &newep->record);
    stub->gathered |= wme_bit(from);
    stub->replaced |= newep->replaces;
    stub->owner_speaks |= newep->record.owner == from && !newep->replaces;
    if (newep->resumes)
        stub->resuming |= wme_bit(from);
    if (!wme_in_majority(s.node, stub->gathered) || !choose_owner(s))
        return;
    stub->proposed = true;
    wme_action a = {.verb = WME_PROPOSE, .message = {.record = *stub->best}};
    wme_out_append(s.out, &a);
}

/* ---- the next epoch ---- */

void wme_eject(step s)
{
    wme_stub *stub = s.stub;
    if (stub->state != WME_CS_IDLE && stub->state != WME_CS_ISSUING)
        return;
    wme_user *user = stub->inside;
    bool wished = stub->leaves; /* erratum 29 */
    wme_op_drop(stub->issued);
    stub->issued = NULL;
    stub->inside = NULL;
    stub->leaves = false;
    stub->state = WME_IDLE;
    wme_tell(s, wished ? WME_REM : WME_EJECTED, user);
}

static void settle_as_owner(step s)
{
    wme_stub *stub = s.stub;
    switch (stub->state) {
    case WME_CS_ISSUING:
        wme_keep_inside(s);
        wme_invoke(s);
        break;
    case WME_CS_IDLE:
        if (stub->leaves)
            wme_depart(s);
        else
            wme_keep_inside(s);
        break;
    case WME_REQUESTING: /* elected: its request counts as granted, erratum 23 */
        if (stub->now.granted[s.node->me] < stub->request && stub->first != NULL)
            wme_grant(s, s.node->me, stub->request);
        else
            wme_serve(s);
        break;
    default:
        wme_serve(s); /* erratum 25 */
    }
}

static void settle_as_other(step s)
{
    wme_stub *stub = s.stub;
    wme_eject(s);
    if (stub->state == WME_TOKEN_HELD) /* erratum 19 */
        stub->state = WME_IDLE;
    wme_ask_again(s);
    wme_ask(s);
}

void wme_settle(step s)
{
    wme_stub *stub = s.stub;
    stub->blocked = stub->proposed = false;
    stub->gathered = stub->early_acks = stub->resuming = 0;
    stub->replaced = stub->owner_speaks = false;
    stub->overtaking = 0;
    stub->others_away = 0; /* who still is will say so */
    wme_forget_best(stub);
    if (stub->now.owner == s.node->me)
        settle_as_owner(s);
    else
        settle_as_other(s);
    wme_take_early(s);
    wme_watch(s);
}

/*
 * Executes what the decision says was accepted, and forgets what it does not know (erratum 17).
 * False if operations before its last are missing here.
 */
static bool run_decided(step s, const wme_record *d)
{
    wme_stub *stub = s.stub;
    if (d->ops > stub->now.ops + 1 || (d->ops > stub->now.ops && d->last == NULL))
        return false;
    if (d->ops < stub->executed) {
        s.node->refused[WME_MALFORMED]++;
        return false;
    }
    if (d->ops < stub->now.ops) {
        wme_log_drop_last(stub);
        stub->now.ops--;
        return true;
    }
    wme_execute_open(s);
    if (d->ops > stub->now.ops) {
        stub->now.ops++;
        wme_log_add(stub, d->last);
        wme_execute_next(s, d->last);
    }
    return true;
}

void wme_decided(wme_stub *stub, wme_node *node, const wme_record *decision, wme_out *out)
{
    step s = {stub, node, out};
    if (decision->epoch == WME_MAX_EPOCH) { /* the next one would have no room in a token */
        node->refused[WME_ABSURD_EPOCH]++;
        return;
    }
    if (decision->epoch != stub->now.epoch || !run_decided(s, decision))
        return; /* a peer that has the operations will send them: catchup.c */
    wme_record_set(&stub->now, decision);
    stub->now.epoch++;
    stub->now.sn = stub->now.op_sn = stub->now.entry = 0;
    wme_out_persist(out);
    wme_settle(s);
}

/* ---- suspicions ---- */

void wme_suspicion(wme_stub *stub, wme_node *node, wme_out *out)
{
    step s = {stub, node, out};
    int reached = node->nodes - __builtin_popcount(node->suspected);
    bool suspended = reached < wme_majority(node);
    if (suspended != stub->suspended) {
        wme_action a = {.verb = suspended ? WME_SUSPENDED : WME_RESUMED};
        stub->suspended = suspended;
        wme_out_append(out, &a);
    }
    if (!stub->blocked && stub->state == WME_TOKEN_HELD)
        wme_serve(s); /* somebody may be trusted again */
    if (stub->blocked && stub->away == 0 && !stub->proposed && wme_doubts(s, stub->now.owner))
        wme_send_newep(s); /* it waited for the owner to speak: choose_owner */
    wme_watch(s);
}
