/* See node_judge.h. */
#include "node_judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long number;

void judge_wrong(judge *j, const char *property, uint64_t at, const char *format, ...)
{
    if (j->trouble.property[0] != '\0')
        return;
    va_list arguments;
    va_start(arguments, format);
    snprintf(j->trouble.property, sizeof j->trouble.property, "%s", property);
    vsnprintf(j->trouble.what, sizeof j->trouble.what, format, arguments);
    va_end(arguments);
    j->trouble.at = at;
}

/* ---- operations ---- */

uint32_t judge_begins(judge *j, const judged_op *op)
{
    if (j->ops == JUDGED_OPS)
        abort(); /* no run has as many */
    j->op[j->ops] = *op;
    j->op[j->ops].begun_turn = ++j->turns;
    return j->ops++;
}

/* Whoever is told that it is inside while an earlier section still works has been told a lie. */
static void check_overtaken(judge *j, uint32_t number_of_op)
{
    const judged_op *o = &j->op[number_of_op];
    for (uint32_t i = 0; i < j->entries; i++) {
        const judged_entry *e = &j->entry[i];
        if (e->lock == o->lock && e->client != o->client && e->token > o->token && e->at < o->begun)
            judge_wrong(j, "overtaken", o->ended,
                        "operation %u of client %u, with token %llu of lock %u, began and is "
                        "acknowledged after client %u had entered with token %llu",
                        number_of_op, o->client, (number)o->token, o->lock, e->client,
                        (number)e->token);
    }
}

/* Two that count: who has the later section, or began after the other's end, counts higher. */
static void check_order(judge *j, const judged_op *a, const judged_op *b)
{
    if (a->result == b->result)
        judge_wrong(j, "order", b->ended, "two operations on lock %u were both told %llu", a->lock,
                    (number)a->result);
    bool first = a->token < b->token || (a->token == b->token && a->ended <= b->begun);
    if (first && a->result > b->result)
        judge_wrong(j, "order", b->ended,
                    "lock %u: %llu was told with token %llu, and then %llu with token %llu",
                    a->lock, (number)a->result, (number)a->token, (number)b->result,
                    (number)b->token);
}

void judge_ends(judge *j, uint32_t op, op_fate fate, uint64_t result, uint64_t at)
{
    judged_op *o = &j->op[op];
    o->fate = fate;
    o->result = result;
    o->ended = at;
    o->ended_turn = ++j->turns;
    if (fate != FATE_DONE)
        return;
    check_overtaken(j, op);
    if (!o->counts && result != 1)
        judge_wrong(j, "twice", at, "operation %u was told %llu", op, (number)result);
    for (uint32_t i = 0; i < j->ops && o->counts; i++) {
        const judged_op *other = &j->op[i];
        if (i == op || !other->counts || other->fate != FATE_DONE || other->lock != o->lock)
            continue;
        check_order(j, o, other);
        check_order(j, other, o);
    }
}

/* ---- sections ---- */

void judge_entered(judge *j, const judged_entry *e)
{
    for (uint32_t i = 0; i < j->entries; i++) {
        const judged_entry *before = &j->entry[i];
        if (before->lock != e->lock)
            continue;
        bool same_section = e->resumes == before->token && before->client == e->client;
        if (before->token == e->token && !same_section)
            judge_wrong(j, "token", e->at, "token %llu of lock %u was given to client %u and to %u",
                        (number)e->token, e->lock, before->client, e->client);
        if (e->resumes != 0 && before->client != e->client && before->token > e->resumes &&
            before->token < e->token)
            judge_wrong(j, "between", e->at,
                        "client %u goes on with the section of token %llu of lock %u, as %llu, "
                        "though client %u was inside with %llu",
                        e->client, (number)e->resumes, e->lock, (number)e->token, before->client,
                        (number)before->token);
        /* The other way round: the one in between is heard of later. */
        if (before->resumes != 0 && before->client != e->client && e->token > before->resumes &&
            e->token < before->token)
            judge_wrong(j, "between", e->at,
                        "client %u was inside lock %u with %llu, though client %u goes on with "
                        "the section of %llu, as %llu",
                        e->client, e->lock, (number)e->token, before->client,
                        (number)before->resumes, (number)before->token);
    }
    if (j->entries == JUDGED_ENTRIES)
        abort();
    j->entry[j->entries++] = *e;
}

/* ---- the end ---- */

void judge_read(judge *j, uint32_t op, uint64_t value, uint64_t at)
{
    const judged_op *o = &j->op[op];
    if (value > 1)
        judge_wrong(j, "twice", at, "operation %u of client %u on lock %u was executed %llu times",
                    op, o->client, o->lock, (number)value);
    if (o->fate == FATE_DONE && value == 0)
        judge_wrong(j, "lost", at,
                    "operation %u of client %u on lock %u, acknowledged at %.3f ms, is not there",
                    op, o->client, o->lock, (double)o->ended / 1000);
    if (o->fate == FATE_NOWHERE && value != 0)
        judge_wrong(j, "ejected", at,
                    "operation %u of client %u on lock %u, said to be nowhere at %.3f ms, is there",
                    op, o->client, o->lock, (double)o->ended / 1000);
}

void judge_total(judge *j, uint8_t lock, uint64_t value, uint64_t at)
{
    uint64_t done = 0;
    uint64_t open = 0;
    j->total[lock] = value;
    j->has_total[lock] = true;
    for (uint32_t i = 0; i < j->ops; i++) {
        const judged_op *o = &j->op[i];
        if (o->lock != lock || !o->counts)
            continue;
        done += o->fate == FATE_DONE;
        open += o->fate == FATE_OPEN;
        if (o->fate == FATE_DONE && o->result > value)
            judge_wrong(j, "lost", at,
                        "lock %u has counted to %llu, and operation %u was told %llu", lock,
                        (number)value, i, (number)o->result);
    }
    if (value < done)
        judge_wrong(j, "lost", at, "lock %u has counted to %llu; %llu were acknowledged", lock,
                    (number)value, (number)done);
    if (value > done + open)
        judge_wrong(j, "twice", at, "lock %u has counted to %llu; %llu at most were to be", lock,
                    (number)value, (number)done + open);
}
