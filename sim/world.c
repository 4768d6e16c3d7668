/* The world of wdme: what can happen in it, and what must never. */
#include "world.h"

#include <stdio.h>
#include <string.h>

/* ---- the network ---- */

static void post(world *w, letter l)
{
    if (w->letters == MAX_LETTERS) {
        w->wrong = "more messages on their way than the simulation keeps";
        return;
    }
    w->letter[w->letters++] = l;
}

static void unpost(world *w, uint32_t which)
{
    memmove(&w->letter[which], &w->letter[which + 1],
            (w->letters - which - 1) * sizeof w->letter[0]);
    w->letters--;
    memset(&w->letter[w->letters], 0, sizeof w->letter[0]);
}

static uint32_t member_of(const world *w, uint32_t p)
{
    return 2 * p + w->person[p].second;
}

static bool is_connected(const world *w, uint32_t member)
{
    const person *who = &w->person[member / 2];
    return who->connected && member_of(w, member / 2) == member;
}

static void send_to_client(void *context, uint32_t to, wdme_message m)
{
    world *w = context;
    w->counts.messages++;
    if (is_connected(w, to)) /* else there is no way to it any more */
        post(w, (letter){.message = m, .member = (uint8_t)to});
}

static wdme_context context(world *w)
{
    return (wdme_context){&w->reg, w->member, &w->next_generation, send_to_client, w};
}

/* ---- processes ---- */

/* Process p is in the critical section. At most one in each generation, and later ones later. */
static void comes_in(world *w, uint32_t p, uint64_t token)
{
    person *who = &w->person[p];
    /* The lease may have ended before the process has heard that it began. */
    who->doubtful = w->reg.holder != member_of(w, p) || w->reg.generation != token;
    for (uint32_t q = 0; q < MAX_CLIENTS; q++)
        if (q != p && w->person[q].believes && !w->person[q].doubtful && !who->doubtful)
            w->wrong = "two are in the critical section";
    if ((token <= w->last_token && !who->doubtful) || token <= who->token)
        w->wrong = "a generation came back";
    if (token <= who->told_lost)
        w->wrong = "a process has entered what it knew to be lost";
    who->believes = true;
    who->token = token;
    if (token > w->last_token)
        w->last_token = token;
    w->counts.sections++;
}

static void goes_out(world *w, uint32_t p)
{
    w->person[p].believes = false;
    w->person[p].doubtful = false;
}

/* What a step of its client means for the process. */
static void follow(world *w, uint32_t p, wdme_step step)
{
    if (step.sends) {
        w->counts.messages++;
        post(w, (letter){.message = step.message,
                         .member = (uint8_t)member_of(w, p),
                         .to_register = true});
    }
    if (step.answer == WDME_ENTERED)
        comes_in(w, p, step.token);
    if (step.answer == WDME_WAS_LOST)
        goes_out(w, p);
    if (step.answer == WDME_MISUSE)
        w->wrong = "a client was used wrongly";
}

/* The register has given the holder's generation up while the process may still believe in it. */
static void doubt_holder(world *w)
{
    if (w->reg.holder == WDME_NOBODY)
        return;
    person *who = &w->person[w->reg.holder / 2];
    if (who->believes && who->token == w->reg.generation)
        who->doubtful = true;
}

/* ---- what happens ---- */

/* Theorem 1: a connection fails at most once in each generation. */
static void count_failure(world *w, const letter *l)
{
    person *who = &w->person[l->member / 2];
    if (l->message.kind != WDME_TRY || w->reg.holder == WDME_NOBODY || !is_connected(w, l->member))
        return;
    if (who->failed_in == w->reg.generation && !w->polls)
        w->wrong = "Theorem 1: a client has failed twice in one generation";
    who->failed_in = w->reg.generation;
}

static void register_gone(world *w, uint32_t member)
{
    wdme_context b = context(w);
    for (uint32_t i = w->letters; i-- > 0;) /* what is late of it never arrives */
        if (w->letter[i].to_register && w->letter[i].member == member)
            unpost(w, i);
    wdme_register_gone(&b, member);
    memset(&w->member[member], 0, sizeof w->member[member]);
}

static void deliver(world *w, uint32_t which)
{
    letter l = w->letter[which];
    unpost(w, which);
    wdme_context b = context(w);
    if (l.gone) {
        register_gone(w, l.member);
    } else if (l.to_register) {
        wdme_register before = w->reg;
        count_failure(w, &l);
        wdme_register_receive(&b, l.member, l.message);
        if (l.message.kind == WDME_EXIT && l.message.generation != before.generation &&
            (before.holder != w->reg.holder || before.generation != w->reg.generation))
            w->wrong = "a stale exit has changed the register";
    } else {
        if (l.message.kind == WDME_LOST)
            w->person[l.member / 2].told_lost = l.message.generation;
        follow(w, l.member / 2, wdme_client_receive(&w->person[l.member / 2].client, l.message));
    }
}

/* The client's end of a connection; the register's end follows when a `gone` arrives. */
static void cut(world *w, uint32_t p)
{
    person *who = &w->person[p];
    uint32_t member = member_of(w, p);
    for (uint32_t i = w->letters; i-- > 0;)
        if (!w->letter[i].to_register && w->letter[i].member == member)
            unpost(w, i);
    who->connected = false;
    who->failed_in = who->told_lost = 0;
    follow(w, p, wdme_client_cut(&who->client));
}

static void restart(world *w)
{
    for (uint32_t p = 0; p < MAX_CLIENTS; p++)
        if (w->person[p].connected)
            cut(w, p);
    memset(w->letter, 0, sizeof w->letter);
    w->letters = 0;
    memset(w->member, 0, sizeof w->member);
    wdme_context b = context(w);
    wdme_register_start(&b);
}

static void start(void *at, const limits *of)
{
    world *w = at;
    memset(w, 0, sizeof *w);
    w->next_generation = 1;
    w->cancels = of->cancels;
    w->cuts = of->cuts;
    w->leases = of->leases;
    w->restarts = of->restarts;
    for (uint32_t p = 0; p < of->clients; p++)
        w->person[p] = (person){.tries = of->tries, .locks = of->locks, .connected = true};
    wdme_context b = context(w);
    wdme_register_start(&b);
}

static void happen(void *at, happening what)
{
    world *w = at;
    person *who = &w->person[what.which < MAX_CLIENTS ? what.which : 0];
    uint64_t before;
    wdme_context b = context(w);
    switch (what.deed) {
    case DELIVERS:
        deliver(w, what.which);
        break;
    case TRIES:
        who->tries--;
        w->counts.tries++;
        before = w->counts.messages;
        if (w->polls) /* forgets that it has failed, and asks again and again */
            who->client.failed = 0;
        follow(w, what.which, wdme_client_try(&who->client));
        w->counts.refused_here += w->counts.messages == before;
        break;
    case LOCKS:
        who->locks--;
        follow(w, what.which, wdme_client_lock(&who->client));
        break;
    case CANCELS:
        w->cancels--;
        follow(w, what.which, wdme_client_cancel(&who->client));
        break;
    case EXITS:
        goes_out(w, what.which);
        follow(w, what.which, wdme_client_exit(&who->client));
        break;
    case LOSES_CONNECTION:
        w->cuts--;
        post(w, (letter){.gone = true,
                         .to_register = true,
                         .member = (uint8_t)member_of(w, what.which)});
        cut(w, what.which);
        break;
    case CONNECTS:
        who->second = !who->second;
        who->connected = true;
        break;
    case LEASE_ENDS:
        w->leases--;
        doubt_holder(w);
        wdme_register_lease_over(&b, w->reg.holder);
        break;
    case RESTARTS:
        w->restarts--;
        restart(w);
        break;
    }
}

/* ---- what can happen ---- */

static bool is_gone_on_its_way(const world *w, uint32_t member)
{
    for (uint32_t i = 0; i < w->letters; i++)
        if (w->letter[i].gone && w->letter[i].member == member)
            return true;
    return false;
}

/* What process p can do. */
static uint32_t person_can(const world *w, uint32_t p, happening *can)
{
    const person *who = &w->person[p];
    wdme_doing doing = who->client.doing;
    uint32_t count = 0;
    if (!who->connected) {
        /* Of its two members the other one must be free. */
        if ((who->tries > 0 || who->locks > 0) && !is_gone_on_its_way(w, 2 * p + !who->second))
            can[count++] = (happening){CONNECTS, p};
        return count;
    }
    if (doing == WDME_RESTS && who->tries > 0)
        can[count++] = (happening){TRIES, p};
    if (doing == WDME_RESTS && who->locks > 0)
        can[count++] = (happening){LOCKS, p};
    if ((doing == WDME_TRIES || doing == WDME_WAITS) && w->cancels > 0)
        can[count++] = (happening){CANCELS, p};
    if (doing == WDME_HOLDS)
        can[count++] = (happening){EXITS, p};
    if (w->cuts > 0)
        can[count++] = (happening){LOSES_CONNECTION, p};
    return count;
}

static uint32_t all_that_can(const void *at, const limits *of, happening can[MAX_HAPPENINGS])
{
    const world *w = at;
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->letters; i++)
        can[count++] = (happening){DELIVERS, i};
    for (uint32_t p = 0; p < of->clients; p++)
        count += person_can(w, p, &can[count]);
    if (w->leases > 0 && w->reg.holder != WDME_NOBODY)
        can[count++] = (happening){LEASE_ENDS, 0};
    if (w->restarts > 0)
        can[count++] = (happening){RESTARTS, 0};
    return count;
}

static const char *at_rest(const void *at, const limits *of)
{
    const world *w = at;
    if (w->letters > 0)
        return NULL;
    for (uint32_t p = 0; p < of->clients; p++)
        if (w->person[p].believes)
            return NULL;
    if (w->reg.holder != WDME_NOBODY)
        return "the lock is held, and nobody holds it";
    if (w->reg.first != WDME_NOBODY || w->reg.waiting != 0)
        return "somebody waits for a free lock";
    for (uint32_t p = 0; p < of->clients; p++) {
        const wdme_client *a = &w->person[p].client;
        if (a->doing != WDME_RESTS || a->given_up != 0)
            return "a client waits for an answer that never comes";
        if (!wdme_gate_is_open(a))
            return "a wake-up was lost: a client refuses tries, and the lock is free";
    }
    return NULL;
}

/* ---- for people ---- */

static const char *kind_name(wdme_kind kind)
{
    static const char *const names[] = {"TRY",   "LOCK",      "CANCEL", "EXIT",    "OK",  "FAIL",
                                        "RESET", "EXIT_DONE", "STALE",  "TIMEOUT", "LOST"};
    return names[kind];
}

static void describe(const void *at, happening what, char text[MAX_TEXT])
{
    const world *w = at;
    static const char *const deeds[] = {
        "", "tries", "locks", "cancels", "exits", "loses its connection", "connects",
    };
    if (what.deed == LEASE_ENDS)
        snprintf(text, MAX_TEXT, "the lease of process %u ends", w->reg.holder / 2 + 1);
    else if (what.deed == RESTARTS)
        snprintf(text, MAX_TEXT, "the register is restarted");
    else if (what.deed != DELIVERS)
        snprintf(text, MAX_TEXT, "process %u %s", what.which + 1, deeds[what.deed]);
    else {
        const letter *l = &w->letter[what.which];
        if (l->gone)
            snprintf(text, MAX_TEXT, "the register learns that a connection of process %u is gone",
                     l->member / 2 + 1);
        else
            snprintf(text, MAX_TEXT, "%s process %u: %s, request %u, generation %llu",
                     l->to_register ? "from" : "to  ", l->member / 2 + 1,
                     kind_name(l->message.kind), l->message.request,
                     (unsigned long long)l->message.generation);
    }
}

static const char *wrong(const void *at)
{
    return ((const world *)at)->wrong;
}

static counts counted(const void *at)
{
    return ((const world *)at)->counts;
}

/* Polling differs in how it starts only. */
#define WORLD_MODEL                                                                   \
    .bytes = sizeof(world), .can = all_that_can, .happen = happen, .wrong = wrong,    \
    .at_rest = at_rest, .describe = describe, .counted = counted, .pack = world_pack, \
    .unpack = world_unpack

const model corrected = {.name = "corrected", .start = start, WORLD_MODEL};

static void start_polling(void *at, const limits *of)
{
    start(at, of);
    ((world *)at)->polls = true;
}

/* The same register, and clients that ask again at every try: what WDME is there to avoid. */
const model polling = {.name = "polling", .start = start_polling, WORLD_MODEL};
