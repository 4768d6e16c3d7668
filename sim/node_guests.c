/* Guests: clients' connections to a node, as src/serve would have them. */
#include "node_fleet.h"

#include <stdlib.h>
#include <string.h>

static machine *host_of(fleet *f, const guest *g)
{
    return &f->machines[g->machine];
}

/* To the box of the machine, whose service the session is of. */
static void post(lock_session *to, notice *n)
{
    session *s = (session *)(void *)to;
    machine *at = (machine *)(void *)((char *)s->of - offsetof(machine, service));
    n->next = NULL;
    *(at->last_notice != NULL ? &at->last_notice->next : &at->first_notice) = n;
    at->last_notice = n;
}

guest *guest_new(fleet *f, uint8_t who, uint8_t node)
{
    guest *g = calloc(1, sizeof *g);
    guest **more = realloc(f->guests, (f->guest_count + 1) * sizeof(void *));
    if (g == NULL || more == NULL)
        fleet_out_of_order("out of memory");
    f->guests = more;
    f->guests[f->guest_count] = g;
    machine *m = &f->machines[node];
    *g = (guest){.machine = node,
                 .client = who,
                 .number = f->guest_count++,
                 .start = m->start,
                 .here = true,
                 .there = true};
    session_start(&g->session, &m->service, &m->traffic, post);
    snprintf(g->session.who.from, sizeof g->session.who.from, "client %u", who);
    return g;
}

/* Commands, as far as the session takes them; what it says is sent when the turn ends. */
static void feed(fleet *f, guest *g)
{
    if (!g->here)
        return;
    do {
        size_t used = session_feed(&g->session, g->in.pending.at, g->in.pending.bytes,
                                   host_clock(f, g->machine));
        conduit_used(&g->in, used);
    } while (g->session.unfinished);
}

void guest_heard(fleet *f, guest *g)
{
    conduit_take(&g->in, f->now);
    if (!g->here || g->in.pending.bytes == 0)
        return;
    feed(f, g);
    host_touched(f, g->machine);
}

static void forget_notices(machine *m, const guest *g)
{
    notice **at = &m->first_notice;
    m->last_notice = NULL;
    while (*at != NULL) {
        notice *n = *at;
        if (n->to == &g->session.who) {
            *at = n->next;
            free(n);
        } else {
            m->last_notice = n;
            at = &n->next;
        }
    }
}

/* As connection_close does it. */
void guest_gone(fleet *f, guest *g)
{
    session *s = &g->session;
    if (!g->here)
        return;
    if (s->waits_for != NULL)
        s->of->locks->backend->wait_over(s->of->locks, &s->who, s->waits_for, s->waits_for_bytes,
                                         host_clock(f, g->machine));
    uint32_t before = host_of(f, g)->node.detached_count;
    session_end(s, host_clock(f, g->machine));
    f->counts.lingered += host_of(f, g)->node.detached_count > before;
    forget_notices(host_of(f, g), g);
    session_free(s);
    g->here = false;
    host_touched(f, g->machine);
}

/* Once: what these bring comes with the next turn. */
void guest_notices(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    notice *all = m->first_notice;
    m->first_notice = m->last_notice = NULL;
    while (all != NULL) {
        notice *n = all;
        all = n->next;
        guest *g = (guest *)(void *)n->to; /* its session is first in it */
        session_notice(n, host_clock(f, node));
        feed(f, g);
    }
}

static bool is_at(const fleet *f, const guest *g, uint8_t node)
{
    return g->here && g->machine == node && g->start == f->machines[node].start;
}

void guests_time(fleet *f, uint8_t node)
{
    uint64_t now = host_clock(f, node);
    guest_notices(f, node); /* a grant that is on its way renews the lease */
    for (uint32_t i = 0; i < f->guest_count; i++) {
        guest *g = f->guests[i];
        if (!is_at(f, g, node))
            continue;
        uint64_t due = session_deadline(&g->session);
        if (due != 0 && due <= now)
            session_time(&g->session, now);
        feed(f, g);
    }
}

void guests_send(fleet *f, uint8_t node, uint64_t at, bool part)
{
    for (uint32_t i = 0; i < f->guest_count; i++) {
        guest *g = f->guests[i];
        if (!is_at(f, g, node))
            continue;
        resp_out *out = &g->session.out;
        size_t count = part && out->bytes > 0 ? fleet_pick(f, 0, out->bytes) : out->bytes;
        if (count > 0 && g->there) {
            conduit_put(&g->out, out->at, count, at, at + fleet_delay(f));
            fleet_put(f, g->out.last_at, FLEET_TOLD, 0, 0, 0, g->number);
        }
        out->bytes = 0;
        if (g->session.ends && !part) {
            fleet_put(f, (g->out.last_at > at ? g->out.last_at : at) + 1, FLEET_LEFT, 0, 0, 0,
                      g->number);
            guest_gone(f, g);
        }
    }
}

/* As node_drained in src/node/daemon.c. */
void guests_drain(fleet *f, uint8_t node)
{
    for (uint32_t i = 0; i < f->guest_count; i++) {
        guest *g = f->guests[i];
        session *s = &g->session;
        if (!is_at(f, g, node) || s->ends || node_holds(&s->who))
            continue;
        s->of->locks->backend->leave(s->of->locks, &s->who, 0, false, host_clock(f, node));
        s->ends = true;
    }
}

/* Their node is dead: some clients learn so at once, some have to find out. */
void guests_die(fleet *f, uint8_t node)
{
    for (uint32_t i = 0; i < f->guest_count; i++) {
        guest *g = f->guests[i];
        if (!g->here || g->machine != node)
            continue;
        free(kept_of(&g->session.who)->id);
        session_free(&g->session);
        g->here = false;
        if (f->over || fleet_happens(f, 80)) { /* who looks in the end is patient */
            uint64_t at = f->now + fleet_delay(f);
            fleet_put(f, (g->out.last_at > at ? g->out.last_at : at) + 1, FLEET_LEFT, 0, 0, 0,
                      g->number);
        }
    }
}
