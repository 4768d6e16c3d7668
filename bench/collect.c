/*
 * Measures store & collect: every object at every k, round after round, so that whatever disturbs
 * the machine disturbs all of them alike. Uses the library through its public headers only.
 */
#include "collect.h"
#include "baton/collect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const collect_object collect_objects[COLLECT_OBJECTS] = {
    {"array", MAX_STORERS},
    {"tree", 16}, /* 2^n registers */
    {"matrix", MAX_STORERS},
};
const uint32_t collect_counts[COLLECT_COUNTS] = {1, 2, 4, 8, 16, 32, MAX_STORERS};
const char *const cost_names[COSTS] = {"first STORE", "later STORE", "COLLECT"};

/*
 * What is measured at a time: an object in which `stored` participants store. Its memory is enough
 * for each of the objects, and is used for all of them.
 */
typedef struct board {
    baton_collect_spec spec;
    uint32_t stored; /* k */
    void *memory;
    size_t bytes;
    char *values; /* what each participant stores next */
    char *view;   /* what was collected last */
    uint32_t ids[MAX_STORERS];
    baton_storer storer[MAX_STORERS];
    baton_collector collector;
    bool wrong; /* an operation failed, or a COLLECT did not find k values */
} board;

static char *value_of(const board *b, uint32_t i)
{
    return b->values + i * b->spec.value_bytes;
}

static void choose_values(const board *b, int first)
{
    for (uint32_t i = 0; i < b->stored; i++)
        memset(value_of(b, i), first + (int)i, b->spec.value_bytes);
}

static inline void store_as(board *b, uint32_t i)
{
    if (baton_store(&b->storer[i], value_of(b, i)) != BATON_OK)
        b->wrong = true;
}

/* One turn of what is measured. */
typedef void turn(board *);

static inline void store_as_each(board *b)
{
    for (uint32_t i = 0; i < b->stored; i++)
        store_as(b, i);
}

static inline void collect_once(board *b)
{
    if (baton_collect_view(&b->collector, b->ids, b->view) != (int)b->stored)
        b->wrong = true;
}

/* Nanoseconds per turn. The clock is read so seldom that it does not count. */
static inline __attribute__((always_inline)) double ns_per_turn(board *b, turn *take, double ns)
{
    uint64_t turns = 0;
    uint64_t batch = 1;
    uint64_t start = now_ns();
    double took;
    do {
        for (uint64_t i = 0; i < batch; i++)
            take(b);
        turns += batch;
        took = (double)(now_ns() - start);
        if (took < ns / 8)
            batch = turns;
    } while (took < ns);
    return took / (double)turns;
}

/* An empty object, which k storers and a collector have joined. */
static const char *begin(board *b)
{
    baton_collect *object;
    int error = baton_collect_create(&b->spec, b->memory, b->bytes, &object);
    memset(b->storer, 0, sizeof b->storer);
    b->collector = (baton_collector){0};
    for (uint32_t i = 0; i < b->stored && error == BATON_OK; i++)
        error = baton_storer_join(object, i + 1, &b->storer[i]);
    if (error == BATON_OK)
        error = baton_collector_join(object, 1, &b->collector);
    return error == BATON_OK ? NULL : baton_strerror(error);
}

enum { MAX_TIMES = 4096 };

/* What it takes to read the clock twice, with nothing between. */
static double clock_ns(void)
{
    double times[MAX_TIMES];
    for (size_t i = 0; i < MAX_TIMES; i++) {
        uint64_t start = now_ns();
        times[i] = (double)(now_ns() - start);
    }
    return mean_of_max(times, MAX_TIMES);
}

/*
 * The first store of the k-th to come happens once in an object, so each is clocked alone, in a new
 * object, and the clock's own time is taken off. Leaves an object in which k have stored.
 */
static const char *first_store(board *b, double ns, double *result)
{
    double times[MAX_TIMES]; /* of the last stores */
    size_t count = 0;
    double clock = clock_ns();
    uint64_t begun = now_ns();
    do {
        const char *trouble = begin(b);
        if (trouble != NULL)
            return trouble;
        for (uint32_t i = 0; i + 1 < b->stored; i++)
            store_as(b, i);
        uint64_t start = now_ns();
        store_as(b, b->stored - 1);
        times[count++ % MAX_TIMES] = (double)(now_ns() - start);
    } while ((double)(now_ns() - begun) < ns);
    double took = mean_of_max(times, count < MAX_TIMES ? count : MAX_TIMES);
    *result = fmax(took - clock, 0);
    return NULL;
}

/* Whether the last view has what each of the k has stored last, once. */
static bool view_is_right(const board *b)
{
    bool seen[MAX_STORERS] = {false};
    for (uint32_t i = 0; i < b->stored; i++) {
        uint32_t id = b->ids[i];
        if (id >= b->stored || seen[id] ||
            memcmp(b->view + i * b->spec.value_bytes, value_of(b, id), b->spec.value_bytes) != 0)
            return false;
        seen[id] = true;
    }
    return true;
}

/* Object o at its c-th k, for a while: a third of it for each operation. */
static const char *measure(board *b, size_t o, size_t c, double ns, collect_outcome *out)
{
    b->spec.object = collect_objects[o].name;
    b->spec.participants = collect_objects[o].participants;
    b->stored = collect_counts[c];
    b->wrong = false;
    choose_values(b, 1);
    const char *trouble = first_store(b, ns / 3, &out->ns[FIRST_STORE_COST]);
    if (trouble != NULL)
        return trouble;
    choose_values(b, 1 + MAX_STORERS); /* not those that are there already */
    out->ns[LATER_STORE_COST] = ns_per_turn(b, store_as_each, ns / 3) / b->stored;
    out->ns[COLLECT_COST] = ns_per_turn(b, collect_once, ns / 3);
    return b->wrong || !view_is_right(b) ? "a COLLECT did not find what was STOREd" : NULL;
}

static bool takes(size_t o, size_t c)
{
    return collect_counts[c] <= collect_objects[o].participants;
}

static const char *run_rounds(const collect_plan *plan, board *b, collect_outcomes *samples)
{
    enum { RUNS = COLLECT_OBJECTS * COLLECT_COUNTS };
    double runs = 0;
    for (size_t i = 0; i < RUNS; i++)
        runs += takes(i % COLLECT_OBJECTS, i / COLLECT_OBJECTS) ? plan->rounds : 0;
    double done = 0;
    for (uint32_t round = 0; round < plan->rounds; round++) {
        for (size_t i = 0; i < RUNS; i++) {
            size_t c = i / COLLECT_OBJECTS;
            size_t o = (i + round) % COLLECT_OBJECTS; /* nobody is always first */
            if (!takes(o, c))
                continue;
            if (plan->progress != NULL)
                plan->progress(done / runs, collect_objects[o].name, collect_counts[c]);
            const char *trouble =
                measure(b, o, c, plan->seconds * 1e9 / runs, &samples[round][o][c]);
            if (trouble != NULL)
                return trouble;
            done++;
        }
    }
    return NULL;
}

/* Medians of object o at its c-th k. */
static collect_outcome conclude(collect_outcomes *samples, uint32_t rounds, size_t o, size_t c)
{
    collect_outcome out = {.measured = takes(o, c)};
    for (size_t cost = 0; cost < COSTS; cost++) {
        double ns[MAX_ROUNDS];
        for (uint32_t r = 0; r < rounds; r++)
            ns[r] = samples[r][o][c].ns[cost];
        out.ns[cost] = median(ns, rounds);
    }
    return out;
}

/* Memory that is enough for each of the objects. */
static const char *open_board(board *b, size_t value_bytes)
{
    b->spec = (baton_collect_spec){.collectors = 1, .value_bytes = value_bytes};
    for (size_t o = 0; o < COLLECT_OBJECTS; o++) {
        size_t bytes;
        b->spec.object = collect_objects[o].name;
        b->spec.participants = collect_objects[o].participants;
        int error = baton_collect_size(&b->spec, &bytes);
        if (error != BATON_OK)
            return baton_strerror(error);
        b->bytes = bytes > b->bytes ? bytes : b->bytes;
    }
    b->bytes = (b->bytes + BATON_CACHE_LINE - 1) / BATON_CACHE_LINE * BATON_CACHE_LINE;
    b->memory = aligned_alloc(BATON_CACHE_LINE, b->bytes);
    b->values = calloc(MAX_STORERS, value_bytes);
    b->view = calloc(MAX_STORERS, value_bytes);
    return b->memory != NULL && b->values != NULL && b->view != NULL ? NULL
                                                                     : "no memory for the objects";
}

static void close_board(board *b)
{
    free(b->memory);
    free(b->values);
    free(b->view);
}

const char *collect_measure(const collect_plan *plan, collect_outcomes outcomes)
{
    board b = {.memory = NULL};
    collect_outcomes *samples = calloc(plan->rounds, sizeof *samples);
    const char *trouble =
        samples != NULL ? open_board(&b, plan->value_bytes) : "no memory for the samples";
    if (trouble == NULL)
        trouble = run_rounds(plan, &b, samples);
    for (size_t o = 0; o < COLLECT_OBJECTS && trouble == NULL; o++)
        for (size_t c = 0; c < COLLECT_COUNTS; c++)
            outcomes[o][c] = conclude(samples, plan->rounds, o, c);
    close_board(&b);
    free(samples);
    return trouble;
}
