/*
 * Store & collect, explored: what every process does is a short script, every run of the scripts is
 * a history, and the judge holds it against Definition 10.4 (lecture-10, section 10.3). The object
 * that is used is the shipped one, through its shipped interface.
 *
 * When an operation begins and ends is read from a clock: a register that is counted up, relaxed,
 * so that it orders the operations without ordering memory.
 *
 *   S   stores            D   begins a store, dies at any access of it, and is taken over
 *   C   collects          E   enters the splitter
 *
 * And when all have finished, the judge collects.
 */
#define BATON_REG_SHORT_NAMES
#include "programs.h"
#include "../src/collect/room.h"

#include <string.h>

enum { MOST = BATON_CHECK_MOST_PROCESSES, MOST_DEEDS = 3, TORN = 99 };

/* What is explored. The script of process p is script[p]; the last one is that of all who remain. */
typedef struct program {
    const char *name;
    const char *object; /* NULL: a splitter */
    const char *script[3];
    const char *final; /* instead, of the last process; NULL: as the others */
    size_t value_bytes;
    bool timed;  /* operations read the clock */
    bool unseen; /* nobody looks at what is stored: only the splitters are shared */
    uint32_t most_processes;
} program;

static const program programs[] = {
    {.name = "splitter", .script = {"E"}, .most_processes = 4},
    /* First and later stores; whoever collects does so when all is over. */
    {.name = "array-bounds", .object = "array", .script = {"SS"}},
    {.name = "tree-bounds", .object = "tree", .script = {"SS"}, .unseen = true},
    {.name = "matrix-bounds", .object = "matrix", .script = {"SS"}, .unseen = true},
    /* Collects while others store. */
    {.name = "array", .object = "array", .script = {"SS", "SC"}, .final = "C", .timed = true},
    {.name = "tree", .object = "tree", .script = {"SS", "SC"}, .final = "C", .timed = true},
    {.name = "matrix", .object = "matrix", .script = {"SS", "SC"}, .final = "C", .timed = true},
    /* Values of two words. */
    {.name = "wide",
     .object = "array",
     .script = {"SSS"},
     .final = "CC",
     .value_bytes = 16,
     .timed = true},
    {.name = "wide-two",
     .object = "array",
     .script = {"SSS", "CC"},
     .final = "CC",
     .value_bytes = 16,
     .timed = true},
    /* Whoever dies in its first store is taken over. */
    {.name = "tree-heir", .object = "tree", .script = {"DS", "S"}},
    {.name = "matrix-heir", .object = "matrix", .script = {"DS", "S"}},
};

enum { PROGRAMS = sizeof programs / sizeof programs[0] };

/* An operation: what, when, and with what value or view. */
typedef struct deed {
    uint8_t act; /* the letter of the script */
    uint8_t begin, end;
    uint8_t steps;
    uint8_t value;      /* stored, or a baton_turn */
    uint8_t view[MOST]; /* collected, by id; 0 is bottom */
    bool twice;         /* an id was in it twice */
} deed;

/* The memory. The deeds are each process's own. */
typedef struct table {
    deed deed[MOST_DEEDS];
    uint32_t deeds;
    baton_reg clock;
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

static bool stores(uint32_t p)
{
    return strchr(script_of(p), 'S') != NULL;
}

/* How many processes before p do that: ids and numbers are given out in order. */
static uint32_t number_of(uint32_t p, char act)
{
    uint32_t number = 0;
    for (uint32_t q = 0; q < p; q++)
        number += strchr(script_of(q), act) != NULL;
    return number;
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
    reg_init(&at->clock, 0);
    baton_splitter_init(&at->splitter);
    if (the->object == NULL)
        return;
    uint32_t collectors = number_of(n, 'C');
    baton_collect_spec spec = {
        .object = the->object,
        .participants = number_of(n, 'S'),
        .collectors = collectors > 0 ? collectors : 1,
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

/* A value is a number in every word. */
static void store_number(void *context)
{
    table *at = ((void **)context)[0];
    uint32_t p = *(uint32_t *)((void **)context)[1];
    baton_word value[2];
    baton_storer me;
    parts in;
    find_parts((baton_collect *)(void *)at->object, &in);
    storer_sits(&me, &in, number_of(p, 'S'));
    value[0] = value[1] = at->deed[at->deeds].value;
    baton_store(&me, value);
}

static void collect_numbers(table *at, uint32_t p, deed *d)
{
    uint32_t ids[MOST];
    char values[MOST * 2 * sizeof(baton_word)];
    baton_collector me;
    parts in;
    find_parts((baton_collect *)(void *)at->object, &in);
    collector_sits(&me, &in, number_of(p, 'C'));
    int found = baton_collect_view(&me, ids, values);
    for (int i = 0; i < found; i++) {
        baton_word word[2];
        memcpy(&word[0], values + (size_t)i * in.value_bytes, sizeof word[0]);
        memcpy(&word[1], values + ((size_t)i + 1) * in.value_bytes - sizeof word[0],
               sizeof word[0]);
        d->twice = d->twice || d->view[ids[i]] != 0;
        d->view[ids[i]] = word[0] == word[1] ? (uint8_t)word[0] : TORN;
    }
}

static void act(table *at, uint32_t p, char what)
{
    deed *d = &at->deed[at->deeds];
    d->act = (uint8_t)what;
    d->value = (uint8_t)((p + 1) * 8 + at->deeds);
    d->begin = now(at);
    uint32_t before = baton_check_steps();
    if (what == 'E')
        d->value = baton_splitter_enter(&at->splitter, p + 1);
    else if (what == 'C')
        collect_numbers(at, p, d);
    else if (what == 'D')
        baton_check_break_off(baton_check_choose(8 * processes), store_number, (void *[]){at, &p});
    else
        store_number((void *[]){at, &p});
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

static bool is_store(const deed *d)
{
    return d->act == 'S' || d->act == 'D';
}

/* What Definition 10.4 says of one collect and one id, whose process is `storer`. */
static const char *judge_value(const table *storer, const deed *collect, uint8_t value)
{
    bool real = value == 0;
    if (value == TORN)
        return "a collect has seen half a value";
    for (uint32_t i = 0; i < storer->deeds; i++) {
        const deed *s = &storer->deed[i];
        if (!is_store(s))
            continue;
        if (value == 0 && s->end < collect->begin && s->act == 'S')
            return "a collect has missed a store";
        if (s->value != value)
            continue;
        real = true;
        if (s->begin > collect->end)
            return "a collect has seen a store of the future";
        for (uint32_t k = i + 1; k < storer->deeds; k++)
            if (storer->deed[k].act == 'S' && storer->deed[k].end < collect->begin)
                return "a collect has seen an old value";
    }
    return real ? NULL : "a collect has seen what nobody has stored";
}

static const char *judge_collect(const baton_check_outcome *o, const deed *collect)
{
    const char *wrong = collect->twice ? "a collect has seen an id twice" : NULL;
    for (uint32_t p = 0; p < o->processes && wrong == NULL; p++)
        if (stores(p))
            wrong = judge_value(o->own[p], collect, collect->view[number_of(p, 'S')]);
    return wrong;
}

/* How deep in tree or matrix, and how much is marked. */
static void note_shape(const table *end)
{
    parts in;
    if (find_parts((const baton_collect *)(const void *)end->object, &in) != BATON_OK)
        return;
    const kind *of = in.kind;
    uint32_t marked = 0;
    for (size_t i = 0; i < of->nodes(in.participants); i++)
        marked += ((node *)(void *)in.nodes)[i].marked.value != 0;
    for (uint32_t id = 0; id < in.participants && of->next != NULL; id++) {
        baton_word where;
        uint32_t depth = 0;
        if (!walk_is_over(seat_of(&in, id)->progress.value, &where))
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
    bool first = true;
    for (uint32_t i = 0; i < own->deeds; i++) {
        const deed *d = &own->deed[i];
        if (d->act == 'S')
            baton_check_figure(first ? "first_store_steps" : "later_store_steps", d->steps);
        if (d->act == 'C')
            baton_check_figure("collect_steps", d->steps);
        first = false;
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
            if (own->deed[i].act == 'C')
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

size_t shipped_programs(baton_check_subject subjects[MOST_PROGRAMS])
{
    for (size_t i = 0; i < PROGRAMS; i++)
        subjects[i] = (baton_check_subject){
            .name = programs[i].name,
            .bytes = sizeof(table),
            .most_processes = programs[i].most_processes,
            .context = &programs[i],
            .select = select_program,
            .init = init,
            .enter = run,
            .judge = judge,
        };
    return PROGRAMS;
}
