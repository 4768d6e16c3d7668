/*
 * The shipped lock code under schedules that the test decides: order of entry, exits that do not
 * wait, and many random interleavings of every lock.
 */
#include "baton/lock.h"
#include "stepped.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 5 };

/* One lock and the processes that use it. */
typedef struct scene {
    baton_locks *locks;
    uint32_t entries; /* critical sections so far */
    uint32_t entered_as[MAX * 4];
    uint32_t holders;
    bool collision;
} scene;

typedef struct actor {
    scene *in;
    uint32_t index;
    uint32_t passages;
    bool inside;
    bool leaving;
    baton_participant participant;
    process *process;
} actor;

static void set_scene(scene *in, const char *algorithm, uint32_t n, actor *actors)
{
    baton_locks_spec spec = {algorithm, 1, n, BATON_SPIN};
    memset(in, 0, sizeof *in);
    in->locks = make_locks(&spec);
    for (uint32_t i = 0; i < n; i++) {
        actors[i] = (actor){.in = in, .index = i, .passages = 1};
        assert_int_equal(baton_join(in->locks, &actors[i].participant), BATON_OK);
    }
}

static void strike_scene(scene *in)
{
    free(in->locks);
}

static void passages(void *argument)
{
    actor *me = argument;
    scene *in = me->in;
    for (uint32_t i = 0; i < me->passages; i++) {
        baton_enter(&me->participant, 0);
        me->inside = true;
        in->collision = in->collision || ++in->holders > 1;
        in->entered_as[in->entries++] = me->index;
        process_pause(); /* the critical section, in which others may move */
        in->holders--;
        me->inside = false;
        me->leaving = true;
        baton_exit(&me->participant, 0);
        me->leaving = false;
    }
}

static void start(actor *a)
{
    a->process = process_start(passages, a);
}

/* The queue locks begin with their tail. */
static baton_word tail(const actor *a)
{
    return atomic_load(&((const baton_reg *)a->participant.lock)->value);
}

/* Moves a process to the end of its doorway: the step that puts it into the queue. */
static void finish_doorway(actor *a)
{
    baton_word before = tail(a);
    while (tail(a) == before)
        process_step(a->process);
}

static void run_until_inside(actor *a)
{
    while (!a->inside)
        assert_int_not_equal(process_step(a->process), DONE);
}

/* Every order of doorways is the order of entries, whoever moves first afterwards. */
static void test_fifo(void **state)
{
    const baton_algorithm *algorithm = *state;
    for (unsigned seed = 1; seed <= 60; seed++) {
        scene in;
        actor actors[MAX];
        uint32_t order[MAX];
        set_scene(&in, algorithm->name, MAX, actors);
        srand(seed);
        for (uint32_t i = 0; i < MAX; i++) {
            uint32_t k = (uint32_t)rand() % (i + 1);
            order[i] = order[k];
            order[k] = i;
        }
        for (uint32_t i = 0; i < MAX; i++) {
            start(&actors[order[i]]);
            finish_doorway(&actors[order[i]]);
        }
        for (uint32_t done = 0; done < MAX;) {
            actor *a = &actors[(uint32_t)rand() % MAX];
            if (process_state(a->process) != DONE && process_step(a->process) == DONE)
                done++;
        }
        for (uint32_t i = 0; i < MAX; i++) {
            assert_int_equal(in.entered_as[i], order[i]);
            process_finish(actors[i].process);
        }
        assert_false(in.collision);
        strike_scene(&in);
    }
}

/*
 * The holder leaves while its successor stands between its doorway and its link. Exit returns at
 * once where it is wait-free; mcs waits for the successor's next step.
 */
static void test_exit_with_stopped_successor(void **state)
{
    const baton_algorithm *algorithm = *state;
    scene in;
    actor actors[2];
    set_scene(&in, algorithm->name, 2, actors);
    start(&actors[0]);
    run_until_inside(&actors[0]);
    start(&actors[1]);
    finish_doorway(&actors[1]);

    if (algorithm->wait_free_exit) {
        assert_int_equal(process_run(actors[0].process), DONE);
    } else {
        assert_int_equal(process_run(actors[0].process), BLOCKED);
        assert_true(actors[0].leaving);
        assert_int_equal(process_run(actors[0].process), BLOCKED); /* and goes on waiting */
        process_step(actors[1].process);                           /* locked := 1 */
        process_step(actors[1].process);                           /* the link */
        assert_int_equal(process_run(actors[0].process), DONE);
    }
    assert_int_equal(process_run(actors[1].process), DONE);
    for (uint32_t i = 0; i < 2; i++)
        process_finish(actors[i].process);
    assert_false(in.collision);
    strike_scene(&in);
}

/* Whatever the successors do and wherever they stop, an exit takes a bounded number of steps. */
static void test_exit_is_wait_free(void **state)
{
    const baton_algorithm *algorithm = *state;
    enum { BOUND = 8 };
    uint32_t max = algorithm->max_participants;
    uint32_t n = max != 0 && max < 3 ? max : 3;
    uint32_t others = n - 1;
    for (unsigned seed = 1; seed <= 60; seed++) {
        scene in;
        actor actors[3];
        set_scene(&in, algorithm->name, n, actors);
        srand(seed);
        start(&actors[0]);
        run_until_inside(&actors[0]);
        for (uint32_t i = 1; i < n; i++)
            start(&actors[i]);
        for (int i = rand() % 16; i > 0; i--)
            process_step(actors[1 + (uint32_t)rand() % others].process);
        for (int steps = 0; process_step(actors[0].process) != DONE; steps++)
            assert_in_range(steps, 0, BOUND - 1);
        for (uint32_t done = 0; done < others;) {
            actor *a = &actors[1 + (uint32_t)rand() % others];
            if (process_state(a->process) != DONE && process_step(a->process) == DONE)
                done++;
        }
        for (uint32_t i = 0; i < n; i++)
            process_finish(actors[i].process);
        assert_false(in.collision);
        strike_scene(&in);
    }
}

/* Random interleavings: never two inside, and all come through. */
static void random_schedules(const baton_algorithm *algorithm, uint32_t n, unsigned seeds)
{
    for (unsigned seed = 1; seed <= seeds; seed++) {
        scene in;
        actor actors[MAX];
        set_scene(&in, algorithm->name, n, actors);
        srand(seed);
        for (uint32_t i = 0; i < n; i++) {
            actors[i].passages = 2;
            start(&actors[i]);
        }
        uint32_t steps = 0;
        for (uint32_t done = 0; done < n; steps++) {
            actor *a = &actors[(uint32_t)rand() % n];
            if (process_state(a->process) != DONE && process_step(a->process) == DONE)
                done++;
            if (in.collision || steps > 100000)
                fail_msg("%s, n = %u, seed %u: %s", algorithm->name, n, seed,
                         in.collision ? "two inside" : "no progress");
        }
        assert_int_equal(in.entries, 2 * n);
        for (uint32_t i = 0; i < n; i++)
            process_finish(actors[i].process);
        strike_scene(&in);
    }
}

static void test_random_schedules(void **state)
{
    const baton_algorithm *algorithm = *state;
    for (uint32_t n = 2; n <= 4; n++)
        if (algorithm->max_participants == 0 || n <= algorithm->max_participants)
            random_schedules(algorithm, n, 40);
}

/* Two locks, three processes and four nodes that travel between the locks. */
static void passages_of_both(void *argument)
{
    actor *me = argument;
    for (uint32_t i = 0; i < me->passages; i++) {
        uint32_t lock = (i + me->index) % 2;
        baton_enter(&me->participant, lock);
        scene *in = &me->in[lock];
        in->collision = in->collision || ++in->holders > 1;
        process_pause();
        in->holders--;
        in->entries++;
        baton_exit(&me->participant, lock);
    }
}

static void test_shared_nodes(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 100; seed++) {
        scene in[2] = {0};
        actor actors[3];
        baton_locks_spec spec = {"dt2", 2, 3, BATON_SPIN};
        baton_locks *locks = make_locks(&spec);
        srand(seed);
        for (uint32_t i = 0; i < 3; i++) {
            actors[i] = (actor){.in = in, .index = i, .passages = 4};
            assert_int_equal(baton_join(locks, &actors[i].participant), BATON_OK);
            actors[i].process = process_start(passages_of_both, &actors[i]);
        }
        uint32_t steps = 0;
        for (uint32_t done = 0; done < 3; steps++) {
            actor *a = &actors[(uint32_t)rand() % 3];
            if (process_state(a->process) != DONE && process_step(a->process) == DONE)
                done++;
            if (in[0].collision || in[1].collision || steps > 100000)
                fail_msg("seed %u: %s", seed, steps > 100000 ? "no progress" : "two inside");
        }
        assert_int_equal(in[0].entries + in[1].entries, 12);
        for (uint32_t i = 0; i < 3; i++)
            process_finish(actors[i].process);
        free(locks);
    }
}

int main(void)
{
    suite s = {0};
    const baton_algorithm *a;
    for (size_t i = 0; (a = baton_algorithm_at(i)) != NULL; i++) {
        suite_add(&s, test_random_schedules, a, "%s: random schedules", a->name);
        if (a->wait_free_exit)
            suite_add(&s, test_exit_is_wait_free, a, "%s: exit takes few steps", a->name);
        if (!a->fifo)
            continue;
        suite_add(&s, test_fifo, a, "%s: doorway order is entry order", a->name);
        suite_add(&s, test_exit_with_stopped_successor, a, "%s: exit %s a stopped successor",
                  a->name, a->wait_free_exit ? "does not wait for" : "waits for");
    }
    suite_add(&s, test_shared_nodes, NULL, "dt2: two locks share the nodes");
    return suite_run(&s, "steps");
}
