/*
 * The users of a stub, and who is next when the token is here: the try and exit of figure 1, and
 * beyond it many users at one node. They enter one after the other without a message, but not more
 * than WME_MAX_OVERTAKING of them while another node waits for the token.
 */
#include "internal.h"

void wme_tell(step s, wme_verb what, wme_user *user)
{
    wme_action a = {.verb = what, .user = user};
    if (user == NULL)
        return;
    if (what == WME_CRIT || what == WME_KEPT)
        a.token = user->token;
    else
        user->phase = WME_OUT;
    wme_out_append(s.out, &a);
}

/* ---- the queue of those who wait here ---- */

static void add(wme_stub *stub, wme_user *user)
{
    user->phase = WME_WAITING;
    user->next = NULL;
    user->previous = stub->last;
    *(stub->last != NULL ? &stub->last->next : &stub->first) = user;
    stub->last = user;
}

static void add_first(wme_stub *stub, wme_user *user)
{
    user->phase = WME_WAITING;
    user->previous = NULL;
    user->next = stub->first;
    *(stub->first != NULL ? &stub->first->previous : &stub->last) = user;
    stub->first = user;
}

static void take_out(wme_stub *stub, wme_user *user)
{
    *(user->previous != NULL ? &user->previous->next : &stub->first) = user->next;
    *(user->next != NULL ? &user->next->previous : &stub->last) = user->previous;
    user->next = user->previous = NULL;
    user->phase = WME_OUT;
}

static void give_token(step s, wme_verb what)
{
    wme_user *user = s.stub->inside;
    user->token = s.stub->now.epoch << WME_ENTRY_BITS | ++s.stub->now.entry;
    wme_tell(s, what, user);
}

static void let_in(step s)
{
    wme_user *user = s.stub->first;
    take_out(s.stub, user);
    user->phase = WME_INSIDE;
    s.stub->inside = user;
    s.stub->state = WME_CS_IDLE;
    give_token(s, WME_CRIT);
}

/* It counts as the first stay of the epoch: so nobody else does, and it can resume from there. */
void wme_keep_inside(step s)
{
    if (s.stub->inside != NULL)
        give_token(s, WME_KEPT);
}

/* ---- users that resume ---- */

static uint64_t epoch_of(uint64_t token)
{
    return token >> WME_ENTRY_BITS;
}

/*
 * In the epoch of the section nobody came after it: its node kept the token, and let nobody in. In
 * the next nobody has entered. What was in between if there is more in between, nobody can tell.
 */
static bool may_resume(const wme_record *now, const wme_user *user)
{
    return now->epoch == epoch_of(user->resumes) + 1 && now->entry == 0;
}

/* Others may have been inside since, or its node has let it go: as far as is known already. */
static bool is_over(const wme_record *now, uint64_t token)
{
    uint64_t epoch = epoch_of(token);
    if (now->epoch == epoch)
        return now->entry > (token & WME_LAST_NUMBER);
    return now->epoch > epoch + 1 || (now->epoch == epoch + 1 && now->entry > 0);
}

/* Who may not resume when it is its turn will never be let in: the next one's turn comes. */
static void eject_late(step s)
{
    for (wme_user *user = s.stub->first; user != NULL && user->resumes != 0; user = s.stub->first) {
        if (s.stub->suspended || may_resume(&s.stub->now, user))
            return;
        take_out(s.stub, user);
        wme_tell(s, WME_EJECTED, user);
    }
}

static int count_resuming(const wme_stub *stub)
{
    int count = 0;
    for (const wme_user *user = stub->first; user != NULL && user->resumes != 0; user = user->next)
        count++;
    return count;
}

/* ---- the token is here ---- */

void wme_serve(step s)
{
    wme_stub *stub = s.stub;
    eject_late(s);
    /* It asks for the token, but was granted an older request: others may have asked before. */
    bool asks = stub->state == WME_REQUESTING && stub->first != NULL &&
                stub->now.granted[s.node->me] < stub->request;
    uint8_t next;
    assert(stub->now.owner == s.node->me && !stub->blocked && stub->inside == NULL);
    if (!asks)
        stub->state = WME_TOKEN_HELD; /* what it asked for it has, whoever is served now */
    if (stub->now.entry == WME_LAST_NUMBER || stub->now.sn == WME_LAST_NUMBER) {
        wme_block(s);
        return;
    }
    /* Who is doubted would be ejected before long, and all would wait for that. */
    while (!stub->suspended && wme_queue_first(&stub->now, wme_doubted(s), &next)) {
        if (next == s.node->me) {
            if (asks) {
                wme_grant(s, next, stub->now.asked[next]);
                return;
            }
            wme_queue_remove(&stub->now, next); /* nobody here wants it any more */
        } else if (asks || stub->first == NULL || stub->overtaking == WME_MAX_OVERTAKING) {
            wme_grant(s, next, stub->now.asked[next]);
            return;
        } else {
            stub->overtaking++;
            break;
        }
    }
    stub->state = WME_TOKEN_HELD;
    if (stub->first != NULL && !stub->suspended)
        let_in(s);
}

void wme_ask(step s)
{
    wme_stub *stub = s.stub;
    uint8_t me = s.node->me;
    if (stub->first == NULL || stub->state != WME_IDLE)
        return;
    uint64_t granted = stub->now.granted[me];
    stub->request = (stub->request > granted ? stub->request : granted) + 1;
    stub->state = WME_REQUESTING;
    wme_queue_add(&stub->now, me, stub->request);
    wme_message m = {.kind = WME_REQUEST, .epoch = stub->now.epoch, .request = stub->request};
    wme_out_send(s.out, wme_others(s.node), &m);
}

void wme_ask_again(step s)
{
    wme_stub *stub = s.stub;
    uint8_t me = s.node->me;
    bool queued = wme_queue_place(&stub->now, me) < stub->now.queued;
    if (stub->state != WME_REQUESTING ||
        (queued && stub->now.asked[me] == stub->request && stub->now.granted[me] < stub->request))
        return;
    stub->state = WME_IDLE;
    wme_ask(s);
}

void wme_depart(step s)
{
    wme_user *user = s.stub->inside;
    s.stub->leaves = false;
    s.stub->inside = NULL;
    wme_tell(s, WME_REM, user);
    wme_serve(s);
}

/* ---- what users say. While the stub is blocked it waits for the end of the epoch change ---- */

static wme_refusal refuse(wme_node *node, wme_refusal why)
{
    node->refused[why]++;
    return why;
}

static void want_in(step s)
{
    if (s.stub->blocked)
        return;
    if (s.stub->state == WME_TOKEN_HELD)
        wme_serve(s);
    else
        wme_ask(s);
}

wme_refusal wme_try(wme_stub *stub, wme_node *node, wme_user *user, wme_out *out)
{
    if (user->phase != WME_OUT)
        return refuse(node, WME_TWICE);
    user->resumes = 0;
    add(stub, user);
    want_in((step){stub, node, out});
    return WME_FINE;
}

wme_refusal wme_resume(wme_stub *stub, wme_node *node, wme_user *user, uint64_t token, wme_out *out)
{
    if (user->phase != WME_OUT)
        return refuse(node, WME_TWICE);
    step s = {stub, node, out};
    /* Who is inside here, in an epoch before that of the token, is not any more, and will hear. */
    bool taken = stub->inside != NULL && epoch_of(token) <= stub->now.epoch;
    if (epoch_of(token) == 0 || taken || is_over(&stub->now, token) ||
        count_resuming(stub) == WME_MAX_RESUMING) {
        wme_tell(s, WME_EJECTED, user);
        return WME_FINE;
    }
    user->resumes = token;
    add_first(stub, user);
    want_in(s);
    return WME_FINE;
}

wme_refusal wme_issue(wme_stub *stub, wme_node *node, wme_user *user, wme_op *op, wme_out *out)
{
    step s = {stub, node, out};
    if (stub->inside != user || stub->state != WME_CS_IDLE || stub->leaves)
        return refuse(node, WME_NOT_INSIDE);
    if (op->bytes > WME_MAX_OP)
        return refuse(node, WME_OVERSIZED);
    op->id = 0;
    op->origin = node->me;
    stub->issued = wme_op_keep(op);
    stub->state = WME_CS_ISSUING;
    if (stub->now.sn == WME_LAST_NUMBER)
        wme_block(s); /* it is invoked in the next epoch */
    else if (!stub->blocked)
        wme_invoke(s);
    return WME_FINE;
}

wme_refusal wme_exit(wme_stub *stub, wme_node *node, wme_user *user, wme_out *out)
{
    step s = {stub, node, out};
    if (stub->inside != user || stub->state != WME_CS_IDLE || stub->leaves)
        return refuse(node, WME_NOT_INSIDE);
    stub->leaves = true;
    if (!stub->blocked)
        wme_depart(s);
    return WME_FINE;
}

void wme_leave(wme_stub *stub, wme_node *node, wme_user *user, wme_out *out)
{
    step s = {stub, node, out};
    if (user->phase == WME_WAITING)
        take_out(stub, user);
    if (user->phase != WME_INSIDE)
        return;
    assert(stub->inside == user);
    user->phase = WME_OUT;
    stub->inside = NULL;
    stub->leaves = true; /* what it has issued goes its way first */
    if (!stub->blocked && stub->state == WME_CS_IDLE)
        wme_depart(s);
}

void wme_revoke(wme_stub *stub, wme_node *node, wme_user *user, wme_out *out)
{
    if (user->phase == WME_INSIDE)
        wme_block((step){stub, node, out});
    wme_leave(stub, node, user, out);
}

/* To whoever gets it this is a grant of something it had before, and did not use: erratum 24. */
bool wme_yield(wme_stub *stub, wme_node *node, uint8_t to, wme_out *out)
{
    step s = {stub, node, out};
    if (stub->blocked || stub->suspended || stub->state != WME_TOKEN_HELD || to >= node->nodes ||
        to == node->me || wme_doubts(s, to) || stub->now.sn == WME_LAST_NUMBER)
        return false;
    wme_grant(s, to, stub->now.granted[to]);
    return true;
}
