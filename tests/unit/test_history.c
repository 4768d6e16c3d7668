/*
 * The judge of histories, on histories made by hand: right ones, and for each property wrong ones.
 * Each is a line of words; the time of an event is its place in the line, from 1, and for one that
 * begins with = the time of the one before it.
 */
#include "history.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, USERS = 4, MAX_NUMBERS = 5 };

/* ---- histories in words ---- */

typedef struct event {
    char name[16];
    unsigned long long n[MAX_NUMBERS];
} event;

/* "crit 2 7", for example. */
static event read_event(const char *text)
{
    event e = {0};
    int read = sscanf(text, "%15s %llu %llu %llu %llu %llu", e.name, &e.n[0], &e.n[1], &e.n[2],
                      &e.n[3], &e.n[4]);
    if (read < 1)
        fail_msg("no event in '%s'", text);
    return e;
}

static bool tell_of_user(history *h, const event *e, uint64_t at)
{
    uint32_t user = (uint32_t)e->n[0];
    if (strcmp(e->name, "try") == 0) /* user node */
        history_try(h, user, (uint32_t)e->n[1], at);
    else if (strcmp(e->name, "resume") == 0) /* user node token */
        history_resume(h, user, (uint32_t)e->n[1], e->n[2], at);
    else if (strcmp(e->name, "kept") == 0) /* user token */
        history_kept(h, user, e->n[1], at);
    else if (strcmp(e->name, "crit") == 0) /* user token */
        history_crit(h, user, e->n[1], at);
    else if (strcmp(e->name, "issue") == 0) /* user key */
        history_issue(h, user, e->n[1], at);
    else if (strcmp(e->name, "outcome") == 0) /* user key result */
        history_outcome(h, user, e->n[1], e->n[2], at);
    else if (strcmp(e->name, "exit") == 0)
        history_exit(h, user, at);
    else if (strcmp(e->name, "rem") == 0)
        history_rem(h, user, at);
    else if (strcmp(e->name, "ejected") == 0)
        history_ejected(h, user, at);
    else if (strcmp(e->name, "gone") == 0)
        history_gone(h, user, at);
    else
        return false;
    return true;
}

static bool tell_of_node(history *h, const event *e, uint64_t at)
{
    uint32_t node = (uint32_t)e->n[0];
    if (strcmp(e->name, "execute") == 0) /* node number key result */
        history_execute(h, node, e->n[1], e->n[2], e->n[3], at);
    else if (strcmp(e->name, "install") == 0) /* node number digest */
        history_install(h, node, e->n[1], e->n[2], at);
    else if (strcmp(e->name, "state") == 0) /* node number digest */
        history_state(h, node, e->n[1], e->n[2], at);
    else if (strcmp(e->name, "slot") == 0) /* node epoch sn what */
        history_slot(h, node, e->n[1], e->n[2], e->n[3], at);
    else if (strcmp(e->name, "epoch") == 0) /* node epoch what */
        history_epoch(h, node, e->n[1], e->n[2], at);
    else
        return false;
    return true;
}

static void tell(history *h, const char *line)
{
    char *copy = strdup(line), *rest = NULL;
    uint64_t at = 0;
    assert_non_null(copy);
    for (char *text = strtok_r(copy, ",", &rest); text; text = strtok_r(NULL, ",", &rest)) {
        text += strspn(text, " ");
        bool at_once = *text == '=';
        event e = read_event(text + at_once);
        at += !at_once;
        if (strcmp(e.name, "quiet") == 0)
            history_quiet(h, at);
        else if (strcmp(e.name, "end") == 0) /* bits of nodes */
            history_end(h, (uint32_t)e.n[0], at);
        else if (!tell_of_user(h, &e, at) && !tell_of_node(h, &e, at))
            fail_msg("no such event: '%s'", text);
    }
    free(copy);
}

/* ---- right ones ---- */

/* A section with one operation, executed at its node and, later, at the others. */
#define FIRST_SECTION \
    "try 0 0, crit 0 1, issue 0 7, execute 0 1 7 70, state 0 1 11, outcome 0 7 70, exit 0, rem 0,"
#define OTHERS_FOLLOW "execute 1 1 7 70, state 1 1 11, execute 2 1 7 70, state 2 1 11,"

static const struct {
    const char *name, *line;
} right[] = {
    {"nothing", "end 7"},
    {"one section", FIRST_SECTION OTHERS_FOLLOW "end 7"},
    {"a section that is resumed, and resumed again",
     "try 0 0, crit 0 1, gone 0, resume 1 1 1, crit 1 8, gone 1, resume 2 2 8, crit 2 16, exit 2,"
     "rem 2, end 7"},
    {"a section that is kept, and resumed from there",
     "try 0 0, crit 0 1, kept 0 8, gone 0, resume 1 1 8, crit 1 16, exit 1, rem 1, end 7"},
    {"one that comes too late to resume",
     "try 0 0, crit 0 1, gone 0, try 2 2, resume 1 1 1, crit 2 8, ejected 1, exit 2, rem 2, end 7"},
    {"a section without operations", "try 0 0, crit 0 1, exit 0, rem 0, end 7"},
    {"two sections of one user, overlapping waits",
     "try 0 0, try 1 1, crit 0 1, issue 0 7, execute 0 1 7 70, outcome 0 7 70, issue 0 8,"
     "execute 0 2 8 80, outcome 0 8 80, exit 0, rem 0, try 0 0, crit 1 2, issue 1 9,"
     "execute 1 1 7 70, execute 1 2 8 80, execute 1 3 9 90, outcome 1 9 90, exit 1, rem 1,"
     "crit 0 3, exit 0, rem 0, end 0"},
    /* Users 0 and 1 are inside at one time; 0 was suspected, and is ejected with what it issued. */
    {"weak: two inside, one is ejected",
     "try 0 0, crit 0 1, issue 0 7, execute 0 1 7 70, outcome 0 7 70, issue 0 8, try 1 1, crit 1 2,"
     "execute 1 1 7 70, issue 1 9, execute 1 2 9 90, outcome 1 9 90, ejected 0, execute 0 2 9 90,"
     "exit 1, rem 1, execute 2 1 7 70, execute 2 2 9 90, end 7"},
    {"weak: the ejected one tries anew while the other is inside",
     "try 0 0, crit 0 1, try 1 1, crit 1 2, ejected 0, try 0 0, issue 1 9, execute 1 1 9 90,"
     "outcome 1 9 90, exit 1, rem 1, crit 0 3, exit 0, rem 0, end 2"},
    /* Node 0 does not know yet that it lost the token: nothing is executed for its user. */
    {"weak: a stale section without effect",
     "try 1 1, crit 1 9, issue 1 7, execute 1 1 7 70, outcome 1 7 70, exit 1, rem 1,"
     "try 0 0, crit 0 1, issue 0 8, ejected 0, end 2"},
    {"tokens out of order of their entries, but not of real time",
     "try 0 0, try 1 1, crit 0 2, crit 1 1, issue 1 7, execute 1 1 7 70, outcome 1 7 70, issue 0 8,"
     "execute 0 1 7 70, execute 0 2 8 80, outcome 0 8 80, exit 1, exit 0, rem 0, rem 1, end 1"},
    {"gone in every place",
     "gone 0, try 0 0, gone 0, try 0 0, crit 0 1, gone 0, try 0 0, crit 0 2, issue 0 7, gone 0,"
     "try 0 0, crit 0 3, exit 0, gone 0, gone 0, end 7"},
    {"gone, and what it had issued is executed",
     "try 0 0, crit 0 1, issue 0 7, gone 0, try 1 1, execute 1 1 7 70, crit 1 2, issue 1 8,"
     "execute 1 2 8 80, outcome 1 8 80, exit 1, rem 1, end 2"},
    {"an outcome after a snapshot",
     "try 0 0, crit 0 1, issue 0 7, execute 1 1 7 70, state 1 1 11, install 0 1 11,"
     "outcome 0 7 70, exit 0, rem 0, end 3"},
    {"a replica comes back from the disk, and catches up",
     FIRST_SECTION OTHERS_FOLLOW "install 2 0 5, install 2 1 11, install 1 0 5, state 1 0 5,"
                                 "execute 1 1 7 70, state 1 1 11, end 7"},
    {"a replica that does not run may be behind", FIRST_SECTION "end 1"},
    {"a replica that came back and stopped again may be behind",
     "try 0 0, crit 0 1, issue 0 7, execute 2 1 7 70, gone 0, install 2 0 5, end 3"},
    {"slots again, the same in another epoch",
     "slot 0 1 1 5, slot 0 1 1 5, slot 1 2 1 6, slot 0 1 2 5, epoch 0 2 9, epoch 1 2 9, end 7"},
    {"who waits at a node that does not run", "try 0 2, end 3"},
    {"who said something at the end only", "try 0 0, crit 0 1, exit 0, =end 7"},
    {"who has issued something at the end only", "try 0 0, crit 0 1, issue 0 7, =end 7"},
    {"who tries at the end only", "try 0 0, =end 7"},
    {"who waits for somebody who stays inside", "try 0 0, crit 0 1, try 1 1, end 3"},
    {"ejected from an operation issued before the quiet period",
     "try 0 0, crit 0 1, issue 0 7, quiet, ejected 0, end 7"},
    {"ejected in the quiet period, with nothing issued",
     "try 0 0, crit 0 1, quiet, ejected 0, end 7"},
    {"ejected in the quiet period at a node that is out of date",
     "try 0 0, crit 0 1, epoch 1 2 9, quiet, issue 0 7, ejected 0, end 7"},
};

static void test_right(void **state)
{
    const char *line = *state;
    history *h = history_new(NODES, USERS);
    tell(h, line);
    const history_verdict *v = history_wrong(h);
    if (v->broken != HISTORY_FINE)
        fail_msg("%s at %llu: %s", history_property_name(v->broken), (unsigned long long)v->at,
                 v->what);
    history_free(h);
}

/* ---- wrong ones ---- */

typedef struct wrong_one {
    history_property broken;
    uint64_t at;       /* the event that breaks it; nothing was found before */
    const char *words; /* some of what is said */
    const char *line;
} wrong_one;

static const wrong_one wrong[] = {
    {HISTORY_RESUMED, 7, "user 1 goes on with section 1 as 9, after 8",
     "try 0 0, crit 0 1, gone 0, try 2 2, resume 1 1 1, crit 2 8, crit 1 9"},
    {HISTORY_RESUMED, 7, "token 2 of user 2: section 1 was resumed as 9",
     "try 0 0, crit 0 1, gone 0, try 2 0, resume 1 1 1, crit 1 9, crit 2 2"},
    {HISTORY_RESUMED, 7, "goes on with section 1 as 9, after 8",
     "try 0 0, crit 0 1, gone 0, resume 1 1 1, resume 2 2 1, crit 1 8, crit 2 9"},
    {HISTORY_RESUMED, 7, "token 5 of user 2: section 2 was resumed as 9",
     "try 2 0, crit 2 1, try 0 0, crit 0 2, resume 1 1 2, crit 1 9, kept 2 5"},
    {HISTORY_RESUMED, 4, "goes on with section 5 as 2",
     "try 0 0, crit 0 1, resume 1 1 5, crit 1 2"},
    {HISTORY_WELL_FORMED, 1, "crit of user 2, which is outside", "crit 2 1, try 0 0"},
    {HISTORY_WELL_FORMED, 2, "try of user 0, which waits", "try 0 0, try 0 0"},
    {HISTORY_WELL_FORMED, 3, "try of user 0, which is inside", "try 0 0, crit 0 1, try 0 0"},
    {HISTORY_WELL_FORMED, 3, "crit of user 0, which is inside", "try 0 0, crit 0 1, crit 0 2"},
    {HISTORY_WELL_FORMED, 2, "issue of user 0, which waits", "try 0 0, issue 0 7"},
    {HISTORY_WELL_FORMED, 4, "operation 7 has no answer",
     "try 0 0, crit 0 1, issue 0 7, issue 0 8"},
    {HISTORY_WELL_FORMED, 4, "operation 7 has no answer", "try 0 0, crit 0 1, issue 0 7, exit 0"},
    {HISTORY_WELL_FORMED, 11, "issued before", FIRST_SECTION "try 0 0, crit 0 2, issue 0 7"},
    {HISTORY_WELL_FORMED, 3, "which is none", "try 0 0, crit 0 1, issue 0 0"},
    {HISTORY_WELL_FORMED, 7, "does not wait for that",
     "try 0 0, crit 0 1, issue 0 7, execute 0 1 7 70, outcome 0 7 70, issue 0 8, outcome 0 7 70"},
    {HISTORY_WELL_FORMED, 6, "does not wait for that",
     "try 0 0, crit 0 1, issue 0 7, execute 0 1 7 70, outcome 0 7 70, outcome 0 7 70"},
    {HISTORY_WELL_FORMED, 5, "outcome of user 0, which is outside",
     "try 0 0, crit 0 1, issue 0 7, ejected 0, outcome 0 7 70"},
    {HISTORY_WELL_FORMED, 3, "rem of user 0, which is inside", "try 0 0, crit 0 1, rem 0"},
    {HISTORY_WELL_FORMED, 4, "issue of user 0, which waits for the answer to its exit",
     "try 0 0, crit 0 1, exit 0, issue 0 7"},
    {HISTORY_WELL_FORMED, 4, "exit of user 0, which waits for the answer",
     "try 0 0, crit 0 1, exit 0, exit 0"},
    /* Erratum 29: an exit is answered with rem, whatever happens. */
    {HISTORY_WELL_FORMED, 4, "ejected of user 0, which waits for the answer to its exit",
     "try 0 0, crit 0 1, exit 0, ejected 0"},
    {HISTORY_WELL_FORMED, 2, "ejected of user 0, which waits to enter", "try 0 0, ejected 0"},
    {HISTORY_WELL_FORMED, 3, "crit of user 0, which is outside", "try 0 0, gone 0, crit 0 1"},

    {HISTORY_WME1, 4, "token 1 of user 1 was that of user 0",
     "try 0 0, try 1 1, crit 0 1, crit 1 1"},
    {HISTORY_WME1, 6, "token 1 of user 0 was that of user 0",
     "try 0 0, crit 0 1, exit 0, rem 0, try 0 0, crit 0 1"},

    {HISTORY_WME2, 8, "token 1, tried for after the section with token 2 had ended",
     "try 0 0, crit 0 2, exit 0, rem 0, try 1 1, crit 1 1, issue 1 7, execute 1 1 7 70"},
    {HISTORY_WME2, 8, "token 1, tried for after the section with token 2 had ended",
     "try 0 0, crit 0 2, issue 0 7, gone 0, try 1 1, crit 1 1, issue 1 8, execute 1 1 8 80,"
     "execute 1 2 7 70"},

    {HISTORY_WME2, 9, "token 1, tried for after the section with token 2 had ended",
     "try 0 0, crit 0 2, exit 0, gone 0, try 1 1, crit 1 1, try 2 2, issue 1 7, execute 1 1 7 70"},

    {HISTORY_WME3, 1, "nobody has issued", "execute 0 1 7 70"},
    {HISTORY_WME3, 8, "number 2 (key 7) is of the section with token 1, number 1 (key 8) of that",
     "try 0 0, try 1 1, crit 0 1, crit 1 2, issue 0 7, issue 1 8, execute 0 1 8 80,"
     "execute 0 2 7 70"},
    /* The operations of two sections are mixed. */
    {HISTORY_WME3, 11, "number 3 (key 9) is of the section with token 1",
     "try 0 0, try 1 1, crit 0 1, crit 1 2, issue 0 7, execute 0 1 7 70, outcome 0 7 70,"
     "issue 1 8, execute 0 2 8 80, issue 0 9, execute 0 3 9 90"},
    /* Gone, the next one has been in, and only then it is executed. */
    {HISTORY_WME3, 9, "number 2 (key 7) is of the section with token 1",
     "try 0 0, crit 0 1, issue 0 7, gone 0, try 1 1, crit 1 2, issue 1 8, execute 1 1 8 80,"
     "execute 1 2 7 70"},

    {HISTORY_ONE_COPY, 9, "number 1 at node 1 is 7 with result 71, elsewhere 7 with 70",
     FIRST_SECTION "execute 1 1 7 71"},
    {HISTORY_ONE_COPY, 12, "number 1 at node 1 is 8 with result 70, elsewhere 7",
     FIRST_SECTION "try 1 1, crit 1 2, issue 1 8, execute 1 1 8 70"},
    {HISTORY_ONE_COPY, 9, "node 1 executes number 2 after number 0",
     FIRST_SECTION "execute 1 2 7 70"},
    {HISTORY_ONE_COPY, 9, "node 0 executes number 1 after number 1",
     FIRST_SECTION "execute 0 1 7 70"},
    {HISTORY_ONE_COPY, 9, "executes 7 as number 2, and it was number 1",
     FIRST_SECTION "execute 0 2 7 70"},
    {HISTORY_ONE_COPY, 10, "state of node 1 after number 1 is c, elsewhere b",
     FIRST_SECTION "execute 1 1 7 70, state 1 1 12"},
    {HISTORY_ONE_COPY, 9, "state of node 1 after number 1 is c, elsewhere b",
     FIRST_SECTION "install 1 1 12"},
    {HISTORY_ONE_COPY, 2, "after number 0 is 6, elsewhere 5", "state 0 0 5, state 1 0 6"},
    {HISTORY_ONE_COPY, 9, "installs number 2, executed nowhere", FIRST_SECTION "install 1 2 12"},
    {HISTORY_ONE_COPY, 9, "has a state of number 1, and is at 0", FIRST_SECTION "state 1 1 11"},

    {HISTORY_OUTCOME, 4, "outcome of 7 for user 0, executed nowhere",
     "try 0 0, crit 0 1, issue 0 7, outcome 0 7 70"},
    {HISTORY_OUTCOME, 5, "is 71, that of execution 1 was 70",
     "try 0 0, crit 0 1, issue 0 7, execute 0 1 7 70, outcome 0 7 71"},
    {HISTORY_OUTCOME, 5, "at node 0, which has not got as far as number 1",
     "try 0 0, crit 0 1, issue 0 7, execute 1 1 7 70, outcome 0 7 70"},

    {HISTORY_EJECTED, 5, "user 0 is ejected, its operation 7 was executed as number 1",
     "try 0 0, crit 0 1, issue 0 7, execute 1 1 7 70, ejected 0"},
    {HISTORY_EJECTED, 5, "executes 7 as number 1, of user 0, which was ejected",
     "try 0 0, crit 0 1, issue 0 7, ejected 0, execute 1 1 7 70"},

    {HISTORY_ONE_SLOT, 2, "slot 4 of epoch 3 is 5 by node 0, and 6 by node 0",
     "slot 0 3 4 5, slot 0 3 4 6"},
    {HISTORY_ONE_SLOT, 2, "slot 4 of epoch 3 is 5 by node 0, and 5 by node 1",
     "slot 0 3 4 5, slot 1 3 4 5"},
    {HISTORY_AGREEMENT, 3, "epoch 2 begins as 9 at node 0, as a at node 2",
     "epoch 0 2 9, epoch 1 2 9, epoch 2 2 10"},

    {HISTORY_LOST, 9, "node 1 ends at number 0, an outcome was told of number 1",
     FIRST_SECTION "end 3"},
    {HISTORY_LOST, 14, "node 0 ends at number 0, an outcome was told",
     FIRST_SECTION OTHERS_FOLLOW "install 0 0 5, end 7"},
    {HISTORY_LOST, 7, "node 1 ends at number 0, it was at 1 before",
     "try 0 0, crit 0 1, issue 0 7, execute 1 1 7 70, gone 0, install 1 0 5, end 2"},

    {HISTORY_STARVATION_FREEDOM, 2, "user 0 at node 0 waits since 1", "try 0 0, end 7"},
    {HISTORY_STARVATION_FREEDOM, 6, "user 1 at node 1 waits since 2",
     "try 0 0, try 1 1, crit 0 1, exit 0, rem 0, end 7"},
    /* Who is inside at a node that does not run does not stay of its own will. */
    {HISTORY_STARVATION_FREEDOM, 4, "user 1 at node 1 waits since 3",
     "try 0 0, crit 0 1, try 1 1, end 6"},
    /* Nor does one after whom others were inside. */
    {HISTORY_STARVATION_FREEDOM, 8, "user 2 at node 2 waits since 7",
     "try 0 0, crit 0 1, try 1 1, crit 1 2, exit 1, rem 1, try 2 2, end 7"},
    {HISTORY_RELEASE_PROGRESS, 4, "exit of user 0, said at 3, has no answer",
     "try 0 0, crit 0 1, exit 0, end 7"},
    /* What keeps others waiting is reported, not that they wait. */
    {HISTORY_RELEASE_PROGRESS, 5, "exit of user 0", "try 0 0, try 1 1, crit 0 1, exit 0, end 7"},
    {HISTORY_OPERATION_PROGRESS, 5, "operation 7 of user 0, issued at 4, has no answer",
     "try 0 0, try 1 1, crit 0 1, issue 0 7, end 7"},
    {HISTORY_OPERATION_PROGRESS, 5, "issued in the quiet period, at 4, and ejected",
     "try 0 0, crit 0 1, quiet, issue 0 7, ejected 0, end 7"},
    {HISTORY_OPERATION_PROGRESS, 4, "issued in the quiet period, at 3, and ejected",
     "try 0 0, crit 0 1, quiet, =issue 0 7, ejected 0, end 7"},
    {HISTORY_DIVERGED, 6, "node 0 ends at number 0, node 1 at 1",
     "try 0 2, crit 0 1, issue 0 7, execute 1 1 7 70, gone 0, end 3"},
};

static void expect_wrong(history *h, const wrong_one *w)
{
    tell(h, w->line);
    const history_verdict *v = history_wrong(h);
    if (v->broken != w->broken || v->at != w->at || strstr(v->what, w->words) == NULL)
        fail_msg("%s at %llu: '%s', expected %s at %llu: '%s'", history_property_name(v->broken),
                 (unsigned long long)v->at, v->what, history_property_name(w->broken),
                 (unsigned long long)w->at, w->words);
}

static void test_wrong(void **state)
{
    history *h = history_new(NODES, USERS);
    expect_wrong(h, *state);
    history_free(h);
}

/* ---- the rest ---- */

static void test_every_property(void **state)
{
    (void)state;
    for (int p = HISTORY_FINE + 1; p < HISTORY_PROPERTIES; p++) {
        size_t lines = 0;
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
            lines += wrong[i].broken == (history_property)p;
        if (lines == 0)
            fail_msg("no history breaks %s", history_property_name((history_property)p));
    }
}

/* Nothing of one run is left for the next, whatever the first one was. */
static void test_reset(void **state)
{
    (void)state;
    history *h = history_new(1, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        history_reset(h, NODES, USERS);
        expect_wrong(h, &wrong[i]);
        for (size_t k = 0; k < sizeof right / sizeof right[0]; k++) {
            history_reset(h, NODES, USERS);
            assert_int_equal(history_count(h).tries, 0);
            tell(h, right[k].line);
            assert_int_equal(history_wrong(h)->broken, HISTORY_FINE);
        }
    }
    history_reset(h, NODES, USERS);
    tell(h, "slot 0 1 1 5, epoch 0 2 9, end 7");
    history_reset(h, NODES, USERS);
    tell(h, "slot 1 1 1 6, epoch 0 2 8, end 7");
    assert_int_equal(history_wrong(h)->broken, HISTORY_FINE);
    history_free(h);
}

static void test_counts(void **state)
{
    (void)state;
    history *h = history_new(NODES, USERS);
    tell(h, FIRST_SECTION OTHERS_FOLLOW
         "install 2 1 11, try 1 1, try 2 2, try 3 0, crit 1 3, exit 1, rem 1, try 1 1, crit 2 4,"
         "issue 2 8, ejected 2, crit 1 2, end 0");
    history_counts c = history_count(h);
    assert_int_equal(c.tries, 5);
    assert_int_equal(c.sections, 4);
    assert_int_equal(c.issued, 2);
    assert_int_equal(c.outcomes, 1);
    assert_int_equal(c.ejected, 1);
    assert_int_equal(c.executed, 3);
    assert_int_equal(c.installs, 1);
    assert_int_equal(c.stale, 1); /* the last one: token 3 had ended before it tried */
    assert_int_equal(c.longest_wait, 6);
    assert_int_equal(c.judged[HISTORY_WME1], 4);
    assert_int_equal(c.judged[HISTORY_WME2], 0); /* nothing was executed for a later section */
    assert_int_equal(c.judged[HISTORY_ONE_COPY], 2);
    assert_int_equal(c.judged[HISTORY_OUTCOME], 1);
    assert_int_equal(c.judged[HISTORY_EJECTED], 1);
    assert_int_equal(c.judged[HISTORY_RELEASE_PROGRESS], 2);
    assert_int_equal(c.judged[HISTORY_RESUMED], 0);
    history_free(h);
}

/* More of everything than any table begins with. */
static void test_many(void **state)
{
    enum { ROUNDS = 5000 };
    (void)state;
    history *h = history_new(NODES, USERS);
    uint64_t at = 0;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        uint32_t user = (uint32_t)(i % USERS), home = (uint32_t)(i % NODES);
        history_try(h, user, home, ++at);
        history_crit(h, user, 10 * i, ++at);
        history_issue(h, user, 1000 + i, ++at);
        for (uint32_t node = 0; node < NODES; node++) {
            history_execute(h, node, i, 1000 + i, 7 * i, ++at);
            history_state(h, node, i, 13 * i, at);
        }
        history_slot(h, home, i / 10, i, i, at);
        history_epoch(h, home, i, i, at);
        history_outcome(h, user, 1000 + i, 7 * i, ++at);
        history_exit(h, user, ++at);
        history_rem(h, user, ++at);
    }
    assert_string_equal(history_wrong(h)->what, "");
    assert_int_equal(history_count(h).executed, NODES * ROUNDS);
    history_slot(h, 0, 100, 1000, 1, ++at); /* it is not forgotten that it was 1000 */
    assert_int_equal(history_wrong(h)->broken, HISTORY_ONE_SLOT);
    history_free(h);
}

int main(void)
{
    suite s = {0};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
        suite_add(&s, test_right, right[i].line, "right: %s", right[i].name);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        suite_add(&s, test_wrong, &wrong[i], "%s: %s", history_property_name(wrong[i].broken),
                  wrong[i].words);
    suite_add(&s, test_every_property, NULL, "every property is broken by some history");
    suite_add(&s, test_reset, NULL, "a history used again");
    suite_add(&s, test_counts, NULL, "counts");
    suite_add(&s, test_many, NULL, "thousands of sections");
    return suite_run(&s, "history");
}
