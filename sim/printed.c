/*
 * The automata of the wdme paper as printed (3.1 and 3.2), with the paper's line numbers: what
 * their errors do, and what they cost. Nothing here is shipped.
 */
#include "printed.h"

#include <stdio.h>
#include <string.h>

typedef enum kind { TRY, EXIT, OK, FAIL, RESET, DONE } kind;

typedef struct note {
    uint8_t kind;
    uint8_t process;
} note;

typedef struct automaton {
    bool state, turn; /* of A */
    bool asks;        /* a try of the process is not yet answered */
    bool inside;
    uint8_t tries;
} automaton;

typedef struct printed_world {
    uint8_t clients;
    bool mended;  /* the answer to an exit is a message of its own (erratum 12) */
    uint8_t turn; /* of B: who holds it, from 1 */
    uint8_t notes;
    automaton a[MAX_CLIENTS];
    note note[MAX_LETTERS];
    uint8_t failed[MAX_CLIENTS]; /* tries that failed in this section */
    const char *wrong;
    counts counts;
} printed_world;

static void post(printed_world *w, kind what, uint32_t p)
{
    w->counts.messages++;
    if (w->notes == MAX_LETTERS)
        w->wrong = "more messages on their way than the simulation keeps";
    else
        w->note[w->notes++] = (note){(uint8_t)what, (uint8_t)p};
}

static void comes_in(printed_world *w, uint32_t p)
{
    for (uint32_t q = 0; q < w->clients; q++)
        if (w->a[q].inside)
            w->wrong = "two are in the critical section";
    w->a[p].inside = true;
    w->counts.sections++;
}

/* Automaton A receives. */
static void client_receives(printed_world *w, uint32_t p, kind what)
{
    automaton *a = &w->a[p];
    if (what == RESET) {
        a->turn = true;  /* 33 */
        a->state = true; /* 34 */
    } else if (what == DONE) {
        return;
    } else if (what == OK) {
        a->state = true; /* 21 */
        a->asks = false;
        comes_in(w, p); /* 22 */
    } else {
        a->state = a->turn; /* 24-27 */
        a->asks = false;
    }
}

/* Automaton B receives. */
static void register_receives(printed_world *w, uint32_t p, kind what)
{
    if (what == TRY) {
        if (w->turn == 0) {             /* 3 */
            w->turn = (uint8_t)(p + 1); /* 4 */
            post(w, OK, p);             /* 6 */
            return;
        }
        if (w->failed[p]++ > 0 && w->wrong == NULL)
            w->wrong = "Theorem 1: a client has failed twice in one section";
        post(w, FAIL, p); /* 10 */
        return;
    }
    w->turn = 0; /* 14 */
    memset(w->failed, 0, sizeof w->failed);
    for (uint32_t q = 0; q < w->clients; q++) /* 15 */
        post(w, RESET, q);                    /* 16 */
    post(w, w->mended ? DONE : OK, p);        /* 17 */
}

static void start(void *at, const limits *of)
{
    printed_world *w = at;
    memset(w, 0, sizeof *w);
    w->clients = (uint8_t)of->clients;
    for (uint32_t p = 0; p < of->clients; p++)
        w->a[p] = (automaton){.state = true, .tries = (uint8_t)of->tries};
}

static uint32_t all_that_can(const void *at, const limits *of, happening can[MAX_HAPPENINGS])
{
    const printed_world *w = at;
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->notes; i++)
        can[count++] = (happening){DELIVERS, i};
    for (uint32_t p = 0; p < of->clients; p++) {
        const automaton *a = &w->a[p];
        if (a->inside)
            can[count++] = (happening){EXITS, p};
        else if (!a->asks && a->tries > 0)
            can[count++] = (happening){TRIES, p};
    }
    return count;
}

static void happen(void *at, happening what)
{
    printed_world *w = at;
    automaton *a = &w->a[what.which < MAX_CLIENTS ? what.which : 0];
    if (what.deed == DELIVERS) {
        note n = w->note[what.which];
        w->note[what.which] = w->note[--w->notes];
        memset(&w->note[w->notes], 0, sizeof n);
        if (n.kind == TRY || n.kind == EXIT)
            register_receives(w, n.process, (kind)n.kind);
        else
            client_receives(w, n.process, (kind)n.kind);
    } else if (what.deed == TRIES) {
        a->tries--;
        w->counts.tries++;
        if (a->state || a->turn) { /* 3, 4 */
            a->asks = true;
            post(w, TRY, what.which); /* 5 */
        } else {
            w->counts.refused_here++; /* 7 */
        }
    } else {
        a->inside = false;
        a->state = false;          /* 11 */
        post(w, EXIT, what.which); /* 12 */
    }
}

static const char *wrong(const void *at)
{
    return ((const printed_world *)at)->wrong;
}

static const char *at_rest(const void *at, const limits *of)
{
    (void)at, (void)of;
    return NULL; /* it is broken long before that matters */
}

static void describe(const void *at, happening what, char text[MAX_TEXT])
{
    static const char *const kinds[] = {"TRY", "EXIT", "ok", "fail", "reset", "done"};
    const printed_world *w = at;
    if (what.deed != DELIVERS) {
        snprintf(text, MAX_TEXT, "process %u %s", what.which + 1,
                 what.deed == TRIES ? "tries" : "exits");
        return;
    }
    const note *n = &w->note[what.which];
    snprintf(text, MAX_TEXT, "%s process %u: %s", n->kind <= EXIT ? "from" : "to  ",
             n->process + 1U, kinds[n->kind]);
}

static counts counted(const void *at)
{
    return ((const printed_world *)at)->counts;
}

/* All but what is only counted, and wrong, which ends the search. */
static size_t pack(const void *at, const limits *of, uint8_t *bytes)
{
    (void)of;
    memcpy(bytes, at, offsetof(printed_world, wrong));
    return offsetof(printed_world, wrong);
}

static void unpack(const uint8_t *bytes, const limits *of, void *at)
{
    (void)of;
    memset(at, 0, sizeof(printed_world));
    memcpy(at, bytes, offsetof(printed_world, wrong));
}

static void start_mended(void *at, const limits *of)
{
    start(at, of);
    ((printed_world *)at)->mended = true;
}

/* The two differ in how they start only. */
#define PRINTED_MODEL                                                                      \
    .bytes = sizeof(printed_world), .can = all_that_can, .happen = happen, .wrong = wrong, \
    .at_rest = at_rest, .describe = describe, .counted = counted, .pack = pack, .unpack = unpack

const model printed = {.name = "printed", .start = start, PRINTED_MODEL};
const model printed_mended = {.name = "printed-mended", .start = start_mended, PRINTED_MODEL};
