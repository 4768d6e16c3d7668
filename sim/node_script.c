/*
 * What clients do: enter, work, leave; hang up in the middle of it, and go on elsewhere. Each knows
 * what it was told, and tells the judge that.
 */
#include "node_fleet.h"

#include "chance.h"

#include <inttypes.h>
#include <string.h>

enum { PATIENCE = 1500 * MILLISECOND }; /* for an answer; and for a section to go on */

static uint64_t pick(client *c, uint64_t least, uint64_t max)
{
    return least + draw(&c->chance) % (max - least + 1);
}

static bool happens(client *c, uint32_t percent)
{
    return draw(&c->chance) % 100 < percent;
}

static void think(fleet *f, uint8_t who)
{
    client_next(f, who, 0, f->settings.think);
}

/* ---- sections ---- */

static void section_begins(fleet *f, uint8_t who, uint64_t token, uint64_t resumes)
{
    client *c = &f->clients[who];
    keeper_entered(
        f, &(judged_entry){
               .lock = c->lock, .client = who, .token = token, .resumes = resumes, .at = f->now});
    c->inside = true;
    c->token = token;
    keeper_begins(f, who, token);
    if (resumes == 0)
        c->left = (uint32_t)pick(c, 0, 4);
    f->last_token[c->lock] = token;
    f->counts.sections += resumes == 0;
    f->counts.resumed += resumes != 0;
}

static void issue(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    judged_op o = {.lock = c->lock,
                   .client = who,
                   .counts = happens(c, 40),
                   .token = c->token,
                   .begun = f->now};
    uint32_t number = judge_begins(&f->judge, &o);
    c->operation = number + 1;
    c->left--;
    f->counts.operations++;
    if (o.counts)
        client_says(f, who, ASK_OPERATION, "ISSUE l%u %" PRIu64 " INCR n", c->lock, c->token);
    else
        client_says(f, who, ASK_OPERATION, "ISSUE l%u %" PRIu64 " INCR u%u", c->lock, c->token,
                    number);
}

/* Inside, and nothing is under way. */
static void work(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    if (c->left > 0 && !happens(c, 5)) {
        issue(f, who);
        if (happens(c, 8)) { /* it does not wait for the answer */
            client_next(f, who, 0, 20);
            c->hasty = true;
            return;
        }
        client_next(f, who, 200, 200);
    } else if (happens(c, 15)) {
        client_hangs_up(f, who); /* to go on elsewhere */
        client_next(f, who, 0, c->keeper.acts ? f->settings.lease / 4 : f->settings.lease);
    } else if (happens(c, 10)) {
        client_next(f, who, 1, UINT64_C(2) * f->settings.lease); /* too long, maybe */
    } else if (happens(c, 5)) {
        c->inside = false; /* it is done, and says nothing */
        client_hangs_up(f, who);
        think(f, who);
    } else {
        client_says(f, who, ASK_LEAVE, "EXIT l%u %" PRIu64, c->lock, c->token);
        c->inside = false;
        client_next(f, who, 200, 200);
    }
}

/* ---- outside ---- */

static void connect_somewhere(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    if (!client_greets(f, who, (uint8_t)pick(c, 0, f->settings.nodes - 1U)))
        client_next(f, who, 10, 150);
}

static void resume(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    if (c->keeper.acts) {
        keeper_moves(f, who);
        return;
    }
    if (who % 4 == 3 || f->now > c->lost_at + PATIENCE) {
        c->inside = false;
        think(f, who);
        return;
    }
    connect_somewhere(f, who);
    if (c->line != NULL)
        client_says(f, who, ASK_RESUME, "RESUME l%u %" PRIu64 " %u", c->lock, c->token, 3000);
}

static void want(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    if (happens(c, 6)) {
        client_hangs_up(f, who);
        client_next(f, who, 0, 20);
        return;
    }
    uint64_t lock = f->settings.kept_is_promised ? (uint64_t)who % f->settings.locks
                                                 : pick(c, 0, f->settings.locks - 1U);
    c->lock = (uint8_t)lock;
    if (happens(c, 3) && f->last_token[c->lock] != 0 && !f->settings.kept_is_promised) {
        client_says(f, who, ASK_HELLO, "RELEASE l%u %" PRIu64, c->lock, f->last_token[c->lock]);
        f->released[c->lock] = f->last_token[c->lock];
    }
    if (happens(c, 15))
        client_says(f, who, ASK_TRY, "TRY l%u", c->lock);
    else
        client_says(f, who, ASK_ENTER, "LOCK l%u %" PRIu64, c->lock, pick(c, 50, 2500));
    client_next(f, who, 200, 200);
}

/* It waits for an answer: for how long? */
static void wait_on(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    uint64_t patience =
        PATIENCE *
        (c->expected[(c->expects - 1) % FLEET_EXPECTED] != ASK_OPERATION ? UINT64_C(2) : 1);
    if (f->now < c->waits_from + patience && !c->hasty) {
        client_next(f, who, 100, 300);
        return;
    }
    c->hasty = false;
    client_hangs_up(f, who);
    client_next(f, who, 0, 50);
}

void script_acts(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    if (f->over) {
        client_hangs_up(f, who);
        c->inside = false;
    } else if (c->line == NULL && c->inside) {
        resume(f, who);
    } else if (c->line == NULL) {
        connect_somewhere(f, who);
    } else if (c->answered != c->expects) {
        wait_on(f, who);
    } else if (c->inside && c->keeper.adrift) {
        keeper_resumes(f, who);
        client_next(f, who, 200, 200);
    } else if (c->inside) {
        work(f, who);
    } else {
        want(f, who);
    }
}

/* ---- answers ---- */

static void operation_answered(fleet *f, uint8_t who, const resp_reply *r)
{
    client *c = &f->clients[who];
    uint32_t which = c->operation - 1;
    c->operation = 0;
    c->hasty = false;
    if (r->value.kind == REPLY_INTEGER) {
        judge_ends(&f->judge, which, FATE_DONE, (uint64_t)r->value.number, f->now);
        return;
    }
    bool open = resp_reply_fails_with(&r->value, "LOST");
    judge_ends(&f->judge, which, open ? FATE_OPEN : FATE_NOWHERE, 0, f->now);
    c->inside = false;
}

static void resume_answered(fleet *f, uint8_t who, const resp_reply *r)
{
    client *c = &f->clients[who];
    if (r->value.kind == REPLY_INTEGER && keeper_may_go_on(f, who)) {
        section_begins(f, who, (uint64_t)r->value.number, c->token);
        return;
    }
    if (r->value.kind == REPLY_INTEGER) { /* granted to nobody */
        c->inside = false;
        client_says(f, who, ASK_LEAVE, "EXIT l%u %" PRIi64, c->lock, r->value.number);
        return;
    }
    f->counts.refused++;
    bool over = resp_reply_fails_with(&r->value, "EJECTED");
    if (over && c->inside)
        keeper_is_ejected(f, who);
    if (over || (r->value.kind == REPLY_NULL && !c->keeper.acts))
        c->inside = false;
    else
        client_hangs_up(f, who); /* to another node */
}

void script_answered(fleet *f, uint8_t who, client_ask what, const resp_reply *r)
{
    client *c = &f->clients[who];
    bool enters = what == ASK_ENTER || what == ASK_TRY;
    if (what == ASK_RENEW)
        return; /* it had another plan meanwhile */
    if (what == ASK_OPERATION)
        operation_answered(f, who, r);
    else if (what == ASK_RESUME)
        resume_answered(f, who, r);
    else if (enters && r->value.kind == REPLY_INTEGER && r->value.number > 0)
        section_begins(f, who, (uint64_t)r->value.number, 0);
    else if (enters && r->value.kind == REPLY_ERROR && happens(c, 50))
        client_hangs_up(f, who); /* to another node */
    if (c->answered == c->expects || c->line == NULL)
        think(f, who);
}

/*
 * That its section is over, or goes on in another epoch, or that its node is cut off. What it has
 * under way is answered all the same.
 */
void script_pushed(fleet *f, uint8_t who, const resp_reply *r)
{
    client *c = &f->clients[who];
    char lock[8];
    char kind[16];
    if (r->elements < 3 || who >= FLEET_CLIENTS)
        return;
    const resp_word *word = &r->element[0].text;
    const resp_word *name = &r->element[1].text;
    snprintf(lock, sizeof lock, "l%u", c->lock);
    snprintf(kind, sizeof kind, "%.*s", (int)word->bytes, word->at);
    if (name->bytes != strlen(lock) || memcmp(name->at, lock, name->bytes) != 0)
        return;
    if (strcmp(kind, "lost") == 0 || strcmp(kind, "ejected") == 0)
        c->inside = false;
    keeper_pushed(f, who, kind, (uint64_t)r->element[2].number);
}
