/*
 * Points: runs the subject's code with the answers on the way to a point, until it asks for more.
 * Knows nothing of schedules or memory models.
 */
#include "process.h"
#include "own.h"
#include "seen.h"
#include "source.h"
#include "stack.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ANSWERS = 512 };

static struct {
    const baton_check_subject *subject;
    uint32_t processes;
    char *arena; /* the subject's memory: fixed address, contents per process */
    size_t bytes;

    point *point;
    uint32_t points, capacity;
    point_id choice;

    struct root {
        uint32_t p, lock, memory;
        call which;
        bool again;
        point_id first;
    } * root;
    uint32_t roots, root_capacity;

    struct edge { /* which answer leads from a point to which; number 0 is none */
        baton_word answer;
        point_id to;
        uint32_t next; /* of the same point */
    } * edge;
    uint32_t edges, edge_capacity;

    merging merging;
    seen_set *alike; /* what makes points alike; their first one by its number */
    point_id *first_alike;
    uint32_t first_capacity;
} x;

/* The call that is being run. */
static struct {
    const struct root *of;
    bool running;
    jmp_buf back;
    baton_word answer[MAX_ANSWERS];
    point_id path[MAX_ANSWERS]; /* the points that they answer */
    uint32_t answers, given;
    uint16_t steps;
    uint32_t last_step; /* with `breaking`: no more than so many */
    bool breaking;
    jmp_buf broken;
    bool doorway;
    bool roused;
    uint32_t won, lost;
    point_id await;
    point next; /* what it asked for when the answers ran out */
} run;

/* ---- growing arrays ---- */

static void *grown(void *array, uint32_t *capacity, size_t each)
{
    *capacity = *capacity == 0 ? 64 : 2 * *capacity;
    return must_alloc(array, *capacity * each);
}

/* ---- asking: the answers have run out ---- */

static _Noreturn void ask(point what)
{
    stack_note();
    what.steps = run.steps;
    what.doorway = run.doorway;
    what.roused = run.roused;
    what.await = run.await;
    what.won = run.won;
    what.lost = run.lost;
    run.next = what;
    longjmp(run.back, 1);
}

static _Noreturn void wrong(const char *what, const char *file, int line)
{
    ask((point){.act = ACT_WRONG, .wrong = what, .at = {file, line}});
}

/* An assertion of the subject's that fails is a finding, not the end of the search. */
static void on_abort(int number)
{
    if (run.running)
        wrong("an assertion fails", NULL, 0);
    signal(number, SIG_DFL); /* not the subject's: abort goes on */
}

/* ---- the backend: answers while there are any, then back to whoever wants to know ---- */

static void initialise(const void *reg, size_t bytes, baton_word value, const char *name,
                       const char *file, int line)
{
    if (run.running)
        wrong("initialises a register outside of init", file, line);
    register_add(reg, bytes, value, name, file, line);
}

void baton_check_init(const baton_reg *reg, baton_word value, const char *name, const char *file,
                      int line)
{
    initialise(reg, sizeof *reg, value, name, file, line);
}

/* A piece of memory that is to be a register. */
typedef struct cell {
    const void *address;
    size_t bytes;
} cell;

static baton_word cell_read(cell of)
{
    baton_word word = 0;
    uint32_t half = 0;
    if (of.bytes == sizeof word) {
        memcpy(&word, of.address, sizeof word);
        return word;
    }
    memcpy(&half, of.address, sizeof half);
    return half;
}

static void cell_write(cell of, baton_word value)
{
    uint32_t half = (uint32_t)value;
    bool whole = of.bytes == sizeof value;
    memcpy(x.arena + offset_of(of.address), whole ? (void *)&value : (void *)&half, of.bytes);
}

/* An access of the judge's, after all is over: to the memory as it is. */
static baton_word access_directly(act kind, cell of, baton_word value, baton_word expect)
{
    if (of.address == NULL)
        return 0;
    run.steps++;
    baton_word seen = cell_read(of);
    bool writes = kind == ACT_WRITE || kind == ACT_SWAP || (kind == ACT_CAS && seen == expect);
    if (kind == ACT_ADD)
        value += seen;
    if (writes || kind == ACT_ADD)
        cell_write(of, value);
    return kind == ACT_CAS ? writes : seen;
}

/* The answer to an access, if there is one; else asks. */
static baton_word answer_to(act kind, cell of, baton_word value, baton_word expect,
                            memory_order order, const char *file, int line)
{
    int index = -1;
    if (!run.running)
        return access_directly(kind, of, value, expect);
    if (run.breaking && run.steps == run.last_step && kind != ACT_CHOOSE)
        longjmp(run.broken, 1);
    if (of.address != NULL) {
        index = register_index(of.address, of.bytes);
        if (index < 0)
            wrong("accesses memory that is no register", file, line);
        if (own_has_given_up((uint32_t)offset_of(of.address)))
            wrong("accesses a node that it has given up", file, line);
    }
    if (run.await != 0 && kind != ACT_READ)
        wrong("does more than read in the condition of an await", file, line);
    if (run.given < run.answers) {
        const point *before = &x.point[run.path[run.given]];
        if (before->act != kind || (index >= 0 && before->reg != index) || before->value != value ||
            before->expect != expect)
            wrong("does not do the same as before with the same answers", file, line);
        if (kind != ACT_FENCE && kind != ACT_CHOOSE)
            run.steps++;
        run.doorway = false;
        return run.answer[run.given++];
    }
    ask((point){
        .act = kind,
        .order = order,
        .reg = (uint16_t)(index >= 0 ? index : 0),
        .value = value,
        .expect = expect,
        .at = {file, line},
    });
}

baton_word baton_check_read(const baton_reg *reg, memory_order order, const char *file, int line)
{
    return answer_to(ACT_READ, (cell){reg, sizeof *reg}, 0, 0, order, file, line);
}

void baton_check_write(const baton_reg *reg, baton_word value, memory_order order, const char *file,
                       int line)
{
    answer_to(ACT_WRITE, (cell){reg, sizeof *reg}, value, 0, order, file, line);
}

baton_word baton_check_swap(const baton_reg *reg, baton_word value, memory_order order,
                            const char *file, int line)
{
    return answer_to(ACT_SWAP, (cell){reg, sizeof *reg}, value, 0, order, file, line);
}

bool baton_check_cas(const baton_reg *reg, baton_word from, baton_word to, memory_order order,
                     const char *file, int line)
{
    return answer_to(ACT_CAS, (cell){reg, sizeof *reg}, to, from, order, file, line) != 0;
}

baton_word baton_check_add(const baton_reg *reg, baton_word addend, memory_order order,
                           const char *file, int line)
{
    return answer_to(ACT_ADD, (cell){reg, sizeof *reg}, addend, 0, order, file, line);
}

void baton_check_fence(memory_order order, const char *file, int line)
{
    answer_to(ACT_FENCE, (cell){0}, 0, 0, order, file, line);
}

void baton_check_futex_init(const baton_futex *word, uint32_t value, const char *name,
                            const char *file, int line)
{
    initialise(word, sizeof *word, value, name, file, line);
}

uint32_t baton_check_futex_read(const baton_futex *word, memory_order order, const char *file,
                                int line)
{
    return (uint32_t)answer_to(ACT_READ, (cell){word, sizeof *word}, 0, 0, order, file, line);
}

uint32_t baton_check_futex_add(const baton_futex *word, uint32_t addend, memory_order order,
                               const char *file, int line)
{
    return (uint32_t)answer_to(ACT_ADD, (cell){word, sizeof *word}, addend, 0, order, file, line);
}

void baton_check_futex_wait(const baton_futex *word, uint32_t seen, const char *file, int line)
{
    if (answer_to(ACT_FUTEX_WAIT, (cell){word, sizeof *word}, 0, seen, memory_order_relaxed, file,
                  line) == WITHOUT_CAUSE)
        run.roused = true;
}

void baton_check_futex_wake(const baton_futex *word, int count, const char *file, int line)
{
    answer_to(ACT_FUTEX_WAKE, (cell){word, sizeof *word}, (baton_word)count, 0,
              memory_order_relaxed, file, line);
}

uint32_t baton_check_choose(uint32_t ways)
{
    if (run.running && (ways == 0 || ways > UINT8_MAX))
        wrong("chooses among no ways, or among more than 255", NULL, 0);
    return (uint32_t)answer_to(ACT_CHOOSE, (cell){0}, ways, 0, memory_order_relaxed, NULL, 0);
}

bool baton_check_break_off(uint32_t accesses, void (*part)(void *context), void *context)
{
    run.last_step = run.steps + accesses;
    run.breaking = true;
    bool broken = setjmp(run.broken) != 0;
    if (!broken)
        part(context);
    run.breaking = false;
    if (broken)
        run.await = 0; /* if it was waiting */
    return broken;
}

void *baton_check_deref(const void *base, baton_word ref, const char *file, int line)
{
    if (ref == 0)
        wrong("follows a reference to nothing", file, line);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): that is what it is for */
    return (void *)((baton_word)base + ref);
}

/* The number of a place where processes sleep, from 1; 0 where they spin. */
static uint32_t place_number(baton_waiting waiting, const baton_place *place, const char *file,
                             int line)
{
    if (waiting != BATON_PARK)
        return 0;
    if (offset_of(place) < 0)
        wrong("parks at a place outside of the subject's memory", file, line);
    return (uint32_t)offset_of(place) + 1;
}

/* The answer to what is no access; its point knows the place. */
static void answer_at_place(act kind, uint32_t place, baton_word value, const char *file, int line)
{
    if (run.given < run.answers) {
        run.doorway = false;
        run.given++;
        return;
    }
    ask((point){.act = kind, .place = place, .value = value, .at = {file, line}});
}

void baton_check_await_begins(baton_waiting waiting, const baton_place *place, const char *file,
                              int line)
{
    answer_at_place(ACT_AWAIT, place_number(waiting, place, file, line), 0, file, line);
    run.await = 1; /* replaced by the point's number when the tree is grown */
}

void baton_check_wake(baton_waiting waiting, const baton_place *place, uint32_t count,
                      const char *file, int line)
{
    if (waiting == BATON_PARK)
        answer_at_place(ACT_WAKE, place_number(waiting, place, file, line), count, file, line);
}

void baton_check_await_failed(void)
{
    ask((point){.act = ACT_FAILED});
}

void baton_check_await_ends(void)
{
    run.await = 0;
}

void baton_check_again(void)
{
    ask((point){.act = ACT_AGAIN});
}

void baton_check_wins(uint32_t where)
{
    run.won |= 1U << (where % 32);
}

void baton_check_loses(uint32_t where)
{
    run.lost |= 1U << (where % 32);
}

void baton_check_doorway_ends(void)
{
    run.doorway = true;
}

void baton_check_give_up(const void *object, size_t bytes)
{
    long start = offset_of(object);
    if (start >= 0 && !own_give_up((uint32_t)start, (uint32_t)bytes))
        wrong("has given up more objects than can be kept in mind", __FILE__, __LINE__);
}

void baton_check_take(const void *object)
{
    long start = offset_of(object);
    if (start >= 0)
        own_take((uint32_t)start);
}

/* ---- the tree ---- */

const point *point_at(point_id id)
{
    return &x.point[id];
}

uint32_t points(void)
{
    return x.points;
}

uint32_t baton_check_steps(void)
{
    return run.steps;
}

void *memory_with(const baton_word values[])
{
    own_load(INITIAL_MEMORY);
    run.steps = 0; /* of who accesses it */
    for (uint32_t i = 0; i < registers(); i++)
        cell_write((cell){register_at(i)->address, register_at(i)->bytes}, values[i]);
    return x.arena;
}

static point_id add_point(point what)
{
    if (x.points == x.capacity)
        x.point = grown(x.point, &x.capacity, sizeof *x.point);
    x.point[x.points] = what;
    return x.points++;
}

static void add_edge(point_id from, baton_word answer, point_id to)
{
    while (x.edges + 1 >= x.edge_capacity)
        x.edge = grown(x.edge, &x.edge_capacity, sizeof *x.edge);
    x.edge[++x.edges] = (struct edge){answer, to, x.point[from].first_edge};
    x.point[from].first_edge = x.edges;
}

/*
 * The point that run_call has just come to, in the call that began at `root`: an earlier one, if
 * the process stands there just as it stands here. Then whatever is answered leads both to the same
 * places. The same are: place in the code, its variables and return addresses (the stack), own
 * memory, and what is kept here about the call. Programs write into their own memory whatever they
 * see, so there is little to merge; a part that may be broken off keeps more than its stack.
 */
static point_id point_alike(point_id root, const point *found)
{
    static uint8_t key[64 + MAX_NOTED_BYTES];
    if (x.merging == MERGE_NONE || run.breaking || x.subject->judge != NULL)
        return add_point(*found);
    bool at_end = found->act == ACT_END;
    size_t noted = at_end ? 0 : stack_noted(key + 64);
    if (!at_end && noted == 0)
        return add_point(*found);
    uint32_t kept[16] = {root,         found->await,   found->doorway, found->act,
                         found->place, found->entered, found->memory,  at_end ? 0 : own_save()};
    if (x.merging == MERGE_COUNTED) {
        kept[8] = found->steps;
        kept[9] = found->won;
        kept[10] = found->lost;
    }
    memcpy(key, kept, sizeof kept);
    bool fresh;
    uint32_t number = seen_add(x.alike, key, sizeof kept + noted, &fresh);
    if (fresh) {
        while (number >= x.first_capacity)
            x.first_alike = grown(x.first_alike, &x.first_capacity, sizeof *x.first_alike);
        x.first_alike[number] = add_point(*found);
    }
    return x.first_alike[number];
}

/* Calls the subject; left by longjmp when it asks, or at its end. */
static void call_subject(void)
{
    const struct root *of = run.of;
    bool entered = true;
    if (of->which == CALL_EXIT)
        x.subject->exit(x.arena, of->lock, of->p);
    else if (of->p == 0 && x.subject->try != NULL)
        entered = x.subject->try(x.arena, of->lock, of->p);
    else
        x.subject->enter(x.arena, of->lock, of->p);
    run.next = (point){
        .act = ACT_END,
        .steps = run.steps,
        .doorway = run.doorway,
        .entered = entered,
        .won = run.won,
    };
    run.next.memory = own_save();
    longjmp(run.back, 1);
}

/* Runs a call with the answers in run.answer and returns the point that it comes to. */
static point run_call(const struct root *of)
{
    run.of = of;
    own_load(of->memory);
    run.given = 0;
    run.steps = 0;
    run.doorway = false;
    run.roused = false;
    run.await = 0;
    run.won = run.lost = 0;
    run.breaking = false;
    run.running = true;
    if (setjmp(run.back) == 0)
        stack_run(call_subject);
    run.running = false;
    return run.next;
}

/* The first point of a call, or of one that has begun again. */
static point_id root_point(struct root wanted)
{
    for (uint32_t i = 0; i < x.roots; i++) {
        const struct root *r = &x.root[i];
        if (r->p == wanted.p && r->which == wanted.which && r->lock == wanted.lock &&
            r->memory == wanted.memory && r->again == wanted.again)
            return r->first;
    }
    if (x.roots == x.root_capacity)
        x.root = grown(x.root, &x.root_capacity, sizeof *x.root);
    run.answers = 0;
    point first = run_call(&wanted);
    first.parent = 0;
    first.answer = x.roots; /* a first point keeps the number of its root here */
    /* Who begins with an await cannot be told from one who waits there: taken for waiting. */
    first.resting = wanted.which == CALL_ENTER && !wanted.again && first.act != ACT_AWAIT;
    wanted.first = add_point(first);
    x.root[x.roots++] = wanted;
    return wanted.first;
}

point_id call_choice(void)
{
    return x.choice;
}

point_id call_begin(uint32_t p, call which, uint32_t lock, uint32_t memory)
{
    return root_point((struct root){.p = p, .lock = lock, .memory = memory, .which = which});
}

point_id call_again(point_id at)
{
    while (x.point[at].parent != 0)
        at = x.point[at].parent;
    struct root same = x.root[x.point[at].answer];
    same.again = true;
    return root_point(same);
}

point_id point_next(point_id id, baton_word answer)
{
    for (uint32_t e = x.point[id].first_edge; e != 0; e = x.edge[e].next)
        if (x.edge[e].answer == answer)
            return x.edge[e].to;
    /* Not yet there: run the call again, with the answers from its start to here and this one. */
    uint32_t depth = 1;
    point_id first = id;
    for (; x.point[first].parent != 0; first = x.point[first].parent)
        depth++;
    if (depth > MAX_ANSWERS) {
        fputs("baton-check: a call makes too many accesses\n", stderr);
        exit(1);
    }
    run.answers = depth;
    run.answer[depth - 1] = answer;
    run.path[depth - 1] = id;
    point_id up = id;
    for (uint32_t i = depth - 1; i > 0; i--, up = x.point[up].parent) {
        run.answer[i - 1] = x.point[up].answer;
        run.path[i - 1] = x.point[up].parent;
    }
    point next = run_call(&x.root[x.point[first].answer]);
    next.parent = id;
    next.answer = answer;
    if (next.await != 0) /* inside the condition of the await that began last */
        next.await = x.point[id].act == ACT_AWAIT ? id : x.point[id].await;
    point_id to = point_alike(first, &next);
    add_edge(id, answer, to);
    return to;
}

/* ---- begin and end ---- */

const char *processes_begin(const baton_check_subject *subject, uint32_t processes,
                            baton_waiting waiting)
{
    processes_end();
    if (subject->locks > BATON_CHECK_MAX_LOCKS || subject->bytes == 0 || subject->init == NULL ||
        subject->enter == NULL || (subject->exit == NULL && subject->judge == NULL))
        return "the subject is not complete, or has too many locks";
    x.subject = subject;
    x.processes = processes;
    x.bytes = (subject->bytes + BATON_CACHE_LINE - 1) / BATON_CACHE_LINE * BATON_CACHE_LINE;
    x.arena = aligned_alloc(BATON_CACHE_LINE, x.bytes);
    if (x.arena == NULL)
        return "out of memory";
    memset(x.arena, 0, x.bytes);
    registers_begin(x.arena, x.bytes);
    source_names_restart();
    if (subject->select != NULL)
        subject->select(subject);
    subject->init(x.arena, processes, waiting);
    if (registers_trouble() != NULL)
        return registers_trouble();
    /* SA_NODEFER: the handler is left by longjmp, more than once. */
    struct sigaction abort_action = {.sa_handler = on_abort, .sa_flags = SA_NODEFER};
    sigaction(SIGABRT, &abort_action, NULL);
    own_begin(x.arena, x.bytes);
    x.alike = seen_new();
    add_point((point){.act = ACT_END}); /* number 0 is none */
    x.choice = add_point((point){.act = ACT_CHOOSE, .value = subject->locks, .resting = true});
    registers_name_owned();
    return NULL;
}

void processes_merge_points(merging which)
{
    x.merging = which;
}

void processes_end(void)
{
    signal(SIGABRT, SIG_DFL);
    free(x.arena);
    registers_end();
    free(x.point);
    own_end();
    free(x.root);
    free(x.edge);
    if (x.alike != NULL)
        seen_free(x.alike);
    free(x.first_alike);
    memset(&x, 0, sizeof x);
}
