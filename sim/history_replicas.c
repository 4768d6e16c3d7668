/*
 * What replicas and nodes do: one copy of the resource (1CS), operations in the order of their
 * sections (WME3), which is that of real time (WME2), nothing executed that was ejected, one slot
 * for a number, one beginning for an epoch.
 *
 *   execution    0  1  2  3 ... every replica goes along here, one by one or, by an install, at
 *                                once; who is the first at k says which operation that is
 */
#include "history_parts.h"

#include <assert.h>
#include <inttypes.h>

/* The first execution of that number: returns false if it must not be. */
static bool is_next(history *h, uint32_t node, uint64_t number, uint64_t key, uint64_t at)
{
    const fact *known = facts_find(&h->keys, key, 0);
    if (known == NULL) {
        history_break(h, HISTORY_WME3, at,
                      "node %" PRIu32 " executes %" PRIu64 " as number %" PRIu64
                      ", which nobody has issued",
                      node, key, number);
        return false;
    }
    const operation *op = &h->operation[known->what];
    if (op->number != 0) {
        history_break(h, HISTORY_ONE_COPY, at,
                      "node %" PRIu32 " executes %" PRIu64 " as number %" PRIu64
                      ", and it was number %" PRIu64,
                      node, key, number, op->number);
        return false;
    }
    if (op->fate == FAILED) {
        history_break(h, HISTORY_EJECTED, at,
                      "node %" PRIu32 " executes %" PRIu64 " as number %" PRIu64
                      ", of user %" PRIu32 ", which was ejected",
                      node, key, number, op->user);
        return false;
    }
    if (op->stale) {
        history_break(h, HISTORY_WME2, at,
                      "number %" PRIu64 " (key %" PRIu64 ") is of token %" PRIu64
                      ", tried for after the section with token %" PRIu64 " had ended",
                      number, key, op->token, op->floor);
        return false;
    }
    if (op->floor != 0) /* another section had ended before this one was tried for */
        history_held(h, HISTORY_WME2);
    if (number == 1)
        return true;
    /*
     * Enough to compare neighbours: so all before it are before it. Within a section nothing is
     * issued before the last has been executed, or else its outcome was found wrong.
     */
    const operation *before = &h->operation[h->execution[number - 1].operation];
    if (before->token <= op->token) {
        history_held(h, HISTORY_WME3);
        return true;
    }
    history_break(h, HISTORY_WME3, at,
                  "number %" PRIu64 " (key %" PRIu64 ") is of the section with token %" PRIu64
                  ", number %" PRIu64 " (key %" PRIu64 ") of that with %" PRIu64,
                  number, key, op->token, number - 1, before->key, before->token);
    return false;
}

static void go_to(replica *r, uint64_t number)
{
    r->number = number;
    if (number > r->highest)
        r->highest = number;
}

void history_execute(history *h, uint32_t node, uint64_t number, uint64_t key, uint64_t result,
                     uint64_t at)
{
    assert(node < h->nodes);
    if (!history_goes_on(h, at))
        return;
    h->counts.executed++;
    replica *r = &h->replica[node];
    if (number != r->number + 1) {
        history_break(h, HISTORY_ONE_COPY, at,
                      "node %" PRIu32 " executes number %" PRIu64 " after number %" PRIu64, node,
                      number, r->number);
        return;
    }
    if (number < h->executions) {
        const execution *first = &h->execution[number];
        uint64_t first_key = h->operation[first->operation].key;
        if (first_key != key || first->result != result)
            history_break(h, HISTORY_ONE_COPY, at,
                          "number %" PRIu64 " at node %" PRIu32 " is %" PRIu64
                          " with result %" PRIu64 ", elsewhere %" PRIu64 " with %" PRIu64,
                          number, node, key, result, first_key, first->result);
        history_held(h, HISTORY_ONE_COPY);
    } else {
        if (!is_next(h, node, number, key, at))
            return;
        uint32_t which = (uint32_t)facts_find(&h->keys, key, 0)->what;
        h->operation[which].number = number;
        h->execution =
            history_grow(h->execution, h->executions, &h->execution_capacity, sizeof *h->execution);
        h->execution[h->executions++] = (execution){.result = result, .operation = which};
    }
    go_to(r, number);
}

static void compare_digest(history *h, uint32_t node, uint64_t number, uint64_t digest, uint64_t at)
{
    execution *e = &h->execution[number];
    if (!e->has_digest) {
        e->digest = digest;
        e->has_digest = true;
    } else if (e->digest != digest) {
        history_break(h, HISTORY_ONE_COPY, at,
                      "state of node %" PRIu32 " after number %" PRIu64 " is %" PRIx64
                      ", elsewhere %" PRIx64,
                      node, number, digest, e->digest);
    }
}

void history_install(history *h, uint32_t node, uint64_t number, uint64_t digest, uint64_t at)
{
    assert(node < h->nodes);
    if (!history_goes_on(h, at))
        return;
    h->counts.installs++;
    if (number >= h->executions) {
        history_break(h, HISTORY_ONE_COPY, at,
                      "node %" PRIu32 " installs number %" PRIu64 ", executed nowhere", node,
                      number);
        return;
    }
    compare_digest(h, node, number, digest, at);
    go_to(&h->replica[node], number);
}

void history_state(history *h, uint32_t node, uint64_t number, uint64_t digest, uint64_t at)
{
    assert(node < h->nodes);
    if (!history_goes_on(h, at))
        return;
    if (number != h->replica[node].number)
        history_break(h, HISTORY_ONE_COPY, at,
                      "node %" PRIu32 " has a state of number %" PRIu64 ", and is at %" PRIu64,
                      node, number, h->replica[node].number);
    else
        compare_digest(h, node, number, digest, at);
}

void history_slot(history *h, uint32_t node, uint64_t epoch, uint64_t sn, uint64_t what,
                  uint64_t at)
{
    assert(node < h->nodes);
    if (!history_goes_on(h, at))
        return;
    const fact *first = facts_learn(&h->slots, epoch, sn, what, node);
    if (first == NULL || (first->what == what && first->who == node)) {
        history_held(h, HISTORY_ONE_SLOT);
        return;
    }
    history_break(h, HISTORY_ONE_SLOT, at,
                  "slot %" PRIu64 " of epoch %" PRIu64 " is %" PRIx64 " by node %" PRIu32
                  ", and %" PRIx64 " by node %" PRIu32,
                  sn, epoch, first->what, first->who, what, node);
}

void history_epoch(history *h, uint32_t node, uint64_t epoch, uint64_t what, uint64_t at)
{
    assert(node < h->nodes);
    if (!history_goes_on(h, at))
        return;
    h->replica[node].epoch = epoch;
    if (epoch > h->last_epoch)
        h->last_epoch = epoch;
    const fact *first = facts_learn(&h->epochs, epoch, 0, what, node);
    if (first != NULL && first->what != what)
        history_break(h, HISTORY_AGREEMENT, at,
                      "epoch %" PRIu64 " begins as %" PRIx64 " at node %" PRIu32 ", as %" PRIx64
                      " at node %" PRIu32,
                      epoch, first->what, first->who, what, node);
    else if (first != NULL)
        history_held(h, HISTORY_AGREEMENT);
}
