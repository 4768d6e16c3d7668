/*
 * Store & collect as baton/collect.h promises it: wrong arguments and damaged memory, ids that come
 * and go, values of all sizes, threads at work, and processes that are killed in the middle.
 */
#include "object.h"

#include "layout.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

enum { MAX_IDS = 64, WIDE = 200, WIDEST = 4096, GUARD = 0x5a };
/* Bytes of the header: the version is that of the layout, and how many bytes a word has. */
enum { VERSION = 8, AFTER_VERSION = 16, NAME = 16, COUNTS = 24, BYTES = 40, SUM = 48, HEADER = 56 };

/* A value says up to its end whose it is and which version, from 1: one made of two shows. */
static void fill(char *value, size_t bytes, uint64_t stamp)
{
    for (size_t b = 0; b < bytes; b += sizeof stamp) {
        uint64_t word = stamp + b;
        memcpy(value + b, &word, bytes - b < sizeof word ? bytes - b : sizeof word);
    }
}

static int store(baton_storer *me, uint64_t version)
{
    char value[WIDEST];
    fill(value, me->in.value_bytes, version * MAX_IDS + me->id);
    return baton_store(me, value);
}

/* An object in that memory, or if it is NULL in memory of its own, to be freed with free(). */
static baton_collect *make(const baton_collect_spec *spec, void *memory)
{
    baton_collect *object = NULL;
    size_t bytes;
    assert_int_equal(baton_collect_size(spec, &bytes), BATON_OK);
    if (memory == NULL)
        memory = aligned_alloc(BATON_CACHE_LINE, bytes);
    memset(memory, GUARD, bytes); /* create must not count on anything */
    assert_int_equal(baton_collect_create(spec, memory, bytes, &object), BATON_OK);
    return object;
}

/* A collector with room for its view, at the end of which there is a guard. */
typedef struct reader {
    baton_collector me;
    uint32_t ids[MAX_IDS];
    char values[MAX_IDS * WIDE + 1];
    uint64_t version[MAX_IDS]; /* what it has seen last of each id; 0 if it was not in the view */
} reader;

static const char fine[] = "fine";

/* Collects into r->version. Fine, or what is wrong with the view. */
static const char *look(reader *r)
{
    size_t bytes = r->me.in.value_bytes;
    uint32_t n = r->me.in.participants;
    char whole[WIDEST];
    r->values[n * bytes] = GUARD;
    int count = baton_collect_view(&r->me, r->ids, r->values);
    memset(r->version, 0, sizeof r->version);
    if (count < 0 || count > (int)n || r->values[n * bytes] != GUARD)
        return "there are more in the view than can be";
    for (int i = 0; i < count; i++) {
        const char *value = r->values + (size_t)i * bytes;
        uint32_t id = r->ids[i];
        uint64_t stamp = 0;
        memcpy(&stamp, value, bytes < sizeof stamp ? bytes : sizeof stamp);
        fill(whole, bytes, stamp);
        if (id >= n || r->version[id] != 0 || stamp % MAX_IDS != id || stamp < MAX_IDS)
            return "an id is out of range, there twice, or with a value that is not its own";
        if (memcmp(value, whole, bytes) != 0)
            return "a value is torn";
        r->version[id] = stamp / MAX_IDS;
    }
    return fine;
}

/* The view is exactly those whose version is not 0. */
static void expect_view(reader *r, const uint64_t *version)
{
    assert_string_equal(look(r), fine);
    for (uint32_t id = 0; id < r->me.in.participants; id++)
        assert_int_equal(r->version[id], version[id]);
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        baton_collect_spec spec;
        int error;
    } cases[] = {
        {{"array", BATON_MAX_IN_ARRAY, BATON_MAX_COLLECTORS, 9}, BATON_OK},
        {{"tree", BATON_MAX_IN_TREE, 1, BATON_MAX_VALUE_BYTES}, BATON_OK},
        {{"matrix", BATON_MAX_IN_MATRIX, 1, 1}, BATON_OK},
        {{"array", BATON_MAX_IN_ARRAY + 1, 1, 8}, BATON_BAD_COUNT},
        {{"tree", BATON_MAX_IN_TREE + 1, 1, 8}, BATON_BAD_COUNT},
        {{"matrix", BATON_MAX_IN_MATRIX + 1, 1, 8}, BATON_BAD_COUNT},
        {{"matrix", 0, 1, 8}, BATON_BAD_COUNT},
        {{"matrix", 1, 0, 8}, BATON_BAD_COUNT},
        {{"matrix", 1, BATON_MAX_COLLECTORS + 1, 8}, BATON_BAD_COUNT},
        {{"matrix", 1, 1, 0}, BATON_BAD_COUNT},
        {{"matrix", 1, 1, BATON_MAX_VALUE_BYTES + 1}, BATON_BAD_COUNT},
        {{"list", 1, 1, 8}, BATON_NO_OBJECT},
        {{NULL, 1, 1, 8}, BATON_BAD_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t bytes = 4711;
        assert_int_equal(baton_collect_size(&cases[i].spec, &bytes), cases[i].error);
        assert_int_equal(baton_collect_size(NULL, &bytes), BATON_BAD_ARGUMENT);
        assert_true((bytes != 4711) == (cases[i].error == BATON_OK));
    }
    assert_int_equal(baton_collect_size(&cases[0].spec, NULL), BATON_BAD_ARGUMENT);
}

/* Wrong memory is refused and left alone; what is made reads back; nothing is written beyond. */
static void test_memory(void **state)
{
    const baton_collect_spec *spec = *state;
    baton_collect_spec read = {0};
    baton_collect *made = NULL;
    size_t bytes;
    assert_int_equal(baton_collect_size(spec, &bytes), BATON_OK);
    char *memory = aligned_alloc(BATON_CACHE_LINE, bytes + BATON_CACHE_LINE);
    memset(memory, GUARD, bytes + BATON_CACHE_LINE);
    assert_int_equal(baton_collect_create(spec, memory, bytes - 1, &made), BATON_TOO_SMALL);
    assert_int_equal(baton_collect_create(spec, memory + 8, bytes, &made), BATON_MISALIGNED);
    assert_int_equal(baton_collect_create(spec, NULL, bytes, &made), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_collect_create(spec, memory, bytes, NULL), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_collect_attach(memory, bytes, &made), BATON_NOT_COLLECT);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(memory[i], GUARD);
    assert_int_equal(baton_collect_create(spec, memory, bytes, &made), BATON_OK);
    for (size_t i = bytes; i < bytes + BATON_CACHE_LINE; i++)
        assert_int_equal(memory[i], GUARD);
    assert_int_equal(baton_collect_attach(memory, bytes - 1, &made), BATON_TOO_SMALL);
    assert_int_equal(baton_collect_attach(memory + 8, bytes, &made), BATON_MISALIGNED);
    assert_int_equal(baton_collect_attach(NULL, bytes, &made), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_collect_attach(memory, bytes, NULL), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_collect_describe(made, NULL), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_collect_describe(made, &read), BATON_OK);
    assert_string_equal(read.object, spec->object);
    assert_true(read.participants == spec->participants && read.collectors == spec->collectors &&
                read.value_bytes == spec->value_bytes);
    memset(memory, 0, bytes);
    assert_int_equal(baton_collect_attach(memory, bytes, &made), BATON_NOT_COLLECT);
    free(memory);
}

/* Any one bit of the header that is wrong is found; another version is told from damage. */
static void test_damaged_header(void **state)
{
    baton_collect *made = make(*state, NULL);
    baton_collect *found = NULL;
    unsigned char *memory = (unsigned char *)made;
    for (int bit = 0; bit < 8 * HEADER; bit++) {
        baton_collect_spec spec;
        baton_storer storer = {0};
        memory[bit / 8] ^= (unsigned char)(1 << bit % 8);
        int error = baton_collect_attach(memory, SIZE_MAX, &found);
        bool is_version = bit >= 8 * VERSION && bit < 8 * AFTER_VERSION;
        if (error != (is_version ? BATON_OTHER_VERSION : BATON_NOT_COLLECT))
            fail_msg("bit %d of the header: %s", bit, baton_strerror(error));
        assert_int_equal(baton_collect_describe(made, &spec), error);
        assert_int_equal(baton_storer_join(made, 7, &storer), error);
        memory[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_int_equal(baton_collect_attach(memory, SIZE_MAX, &found), BATON_OK);
    assert_ptr_equal(found, made);
    assert_int_equal(baton_collect_owner(made, 0), 0); /* none of it has joined anybody */
    free(made);
}

/* A header whose sum is right: what it says must make sense, too. */
static void test_forged_header(void **state)
{
    static const struct {
        size_t at;
        const char *bytes; /* as many as count */
        size_t count;
        int error;
    } rows[] = {
        {NAME + 7, "x", 1, BATON_NOT_COLLECT}, /* has no end */
        {NAME, "list\0\0\0", 8, BATON_NOT_COLLECT},
        {COUNTS, "\0\0\0\0", 4, BATON_NOT_COLLECT},
        {COUNTS + 4, "\0\0\0\0", 4, BATON_NOT_COLLECT},
        {COUNTS, "\xff\xff\xff\xff", 4, BATON_NOT_COLLECT},
        {BYTES, "\1", 1, BATON_NOT_COLLECT},
        {VERSION, "\x7f", 1, BATON_OTHER_VERSION},
        {VERSION + 4, "\x7f", 1, BATON_OTHER_VERSION},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        baton_collect *made = make(*state, NULL), *found = NULL;
        char *memory = (char *)made;
        memcpy(memory + rows[i].at, rows[i].bytes, rows[i].count);
        uint64_t sum = checksum_of(memory + VERSION, memory + SUM);
        memcpy(memory + SUM, &sum, sizeof sum);
        assert_int_equal(baton_collect_attach(memory, SIZE_MAX, &found), rows[i].error);
        assert_null(found);
        free(made);
    }
}

/* Where a value lies, and how far a first store has come, are believed only if they can be. */
static void test_damaged_seat(void **state)
{
    static const baton_word wrong[] = {8, 1000, (baton_word)1 << 40, (baton_word)-4};
    enum { COMES = 1, STAGES = 4 };
    baton_collect *made = make(*state, NULL);
    baton_storer me = {0};
    reader r = {0};
    assert_int_equal(baton_storer_join(made, 7, &me), BATON_OK);
    assert_int_equal(baton_collector_join(made, 7, &r.me), BATON_OK);
    seat *mine = seat_of(&me.in, me.id);
    bool walks = ((const kind *)me.in.kind)->next != NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0] && walks; i++) {
        reg_write(&mine->progress, wrong[i] * STAGES + COMES, relaxed);
        assert_int_equal(store(&me, 1), BATON_NOT_COLLECT);
    }
    reg_write(&mine->progress, 0, relaxed);
    assert_int_equal(store(&me, 1), BATON_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        reg_write(&mine->value, wrong[i], relaxed);
        assert_int_equal(baton_collect_view(&r.me, r.ids, r.values), 0);
        reg_write(&mine->value, wrong[i], relaxed);
        assert_int_equal(store(&me, 2), BATON_OK);
        expect_view(&r, (uint64_t[MAX_IDS]){2});
    }
    free(made);
}

/* Storers and collectors do it alike: the same test, for three of both. */
#define TEST_MEMBERSHIP(name, type, join, leave, take_over, owner_of, number)           \
    static void name(void **state)                                                      \
    {                                                                                   \
        baton_collect *object = make(*state, NULL);                                     \
        type me[4] = {0};                                                               \
        for (uint32_t i = 0; i < 3; i++) {                                              \
            assert_int_equal(join(object, 100 + i, &me[i]), BATON_OK);                  \
            assert_int_equal(me[i].number, i);                                          \
            assert_int_equal(owner_of(object, i), 100 + i);                             \
        }                                                                               \
        type copy = me[1];                                                              \
        assert_int_equal(owner_of(object, 3), 0);                                       \
        assert_int_equal(join(object, 103, &me[3]), BATON_FULL);                        \
        assert_int_equal(join(object, 100, &me[0]), BATON_ALREADY_JOINED);              \
        assert_int_equal(take_over(object, 1, 101, 100, &me[0]), BATON_ALREADY_JOINED); \
        assert_int_equal(leave(&copy), BATON_NOT_JOINED);                               \
        assert_int_equal(leave(&me[2]), BATON_OK);                                      \
        assert_int_equal(leave(&me[2]), BATON_NOT_JOINED);                              \
        assert_int_equal(leave(&me[1]), BATON_OK);                                      \
        assert_int_equal(join(object, 103, &me[3]), BATON_OK);                          \
        assert_int_equal(me[3].number, 1); /* the lowest that is free */                \
        assert_int_equal(take_over(object, 1, 101, 104, &me[1]), BATON_FULL);           \
        assert_int_equal(take_over(object, 2, 102, 104, &me[1]), BATON_FULL);           \
        assert_int_equal(owner_of(object, 1), 103);                                     \
        assert_int_equal(take_over(object, 1, 103, 104, &me[1]), BATON_OK);             \
        assert_int_equal(owner_of(object, 1), 104);                                     \
        assert_int_equal(take_over(object, 1, 104, 0, &me[2]), BATON_BAD_ARGUMENT);     \
        assert_int_equal(take_over(NULL, 1, 104, 105, &me[2]), BATON_BAD_ARGUMENT);     \
        assert_int_equal(join(object, 0, &me[2]), BATON_BAD_ARGUMENT);                  \
        assert_int_equal(join(NULL, 105, &me[2]), BATON_BAD_ARGUMENT);                  \
        assert_int_equal(join(object, 105, NULL), BATON_BAD_ARGUMENT);                  \
        assert_int_equal(leave(NULL), BATON_BAD_ARGUMENT);                              \
        free(object);                                                                   \
    }
TEST_MEMBERSHIP(test_storers, baton_storer, baton_storer_join, baton_storer_leave,
                baton_storer_take_over, baton_collect_owner, id)
TEST_MEMBERSHIP(test_collectors, baton_collector, baton_collector_join, baton_collector_leave,
                baton_collector_take_over, baton_collector_owner, number)

/* All ids store, several times; they leave in between, and what they have stored stays. */
static void test_sequential(void **state)
{
    const baton_collect_spec *spec = *state;
    uint32_t n = spec->participants;
    uint32_t rounds = spec->value_bytes == 1 ? 3 : 7; /* what fits; more than a value has places */
    baton_collect *object = make(spec, NULL);
    reader r = {0};
    uint64_t version[MAX_IDS] = {0};
    baton_storer me[MAX_IDS] = {0};
    assert_int_equal(baton_collector_join(object, 1, &r.me), BATON_OK);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(baton_storer_join(object, 1, &me[i]), BATON_OK);
    expect_view(&r, version);
    for (uint32_t i = 0; i < rounds * n; i++) {
        baton_storer *now = &me[i * 7 % n]; /* 7 and n have no common divisor */
        assert_int_equal(store(now, ++version[now->id]), BATON_OK);
        expect_view(&r, version);
        assert_int_equal(baton_storer_leave(now), BATON_OK);
        assert_int_equal(baton_store(now, version), BATON_NOT_JOINED);
        expect_view(&r, version);
        assert_int_equal(baton_storer_join(object, 1, now), BATON_OK);
    }
    baton_storer copy = me[0];
    assert_int_equal(baton_store(&copy, version), BATON_NOT_JOINED);
    assert_int_equal(baton_store(&me[0], NULL), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_collect_view(&(baton_collector){0}, r.ids, r.values), BATON_NOT_JOINED);
    assert_int_equal(baton_collect_view(&r.me, NULL, r.values), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_collect_view(&r.me, r.ids, NULL), BATON_BAD_ARGUMENT);
    if (spec->value_bytes == sizeof(baton_word))
        baton_store_lazily(&me[0], (baton_word)(++version[0] * MAX_IDS));
    expect_view(&r, version); /* none of the errors did any harm */
    free(object);
}

enum { WRITERS = 3, READERS = 2, STORES = 90, STAY = 30, OBJECTS = 30 };

typedef struct contest {
    baton_collect *object;
    _Atomic uint64_t begun[WRITERS], finished[WRITERS]; /* versions of each id */
    _Atomic int started, ended;                         /* threads; writers */
} contest;

static void *writer_main(void *argument)
{
    contest *c = argument;
    baton_storer me = {0};
    const char *trouble = fine;
    for (c->started++; c->started < WRITERS + READERS;)
        sched_yield();
    for (uint32_t i = 0; i < STORES && trouble == fine; i++) {
        if ((i % STAY == 0 && baton_storer_join(c->object, 1, &me) != BATON_OK) ||
            store(&me, ++c->begun[me.id]) != BATON_OK)
            trouble = "cannot join, although there is an id for everybody, or store";
        else
            c->finished[me.id] = c->begun[me.id];
        if (i % STAY == STAY - 1)
            baton_storer_leave(&me);
    }
    c->ended++;
    return (void *)(uintptr_t)trouble;
}

/* Definition 10.4, as far as one collector can tell. */
static void *reader_main(void *argument)
{
    contest *c = argument;
    reader r = {0};
    const char *trouble = fine;
    if (baton_collector_join(c->object, 1, &r.me) != BATON_OK)
        trouble = "cannot join as a collector";
    for (c->started++; c->started < WRITERS + READERS;)
        sched_yield();
    for (bool last = false; !last && trouble == fine; sched_yield()) {
        uint64_t stored[WRITERS], seen[WRITERS];
        last = c->ended == WRITERS;
        for (int id = 0; id < WRITERS; id++) {
            stored[id] = c->finished[id];
            seen[id] = r.version[id];
        }
        trouble = look(&r);
        for (int id = 0; id < WRITERS && trouble == fine; id++)
            if (r.version[id] < stored[id] || r.version[id] < seen[id] ||
                r.version[id] > c->begun[id])
                trouble = "a value is older than one stored or seen before, or was never stored";
    }
    return (void *)(uintptr_t)trouble;
}

/* Fresh objects again and again: it is the first stores that meet in the splitters. */
static void test_threads(void **state)
{
    for (int i = 0; i < OBJECTS; i++) {
        contest c = {.object = make(*state, NULL)};
        pthread_t thread[WRITERS + READERS];
        void *trouble[WRITERS + READERS];
        for (int k = 0; k < WRITERS + READERS; k++)
            pthread_create(&thread[k], NULL, k < WRITERS ? writer_main : reader_main, &c);
        for (int k = 0; k < WRITERS + READERS; k++)
            pthread_join(thread[k], &trouble[k]);
        for (int k = 0; k < WRITERS + READERS; k++)
            assert_string_equal(trouble[k], fine);
        free(c.object);
    }
}

/* What processes share: how far the one who stores under id 0 has come, and an object behind. */
typedef struct shared {
    BATON_OWN_LINE _Atomic uint64_t begun;
    _Atomic uint64_t finished;
    BATON_OWN_LINE char object[1 << 16];
} shared;

/* The same memory, or if there is none yet new memory, at an address of its own. */
static shared *map_again(shared *old)
{
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    shared *m = old != NULL ? mremap(old, 0, sizeof *m, MREMAP_MAYMOVE)
                            : mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, flags, -1, 0);
    assert_true(m != MAP_FAILED && m != old);
    return m;
}

/* A child that maps the object elsewhere, joins, and stores for ever; after a stop if it is led. */
static pid_t start(shared *parents, bool led)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* if a test fails, nobody else ends it */
    shared *m = map_again(parents);
    munmap(parents, sizeof *parents);
    baton_collect *object;
    baton_storer me = {0};
    if (baton_collect_attach(m->object, sizeof m->object, &object) != BATON_OK ||
        baton_storer_join(object, (baton_word)getpid(), &me) != BATON_OK || me.id != 0 ||
        (led && (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0 || raise(SIGSTOP) != 0)))
        _exit(1);
    while (store(&me, ++m->begun) == BATON_OK)
        m->finished = m->begun;
    _exit(1);
}

/* Kills the child wherever it is, takes its id over, and goes on. Id 1 has stored once. */
static void succeed(pid_t child, shared *m, reader *r, baton_storer *me)
{
    baton_collect *object = (baton_collect *)m->object;
    baton_word dead = (baton_word)child;
    int status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_true(waitpid(child, &status, 0) == child && WIFSIGNALED(status)); /* all well before */
    assert_string_equal(look(r), fine);
    assert_in_range(r->version[0], m->finished, m->begun);
    assert_int_equal(baton_storer_take_over(object, 0, dead + 1, 1, me), BATON_FULL);
    assert_int_equal(baton_storer_take_over(object, 0, dead, 1, me), BATON_OK);
    assert_int_equal(store(me, ++m->begun), BATON_OK);
    expect_view(r, (uint64_t[MAX_IDS]){m->begun, 1});
}

static void test_killed(void **state)
{
    shared *m = map_again(NULL);
    baton_collect *object = make(*state, m->object);
    baton_storer me[2] = {0};
    reader r = {0};
    assert_int_equal(baton_collector_join(object, 1, &r.me), BATON_OK);
    for (int id = 0; id < 2; id++)
        assert_int_equal(baton_storer_join(object, 1, &me[id]), BATON_OK);
    assert_int_equal(store(&me[1], 1), BATON_OK);
    for (uint64_t round = 0; round < 50; round++) {
        uint64_t target = m->begun + 1 + round * 3 % 50;
        assert_int_equal(baton_storer_leave(&me[0]), BATON_OK);
        pid_t child = start(m, false);
        while (m->begun < target) {
            assert_string_equal(look(&r), fine);
            assert_int_equal(waitpid(child, NULL, WNOHANG), 0); /* it is alive */
        }
        succeed(child, m, &r, &me[0]);
    }
    munmap(m, sizeof *m);
}

/* Says whether the first store had ended. With two others there are n: no room for one too many. */
static bool die_after(const baton_collect_spec *spec, unsigned instructions, bool rival_is_first)
{
    shared *m = map_again(NULL);
    baton_collect *object = make(spec, m->object);
    baton_storer me[3] = {0};
    reader r = {0};
    int status;
    pid_t child = start(m, true);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status))
        skip(); /* where nobody may trace */
    assert_int_equal(baton_collector_join(object, 1, &r.me), BATON_OK);
    for (int id = 1; id < 3; id++)
        assert_int_equal(baton_storer_join(object, 1, &me[id]), BATON_OK);
    if (rival_is_first)
        assert_int_equal(store(&me[1], 1), BATON_OK);
    for (unsigned done = 0; done < instructions && m->finished == 0; done += m->begun != 0) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, 0, 0), 0);
        assert_true(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    }
    bool ended = m->finished != 0;
    if (!rival_is_first)
        assert_int_equal(store(&me[1], 1), BATON_OK);
    succeed(child, m, &r, &me[0]);
    assert_int_equal(store(&me[2], 1), BATON_OK);
    expect_view(&r, (uint64_t[MAX_IDS]){m->begun, 1, 1});
    munmap(m, sizeof *m);
    return ended;
}

/* After each instruction; after some where the rival was first, or a sanitizer makes it long. */
static void test_killed_in_first_store(void **state)
{
    for (unsigned first = 0; first < 2; first++)
        for (unsigned after = 0; !die_after(*state, after, first == 1);)
            after += SANITIZED ? 1 + after : 1 + 3 * first;
}

int main(void)
{
    static const size_t sizes[] = {1, 4, 8, 9, 16, 100, WIDEST};
    static const char *const objects[] = {"array", "tree", "matrix"};
    static const baton_collect_spec largest = {"tree", BATON_MAX_IN_TREE, 1, 8};
    static const baton_collect_spec many = {"matrix", MAX_IDS, 1, WIDE};
    static baton_collect_spec specs[3][7];
    suite s = {0};
    suite_add(&s, test_sizes, NULL, "sizes, good and bad");
    suite_add(&s, test_sequential, &largest, "tree: as many as it takes");
    suite_add(&s, test_sequential, &many, "matrix: many");
    for (int i = 0; i < 3; i++) {
        const char *name = objects[i];
        const baton_collect_spec *narrow = &specs[i][2], *two = &specs[i][4], *wide = &specs[i][5];
        for (int k = 0; k < 7; k++) {
            specs[i][k] = (baton_collect_spec){name, 3, 3, sizes[k]};
            suite_add(&s, test_sequential, &specs[i][k], "%s: %zu bytes", name, sizes[k]);
        }
        suite_add(&s, test_memory, wide, "%s: memory that is not right", name);
        suite_add(&s, test_damaged_header, wide, "%s: any damaged bit of the header", name);
        suite_add(&s, test_forged_header, wide, "%s: a header that makes no sense", name);
        suite_add(&s, test_damaged_seat, wide, "%s: a damaged seat", name);
        suite_add(&s, test_storers, wide, "%s: storers come, go and take over", name);
        suite_add(&s, test_collectors, wide, "%s: collectors come, go and take over", name);
        suite_add(&s, test_threads, narrow, "%s: threads, narrow values", name);
        suite_add(&s, test_threads, wide, "%s: threads, wide values", name);
        suite_add(&s, test_killed, narrow, "%s: killed while it stores narrow values", name);
        suite_add(&s, test_killed, wide, "%s: killed while it stores wide values", name);
        suite_add(&s, test_killed_in_first_store, two, "%s: killed in its first store", name);
    }
    return suite_run(&s, "collect");
}
