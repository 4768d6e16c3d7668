/* Sessions: commands, one function each, and what is told to clients. */
#include "session.h"
#include "baton/lock.h"
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what registers say ---- */

void session_stop_waiting(session *me)
{
    free(me->waits_for);
    me->waits_for = NULL;
    me->waits_for_bytes = 0;
    me->waits = false;
}

/* Pushes exist in protocol 3 only; others must ask. */
static void push(session *me, const char *kind, const char *name, size_t bytes, uint64_t generation)
{
    if (!me->out.third)
        return;
    traffic_count(&me->traffic->sent, 1);
    resp_push(&me->out, 3);
    resp_text(&me->out, kind);
    resp_bulk(&me->out, name, bytes);
    resp_integer(&me->out, (int64_t)generation);
}

static void hear(session_roles *roles, wdme_message m, const char *name, size_t bytes)
{
    session *me = (session *)(void *)roles;
    switch (m.kind) {
    case WDME_OK:
        session_stop_waiting(me);
        resp_integer(&me->out, (int64_t)m.generation);
        break;
    case WDME_TIMEOUT:
        session_stop_waiting(me);
        resp_null(&me->out);
        break;
    case WDME_FAIL:
        session_stop_waiting(me);
        resp_integer(&me->out, -(int64_t)m.generation);
        break;
    case WDME_EXIT_DONE:
        resp_integer(&me->out, 1);
        break;
    case WDME_STALE:
        resp_error(&me->out, "STALE the section with token %" PRIu64 " is over, or was never yours",
                   m.generation);
        break;
    case WDME_RESET:
        push(me, "reset", name, bytes, m.generation);
        break;
    case WDME_LOST:
        push(me, "lost", name, bytes, m.generation);
        break;
    default:
        break;
    }
}

/* The answer to LOCK may come long after the command. */
static void count_late_answer(session *me, bool waited)
{
    traffic_count(&me->traffic->sent, waited && !me->waits);
}

/* A reply in protocol 2; null has another form in the third. */
static void reply(session *me, const char *bytes, size_t count)
{
    static const char null[] = "$-1\r\n";
    if (me->out.third && count == sizeof null - 1 && memcmp(bytes, null, count) == 0)
        resp_null(&me->out);
    else
        resp_raw(&me->out, bytes, count);
}

void session_notice(notice *n, uint64_t now)
{
    session *me = (session *)(void *)n->to;
    bool waited = me->waits;
    if (me->waits && me->lease_until != 0)
        me->lease_until = now + me->lease; /* while it waited, it had to be silent */
    if (n->outcome) {
        session_stop_waiting(me);
        reply(me, n->name, n->name_bytes);
    } else if (n->push != NULL) {
        push(me, n->push, n->name, n->name_bytes, n->message.generation);
    } else {
        hear(n->to, n->message, n->name, n->name_bytes);
    }
    count_late_answer(me, waited);
    free(n);
}

/* ---- commands ---- */

static resp_word word(const order *o, uint32_t which)
{
    return o->command->word[which];
}

bool order_name(const order *o, resp_word *name)
{
    *name = word(o, 1);
    if (name->bytes > 0 && name->bytes <= o->me->of->most_name)
        return true;
    resp_error(&o->me->out, "NAME a name has 1 to %zu bytes", o->me->of->most_name);
    return false;
}

/*
 * Clients answer tries by themselves, and say how many with any of their commands, in its last word
 * (`at`). False, with an error, if that is no such number.
 */
static bool take_refusals(const order *o, uint32_t at)
{
    uint64_t refusals = 0;
    if (o->command->words > at && !resp_number(word(o, at), 0, UINT32_MAX, &refusals)) {
        resp_error(&o->me->out, "ERR tries that were refused are a number up to %" PRIu32,
                   UINT32_MAX);
        return false;
    }
    traffic_count(&o->me->traffic->refused, refusals);
    return true;
}

static void tell(const order *o, resp_word name, wdme_message m)
{
    session *me = o->me;
    if (m.kind != WDME_EXIT && atomic_load_explicit(&me->of->closed, memory_order_relaxed)) {
        resp_error(&me->out, "CLOSED the server cannot write its file of tokens; see its log");
        session_stop_waiting(me);
        return;
    }
    switch (registry_tell(me->of->locks, &me->roles, name.at, name.bytes, m, o->now)) {
    case REGISTRY_DONE:
        return;
    case REGISTRY_CROWD:
        resp_error(&me->out, "CROWD too many wait for this lock already");
        break;
    case REGISTRY_TWICE:
        resp_error(&me->out, "TWICE this session holds the lock already");
        break;
    case REGISTRY_NO_ROOM:
        resp_error(&me->out, "OOM the server is out of memory");
        break;
    case REGISTRY_NOT_READY:
        resp_error(&me->out, "NOTREADY %s", me->of->locks->why_not);
        break;
    case REGISTRY_ENDS: /* to be cut off is what clients know how to deal with */
        me->ends = me->roles.seats == NULL;
        if (!me->ends)
            resp_error(&me->out, "DRAINING this node is about to end; finish what you hold");
        break;
    }
    session_stop_waiting(me);
}

static void try(const order *o)
{
    session *me = o->me;
    resp_word name;
    if (!order_name(o, &name) || !take_refusals(o, 2))
        return;
    me->waits = true; /* a node may have to ask others first: what comes next must not overtake */
    me->wait_until = 0;
    tell(o, name, (wdme_message){.kind = WDME_TRY, .request = ++me->request});
}

bool order_wait(const order *o, resp_word name, uint32_t at)
{
    session *me = o->me;
    uint64_t timeout = 0;
    if (o->command->words > at && !resp_number(word(o, at), 0, UINT32_MAX, &timeout)) {
        resp_error(&me->out, "ERR a timeout is a number of milliseconds, 0 for no end");
        return false;
    }
    me->waits_for = malloc(name.bytes);
    if (me->waits_for == NULL) {
        resp_error(&me->out, "OOM the server is out of memory");
        return false;
    }
    memcpy(me->waits_for, name.at, name.bytes);
    me->waits_for_bytes = name.bytes;
    me->waits = true; /* before the register is told: it may answer at once */
    me->wait_until = timeout == 0 ? 0 : o->now + timeout;
    return true;
}

static void lock(const order *o)
{
    resp_word name;
    if (order_name(o, &name) && take_refusals(o, 3) && order_wait(o, name, 2))
        tell(o, name, (wdme_message){.kind = WDME_LOCK, .request = ++o->me->request});
}

bool order_token(const order *o, uint32_t at, uint64_t *token)
{
    if (resp_number(word(o, at), 1, INT64_MAX, token))
        return true;
    resp_error(&o->me->out, "ERR a token is the number that TRY or LOCK gave");
    return false;
}

static void leave(const order *o)
{
    resp_word name;
    uint64_t token;
    if (order_name(o, &name) && order_token(o, 2, &token) && take_refusals(o, 3))
        tell(o, name, (wdme_message){.kind = WDME_EXIT, .generation = token});
}

static void force(const order *o)
{
    session *me = o->me;
    resp_word name;
    uint64_t token;
    if (!order_name(o, &name))
        return;
    if (!resp_number(word(o, 2), 1, INT64_MAX, &token)) {
        resp_error(&me->out, "ERR a token is the number that LOCKS shows");
        return;
    }
    bool held = registry_release(me->of->locks, name.at, name.bytes, token, o->now);
    if (held && me->of->audit != NULL) {
        char what[128];
        snprintf(what, sizeof what, "released by force: %.*s, token %" PRIu64,
                 (int)(name.bytes < 64 ? name.bytes : 64), name.at, token);
        me->of->audit(me->of, me->roles.from, what);
    }
    resp_integer(&me->out, held);
}

/* RENEW [MS]: every command renews the lease; this one also sets it. */
static void renew(const order *o)
{
    session *me = o->me;
    uint64_t lease = me->lease;
    if (o->command->words > 1 && !resp_number(word(o, 1), 0, me->of->longest_lease, &lease)) {
        resp_error(&me->out,
                   "ERR a lease is a number of milliseconds from 0, for none, to %" PRIu64,
                   me->of->longest_lease);
        return;
    }
    if (!take_refusals(o, 2))
        return;
    if (lease > 0 && !me->of->remember_lease(me->of, lease)) {
        resp_error(&me->out, "CLOSED the server cannot write its file of tokens; see its log");
        return;
    }
    me->lease = lease;
    me->lease_until = lease == 0 ? 0 : o->now + lease;
    resp_integer(&me->out, (int64_t)lease);
}

/* HELLO [2|3] [AUTH USER SECRET] [SETNAME NAME] */
static void hello(const order *o)
{
    session *me = o->me;
    uint64_t version = me->out.third ? 3 : 2;
    uint32_t at = 1;
    if (o->command->words > 1 && !resp_number(word(o, at++), 2, 3, &version)) {
        resp_error(&me->out, "NOPROTO unsupported protocol version");
        return;
    }
    for (; at < o->command->words; at++) {
        if (resp_is(word(o, at), "AUTH") && at + 2 < o->command->words) {
            if (!session_authenticate(o, word(o, at + 2)))
                return;
            at += 2;
        } else if (resp_is(word(o, at), "SETNAME") && at + 1 < o->command->words) {
            at++;
        } else {
            resp_error(&me->out, "ERR Syntax error in HELLO");
            return;
        }
    }
    if (!me->trusted) {
        resp_error(&me->out, "NOAUTH HELLO must be called with the client already authenticated, "
                             "or with AUTH <user> <password>");
        return;
    }
    me->out.third = version == 3;
    resp_map(&me->out, 4);
    resp_text(&me->out, "server");
    resp_text(&me->out, "baton");
    resp_text(&me->out, "version");
    resp_text(&me->out, baton_version());
    resp_text(&me->out, "proto");
    resp_integer(&me->out, (int64_t)version);
    resp_text(&me->out, "mode");
    resp_text(&me->out, me->of->more != NULL ? "cluster" : "standalone");
}

static void ping(const order *o)
{
    if (o->command->words == 2)
        resp_bulk(&o->me->out, word(o, 1).at, word(o, 1).bytes);
    else
        resp_simple(&o->me->out, "PONG");
}

static void quit(const order *o)
{
    resp_ok(&o->me->out);
    free(o->me->roles.session); /* it will not come back */
    o->me->roles.session = NULL;
    o->me->ends = true;
}

/* What clients of Redis ask when they connect, and do without. */
static void nothing_to_say(const order *o)
{
    if (resp_is(word(o, 0), "COMMAND") || resp_is(word(o, 0), "CONFIG"))
        resp_map(&o->me->out, 0);
    else
        resp_ok(&o->me->out);
}

static void info(const order *o)
{
    session_report_figures(o->me);
}

static void locks(const order *o)
{
    resp_word everything = {0};
    session_report_locks(o->me, o->command->words == 2 ? word(o, 1) : everything, o->now);
}

/* ---- which is which ---- */

static const session_command commands[] = {
    {"TRY", 2, 3, false, try},
    {"LOCK", 2, 4, false, lock},
    {"EXIT", 3, 4, false, leave},
    {"RENEW", 1, 3, false, renew},
    {"PING", 1, 2, false, ping},
    {"LOCKS", 1, 2, false, locks},
    {"INFO", 1, 2, false, info},
    {"RELEASE", 3, 3, false, force},
    {"HELLO", 1, 7, true, hello},
    {"AUTH", 2, 3, true, session_auth},
    {"QUIT", 1, 1, true, quit},
    {"CLIENT", 2, RESP_MOST_WORDS, true, nothing_to_say},
    {"COMMAND", 1, RESP_MOST_WORDS, true, nothing_to_say},
    {"CONFIG", 2, RESP_MOST_WORDS, true, nothing_to_say},
    {"SELECT", 2, 2, false, nothing_to_say},
    {0},
};

static const session_command *find_command(const session_command *all, resp_word name)
{
    while (all->name != NULL && !resp_is(name, all->name))
        all++;
    return all->name != NULL ? all : NULL;
}

static void carry_out(const order *o)
{
    resp_out *out = &o->me->out;
    resp_word name = word(o, 0);
    const session_command *c = find_command(commands, name);
    if (c == NULL && o->me->of->more != NULL)
        c = find_command(o->me->of->more, name);
    if (c != NULL) {
        if (!o->me->trusted && !c->for_strangers)
            resp_error(out, "NOAUTH Authentication required.");
        else if (o->command->words < c->least || o->command->words > c->most)
            resp_error(out, "ERR wrong number of arguments for '%s'", c->name);
        else
            c->run(o);
        return;
    }
    resp_error(out, "ERR unknown command '%.*s'", (int)(name.bytes < 64 ? name.bytes : 64),
               name.at);
}

size_t session_feed(session *me, const char *bytes, size_t count, uint64_t now)
{
    size_t used = 0;
    if (me->lease_until != 0)
        me->lease_until = now + me->lease; /* whatever it says, it lives */
    while (!me->waits && !me->ends && !me->out.overflow && used < count) {
        resp_command command;
        resp_parsed p = resp_parse(bytes + used, count - used, &me->of->limits, &command);
        if (p.verdict == RESP_MORE)
            break;
        if (p.verdict == RESP_BAD) {
            resp_error(&me->out, "%s", p.complaint);
            me->ends = true;
            return count;
        }
        used += p.used;
        order o = {me, &command, now};
        if (command.words == 0)
            continue;
        carry_out(&o);
        traffic_count(&me->traffic->received, 1);
        traffic_count(&me->traffic->sent, !me->waits);
    }
    return used;
}

/* ---- time, begin and end ---- */

uint64_t session_deadline(const session *me)
{
    uint64_t wait = me->waits ? me->wait_until : 0;
    if (wait == 0 || me->lease_until == 0)
        return wait != 0 ? wait : me->lease_until;
    return wait < me->lease_until ? wait : me->lease_until;
}

void session_time(session *me, uint64_t now)
{
    bool waited = me->waits;
    if (waited && me->wait_until != 0 && now >= me->wait_until) {
        me->wait_until = 0; /* if it still waits then, the lock is its own and the notice under way:
                               who looked at the clock again and again would never get to it */
        registry_wait_over(me->of->locks, &me->roles, me->waits_for, me->waits_for_bytes, now);
    }
    count_late_answer(me, waited);
    if (me->lease_until != 0 && now >= me->lease_until) {
        registry_lease_over(me->of->locks, &me->roles, now);
        me->lease_until = now + me->lease; /* it may come back, and begins anew */
    }
}

void session_start(session *me, service *of, traffic *counted,
                   void (*post)(session_roles *me, notice *n))
{
    *me = (session){.of = of, .traffic = counted, .trusted = of->secret == NULL};
    me->out.most = of->most_output;
    me->roles.hear = hear;
    me->roles.post = post;
    registry_join(&me->roles);
}

uint64_t session_end(session *me, uint64_t now)
{
    me->roles.lingers_until = me->roles.session != NULL ? me->lease_until : 0;
    uint32_t held = registry_leave(me->of->locks, &me->roles, now);
    session_stop_waiting(me);
    return held > 0 ? me->lease : 0;
}

void session_free(session *me)
{
    session_stop_waiting(me);
    free(me->roles.session);
    resp_free(&me->out);
}
