/* Clients: what each sends and hears over its connection. What it makes of that: node_script.c. */
#include "node_fleet.h"

#include "chance.h"

#include <stdarg.h>
#include <string.h>

static void say(const fleet *f, uint8_t who, const char *verb, const char *bytes, size_t count)
{
    char name[16];
    char text[100];
    size_t length = 0;
    if (f->trace == NULL)
        return;
    for (size_t i = 0; i < count && length < sizeof text - 1; i++)
        if (bytes[i] != '\r')
            text[length++] = bytes[i] == '\n' ? ' ' : bytes[i];
    text[length] = '\0';
    snprintf(name, sizeof name, "client %u", who);
    fleet_say(f, name, "%s %s", verb, text);
}

void client_next(fleet *f, uint8_t who, uint64_t least_ms, uint64_t most_ms)
{
    uint64_t wait = least_ms + draw(&f->clients[who].chance) % (most_ms - least_ms + 1);
    fleet_put(f, f->now + wait * MILLISECOND + 1, FLEET_ACTS, 0, 0, ++f->clients[who].plan, who);
}

void client_acts(fleet *f, uint8_t who, uint32_t intent)
{
    if (f->clients[who].plan != intent)
        return; /* it has thought of something else since */
    if (who >= FLEET_CLIENTS)
        looker_acts(f, who);
    else
        script_acts(f, who);
}

/* ---- what it says ---- */

bool client_connects(fleet *f, uint8_t who, uint8_t node)
{
    client *c = &f->clients[who];
    if (!f->machines[node].up)
        return false;
    c->line = guest_new(f, who, node);
    c->home = node;
    c->expects = c->answered = 0;
    c->waits_from = 0;
    keeper_connected(f, who);
    char text[16];
    int length = snprintf(text, sizeof text, "to node %u", node);
    say(f, who, "connects", text, (size_t)length);
    return true;
}

bool client_greets(fleet *f, uint8_t who, uint8_t node)
{
    if (!client_connects(f, who, node))
        return false;
    client_says(f, who, ASK_HELLO, "HELLO 3");
    if (who % 4 != 3) /* some come without a name, and cannot go on elsewhere */
        client_says(f, who, ASK_SESSION, "SESSION c%u", who);
    client_says(f, who, ASK_LEASE, "RENEW %u", f->settings.lease);
    client_next(f, who, 200, 200);
    return true;
}

void client_says(fleet *f, uint8_t who, client_ask what, const char *format, ...)
{
    client *c = &f->clients[who];
    guest *g = c->line;
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text - 2, format, arguments);
    va_end(arguments);
    say(f, who, "says", text, (size_t)length);
    text[length] = '\r';
    text[length + 1] = '\n';
    conduit_put(&g->in, text, (size_t)length + 2, f->now, f->now + fleet_delay(f));
    fleet_put(f, g->in.last_at, FLEET_HEARD, 0, 0, 0, g->number);
    uint32_t which = c->expects++;
    c->expected[which % FLEET_EXPECTED] = what;
    if (c->expects - c->answered > FLEET_EXPECTED)
        fleet_out_of_order("a client says too much at a time");
    c->waits_from = f->now;
    keeper_asks(f, who, which, what);
}

/* ---- the end of a connection ---- */

static void forget_line(fleet *f, uint8_t who)
{
    client *c = &f->clients[who];
    keeper_loses_line(f, who);
    c->line->there = false;
    c->line = NULL;
    c->waits_from = 0;
    c->operation = 0; /* what became of it, it will not be told */
    c->lost_at = f->now;
}

void client_hangs_up(fleet *f, uint8_t who)
{
    const client *c = &f->clients[who];
    if (c->line == NULL)
        return;
    say(f, who, "hangs up", "", 0);
    uint64_t at = f->now + fleet_delay(f);
    at = c->line->in.last_at >= at ? c->line->in.last_at + 1 : at;
    fleet_put(f, at, FLEET_GONE, 0, 0, 0, c->line->number);
    forget_line(f, who);
}

void client_leaves(fleet *f, uint8_t who)
{
    client_hangs_up(f, who);
    client_next(f, who, 0, 1);
}

void client_left(fleet *f, const guest *g)
{
    const client *c = &f->clients[g->client];
    if (c->line != g)
        return;
    say(f, g->client, "is cut off", "", 0);
    forget_line(f, g->client);
    client_next(f, g->client, 0, 50);
}

/* ---- what it hears ---- */

static void heard(fleet *f, uint8_t who, const resp_reply *r)
{
    client *c = &f->clients[who];
    if (r->value.kind == REPLY_PUSH) {
        script_pushed(f, who, r);
        return;
    }
    if (c->answered == c->expects) {
        judge_wrong(&f->judge, "answer", f->now, "client %u is told what it has not asked", who);
        return;
    }
    uint32_t which = c->answered++;
    client_ask what = c->expected[which % FLEET_EXPECTED];
    if (c->answered == c->expects)
        c->waits_from = 0;
    keeper_hears(f, who, which, what, r);
    if (who >= FLEET_CLIENTS)
        looker_answered(f, who, what, r);
    else
        script_answered(f, who, what, r);
}

void client_told(fleet *f, guest *g)
{
    static const resp_limits limits = {65536, 1 << 20};
    resp_reply r;
    size_t used = 0;
    conduit_take(&g->out, f->now);
    while (f->clients[g->client].line == g && used < g->out.pending.bytes) {
        const char *at = g->out.pending.at + used;
        resp_parsed p = resp_reply_parse(at, g->out.pending.bytes - used, &limits, &r);
        if (p.verdict == RESP_MORE)
            break;
        if (p.verdict == RESP_BAD) {
            judge_wrong(&f->judge, "answer", f->now, "client %u is told nonsense", g->client);
            break;
        }
        say(f, g->client, "is told", at, p.used);
        used += p.used;
        heard(f, g->client, &r);
    }
    conduit_used(&g->out, used);
}
