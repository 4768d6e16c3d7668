/*
 * The judge of histories against the definitions of the wme paper, section 2 and 3. Small histories
 * are made at random. For each, all orders of its sections are tried: is there a legal completion
 * that is equivalent to a CS-sequential history (WME1), which keeps to real time (WME2) and in
 * which the operations come as they were executed (WME3)?
 */
#include "chance.h"
#include "history.h"
#include "unit.h"

#include <string.h>

enum {
    HISTORIES = 30000,
    AT_LEAST = 1000, /* of each kind, or the test has shown nothing */
    USERS = 3,
    MAX_SECTIONS = 5,
    MAX_OPERATIONS = 12,
    MAX_EVENTS = 100,
    NEVER = MAX_EVENTS + 1,
    NOBODY = -1
};

typedef enum kind { TRY, CRIT, ISSUE, EXECUTE, OUTCOME, EXIT, REM, EJECTED, GONE } kind;

typedef struct event {
    kind kind;
    int user, section, operation;
} event;

typedef struct section {
    int user, init, final; /* final: NEVER if it does not end */
    bool entered;
} section;

typedef struct operation {
    int section;
    int number; /* 0: not executed */
    bool over;  /* failed, or answered: cannot be executed any more */
} operation;

/* A history, and its users while it is made. The time of an event is its place. */
typedef struct small {
    event event[MAX_EVENTS];
    int events;
    section section[MAX_SECTIONS];
    int sections;
    uint64_t token[MAX_SECTIONS];
    operation operation[MAX_OPERATIONS];
    int operations, executed;
    int in[USERS];      /* section, or NOBODY */
    int pending[USERS]; /* operation, or NOBODY */
    bool leaves[USERS];
} small;

/* ---- at random ---- */

static bool chance(uint64_t *random, unsigned of_hundred)
{
    return draw(random) % 100 < of_hundred;
}

static void add(small *s, kind what, int user, int which_section, int which_operation)
{
    s->event[s->events++] = (event){what, user, which_section, which_operation};
}

static void execute(small *s, int user, int which)
{
    s->operation[which].number = ++s->executed;
    add(s, EXECUTE, user, s->operation[which].section, which);
}

static void end_section(small *s, kind how, int user)
{
    add(s, how, user, s->in[user], s->pending[user]);
    s->section[s->in[user]].final = s->events - 1;
    if (s->pending[user] != NOBODY && how != GONE)
        s->operation[s->pending[user]].over = true;
    s->in[user] = s->pending[user] = NOBODY;
    s->leaves[user] = false;
}

static void go_on_with_operation(small *s, int user, uint64_t *random)
{
    operation *op = &s->operation[s->pending[user]];
    if (chance(random, 10)) {
        end_section(s, GONE, user);
    } else if (op->number != 0) {
        op->over = true;
        add(s, OUTCOME, user, s->in[user], s->pending[user]);
        s->pending[user] = NOBODY;
    } else if (chance(random, 15)) {
        end_section(s, EJECTED, user);
    } else {
        execute(s, user, s->pending[user]);
    }
}

static void begin_something_inside(small *s, int user, uint64_t *random)
{
    if (chance(random, 5)) {
        end_section(s, GONE, user);
    } else if (chance(random, 10)) {
        end_section(s, EJECTED, user);
    } else if (s->operations < MAX_OPERATIONS && chance(random, 65)) {
        s->pending[user] = s->operations;
        s->operation[s->operations] = (operation){.section = s->in[user]};
        add(s, ISSUE, user, s->in[user], s->operations++);
    } else {
        s->leaves[user] = true;
        add(s, EXIT, user, s->in[user], NOBODY);
    }
}

static void go_on(small *s, int user, uint64_t *random)
{
    int mine = s->in[user];
    if (mine == NOBODY) {
        if (s->sections == MAX_SECTIONS)
            return;
        s->in[user] = s->sections;
        s->section[s->sections] = (section){.user = user, .init = s->events, .final = NEVER};
        add(s, TRY, user, s->sections++, NOBODY);
    } else if (!s->section[mine].entered) {
        s->section[mine].entered = true;
        add(s, CRIT, user, mine, NOBODY);
    } else if (s->leaves[user]) {
        end_section(s, REM, user);
    } else if (s->pending[user] != NOBODY) {
        go_on_with_operation(s, user, random);
    } else {
        begin_something_inside(s, user, random);
    }
}

/* An operation whose user is gone is executed late, or never. */
static void execute_late(small *s, uint64_t *random)
{
    for (int i = 0; i < s->operations; i++)
        if (s->operation[i].number == 0 && !s->operation[i].over &&
            s->section[s->operation[i].section].final != NEVER && chance(random, 30))
            execute(s, s->section[s->operation[i].section].user, i);
}

/* Mostly one user goes on for a while: else hardly any history would be legal. */
static void make(small *s, uint64_t *random)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < USERS; i++)
        s->in[i] = s->pending[i] = NOBODY;
    unsigned restless = 5 + (unsigned)(draw(random) % 50);
    int steps = 20 + (int)(draw(random) % 40), user = 0;
    for (int i = 0; i < steps && s->events < MAX_EVENTS - MAX_OPERATIONS; i++) {
        if (s->in[user] == NOBODY || chance(random, restless))
            user = (int)(draw(random) % USERS);
        go_on(s, user, random);
        execute_late(s, random);
    }
}

/* Tokens in the order of the entries; in some histories some are swapped, in few one is doubled. */
static void give_tokens(small *s, uint64_t *random)
{
    uint64_t next = 1;
    for (int i = 0; i < s->events; i++)
        if (s->event[i].kind == CRIT)
            s->token[s->event[i].section] = next++;
    for (uint64_t swaps = draw(random) % 3; s->sections > 1 && swaps > 0; swaps--) {
        int a = (int)(draw(random) % (unsigned)s->sections);
        int b = (int)(draw(random) % (unsigned)s->sections);
        uint64_t of_a = s->token[a];
        s->token[a] = s->token[b];
        s->token[b] = of_a;
    }
    if (s->sections > 1 && chance(random, 5))
        s->token[0] = s->token[1];
}

/* ---- the judge ---- */

static void tell(history *h, const small *s, const event *e, uint64_t at)
{
    uint32_t user = (uint32_t)e->user;
    uint64_t key = (uint64_t)e->operation + 1;
    switch (e->kind) {
    case TRY:
        history_try(h, user, 0, at);
        break;
    case CRIT:
        history_crit(h, user, s->token[e->section], at);
        break;
    case ISSUE:
        history_issue(h, user, key, at);
        break;
    case EXECUTE:
        history_execute(h, 0, (uint64_t)s->operation[e->operation].number, key, key, at);
        break;
    case OUTCOME:
        history_outcome(h, user, key, key, at);
        break;
    case EXIT:
        history_exit(h, user, at);
        break;
    case REM:
        history_rem(h, user, at);
        break;
    case EJECTED:
        history_ejected(h, user, at);
        break;
    case GONE:
        history_gone(h, user, at);
        break;
    }
}

static history_property judge(history *h, const small *s)
{
    history_reset(h, 1, USERS);
    for (int i = 0; i < s->events; i++)
        tell(h, s, &s->event[i], (uint64_t)i);
    history_end(h, 0, (uint64_t)s->events);
    return history_wrong(h)->broken;
}

/* ---- the definitions ---- */

/* Sections, one after the other: S. Those that were not entered are left out by the completion. */
typedef struct order {
    int section[MAX_SECTIONS];
    int sections;
} order;

static bool is_before(const small *s, int a, int b)
{
    return s->section[a].final < s->section[b].init;
}

/*
 * Is S equivalent to the completion (each user has its sections in the same order), and does it
 * keep to real time? What does not end is completed at the end of the history.
 */
static bool keeps_to_real_time(const small *s, const order *o)
{
    for (int i = 0; i < o->sections; i++)
        for (int k = i + 1; k < o->sections; k++) {
            int a = o->section[i], b = o->section[k];
            bool same_user = s->section[a].user == s->section[b].user;
            if (is_before(s, b, a) || (same_user && s->section[b].init < s->section[a].init))
                return false;
        }
    return true;
}

/*
 * The operations of S that succeed, or are completed so that they do, are those that were executed,
 * in the same order. They were issued in the order in which they stand in s->operation.
 */
static bool is_isomorphic(const small *s, const order *o)
{
    int number = 0;
    for (int i = 0; i < o->sections; i++)
        for (int k = 0; k < s->operations; k++)
            if (s->operation[k].section == o->section[i] && s->operation[k].number != 0 &&
                s->operation[k].number != ++number)
                return false;
    return number == s->executed;
}

static bool has_effect(const small *s, int which)
{
    for (int k = 0; k < s->operations; k++)
        if (s->operation[k].section == which && s->operation[k].number != 0)
            return true;
    return false;
}

/*
 * What the judge asks for beyond the paper: tokens are unique, and a section with an effect has a
 * larger one than all with an effect that stand before it and all that had ended before its try.
 */
static bool tokens_agree(const small *s, const order *o)
{
    for (int i = 0; i < o->sections; i++)
        for (int k = 0; k < o->sections; k++) {
            int a = o->section[i], b = o->section[k];
            if (i != k && s->token[a] == s->token[b])
                return false;
            bool follows = is_before(s, a, b) || (i < k && has_effect(s, a));
            if (follows && has_effect(s, b) && s->token[b] < s->token[a])
                return false;
        }
    return true;
}

typedef struct findings {
    bool legal;       /* some order is */
    bool legal_agree; /* one is that the tokens agree with */
    order first;      /* legal one */
} findings;

static void try_orders(const small *s, order *o, bool *taken, findings *f)
{
    bool complete = true;
    for (int i = 0; i < s->sections; i++) {
        if (taken[i] || !s->section[i].entered)
            continue;
        complete = false;
        taken[i] = true;
        o->section[o->sections++] = i;
        try_orders(s, o, taken, f);
        o->sections--;
        taken[i] = false;
    }
    if (!complete || !keeps_to_real_time(s, o) || !is_isomorphic(s, o))
        return;
    if (!f->legal)
        f->first = *o;
    f->legal = true;
    f->legal_agree |= tokens_agree(s, o);
}

/* ---- together ---- */

static void test_orders(void **state)
{
    (void)state;
    static small s;
    history *h = history_new(1, USERS);
    uint64_t random = 20240607, verdicts[HISTORY_PROPERTIES] = {0}, illegal = 0, other_tokens = 0;
    for (int i = 0; i < HISTORIES; i++) {
        make(&s, &random);
        give_tokens(&s, &random);
        history_property broken = judge(h, &s);
        verdicts[broken]++;
        order o = {.sections = 0};
        bool taken[MAX_SECTIONS] = {false};
        findings f = {.legal = false};
        try_orders(&s, &o, taken, &f);
        if (broken == HISTORY_FINE && !f.legal)
            fail_msg("history %d is said to be fine, and no order is legal", i);
        if ((broken == HISTORY_FINE) != f.legal_agree)
            fail_msg("history %d: %s; an order that agrees with the tokens %s", i,
                     broken == HISTORY_FINE ? "fine" : history_wrong(h)->what,
                     f.legal_agree ? "exists" : "does not exist");
        illegal += !f.legal;
        other_tokens += f.legal && !f.legal_agree;
        /* With tokens as in a legal order nothing is wrong. */
        for (int k = 0; k < f.first.sections && f.legal; k++)
            s.token[f.first.section[k]] = (uint64_t)k + 1;
        if (f.legal && (judge(h, &s) != HISTORY_FINE || history_count(h).stale != 0))
            fail_msg("history %d has a legal order, and by that: %s", i, history_wrong(h)->what);
    }
    print_message(
        "# fine %u, WME1 %u, WME2 %u, WME3 %u; illegal in any order %u, with other tokens "
        "legal %u\n",
        (unsigned)verdicts[HISTORY_FINE], (unsigned)verdicts[HISTORY_WME1],
        (unsigned)verdicts[HISTORY_WME2], (unsigned)verdicts[HISTORY_WME3], (unsigned)illegal,
        (unsigned)other_tokens);
    assert_int_equal(verdicts[HISTORY_FINE] + verdicts[HISTORY_WME1] + verdicts[HISTORY_WME2] +
                         verdicts[HISTORY_WME3],
                     HISTORIES);
    for (int p = HISTORY_FINE; p <= HISTORY_WME3; p++)
        if (p != HISTORY_WELL_FORMED)
            assert_true(verdicts[p] >= AT_LEAST);
    assert_true(illegal >= AT_LEAST && other_tokens >= AT_LEAST);
    history_free(h);
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_orders, NULL, "the judge agrees with a search for a legal order");
    return suite_run(&s, "orders");
}
