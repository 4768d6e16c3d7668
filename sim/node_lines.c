/* Lines: the connections between nodes. */
#include "node_fleet.h"

#include <string.h>

enum {
    MAX_SILENCE = 3000 * MILLISECOND, /* as src/node/links.c has it */
    PAUSE = 50 * MILLISECOND,         /* between two dialings; more if nobody is there */
};

static void say(const fleet *f, uint8_t from, uint8_t to, const char *what)
{
    char who[16];
    snprintf(who, sizeof who, "%u -> %u", from, to);
    fleet_say(f, who, "%s", what);
}

static bool is_cut(const fleet *f, uint8_t from, uint8_t to)
{
    return f->lines[from][to].cut_until > f->now;
}

/* Both must be there to greet each other, and each must hear the other. */
void line_dial(fleet *f, uint8_t from, uint8_t to, uint32_t stamp)
{
    line *l = &f->lines[from][to];
    if (l->stands || l->stamp != stamp)
        return;
    const machine *m = &f->machines[to];
    bool lost = f->machines[from].knows[to] != m->address;
    if (lost || !m->up || m->paused_until > f->now || is_cut(f, from, to) || is_cut(f, to, from)) {
        fleet_put(f, f->now + PAUSE + fleet_pick(f, 0, UINT64_C(4) * PAUSE), FLEET_DIAL, from, to,
                  stamp, 0);
        return;
    }
    if (memcmp(f->machines[from].all.digest, m->all.digest, PROOF_BYTES) != 0)
        judge_wrong(&f->judge, "peers", f->now, "node %u does not know node %u any more", to, from);
    conduit_clear(&l->way); /* of who comes anew nothing is heard that it said before */
    l->stands = l->works = true;
    say(f, from, to, "connected");
    node_reached(&f->machines[from].node, to, true);
    host_touched(f, from);
}

void line_send(fleet *f, uint8_t from, uint8_t to, resp_out *said, uint64_t at, bool part)
{
    line *l = &f->lines[from][to];
    size_t count = part && said->bytes > 0 ? fleet_pick(f, 0, said->bytes) : said->bytes;
    if (l->works && count > 0) {
        conduit_put(&l->way, said->at, count, at, at + fleet_delay(f));
        fleet_put(f, l->way.last_at, FLEET_ARRIVES, from, to, 0, 0);
    }
    said->bytes = 0;
}

static void tell_message(const fleet *f, uint8_t from, uint8_t to, const peer_said *said)
{
    const wme_message *m = &said->message;
    char what[160];
    if (f->trace == NULL || said->verb == PEER_HEARTBEAT)
        return;
    if (said->verb == PEER_MESSAGE)
        snprintf(what, sizeof what, "%s %.*s epoch %llu sn %llu executed %llu ops %llu owner %u",
                 peer_kind_name(m->kind), (int)said->words.bytes, said->words.at,
                 (unsigned long long)m->epoch, (unsigned long long)m->sn,
                 (unsigned long long)m->executed, (unsigned long long)m->record.ops,
                 m->record.owner);
    else if (said->verb == PEER_BOOT)
        snprintf(what, sizeof what, "BOOT asks %d state %d other %d", said->boot_check.asks,
                 said->boot_check.state, said->boot_check.other);
    else
        snprintf(what, sizeof what, "%s of %u names", said->verb == PEER_LIST ? "LIST" : "LISTED",
                 said->list.names);
    say(f, from, to, what);
}

static void read_all(fleet *f, uint8_t from, uint8_t to)
{
    static peer_said said; /* large, and used up before the next */
    line *l = &f->lines[from][to];
    size_t used = 0;
    while (used < l->way.pending.bytes && !f->ends) {
        resp_parsed p = peer_read(l->way.pending.at + used, l->way.pending.bytes - used,
                                  f->settings.nodes, &said);
        if (p.verdict == RESP_MORE)
            break;
        if (p.verdict == RESP_BAD) {
            judge_wrong(&f->judge, "garbage", f->now, "node %u says to %u: %.100s", from, to,
                        p.complaint);
            break;
        }
        tell_message(f, from, to, &said);
        host_hears(f, from, to, &said);
        note_message(f, from, to, l->way.sent, &said);
        node_receive(&f->machines[to].node, from, &said, host_clock(f, to));
        peer_said_drop(&said);
        f->counts.messages++;
        used += p.used;
    }
    conduit_used(&l->way, used);
}

void line_arrives(fleet *f, uint8_t from, uint8_t to)
{
    line *l = &f->lines[from][to];
    if (is_cut(f, from, to)) { /* it is sent again and again */
        fleet_put(f, l->cut_until + fleet_delay(f), FLEET_ARRIVES, from, to, 0, 0);
        return;
    }
    conduit_take(&l->way, f->now);
    if (l->way.pending.bytes == 0)
        return;
    read_all(f, from, to);
    host_touched(f, to);
}

/* ---- the end of a line ---- */

/* What is on its way is lost from some byte on. */
void line_break(fleet *f, uint8_t from, uint8_t to, uint64_t after)
{
    line *l = &f->lines[from][to];
    if (!l->works)
        return;
    l->works = false;
    l->stamp++;
    f->counts.broken_lines += !f->over;
    say(f, from, to, "the connection is lost");
    conduit_cut(&l->way, fleet_pick(f, 0, 4));
    fleet_put(f, f->now + after, FLEET_UNREACHED, from, to, l->stamp, 0);
}

void line_unreached(fleet *f, uint8_t from, uint8_t to, uint32_t stamp)
{
    line *l = &f->lines[from][to];
    if (l->stamp != stamp || !l->stands)
        return;
    l->stands = false;
    say(f, from, to, "is known to be gone");
    node_reached(&f->machines[from].node, to, false);
    host_touched(f, from);
    fleet_put(f, f->now + PAUSE, FLEET_DIAL, from, to, ++l->stamp, 0);
}

/* If it is cut for too long, TCP gives it up. */
void lines_cut(fleet *f, uint16_t from, uint16_t to, uint64_t until)
{
    for (uint8_t a = 0; a < f->settings.nodes; a++)
        for (uint8_t b = 0; b < f->settings.nodes; b++) {
            if (a == b || (from >> a & 1) == 0 || (to >> b & 1) == 0)
                continue;
            f->lines[a][b].cut_until = until;
            if (until > f->now + MAX_SILENCE || fleet_happens(f, 20))
                line_break(f, a, b, fleet_pick(f, 0, MAX_SILENCE));
        }
}

/* Who dies dials no more; the others learn so at once, if its machine lives, or later. */
void lines_die(fleet *f, uint8_t node)
{
    for (uint8_t i = 0; i < f->settings.nodes; i++) {
        if (i == node)
            continue;
        line *out = &f->lines[node][i];
        out->works = out->stands = false; /* what it has sent is on its way */
        conduit_clear(&f->lines[i][node].way);
        uint64_t after = fleet_happens(f, 70) ? fleet_delay(f) : fleet_pick(f, 0, MAX_SILENCE);
        line_break(f, i, node, after);
    }
}
