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

/* Pushes exist in protocol 3 only; others must ask, and RENEW tells them of a loss. */
static void push(session *me, const char *kind, const char *name, size_t bytes, uint64_t generation)
{
    if (!me->out.third) {
        me->lost_unheard |= strcmp(kind, "lost") == 0 || strcmp(kind, "ejected") == 0;
        return;
    }
    traffic_count(&me->traffic->sent, 1);
    resp_push(&me->out, 3);
    resp_text(&me->out, kind);
    resp_bulk(&me->out, name, bytes);
    resp_integer(&me->out, (int64_t)generation);
}

static void hear(lock_session *who, wdme_message m, const char *name, size_t bytes)
{
    session *me = (session *)(void *)who;
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
    if (name->bytes > 0 && name->bytes <= o->me->of->max_name)
        return true;
    resp_error(&o->me->out, "NAME a name has 1 to %zu bytes", o->me->of->max_name);
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
    locks *all = me->of->locks;
    switch (all->backend->tell(all, &me->who, name.at, name.bytes, m, o->now)) {
    case LOCK_DONE:
        return;
    case LOCK_CROWD:
        resp_error(&me->out, "CROWD too many wait for this lock already");
        break;
    case LOCK_TWICE:
        resp_error(&me->out, "TWICE this session holds the lock already");
        break;
    case LOCK_NO_ROOM:
        resp_error(&me->out, "OOM the server is out of memory");
        break;
    case LOCK_NOT_READY:
        resp_error(&me->out, "NOTREADY %s", all->why_not);
        break;
    case LOCK_DRAINING:
        resp_error(&me->out, "DRAINING this node is about to end; finish what you hold");
        break;
    case LOCK_ENDS: /* to be cut off is what clients know how to deal with */
        me->ends = true;
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
    locks *all = me->of->locks;
    bool held = all->backend->release(all, name.at, name.bytes, token, o->now);
    if (held && me->of->audit != NULL) {
        char what[64];
        snprintf(what, sizeof what, "released by force, token %" PRIu64, token);
        me->of->audit(me->of, me->who.from, what, name);
    }
    resp_integer(&me->out, held);
}

static bool change_lease(session *me, uint64_t lease)
{
    service *of = me->of;
    if (lease != me->lease && of->change_lease != NULL && !of->change_lease(of, me->lease, lease))
        return false;
    me->lease = lease;
    return true;
}

/*
 * RENEW [MS]: every command renews the lease; this one also sets it. A client that counts its lease
 * from before it sent a command that was answered must not be answered as if nothing was lost.
 */
static void renew(const order *o)
{
    session *me = o->me;
    if (me->lost_unheard) {
        me->lost_unheard = false;
        resp_error(&me->out, "LOST a section of this session was taken away; EXIT tells which");
        return;
    }
    uint64_t lease = me->lease;
    if (o->command->words > 1 && !resp_number(word(o, 1), 0, me->of->longest_lease, &lease)) {
        resp_error(&me->out,
                   "ERR a lease is a number of milliseconds from 0, for none, to %" PRIu64,
                   me->of->longest_lease);
        return;
    }
    if (!take_refusals(o, 2))
        return;
    if (!change_lease(me, lease)) {
        resp_error(&me->out, "CLOSED the server cannot write its file of tokens; see its log");
        return;
    }
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
    o->me->quits = true;
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

/*
 * A web page can have a browser send what it likes to this port, behind the head of a request: so
 * the session ends there, before any of it is carried out.
 */
static void refuse_http(const order *o)
{
    session *me = o->me;
    resp_error(&me->out, "ERR this port speaks RESP, not HTTP");
    me->ends = true;
    if (me->of->audit != NULL)
        me->of->audit(me->of, me->who.from, "refused: a request of HTTP", (resp_word){0});
}

static void info(const order *o)
{
    session_report_figures(o->me);
}

/* LOCKS [PATTERN [CURSOR PLACE]] */
static void list_locks(const order *o)
{
    uint32_t words = o->command->words;
    resp_word pattern = words > 1 ? word(o, 1) : (resp_word){0};
    uint64_t from;
    if (words <= 2)
        session_report_locks(o->me, pattern, o->now);
    else if (words == 4 && resp_is(word(o, 2), "CURSOR") &&
             resp_number(word(o, 3), 0, INT64_MAX, &from))
        session_report_page(o->me, pattern, from, o->now);
    else
        resp_error(&o->me->out,
                   "ERR LOCKS pattern CURSOR takes 0, or the number in the last answer");
}

/* ---- which is which ---- */

static const session_command commands[] = {
    {"TRY", 2, 3, false, try},
    {"LOCK", 2, 4, false, lock},
    {"EXIT", 3, 4, false, leave},
    {"RENEW", 1, 3, false, renew},
    {"PING", 1, 2, true, ping},
    {"LOCKS", 1, 4, false, list_locks},
    {"INFO", 1, 2, false, info},
    {"RELEASE", 3, 3, false, force},
    {"HELLO", 1, 7, true, hello},
    {"AUTH", 2, 3, true, session_auth},
    {"QUIT", 1, 1, true, quit},
    {"CLIENT", 2, RESP_MAX_WORDS, false, nothing_to_say},
    {"COMMAND", 1, RESP_MAX_WORDS, false, nothing_to_say},
    {"CONFIG", 2, RESP_MAX_WORDS, false, nothing_to_say},
    {"SELECT", 2, 2, false, nothing_to_say},
    {"POST", 1, RESP_MAX_WORDS, true, refuse_http},
    {"HOST:", 1, RESP_MAX_WORDS, true, refuse_http},
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
        else if (o->command->words < c->least || o->command->words > c->max)
            resp_error(out, "ERR wrong number of arguments for '%s'", c->name);
        else
            c->run(o);
        return;
    }
    resp_error(out, "ERR unknown command '%.*s'", (int)(name.bytes < 64 ? name.bytes : 64),
               name.at);
}

/* What they may say, and how much, before they are known. */
static const resp_limits stranger_limits = {.word_bytes = 512, .command_bytes = 1024};
enum { STRANGER_SHARE = 4, STRANGER_OUTPUT = 4096 };

void session_spend(session *me, uint64_t things)
{
    me->share -= things < me->share ? (uint32_t)things : me->share;
}

size_t session_feed(session *me, const char *bytes, size_t count, uint64_t now)
{
    size_t used = 0;
    me->share = me->trusted ? SESSION_SHARE : STRANGER_SHARE;
    me->unfinished = false;
    if (me->lease_until != 0)
        me->lease_until = now + me->lease; /* whatever it says, it lives */
    while (!me->waits && !me->ends && !me->out.overflow && used < count) {
        if (me->share == 0) {
            me->unfinished = true;
            break;
        }
        me->share--;
        resp_command command;
        const resp_limits *limits = me->trusted ? &me->of->limits : &stranger_limits;
        resp_parsed p = resp_parse(bytes + used, count - used, limits, &command);
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
        if (me->comes_again) {
            me->comes_again = false;
            return used - p.used;
        }
        traffic_count(&me->traffic->received, 1);
        traffic_count(&me->traffic->sent, !me->waits);
    }
    return used;
}

/* ---- time, begin and end ---- */

/* The earlier one; 0 is none. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

uint64_t session_deadline(const session *me)
{
    uint64_t known = me->trusted ? 0 : me->stranger_until;
    return earlier(known, earlier(me->waits ? me->wait_until : 0, me->lease_until));
}

void session_time(session *me, uint64_t now)
{
    enum { SOON = 50 }; /* milliseconds: what it holds is taken away in parts */
    locks *all = me->of->locks;
    bool waited = me->waits;
    if (!me->trusted && me->stranger_until != 0 && now >= me->stranger_until && !me->ends) {
        resp_error(&me->out, "NOAUTH no password came in time");
        me->ends = true;
    }
    if (waited && me->wait_until != 0 && now >= me->wait_until && me->waits_for == NULL) {
        session_stop_waiting(me); /* a password: now it may be looked at */
    } else if (waited && me->wait_until != 0 && now >= me->wait_until) {
        me->wait_until = 0; /* if it still waits then, the lock is its own and the notice under way:
                               who looked at the clock again and again would never get to it */
        all->backend->wait_over(all, &me->who, me->waits_for, me->waits_for_bytes, now);
    }
    count_late_answer(me, waited);
    if (me->lease_until != 0 && now >= me->lease_until) {
        bool all_gone = all->backend->lease_over(all, &me->who, now);
        /* It may come back, and begins anew. */
        me->lease_until = now + (all_gone ? me->lease : SOON);
    }
}

void session_start(session *me, service *of, traffic *counted,
                   void (*post)(lock_session *me, notice *n))
{
    *me = (session){.of = of, .traffic = counted, .trusted = of->secret == NULL};
    me->out.max = me->trusted ? of->max_output : STRANGER_OUTPUT;
    me->who.hear = hear;
    me->who.post = post;
    of->locks->backend->join(&me->who);
}

uint64_t session_end(session *me, uint64_t now)
{
    locks *all = me->of->locks;
    uint32_t held = all->backend->leave(all, &me->who, me->lease_until, me->quits, now);
    uint64_t lease = held > 0 ? me->lease : 0;
    session_stop_waiting(me);
    change_lease(me, 0);
    return lease;
}

void session_free(session *me)
{
    session_stop_waiting(me);
    resp_free(&me->out);
}
