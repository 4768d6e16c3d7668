/*
 * What users and stubs say to each other: well-formedness, the order of sections (WME1, WME2),
 * outcomes and ejections. Tokens are taken for the order of the sections; so they must be unique,
 * and larger than those of all sections that ended before this one was tried for.
 *
 * One kind of section is out of that order: a node that has not heard yet that it lost the token
 * lets a user in, after others were in with larger tokens. Such a section is stale. The paper asks
 * for some order; as long as nothing is executed for it, it can stand where real time has it.
 */
#include "history_parts.h"

#include <assert.h>
#include <inttypes.h>

/* What is said to or by somebody who must be in that place; NULL: it is not, or all is known. */
static person *somebody(history *h, uint32_t user, whereabouts must_be, const char *event,
                        uint64_t at)
{
    static const char *const where[] = {
        [OUTSIDE] = "is outside",
        [WAITING] = "waits to enter",
        [INSIDE] = "is inside",
        [LEAVING] = "waits for the answer to its exit",
    };
    assert(user < h->users);
    if (!history_goes_on(h, at))
        return NULL;
    person *who = &h->person[user];
    if (who->at == must_be) {
        history_held(h, HISTORY_WELL_FORMED);
        return who;
    }
    history_break(h, HISTORY_WELL_FORMED, at, "%s of user %" PRIu32 ", which %s", event, user,
                  where[who->at]);
    return NULL;
}

/* Its operation has to have had its answer. */
static bool is_answered(history *h, uint32_t user, const char *event, uint64_t at)
{
    const person *who = &h->person[user];
    if (who->pending == NO_OPERATION)
        return true;
    history_break(h, HISTORY_WELL_FORMED, at,
                  "%s of user %" PRIu32 ", whose operation %" PRIu64 " has no answer", event, user,
                  h->operation[who->pending].key);
    return false;
}

/* After each event: how long has everybody waited in vain? */
static void watch_for_stalls(history *h, bool progress, uint64_t at)
{
    bool wants = false;
    bool idle = false;
    for (uint32_t i = 0; i < h->users; i++) {
        const person *p = &h->person[i];
        bool answered = p->at == INSIDE && p->pending == NO_OPERATION;
        idle |= answered;
        wants |= p->at != OUTSIDE && !answered;
    }
    if (progress && h->stalls && at - h->stalled_since > h->counts.longest_stall)
        h->counts.longest_stall = at - h->stalled_since;
    if (progress || !h->stalls)
        h->stalled_since = at;
    h->stalls = wants && !idle;
}

static void section_ends(history *h, person *who)
{
    if (who->token > h->last_ended)
        h->last_ended = who->token;
    who->at = OUTSIDE;
    who->pending = NO_OPERATION;
}

static void wait_begins(history *h, uint32_t user, uint32_t node, uint64_t resumes, uint64_t at)
{
    assert(node < h->nodes);
    person *who = somebody(h, user, OUTSIDE, resumes == 0 ? "try" : "resume", at);
    if (who == NULL)
        return;
    h->counts.tries++;
    *who = (person){.at = WAITING,
                    .node = node,
                    .pending = NO_OPERATION,
                    .tried = at,
                    .resumes = resumes,
                    .floor = h->last_ended};
    watch_for_stalls(h, false, at);
}

void history_try(history *h, uint32_t user, uint32_t node, uint64_t at)
{
    wait_begins(h, user, node, 0, at);
}

void history_resume(history *h, uint32_t user, uint32_t node, uint64_t token, uint64_t at)
{
    wait_begins(h, user, node, token, at);
}

/* A token that nobody had before, and that is in no gap. */
static void learn_token(history *h, uint32_t user, uint64_t token, uint64_t at)
{
    const fact *other = facts_learn(&h->tokens, token, 0, 0, user);
    if (other != NULL)
        history_break(h, HISTORY_WME1, at,
                      "token %" PRIu64 " of user %" PRIu32 " was that of user %" PRIu32 " already",
                      token, user, other->who);
    history_held(h, HISTORY_WME1);
    for (size_t i = 0; i < h->gaps; i++)
        if (token > h->gap[i].below && token < h->gap[i].above)
            history_break(h, HISTORY_RESUMED, at,
                          "token %" PRIu64 " of user %" PRIu32 ": section %" PRIu64
                          " was resumed as %" PRIu64,
                          token, user, h->gap[i].below, h->gap[i].above);
    if (token > h->last_token)
        h->last_token = token;
}

static void learn_gap(history *h, uint32_t user, gap between, uint64_t at)
{
    const fact *other = facts_between(&h->tokens, between.below, between.above);
    h->counts.resumed++;
    if (other != NULL || between.below >= between.above)
        history_break(h, HISTORY_RESUMED, at,
                      "user %" PRIu32 " goes on with section %" PRIu64 " as %" PRIu64
                      ", after %" PRIu64,
                      user, between.below, between.above, other != NULL ? other->a : 0);
    history_held(h, HISTORY_RESUMED);
    h->gap = history_grow(h->gap, h->gaps, &h->gap_capacity, sizeof *h->gap);
    h->gap[h->gaps++] = between;
}

void history_crit(history *h, uint32_t user, uint64_t token, uint64_t at)
{
    person *who = somebody(h, user, WAITING, "crit", at);
    if (who == NULL)
        return;
    h->counts.sections++;
    if (at - who->tried > h->counts.longest_wait)
        h->counts.longest_wait = at - who->tried;
    learn_token(h, user, token, at);
    if (who->resumes != 0)
        learn_gap(h, user, (gap){who->resumes, token}, at);
    history_held(h, HISTORY_STARVATION_FREEDOM);
    who->at = INSIDE;
    who->token = token;
    who->stale = token < who->floor;
    if (who->stale)
        h->counts.stale++;
    watch_for_stalls(h, true, at);
}

void history_kept(history *h, uint32_t user, uint64_t token, uint64_t at)
{
    assert(user < h->users);
    if (history_goes_on(h, at) && h->person[user].at == INSIDE)
        learn_token(h, user, token, at);
}

void history_issue(history *h, uint32_t user, uint64_t key, uint64_t at)
{
    person *who = somebody(h, user, INSIDE, "issue", at);
    if (who == NULL || !is_answered(h, user, "issue", at))
        return;
    h->counts.issued++;
    if (key == 0 || facts_learn(&h->keys, key, 0, h->operations, user) != NULL) {
        history_break(h, HISTORY_WELL_FORMED, at,
                      "issue of user %" PRIu32 " with key %" PRIu64 ", %s", user, key,
                      key == 0 ? "which is none" : "which was issued before");
        return;
    }
    h->operation =
        history_grow(h->operation, h->operations, &h->operation_capacity, sizeof *h->operation);
    who->pending = (uint32_t)h->operations;
    h->operation[h->operations++] = (operation){
        .key = key,
        .token = who->token,
        .issued = at,
        .floor = who->floor,
        .stale = who->stale,
        .user = user,
        .fate = PENDING,
        /* A node that has not heard of the last epoch yet may lose its section to that. */
        .quiet = at >= h->quiet_from && h->replica[who->node].epoch == h->last_epoch,
    };
    watch_for_stalls(h, false, at);
}

void history_outcome(history *h, uint32_t user, uint64_t key, uint64_t result, uint64_t at)
{
    person *who = somebody(h, user, INSIDE, "outcome", at);
    if (who == NULL)
        return;
    h->counts.outcomes++;
    if (who->pending == NO_OPERATION || h->operation[who->pending].key != key) {
        history_break(h, HISTORY_WELL_FORMED, at,
                      "outcome of %" PRIu64 " for user %" PRIu32 ", which does not wait for that",
                      key, user);
        return;
    }
    operation *op = &h->operation[who->pending];
    if (op->number == 0)
        history_break(h, HISTORY_OUTCOME, at,
                      "outcome of %" PRIu64 " for user %" PRIu32 ", executed nowhere", key, user);
    else if (h->execution[op->number].result != result)
        history_break(h, HISTORY_OUTCOME, at,
                      "outcome of %" PRIu64 " for user %" PRIu32 " is %" PRIu64
                      ", that of execution %" PRIu64 " was %" PRIu64,
                      key, user, result, op->number, h->execution[op->number].result);
    else if (h->replica[who->node].number < op->number)
        history_break(h, HISTORY_OUTCOME, at,
                      "outcome of %" PRIu64 " for user %" PRIu32 " at node %" PRIu32
                      ", which has not got as far as number %" PRIu64,
                      key, user, who->node, op->number);
    history_held(h, HISTORY_OUTCOME);
    history_held(h, HISTORY_OPERATION_PROGRESS);
    if (op->number > h->last_told)
        h->last_told = op->number;
    op->fate = TOLD;
    who->pending = NO_OPERATION;
    watch_for_stalls(h, true, at);
}

void history_exit(history *h, uint32_t user, uint64_t at)
{
    person *who = somebody(h, user, INSIDE, "exit", at);
    if (who == NULL || !is_answered(h, user, "exit", at))
        return;
    who->at = LEAVING;
    who->left = at;
    watch_for_stalls(h, false, at);
}

void history_rem(history *h, uint32_t user, uint64_t at)
{
    person *who = somebody(h, user, LEAVING, "rem", at);
    if (who == NULL)
        return;
    history_held(h, HISTORY_RELEASE_PROGRESS);
    section_ends(h, who);
    watch_for_stalls(h, true, at);
}

/* It comes too late to resume. */
static bool is_refused(history *h, uint32_t user, uint64_t at)
{
    person *who = &h->person[user];
    if (who->at != WAITING || who->resumes == 0)
        return false;
    if (history_goes_on(h, at))
        who->at = OUTSIDE;
    watch_for_stalls(h, false, at);
    return true;
}

void history_ejected(history *h, uint32_t user, uint64_t at)
{
    assert(user < h->users);
    if (is_refused(h, user, at))
        return;
    person *who = somebody(h, user, INSIDE, "ejected", at);
    if (who == NULL)
        return;
    h->counts.ejected++;
    if (who->pending != NO_OPERATION) {
        operation *op = &h->operation[who->pending];
        op->fate = FAILED;
        if (op->number != 0)
            history_break(h, HISTORY_EJECTED, at,
                          "user %" PRIu32 " is ejected, its operation %" PRIu64
                          " was executed as number %" PRIu64,
                          user, op->key, op->number);
        else if (op->quiet)
            history_break(h, HISTORY_OPERATION_PROGRESS, at,
                          "operation %" PRIu64 " of user %" PRIu32
                          " was issued in the quiet period, at %" PRIu64 ", and ejected",
                          op->key, user, op->issued);
        history_held(h, HISTORY_EJECTED);
        history_held(h, HISTORY_OPERATION_PROGRESS);
    }
    section_ends(h, who);
    watch_for_stalls(h, false, at);
}

void history_gone(history *h, uint32_t user, uint64_t at)
{
    assert(user < h->users);
    if (!history_goes_on(h, at))
        return;
    person *who = &h->person[user];
    if (who->pending != NO_OPERATION)
        h->operation[who->pending].fate = UNHEARD;
    if (who->at == INSIDE || who->at == LEAVING)
        section_ends(h, who);
    who->at = OUTSIDE;
    watch_for_stalls(h, false, at);
}
