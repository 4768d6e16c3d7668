#include "wme_sound.h"

static const char *unsound_record(const wme_record *r, const wme_node *node)
{
    uint16_t seen = 0;
    if (r->owner >= node->nodes)
        return "the owner is no node";
    if (r->queued > node->nodes)
        return "the queue is too long";
    for (uint8_t i = 0; i < r->queued; i++) {
        if (r->queue[i] >= node->nodes || (seen >> r->queue[i] & 1) != 0)
            return "a node is twice in the queue, or none";
        seen |= (uint16_t)(1U << r->queue[i]);
    }
    if (r->op_sn > r->sn)
        return "the last operation has a slot that was not made yet";
    if (r->op_sn != 0 && r->last == NULL)
        return "the last operation is not there";
    return NULL;
}

static const char *unsound_log(const wme_stub *stub)
{
    if (stub->executed != stub->now.ops && stub->executed + 1 != stub->now.ops)
        return "more than one operation is open";
    if (stub->executed != stub->now.ops && stub->now.last == NULL)
        return "the open operation is not there";
    if (stub->log_from == 0 || stub->log_from > stub->executed + 1)
        return "the log begins after what is executed";
    if (stub->now.ops + 1 - stub->log_from > WME_MAX_LOG)
        return "the log is too long";
    for (uint64_t k = stub->log_from; k <= stub->now.ops; k++)
        if (stub->log[k % WME_MAX_LOG] == NULL || stub->log[k % WME_MAX_LOG]->holders == 0)
            return "an operation of the log is gone";
    if (stub->executed != stub->now.ops && stub->log[stub->now.ops % WME_MAX_LOG] != stub->now.last)
        return "the open operation is not the last of the log";
    return NULL;
}

static const char *unsound_users(const wme_stub *stub)
{
    const wme_user *before = NULL;
    for (const wme_user *u = stub->first; u != NULL; before = u, u = u->next)
        if (u->phase != WME_WAITING || u->previous != before || u == stub->inside)
            return "the queue of users is not one";
    for (const wme_user *u = stub->first; u != NULL && u->next != NULL; u = u->next)
        if (u->resumes == 0 && u->next->resumes != 0)
            return "who resumes is not before who does not";
    if (stub->last != before)
        return "the queue of users has another end";
    if (stub->inside != NULL && stub->inside->phase != WME_INSIDE)
        return "who is inside does not know it";
    return NULL;
}

/* Else it waits for others, though it has all that it needs, and says so again and again. */
static bool has_idle_room(const wme_stub *stub)
{
    if (stub->early == NULL || stub->blocked)
        return false;
    for (int i = 0; i < WME_MAX_EARLY; i++)
        if (stub->early[i].epoch != 0)
            return false;
    return true;
}

const char *wme_unsound(const wme_stub *stub, const wme_node *node)
{
    bool mine = stub->now.owner == node->me;
    bool in_section = stub->state == WME_CS_IDLE || stub->state == WME_CS_ISSUING;
    const char *why = unsound_record(&stub->now, node);
    why = why != NULL ? why : unsound_log(stub);
    why = why != NULL ? why : unsound_users(stub);
    if (why != NULL)
        return why;
    if (has_idle_room(stub))
        return "there is room for early messages, and none has come";
    if ((in_section || stub->state == WME_TOKEN_HELD) && !mine)
        return "the token is used by a node that does not own it";
    if (stub->inside != NULL && !in_section)
        return "a user is inside, and the state says nobody is";
    if (in_section && stub->inside == NULL && !stub->leaves)
        return "nobody is inside, and the state says somebody is";
    if ((stub->state == WME_CS_ISSUING) != (stub->issued != NULL))
        return "an operation is issued, or the state says so, but not both";
    if (mine && !stub->blocked && (stub->state == WME_IDLE || stub->state == WME_REQUESTING))
        return "the owner does not know that it is";
    if (mine && !stub->blocked && stub->executed != stub->now.ops && stub->state != WME_CS_ISSUING)
        return "an operation is open at the owner, and nobody has issued it";
    if (stub->state == WME_CS_ISSUING && !stub->blocked && stub->executed == stub->now.ops)
        return "an operation is issued, and none is open";
    if (stub->leaves && !stub->blocked && stub->state != WME_CS_ISSUING)
        return "a user was let go, and is still inside";
    if (!mine && !stub->blocked && stub->state == WME_IDLE && stub->first != NULL)
        return "users wait, and the token is not asked for";
    if (stub->state == WME_REQUESTING && !stub->blocked) {
        if (stub->now.granted[node->me] >= stub->request)
            return "the token is asked for with a number that was granted";
        uint8_t at = 0;
        while (at < stub->now.queued && stub->now.queue[at] != node->me)
            at++;
        if (at == stub->now.queued)
            return "the token is asked for, and the node is not in its own queue";
    }
    if (stub->away != 0 && (!stub->blocked || stub->proposed || stub->now.epoch != 0))
        return "it has lost what it knew, and takes part";
    if (stub->blocked && stub->gathered == 0 && stub->away == 0)
        return "blocked, and the own record was not counted";
    if (!stub->blocked && (stub->gathered != 0 || stub->proposed || stub->best != NULL))
        return "not blocked, and records are kept";
    return NULL;
}
