/* See node_keeper.h. What is done here is what src/client does around watch.c, in as few words. */
#include "node_fleet.h"

#include <inttypes.h>
#include <string.h>

enum {
    NANOSECONDS = 1000, /* of a microsecond */
    ROUND_PAUSE = 50,   /* ms, between a try at all nodes and the next */
    CLOCK_MARGIN = 62,  /* of 1000: by which the clock of a node may be fast */
    EPOCH_SHIFT = 40,   /* of a token: docs/protocol.md */
};
#define PATIENCE (UINT64_C(1500) * MILLISECOND * NANOSECONDS)

static uint64_t now_of(const fleet *f)
{
    return f->now * NANOSECONDS;
}

static uint64_t nanoseconds(uint32_t ms)
{
    return (uint64_t)ms * MILLISECOND * NANOSECONDS;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t lease_left(const fleet *f, const keeper *k)
{
    uint64_t now = now_of(f);
    return k->lost.sure_until > now ? k->lost.sure_until - now : 0;
}

static bool is_inside(const client *c)
{
    return c->inside && !c->keeper.adrift;
}

static void say(const fleet *f, uint8_t who, const char *what)
{
    char name[16];
    snprintf(name, sizeof name, "client %u", who);
    fleet_say(f, name, "%s", what);
}

/* ---- what it believes ---- */

static bool believes(const fleet *f, uint8_t who)
{
    const client *c = &f->clients[who];
    const keeper *k = &c->keeper;
    if (!c->inside)
        return false;
    if (k->adrift)
        return watch_can_move(&k->lost) && lease_left(f, k) > 0;
    return !k->watch.unsure && !watch_is_over(&k->watch, now_of(f));
}

/*
 * What docs/protocol.md and client.h do not promise: that nobody enters in another epoch, which
 * ejects; nor after a RELEASE; nor if the node's clock is too fast; nor if the node lets go what
 * has no connection, because there is too much of it.
 */
static bool is_allowed(const fleet *f, const client *c, uint64_t entered)
{
    const keeper *k = &c->keeper;
    return k->token >> EPOCH_SHIFT != entered >> EPOCH_SHIFT || c->token <= f->released[c->lock] ||
           f->machines[c->home].drift > CLOCK_MARGIN ||
           (k->adrift && f->settings.max_detached < FLEET_CLIENTS);
}

void keeper_entered(fleet *f, const judged_entry *e)
{
    judge_entered(&f->judge, e);
    for (uint8_t who = 0; who < f->settings.clients; who++) {
        const client *c = &f->clients[who];
        if (who == e->client || c->lock != e->lock || !believes(f, who))
            continue;
        if (is_allowed(f, c, e->token))
            f->counts.overlaps++;
        else
            judge_wrong(&f->judge, "overlap", f->now,
                        "client %u enters lock %u with token %" PRIu64
                        " while client %u, with %" PRIu64
                        ", has a lease that is not over, and was told nothing",
                        e->client, e->lock, e->token, who, c->keeper.token);
    }
}

/*
 * If the epoch has changed more than once nobody can tell who was inside, says docs/protocol.md.
 * So it does where a node rejoins; and it may if the lock has come to rest in the next one, which
 * takes longer than leases are, but not here. In the end there are others who ask for the lock.
 */
void keeper_is_ejected(fleet *f, uint8_t who)
{
    const client *c = &f->clients[who];
    bool rested = now_of(f) > c->keeper.heard + nanoseconds(f->settings.rest_after);
    if (f->settings.kept_is_promised && !f->over && !f->rejoins && !rested)
        judge_wrong(&f->judge, "kept", f->now,
                    "client %u cannot go on with the section of token %" PRIu64
                    " of lock %u, which nobody else has asked for",
                    who, c->keeper.token, c->lock);
}

/* ---- what it hears of ---- */

/* It looks at what has changed when all that happens now has happened. */
static void look_soon(fleet *f, uint8_t who)
{
    keeper *k = &f->clients[who].keeper;
    if (k->acts)
        fleet_put(f, f->now, FLEET_KEEPS, 0, 0, ++k->stamp, who);
}

void keeper_connected(fleet *f, uint8_t who)
{
    keeper *k = &f->clients[who].keeper;
    k->watch = (line_watch){0};
    k->renewing = false;
    k->node = (server_watch){.heard_at = now_of(f)};
    k->doubts_since = 0;
    k->greeted_until = now_of(f) + PATIENCE;
}

void keeper_asks(fleet *f, uint8_t who, uint32_t which, client_ask what)
{
    keeper *k = &f->clients[who].keeper;
    k->sent_at[which % KEEPER_QUESTIONS] = now_of(f);
    watch_sent(&k->watch, now_of(f));
    if (what == ASK_ENTER)
        k->watch.unsure = false;
    look_soon(f, who);
}

void keeper_hears(fleet *f, uint8_t who, uint32_t which, client_ask what, const resp_reply *r)
{
    client *c = &f->clients[who];
    keeper *k = &c->keeper;
    uint64_t sent_at = k->sent_at[which % KEEPER_QUESTIONS];
    bool fine = r->value.kind != REPLY_ERROR;
    k->node.heard_at = now_of(f);
    k->way.shunned &= ~course_bit(c->home);
    if (what == ASK_SESSION)
        k->watch.named = fine;
    if (what == ASK_LEASE && fine) {
        k->watch.lease = nanoseconds(f->settings.lease);
        watch_sent(&k->watch, sent_at);
        k->greeted_until = 0;
    }
    if (what == ASK_RENEW)
        k->renewing = false;
    if (fine)
        watch_answered(&k->watch, sent_at);
    if (fine && what != ASK_ENTER)
        k->watch.unsure = false; /* it has asked, and was told of no loss before the answer */
    if (what == ASK_ENTER && r->value.kind == REPLY_INTEGER)
        watch_granted(&k->watch, sent_at, now_of(f));
    look_soon(f, who);
}

void keeper_begins(fleet *f, uint8_t who, uint64_t token)
{
    keeper *k = &f->clients[who].keeper;
    k->adrift = false;
    k->token = token;
    look_soon(f, who);
}

void keeper_pushed(fleet *f, uint8_t who, const char *kind, uint64_t token)
{
    client *c = &f->clients[who];
    keeper *k = &c->keeper;
    if (strcmp(kind, "kept") == 0 && is_inside(c))
        k->token = token;
    if (strcmp(kind, "resumed") == 0)
        k->watch.suspended = false;
    if (strcmp(kind, "suspended") != 0)
        return;
    k->watch.suspended = true;
    if (k->acts && f->settings.nodes > 1 && c->answered == c->expects &&
        (!is_inside(c) || watch_can_move(&k->watch)))
        client_leaves(f, who);
}

/* Before its line is forgotten. */
void keeper_loses_line(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    keeper *k = &c->keeper;
    if (!is_inside(c))
        return;
    k->adrift = true;
    k->lost = k->watch;
    k->heard = k->node.heard_at;
    k->way = (course){.home = c->home, .servers = f->settings.nodes, .shunned = k->way.shunned};
    if (!k->acts)
        return;
    c->inside = watch_can_move(&k->lost) && lease_left(f, k) > 0;
    k->adrift = c->inside;
    if (!c->inside)
        say(f, who, "gives its section up with its connection");
}

/* ---- what it does ---- */

static void give_up(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    say(f, who, "gives its section up: the lease is over");
    f->counts.given_up++;
    c->inside = c->keeper.adrift = false;
    keeper_is_ejected(f, who);
}

static void leave(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    c->keeper.way.shunned |= course_bit(c->home);
    say(f, who, "leaves its node, which is silent");
    f->counts.left_silent++;
    client_leaves(f, who);
}

/* What is asked first, and since when. */
static line_view view_of(const client *c)
{
    const keeper *k = &c->keeper;
    line_view v = {.precious = c->inside};
    if (c->answered == c->expects)
        return v;
    client_ask first = c->expected[c->answered % FLEET_EXPECTED];
    v.asked = true;
    v.may_last = first != ASK_RENEW && first != ASK_LEAVE;
    v.asked_at = k->sent_at[c->answered % KEEPER_QUESTIONS];
    if (v.asked_at < k->node.heard_at)
        v.asked_at = k->node.heard_at;
    return v;
}

/* Whether somebody would be heard over another line; its own may be dead, too, and not know it. */
static bool is_answered(const fleet *f, const client *c)
{
    const machine *m = &f->machines[c->home];
    return m->up && m->paused_until <= f->now && m->start == c->line->start;
}

/* The line is blocked: does its node live? Returns when it is silent, or is to be asked again. */
static uint64_t ask_over_another(const fleet *f, client *c, const server_view *v)
{
    keeper *k = &c->keeper;
    uint64_t now = now_of(f);
    uint64_t next;
    if (watch_ask(&k->node, v, now, &next) != WATCH_NOTHING || k->doubts_since != 0) {
        k->node.asked_at = now;
        if (is_answered(f, c)) {
            k->node.heard_at = now;
            k->doubts_since = 0;
        } else if (k->doubts_since == 0) {
            k->doubts_since = now;
        }
    }
    return k->doubts_since != 0 ? k->doubts_since + v->limit : next;
}

/* When to look whether its node is silent; WATCH_NEVER: not. */
static uint64_t look_for_silence(const fleet *f, client *c, bool *silent)
{
    keeper *k = &c->keeper;
    server_view v = watch_server(PATIENCE);
    line_view its = view_of(c);
    uint64_t now = now_of(f);
    *silent = false;
    if (f->settings.nodes == 1 || (is_inside(c) && !watch_can_move(&k->watch)))
        return WATCH_NEVER;
    watch_line(&v, &k->watch, its);
    uint64_t at = k->greeted_until != 0 ? k->greeted_until : watch_silent_at(&v, its);
    uint64_t next = ask_over_another(f, c, &v);
    *silent = now >= at || (k->doubts_since != 0 && now >= next);
    return sooner(at, next);
}

static uint64_t look_after_line(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    keeper *k = &c->keeper;
    uint64_t now = now_of(f);
    bool is_silent;
    uint64_t silent = look_for_silence(f, c, &is_silent);
    if (is_inside(c) && watch_is_over(&k->watch, now)) {
        give_up(f, who);
        client_leaves(f, who);
        return WATCH_NEVER;
    }
    if (is_silent) {
        leave(f, who);
        return WATCH_NEVER;
    }
    if (k->watch.lease == 0)
        return silent;
    if (!k->renewing && (now >= k->watch.renew_at || (is_inside(c) && k->watch.unsure))) {
        k->renewing = true;
        f->counts.renewed++;
        client_says(f, who, ASK_RENEW, "RENEW %u", f->settings.lease);
        return WATCH_NEVER; /* it looks again, since it has said something */
    }
    uint64_t next = is_inside(c) && !k->watch.unsure ? k->watch.sure_until : WATCH_NEVER;
    return sooner(silent, sooner(next, k->renewing ? WATCH_NEVER : k->watch.renew_at));
}

void keeper_looks(fleet *f, uint8_t who, uint32_t stamp)
{
    client *c = &f->clients[who];
    keeper *k = &c->keeper;
    uint64_t next = WATCH_NEVER;
    if (stamp != k->stamp || f->over)
        return;
    if (c->inside && k->adrift) {
        next = k->lost.sure_until;
        if (now_of(f) >= next)
            give_up(f, who);
    }
    if (c->line != NULL)
        next = sooner(next, look_after_line(f, who));
    if (next != WATCH_NEVER && stamp == k->stamp)
        fleet_put(f, next / NANOSECONDS + 1, FLEET_KEEPS, 0, 0, stamp, who);
}

/* ---- where it goes on ---- */

void keeper_moves(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    keeper *k = &c->keeper;
    uint32_t node = course_next(&k->way);
    if (node == COURSE_END) {
        k->way.tried = 0;
        client_next(f, who, ROUND_PAUSE, ROUND_PAUSE);
        return;
    }
    if (!client_greets(f, who, (uint8_t)node)) {
        k->way.shunned |= course_bit(node);
        client_next(f, who, 0, 1);
        return;
    }
    k->greeted_until = now_of(f) + lease_left(f, k) / (2 * (uint64_t)f->settings.nodes);
    look_soon(f, who);
}

void keeper_resumes(fleet *f, uint8_t who)
{
    const client *c = &f->clients[who];
    uint64_t ms = lease_left(f, &c->keeper) / (UINT64_C(2) * MILLISECOND * NANOSECONDS) + 1;
    client_says(f, who, ASK_RESUME, "RESUME l%u %" PRIu64 " %" PRIu64, c->lock, c->keeper.token,
                ms);
}

bool keeper_may_go_on(const fleet *f, uint8_t who)
{
    const client *c = &f->clients[who];
    return !c->keeper.acts || (c->inside && c->keeper.adrift && lease_left(f, &c->keeper) > 0);
}
