/*
 * Store & collect, explored: what every process does is a short script, every run of the scripts is
 * a history, and the judge holds it against Definition 10.4 (lecture-10, section 10.3). The object
 * that is used is the shipped one, through its shipped interface.
 *
 * When an operation begins and ends is read from a clock: a register that is counted up, and that
 * orders the operations without ordering memory.
 *
 *   S   stores            D   begins a store, dies at any access of it, and is taken over
 *   C   collects          L   stores lazily: nobody need see it at once
 *   E   enters the        J   joins, stores twice and leaves, if there is a seat
 *       splitter          K   joins, collects and leaves, if there is a seat
 *
 * And when all have finished, the judge collects.
 */
#define BATON_REG_SHORT_NAMES
#include "programs.h"
#include "object.h"

#include <string.h>

enum { MAX = BATON_CHECK_MAX_PROCESSES, MAX_DEEDS = 4 };

/* Values that nobody stores: one whose words differ, and what was there before any store. */
enum { TORN = 99, NEVER };

/* What is explored. script[p] is what process p does; the last one is for all who remain. */
typedef struct program {
    const char *name;
    const char *object; /* NULL: a splitter */
    const char *script[3];
    const char *final; /* instead, of the last process; NULL: as the others */
    size_t value_bytes;
    uint32_t seats; /* of participants, and of collectors; 0: one for each who needs one */
    uint32_t spare; /* more participants, who do nothing */
    bool timed;     /* operations read the clock */
    bool unseen;    /* nobody looks at what is stored: only the splitters are shared */
    bool news;      /* who stores has written a register before, and who sees the value reads it */
    uint32_t max_processes;
} program;

static const program programs[] = {
    {.name = "splitter", .script = {"E"}, .max_processes = 4},
    /* First and later stores; whoever collects does so when all is over. */
    {.name = "array-bounds", .object = "array", .script = {"SS"}},
    {.name = "tree-bounds", .object = "tree", .script = {"SS"}, .unseen = true},
    {.name = "matrix-bounds", .object = "matrix", .script = {"SS"}, .unseen = true},
    /* The same of few among more. */
    {.name = "tree-few",
     .object = "tree",
     .script = {"SS"},
     .spare = 2,
     .unseen = true,
     .max_processes = 2},
    {.name = "matrix-few",
     .object = "matrix",
     .script = {"SS"},
     .spare = 3,
     .unseen = true,
     .max_processes = 2},
    /* Collects while others store. */
    {.name = "array", .object = "array", .script = {"SS", "SC"}, .final = "C", .timed = true},
    {.name = "tree", .object = "tree", .script = {"SS", "SC"}, .final = "C", .timed = true},
    {.name = "matrix", .object = "matrix", .script = {"SS", "SC"}, .final = "C", .timed = true},
    /* The same with one store of each, for c11. */
    {.name = "tree-once", .object = "tree", .script = {"S"}, .final = "C", .timed = true},
    {.name = "matrix-once", .object = "matrix", .script = {"S"}, .final = "C", .timed = true},
    {.name = "tree-pair", .object = "tree", .script = {"S", "SC"}, .timed = true},
    {.name = "matrix-pair", .object = "matrix", .script = {"S", "SC"}, .timed = true},
    /* Values of two words: one who stores, two who store, one who stores for two. */
    {.name = "wide",
     .object = "array",
     .script = {"SSS"},
     .final = "CC",
     .value_bytes = 16,
     .timed = true},
    {.name = "wide-pair",
     .object = "array",
     .script = {"SS", "S"},
     .final = "C",
     .value_bytes = 16},
    {.name = "wide-two", .object = "array", .script = {"SSSS", "C"}, .value_bytes = 16},
    /* What was done before a store is seen by who sees the value. */
    {.name = "news", .object = "array", .script = {"SS", "SL"}, .final = "C", .news = true},
    {.name = "wide-news",
     .object = "array",
     .script = {"SS"},
     .final = "C",
     .value_bytes = 16,
     .news = true},
    /* One seat for all. */
    {.name = "array-seat", .object = "array", .script = {"J"}, .seats = 1, .timed = true},
    {.name = "tree-seat", .object = "tree", .script = {"J"}, .seats = 1, .timed = true},
    {.name = "wide-seats",
     .object = "array",
     .script = {"J"},
     .final = "C",
     .value_bytes = 16,
     .seats = 1},
    {.name = "wide-seat",
     .object = "array",
     .script = {"S", "K"},
     .value_bytes = 16,
     .seats = 1,
     .timed = true},
    /* Whoever dies in its first store is taken over. */
    {.name = "tree-heir", .object = "tree", .script = {"DS", "S"}},
    {.name = "matrix-heir", .object = "matrix", .script = {"DS", "S"}},
};

enum { PROGRAMS = sizeof programs / sizeof programs[0] };
_Static_assert((int)PROGRAMS <= (int)MAX_PROGRAMS, "room for every program");

/* An operation: what, when, and with what value or view. */
typedef struct deed {
    uint8_t act; /* the letter of the script */
    uint8_t begin, end;
    uint8_t steps;
    uint8_t id;        /* of a seen_set */
    uint8_t value;     /* stored, or a baton_turn */
    uint8_t view[MAX]; /* collected, by id; 0 is bottom */
    uint8_t news[MAX]; /* what was read of those who are in it */
    bool twice;        /* an id was in it twice */
} deed;

/* The memory. The deeds are each process's own. */
typedef struct table {
    deed deed[MAX_DEEDS];
    uint32_t deeds;
    baton_reg clock;
    baton_reg news[MAX];
    baton_splitter splitter;
    BATON_OWN_LINE char object[4096];
} table;

static const program *the;
static uint32_t processes;

static const char *script_of(uint32_t p)
{
    if (the->final != NULL && p == processes - 1 && p > 0)
        return the->final;
    while (p > 0 && (p >= sizeof the->script / sizeof the->script[0] || the->script[p] == NULL))
        p--;
    return the->script[p];
}

/* How many processes before p do one of that: ids and numbers are given out in order. */
static uint32_t number_of(uint32_t p, const char *acts)
{
    uint32_t number = 0;
    for (uint32_t q = 0; q < p; q++)
        number += strpbrk(script_of(q), acts) != NULL;
    return number;
}

/* So many seats for those who do one of that. */
static uint32_t seats_for(const char *acts)
{
    uint32_t all = number_of(processes, acts);
    return the->seats != 0 || all == 0 ? 1 : all;
}

/* Tells the explorer that only X and Y are shared. */
static void share_splitters_only(table *at)
{
    parts in;
    find_parts((baton_collect *)(void *)at->object, &in);
    for (uint32_t id = 0; id < in.participants; id++) {
        baton_check_unshared(&seat_of(&in, id)->progress);
        baton_check_unshared(&seat_of(&in, id)->value);
    }
    for (size_t i = 0; i < ((const kind *)in.kind)->nodes(in.participants); i++) {
        baton_check_unshared(&((node *)(void *)in.nodes)[i].marked);
        baton_check_unshared(&((node *)(void *)in.nodes)[i].here);
    }
}

static void init(void *memory, uint32_t n, baton_waiting waiting)
{
    table *at = memory;
    (void)waiting;
    processes = n;
    if (the->timed) {
        reg_init(&at->clock, 0);
        baton_check_clock(&at->clock);
    }
    for (uint32_t p = 0; p < n && the->news; p++)
        reg_init(&at->news[p], 0);
    if (the->object == NULL) {
        baton_splitter_init(&at->splitter);
        return;
    }
    baton_collect_spec spec = {
        .object = the->object,
        .participants = seats_for("SDJ") + the->spare,
        .collectors = seats_for("CK"),
        .value_bytes = the->value_bytes > 0 ? the->value_bytes : sizeof(baton_word),
    };
    baton_collect *made;
    if (baton_collect_create(&spec, at->object, sizeof at->object, &made) != BATON_OK)
        reg_init((baton_reg *)memory - 1, 0); /* which the explorer refuses, with a message */
    else if (the->unseen)
        share_splitters_only(at);
}

static uint8_t now(table *at)
{
    return the->timed ? (uint8_t)(reg_fetch_add(&at->clock, 1, relaxed) + 1) : 0;
}

static baton_collect *object_in(table *at)
{
    return (baton_collect *)(void *)at->object;
}

/* A value is a number in every word. */
static void store_by(baton_storer *me, const deed *d)
{
    baton_word value[2] = {d->value, d->value};
    if (d->act == 'L')
        baton_store_lazily(me, value[0]);
    else
        baton_store(me, value);
}

static void store_number(void *context)
{
    table *at = ((void **)context)[0];
    deed *d = ((void **)context)[1];
    baton_storer me;
    parts in;
    find_parts(object_in(at), &in);
    storer_sits(&me, &in, d->id);
    store_by(&me, d);
}

static void join_and_store(table *at, deed *d)
{
    baton_storer me = {0};
    if (baton_storer_join(object_in(at), 1, &me) != BATON_OK) {
        d->act = '-';
        return;
    }
    store_by(&me, d);
    if (the->value_bytes == 0)
        baton_store_lazily(&me, d->value); /* which has no fence behind it */
    else
        store_by(&me, d);
    baton_storer_leave(&me);
}

static void collect_by(baton_collector *me, table *at, deed *d)
{
    uint32_t ids[MAX];
    char values[(size_t)MAX * 2 * sizeof(baton_word)];
    size_t bytes = me->in.value_bytes;
    int found = baton_collect_view(me, ids, values);
    for (int i = 0; i < found; i++) {
        baton_word word[2];
        memcpy(&word[0], values + (size_t)i * bytes, sizeof word[0]);
        memcpy(&word[1], values + ((size_t)i + 1) * bytes - sizeof word[0], sizeof word[0]);
        d->twice = d->twice || d->view[ids[i]] != 0;
        d->view[ids[i]] = word[0] != word[1] ? TORN : word[0] == 0 ? NEVER : (uint8_t)word[0];
    }
    for (int i = 0; i < found && the->news; i++)
        d->news[ids[i]] = (uint8_t)reg_read(&at->news[ids[i]], relaxed);
}

static void collect_numbers(table *at, uint32_t number, deed *d)
{
    baton_collector me;
    parts in;
    find_parts(object_in(at), &in);
    collector_sits(&me, &in, number);
    collect_by(&me, at, d);
}

static void join_and_collect(table *at, deed *d)
{
    baton_collector me = {0};
    if (baton_collector_join(object_in(at), 1, &me) != BATON_OK) {
        d->act = '-';
        return;
    }
    collect_by(&me, at, d);
    baton_collector_leave(&me);
}

static void do_it(table *at, uint32_t p, deed *d)
{
    switch (d->act) {
    case 'E':
        d->value = baton_splitter_enter(&at->splitter, p + 1);
        break;
    case 'C':
        collect_numbers(at, number_of(p, "CK"), d);
        break;
    case 'K':
        join_and_collect(at, d);
        break;
    case 'J':
        join_and_store(at, d);
        break;
    case 'D':
        baton_check_break_off(baton_check_choose(8 * processes), store_number, (void *[]){at, d});
        break;
    default:
        store_number((void *[]){at, d});
        break;
    }
}

static void act(table *at, uint32_t p, char what)
{
    deed *d = &at->deed[at->deeds];
    d->act = (uint8_t)what;
    d->id = (uint8_t)(what == 'J' ? 0 : number_of(p, "SDJ"));
    d->value = (uint8_t)((p + 1) * 8 + at->deeds);
    if (the->news && what != 'C')
        reg_write(&at->news[d->id], d->value, relaxed);
    d->begin = now(at);
    uint32_t before = baton_check_steps();
    do_it(at, p, d);
    d->steps = (uint8_t)(baton_check_steps() - before);
    d->end = now(at);
    at->deeds++;
}

static void run(void *memory, uint32_t lock, uint32_t p)
{
    table *at = memory;
    (void)lock;
    for (const char *what = script_of(p); *what != '\0'; what++)
        act(at, p, *what);
}

/* ---- judging ---- */

/* One store of a history. */
typedef struct stored {
    const deed *deed;
    uint32_t p, number; /* whose, and which of its deeds */
} stored;

/* The next store with that id; a NULL deed behind the last. */
static stored next_store(const baton_check_outcome *o, uint32_t id, stored s)
{
    for (s.number++; s.p < o->processes; s.p++, s.number = 0) {
        const table *own = o->own[s.p];
        for (; s.number < own->deeds; s.number++) {
            s.deed = &own->deed[s.number];
            if (s.deed->id == id && strchr("SDJL", s.deed->act) != NULL)
                return s;
        }
    }
    return (stored){0};
}

static const stored before_all = {.number = UINT32_MAX};

/* Whether the store is over, for everybody to see, when the collect begins. */
static bool precedes(stored s, const deed *collect)
{
    return strchr("SJ", s.deed->act) != NULL && s.deed->end < collect->begin;
}

static bool follows(stored late, stored early)
{
    return late.p == early.p ? late.number > early.number : late.deed->begin > early.deed->end;
}

/* Whether, of that id, a store that follows this one precedes the collect. */
static bool is_outdated(const baton_check_outcome *o, uint32_t id, stored s, const deed *collect)
{
    for (stored t = next_store(o, id, before_all); t.deed != NULL; t = next_store(o, id, t))
        if (follows(t, s) && precedes(t, collect))
            return true;
    return false;
}

/* What Definition 10.4 says of one collect and one id. */
static const char *judge_value(const baton_check_outcome *o, const deed *collect, uint32_t id)
{
    uint8_t value = collect->view[id];
    bool real = value == 0;
    if (value == TORN)
        return "a collect has seen half a value";
    if (value != 0 && the->news && collect->news[id] < value)
        return "a collect has seen a value and not what was done before";
    for (stored s = next_store(o, id, before_all); s.deed != NULL; s = next_store(o, id, s)) {
        if (value == 0 && precedes(s, collect))
            return "a collect has missed a store";
        if (s.deed->value != value)
            continue;
        real = true;
        if (s.deed->begin > collect->end)
            return "a collect has seen a store of the future";
        if (is_outdated(o, id, s, collect))
            return "a collect has seen an old value";
    }
    return real ? NULL : "a collect has seen what nobody has stored";
}

static const char *judge_collect(const baton_check_outcome *o, const deed *collect)
{
    const char *wrong = collect->twice ? "a collect has seen an id twice" : NULL;
    for (uint32_t id = 0; id < seats_for("SDJ") && wrong == NULL; id++)
        wrong = judge_value(o, collect, id);
    return wrong;
}

/* How deep in tree or matrix, and how much is marked. */
static void note_shape(const table *end)
{
    parts in;
    if (find_parts((const void *)end->object, &in) != BATON_OK)
        return;
    const kind *of = in.kind;
    if (of->next == NULL)
        return;
    uint32_t marked = 0;
    for (size_t i = 0; i < of->nodes(in.participants); i++)
        marked += ((node *)(void *)in.nodes)[i].marked.value != 0;
    for (uint32_t id = 0; id < in.participants; id++) {
        baton_word where;
        uint32_t depth = 0;
        if (!first_store_is_over(seat_of(&in, id)->progress.value, &where))
            continue;
        if (of == &baton_collect_tree)
            while (where >> (depth + 1) != 0)
                depth++;
        else
            depth = (uint32_t)((where >> 16) + (where & 0xffff));
        baton_check_figure("depth", depth);
    }
    baton_check_figure("marked", marked);
}

static void note_steps(const table *own)
{
    for (uint32_t i = 0; i < own->deeds; i++) {
        const deed *d = &own->deed[i];
        if (d->act == 'S')
            baton_check_figure(i == 0                        ? "first_store_steps"
                               : own->deed[i - 1].act == 'D' ? "heir_store_steps"
                                                             : "later_store_steps",
                               d->steps);
        if (d->act == 'C')
            baton_check_figure("collect_steps", d->steps);
    }
}

static const char *judge_splitter(const baton_check_outcome *o)
{
    uint32_t count[3] = {0};
    for (uint32_t p = 0; p < o->processes; p++)
        count[((const table *)o->own[p])->deed[0].value]++;
    baton_check_figure("stop", count[BATON_STOP]);
    baton_check_figure("left", count[BATON_LEFT]);
    baton_check_figure("right", count[BATON_RIGHT]);
    if (count[BATON_STOP] > 1)
        return "two have stopped";
    if (count[BATON_LEFT] == o->processes || count[BATON_RIGHT] == o->processes)
        return "all have turned the same way";
    return NULL;
}

/* A collect after everything. */
static const char *judge_last_collect(const baton_check_outcome *o)
{
    deed last = {.act = 'C', .begin = UINT8_MAX, .end = UINT8_MAX};
    uint32_t before = baton_check_steps();
    collect_numbers(o->memory, 0, &last);
    baton_check_figure("collect_steps", baton_check_steps() - before);
    return judge_collect(o, &last);
}

static const char *judge(const baton_check_outcome *o)
{
    if (the->object == NULL)
        return judge_splitter(o);
    const char *wrong = judge_last_collect(o);
    for (uint32_t p = 0; p < o->processes && wrong == NULL; p++) {
        const table *own = o->own[p];
        for (uint32_t i = 0; i < own->deeds && wrong == NULL; i++)
            if (strchr("CK", own->deed[i].act) != NULL)
                wrong = judge_collect(o, &own->deed[i]);
        note_steps(own);
    }
    note_shape(o->memory);
    return wrong;
}

static void select_program(const baton_check_subject *subject)
{
    the = subject->context;
}

size_t shipped_programs(baton_check_subject subjects[MAX_PROGRAMS])
{
    for (size_t i = 0; i < PROGRAMS; i++)
        subjects[i] = (baton_check_subject){
            .name = programs[i].name,
            .bytes = sizeof(table),
            .max_processes = programs[i].max_processes,
            .context = &programs[i],
            .select = select_program,
            .init = init,
            .enter = run,
            .judge = judge,
        };
    return PROGRAMS;
}
