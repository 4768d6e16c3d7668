/*
 * Every lock at work: between threads, and between processes that map the memory at different
 * addresses; spinning and parking; with participants who leave and come back.
 */
#include "baton/lock.h"
#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX = 8, PASSAGES = 600, STAY = 40 };

typedef struct setting {
    const baton_algorithm *algorithm;
    uint32_t n;
    baton_waiting waiting;
} setting;

/* What the lock guards: plain words, which lose updates if two are inside. */
typedef struct guarded {
    uint64_t count;
    uint32_t owner;
} guarded;

/* One critical section. NULL, or what went wrong in it. */
static const char *stay_inside(guarded *data, uint32_t id, bool invite)
{
    if (data->owner != 0)
        return "entered while somebody was inside";
    data->owner = id;
    uint64_t count = data->count;
    if (invite)
        sched_yield(); /* to come in, for those who may not */
    data->count = count + 1;
    if (data->owner != id)
        return "somebody came in";
    data->owner = 0;
    return NULL;
}

/* NULL, or what went wrong. Leaves and joins again now and then, so that seats change hands. */
static const char *take_part(baton_locks *locks, guarded *data, uint32_t id)
{
    baton_participant me = {0};
    const char *trouble = NULL;
    if (baton_join(locks, &me) != BATON_OK)
        return "cannot join";
    for (int i = 1; i <= PASSAGES && trouble == NULL; i++) {
        if (baton_enter(&me, 0) != BATON_OK)
            return "cannot enter";
        trouble = stay_inside(data, id, i % 16 == 0);
        if (baton_exit(&me, 0) != BATON_OK) /* even in trouble: the others must come to an end */
            return "cannot exit";
        if (i % STAY == 0 && (baton_leave(&me) != BATON_OK || baton_join(locks, &me) != BATON_OK))
            return "cannot leave and come back";
    }
    return baton_leave(&me) == BATON_OK ? trouble : "cannot leave";
}

/* ---- threads ---- */

typedef struct thread_part {
    baton_locks *locks;
    guarded *data;
    uint32_t id;
    const char *trouble;
} thread_part;

static void *thread_main(void *argument)
{
    thread_part *part = argument;
    part->trouble = take_part(part->locks, part->data, part->id);
    return NULL;
}

static void test_threads(void **state)
{
    const setting *s = *state;
    baton_locks_spec spec = {s->algorithm->name, 1, s->n, s->waiting};
    baton_locks *locks = make_locks(&spec);
    guarded data = {0};
    thread_part part[MAX];
    pthread_t thread[MAX];
    for (uint32_t i = 0; i < s->n; i++) {
        part[i] = (thread_part){locks, &data, i + 1, NULL};
        assert_int_equal(pthread_create(&thread[i], NULL, thread_main, &part[i]), 0);
    }
    for (uint32_t i = 0; i < s->n; i++)
        pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < s->n; i++)
        if (part[i].trouble != NULL)
            fail_msg("participant %u: %s", i + 1, part[i].trouble);
    assert_int_equal(data.count, (uint64_t)s->n * PASSAGES);
    free(locks);
}

/* ---- processes ---- */

/* The child's mapping lies elsewhere than its parent's, which it gives up, and its siblings'. */
static int process_main(int memory, size_t bytes, void *parents, uint32_t id)
{
    for (uint32_t i = 0; i < id; i++)
        if (mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            return 2;
    char *mine = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (mine == MAP_FAILED || mine == (char *)parents)
        return 2;
    munmap(parents, bytes);
    baton_locks *locks;
    int error = baton_locks_attach(mine + BATON_CACHE_LINE, bytes - BATON_CACHE_LINE, &locks);
    if (error != BATON_OK) {
        fprintf(stderr, "# cannot attach: %s\n", baton_strerror(error));
        return 2;
    }
    const char *trouble = take_part(locks, (guarded *)mine, id);
    if (trouble != NULL)
        fprintf(stderr, "# process %u: %s\n", id, trouble);
    return trouble == NULL ? 0 : 1;
}

static void test_processes(void **state)
{
    const setting *s = *state;
    baton_locks_spec spec = {s->algorithm->name, 1, s->n, s->waiting};
    size_t bytes;
    assert_int_equal(baton_locks_size(&spec, &bytes), BATON_OK);
    bytes += BATON_CACHE_LINE; /* the guarded data in front */
    int memory = memfd_create("baton-test", MFD_CLOEXEC);
    assert_true(memory >= 0);
    assert_int_equal(ftruncate(memory, (off_t)bytes), 0);
    char *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    baton_locks *locks;
    assert_int_equal(
        baton_locks_create(&spec, shared + BATON_CACHE_LINE, bytes - BATON_CACHE_LINE, &locks),
        BATON_OK);
    fflush(NULL);
    for (uint32_t i = 1; i <= s->n; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(process_main(memory, bytes, shared, i));
    }
    for (uint32_t i = 1; i <= s->n; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(((guarded *)shared)->count, (uint64_t)s->n * PASSAGES);
    munmap(shared, bytes);
    close(memory);
}

/* ---- parking ---- */

typedef struct sleeper {
    baton_locks *locks;
    _Atomic pid_t tid;
    bool entered;
} sleeper;

static void *sleeper_main(void *argument)
{
    sleeper *me = argument;
    baton_participant participant = {0};
    baton_join(me->locks, &participant);
    me->tid = gettid();
    baton_enter(&participant, 0);
    me->entered = true;
    baton_exit(&participant, 0);
    baton_leave(&participant);
    return NULL;
}

/* Whether the kernel has put the thread to sleep. */
static bool sleeps(pid_t tid)
{
    char path[64];
    char line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    FILE *stat = fopen(path, "r");
    if (stat == NULL)
        return false;
    char *read = fgets(line, sizeof line, stat);
    fclose(stat);
    const char *after_name = read != NULL ? strrchr(line, ')') : NULL;
    return after_name != NULL && after_name[1] == ' ' && after_name[2] == 'S';
}

/* A parked waiter really sleeps, and the holder's exit wakes it. */
static void test_parking_sleeps(void **state)
{
    const setting *s = *state;
    baton_locks_spec spec = {s->algorithm->name, 1, 2, BATON_PARK};
    sleeper other = {.locks = make_locks(&spec)};
    baton_participant me = {0};
    pthread_t thread;
    assert_int_equal(baton_join(other.locks, &me), BATON_OK);
    assert_int_equal(baton_enter(&me, 0), BATON_OK);
    assert_int_equal(pthread_create(&thread, NULL, sleeper_main, &other), 0);
    while (other.tid == 0 || !sleeps(other.tid))
        sched_yield();
    assert_false(other.entered);
    assert_int_equal(baton_exit(&me, 0), BATON_OK);
    pthread_join(thread, NULL);
    assert_true(other.entered);
    free(other.locks);
}

int main(void)
{
    static const uint32_t sizes[] = {1, 2, 3, 5, 8};
    static setting settings[MAX_TESTS];
    suite s = {0};
    const baton_algorithm *a;
    for (size_t i = 0; (a = baton_algorithm_at(i)) != NULL; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            if (a->max_participants != 0 && sizes[k] > a->max_participants)
                continue;
            for (baton_waiting w = BATON_SPIN; w <= BATON_PARK; w++) {
                const char *how = w == BATON_SPIN ? "spin" : "park";
                setting *one = &settings[s.tests];
                *one = (setting){a, sizes[k], w};
                suite_add(&s, test_threads, one, "%s: %u threads, %s", a->name, sizes[k], how);
                suite_add(&s, test_processes, one, "%s: %u processes, %s", a->name, sizes[k], how);
            }
        }
        setting *one = &settings[s.tests];
        *one = (setting){a, 2, BATON_PARK};
        suite_add(&s, test_parking_sleeps, one, "%s: who parks sleeps and is woken", a->name);
    }
    return suite_run(&s, "locks");
}
