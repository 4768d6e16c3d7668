/* Sets of locks: sizes, wrong arguments, damaged memory, participants, try, and misuse. */
#include "baton/lock.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static size_t size_of(const char *algorithm, uint32_t locks, uint32_t participants)
{
    baton_locks_spec spec = {algorithm, locks, participants, BATON_SPIN};
    size_t bytes;
    assert_int_equal(baton_locks_size(&spec, &bytes), BATON_OK);
    return bytes;
}

static int size_error(const char *algorithm, uint32_t locks, uint32_t participants)
{
    baton_locks_spec spec = {algorithm, locks, participants, BATON_SPIN};
    size_t bytes = 4711;
    int error = baton_locks_size(&spec, &bytes);
    assert_int_equal(bytes, 4711);
    return error;
}

static void test_table(void **state)
{
    (void)state;
    static const char *const names[] = {
        "tas",        "peterson",       "filter", "filter-fme1", "filter-fme2",
        "tournament", "tournament-fme", "mcs",    "dt1",         "dt2"};
    for (size_t i = 0; i < 10; i++) {
        assert_string_equal(baton_algorithm_at(i)->name, names[i]);
        assert_ptr_equal(baton_algorithm_find(names[i]), baton_algorithm_at(i));
    }
    size_t rows = 10;
    while (baton_algorithm_at(rows) != NULL)
        rows++;
    assert_null(baton_algorithm_at(rows + 1));
    assert_null(baton_algorithm_find("mutex"));
    assert_null(baton_algorithm_find(""));
    assert_null(baton_algorithm_find(NULL));
}

static void test_bad_specs(void **state)
{
    (void)state;
    assert_int_equal(size_error("mutex", 1, 1), BATON_NO_ALGORITHM);
    assert_int_equal(size_error("", 1, 1), BATON_NO_ALGORITHM);
    assert_int_equal(size_error(NULL, 1, 1), BATON_BAD_ARGUMENT);
    const baton_algorithm *a;
    for (size_t i = 0; (a = baton_algorithm_at(i)) != NULL; i++) {
        assert_int_equal(size_error(a->name, 0, 1), BATON_BAD_COUNT);
        assert_int_equal(size_error(a->name, 1, 0), BATON_BAD_COUNT);
        if (a->max_participants != 0)
            assert_int_equal(size_error(a->name, 1, a->max_participants + 1), BATON_BAD_COUNT);
    }
    assert_int_equal(size_error("peterson", 1, 3), BATON_BAD_COUNT);
    assert_int_equal(size_error("filter", 1, 1025), BATON_BAD_COUNT);
    if (sizeof(size_t) == 8)
        assert_int_equal(size_error("dt1", UINT32_MAX, UINT32_MAX), BATON_BAD_COUNT); /* overflow */
    baton_locks_spec spec = {"dt1", 1, 1, (baton_waiting)7};
    size_t bytes;
    assert_int_equal(baton_locks_size(&spec, &bytes), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_locks_size(NULL, &bytes), BATON_BAD_ARGUMENT);
    spec.waiting = BATON_SPIN;
    assert_int_equal(baton_locks_size(&spec, NULL), BATON_BAD_ARGUMENT);
}

/* dt2's space grows as L + n, dt1's as L times n: from the real types. */
static void test_space(void **state)
{
    (void)state;
    size_t line = BATON_CACHE_LINE;
    size_t per_lock = size_of("dt2", 101, 64) - size_of("dt2", 100, 64);
    assert_int_equal(per_lock, sizeof(baton_dt2));
    assert_int_equal(size_of("dt2", 101, 640) - size_of("dt2", 100, 640), per_lock);
    size_t per_process = size_of("dt2", 100, 72) - size_of("dt2", 100, 64);
    assert_int_equal(per_process, 8 * (sizeof(baton_dt2_participant) + sizeof(baton_reg)));
    assert_int_equal(size_of("dt2", 9000, 72) - size_of("dt2", 9000, 64), per_process);

    assert_int_equal(size_of("dt1", 101, 64) - size_of("dt1", 100, 64),
                     line + 64 * sizeof(baton_dt1_participant));
    assert_int_equal(size_of("dt1", 101, 640) - size_of("dt1", 100, 640),
                     line + 640 * sizeof(baton_dt1_participant));
    assert_true(size_of("dt1", 1000, 64) > 30 * size_of("dt2", 1000, 64));
}

/* The constants for static allocation are the sizes that the table uses. */
static void test_static_sizes(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= BATON_MAX_PROCESSES; n++) {
        size_t leaves = 1;
        while (leaves < n)
            leaves *= 2;
        assert_int_equal(BATON_LEAVES(n), leaves);
    }
}

static void test_largest(void **state)
{
    const baton_algorithm *a = *state;
    uint32_t n = a->max_participants != 0 ? a->max_participants : 5000;
    baton_locks_spec spec = {a->name, 1, n, BATON_SPIN};
    baton_locks *locks = make_locks(&spec);
    baton_participant *all = calloc(n, sizeof *all);
    assert_non_null(all);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(baton_join(locks, &all[i]), BATON_OK);
    for (uint32_t i = 0; i<n; i += n> 64 ? n / 16 : 1) {
        assert_int_equal(baton_enter(&all[i], 0), BATON_OK);
        assert_int_equal(baton_exit(&all[i], 0), BATON_OK);
    }
    free(all);
    free(locks);
}

static void test_bad_memory(void **state)
{
    (void)state;
    baton_locks_spec spec = {"dt1", 2, 4, BATON_SPIN};
    size_t bytes = size_of("dt1", 2, 4);
    char *memory = aligned_alloc(BATON_CACHE_LINE, bytes + BATON_CACHE_LINE);
    assert_non_null(memory);
    memset(memory, 0x5a, bytes + BATON_CACHE_LINE);
    baton_locks *locks = NULL;
    assert_int_equal(baton_locks_create(&spec, memory, bytes - 1, &locks), BATON_TOO_SMALL);
    assert_int_equal(baton_locks_create(&spec, memory + 8, bytes, &locks), BATON_MISALIGNED);
    assert_int_equal(baton_locks_create(&spec, NULL, bytes, &locks), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_locks_create(&spec, memory, bytes, NULL), BATON_BAD_ARGUMENT);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(memory[i], 0x5a); /* left alone */
    assert_int_equal(baton_locks_create(&spec, memory, bytes, &locks), BATON_OK);
    for (size_t i = bytes; i < bytes + BATON_CACHE_LINE; i++)
        assert_int_equal(memory[i], 0x5a); /* nothing written beyond it */
    free(memory);
}

/* Attaching to memory in which any one bit of the header is wrong fails, and says why. */
static void test_damaged_header(void **state)
{
    (void)state;
    enum { HEADER = 72, VERSION = 8, LOCKS = 16 }; /* where these begin, in bytes */
    baton_locks_spec spec = {"filter-fme1", 3, 5, BATON_PARK};
    size_t bytes = size_of("filter-fme1", 3, 5);
    baton_locks *made = make_locks(&spec);
    unsigned char *memory = (unsigned char *)made;
    baton_locks *locks = NULL;

    assert_int_equal(baton_locks_attach(memory, bytes, &locks), BATON_OK);
    assert_ptr_equal(locks, made);
    baton_locks_spec found;
    assert_int_equal(baton_locks_describe(locks, &found), BATON_OK);
    assert_string_equal(found.algorithm, spec.algorithm);
    assert_int_equal(found.locks, 3);
    assert_int_equal(found.participants, 5);
    assert_int_equal(found.waiting, BATON_PARK);

    assert_int_equal(baton_locks_attach(memory, bytes - 1, &locks), BATON_TOO_SMALL);
    assert_int_equal(baton_locks_attach(memory, 10, &locks), BATON_TOO_SMALL);
    assert_int_equal(baton_locks_attach(memory + 8, bytes - 8, &locks), BATON_MISALIGNED);
    assert_int_equal(baton_locks_attach(NULL, bytes, &locks), BATON_BAD_ARGUMENT);
    for (int bit = 0; bit < 8 * HEADER; bit++) {
        baton_participant me = {0};
        memory[bit / 8] ^= (unsigned char)(1 << bit % 8);
        int error = baton_locks_attach(memory, bytes, &locks);
        bool of_version = bit >= 8 * VERSION && bit < 8 * LOCKS;
        if (error != (of_version ? BATON_OTHER_VERSION : BATON_NOT_LOCKS))
            fail_msg("bit %d of the header: %s", bit, baton_strerror(error));
        assert_int_equal(baton_join(made, &me), error); /* also if it was damaged after attaching */
        assert_int_equal(baton_locks_describe(made, &found), error);
        memory[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_int_equal(baton_locks_attach(memory, bytes, &locks), BATON_OK);
    assert_int_equal(baton_locks_describe(NULL, &found), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_locks_describe(made, NULL), BATON_BAD_ARGUMENT);
    memset(memory, 0, bytes);
    assert_int_equal(baton_locks_attach(memory, bytes, &locks), BATON_NOT_LOCKS);
    free(made);
}

/* Who only looks needs no right to write. */
static void test_read_only(void **state)
{
    (void)state;
    baton_locks_spec spec = {"dt1", 1, 2, BATON_SPIN};
    size_t bytes = size_of("dt1", 1, 2);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    baton_locks *locks;
    assert_int_equal(baton_locks_create(&spec, memory, bytes, &locks), BATON_OK);
    assert_int_equal(mprotect(memory, bytes, PROT_READ), 0);
    assert_int_equal(baton_locks_attach(memory, bytes, &locks), BATON_OK);
    assert_int_equal(baton_locks_describe(locks, &spec), BATON_OK);
    munmap(memory, bytes);
}

static void test_participants(void **state)
{
    const baton_algorithm *a = *state;
    baton_locks_spec spec = {a->name, 1, 2, BATON_SPIN};
    baton_locks *locks = make_locks(&spec);
    baton_participant first = {0};
    baton_participant second = {0};
    baton_participant third = {0};
    assert_int_equal(baton_join(locks, &first), BATON_OK);
    assert_int_equal(baton_join(locks, &second), BATON_OK);
    assert_int_equal(baton_join(locks, &third), BATON_FULL);
    assert_int_equal(baton_enter(&third, 0), BATON_NOT_JOINED);
    for (int i = 0; i < 10;
         i++) { /* seats change hands with whatever the last owner left in them */
        assert_int_equal(baton_enter(&first, 0), BATON_OK);
        assert_int_equal(baton_exit(&first, 0), BATON_OK);
        assert_int_equal(baton_leave(&first), BATON_OK);
        assert_int_equal(baton_leave(&first), BATON_NOT_JOINED);
        assert_int_equal(baton_join(locks, &third), BATON_OK);
        assert_int_equal(baton_enter(&third, 0), BATON_OK);
        assert_int_equal(baton_exit(&third, 0), BATON_OK);
        assert_int_equal(baton_enter(&second, 0), BATON_OK);
        assert_int_equal(baton_exit(&second, 0), BATON_OK);
        assert_int_equal(baton_leave(&third), BATON_OK);
        assert_int_equal(baton_join(locks, &first), BATON_OK);
    }
    baton_participant copy = first;
    assert_int_equal(baton_join(locks, &first), BATON_ALREADY_JOINED);
    assert_int_equal(baton_enter(&copy, 0), BATON_NOT_JOINED);
    assert_int_equal(baton_leave(&copy), BATON_NOT_JOINED);
    memset(&copy, 0xa5, sizeof copy); /* as on a stack that nobody cleared */
    assert_int_equal(baton_enter(&copy, 0), BATON_NOT_JOINED);
    assert_int_equal(baton_join(locks, &copy), BATON_FULL);
    assert_int_equal(baton_join(NULL, &first), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_join(locks, NULL), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_leave(NULL), BATON_BAD_ARGUMENT);
    free(locks);
}

static void test_try(void **state)
{
    const baton_algorithm *a = *state;
    baton_locks_spec spec = {a->name, 2, 2, BATON_SPIN};
    baton_locks *locks = make_locks(&spec);
    baton_participant me = {0};
    baton_participant other = {0};
    assert_int_equal(baton_join(locks, &me), BATON_OK);
    assert_int_equal(baton_join(locks, &other), BATON_OK);
    if (!a->has_try) {
        assert_int_equal(baton_try(&me, 0), BATON_NO_TRY);
        assert_int_equal(baton_exit(&me, 0), BATON_NOT_INSIDE);
        free(locks);
        return;
    }
    for (int i = 0; i < 10; i++) {
        assert_int_equal(baton_try(&me, 0), BATON_OK);
        assert_int_equal(baton_try(&other, 0), BATON_BUSY);
        assert_int_equal(baton_try(&other, 0), BATON_BUSY);
        assert_int_equal(baton_exit(&other, 0), BATON_NOT_INSIDE);
        assert_int_equal(baton_try(&other, 1), BATON_OK); /* the other lock is free */
        assert_int_equal(baton_exit(&other, 1), BATON_OK);
        assert_int_equal(baton_exit(&me, 0), BATON_OK);
        assert_int_equal(baton_enter(&other, 0), BATON_OK);
        assert_int_equal(baton_try(&me, 0), BATON_BUSY);
        assert_int_equal(baton_exit(&other, 0), BATON_OK);
    }
    free(locks);
}

static void test_misuse(void **state)
{
    const baton_algorithm *a = *state;
    baton_locks_spec spec = {a->name, 2, 2, BATON_SPIN};
    baton_locks *locks = make_locks(&spec);
    baton_participant me = {0};
    baton_participant other = {0};
    assert_int_equal(baton_join(locks, &me), BATON_OK);
    assert_int_equal(baton_join(locks, &other), BATON_OK);
    assert_int_equal(baton_exit(&me, 0), BATON_NOT_INSIDE);
    assert_int_equal(baton_enter(&me, 2), BATON_NO_LOCK);
    assert_int_equal(baton_exit(&me, 2), BATON_NO_LOCK);
    assert_int_equal(baton_enter(&me, 0), BATON_OK);
    assert_int_equal(baton_enter(&me, 0), BATON_ALREADY_INSIDE); /* instead of waiting for ever */
    assert_int_equal(baton_enter(&me, 1), BATON_ALREADY_INSIDE);
    assert_int_equal(baton_try(&me, 1), BATON_ALREADY_INSIDE);
    assert_int_equal(baton_leave(&me), BATON_ALREADY_INSIDE);
    assert_int_equal(baton_exit(&me, 1), BATON_NOT_INSIDE);
    assert_int_equal(baton_exit(&other, 0), BATON_NOT_INSIDE);
    assert_int_equal(baton_exit(&me, 0), BATON_OK);
    assert_int_equal(baton_exit(&me, 0), BATON_NOT_INSIDE);
    assert_int_equal(baton_enter(&other, 0), BATON_OK); /* none of it did any harm */
    assert_int_equal(baton_exit(&other, 0), BATON_OK);
    assert_int_equal(baton_enter(NULL, 0), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_try(NULL, 0), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_exit(NULL, 0), BATON_BAD_ARGUMENT);
    free(locks);
}

static void test_messages(void **state)
{
    (void)state;
    const char *unknown = baton_strerror(-1000);
    for (int value = BATON_OTHER_OWNER; value <= BATON_BUSY; value++) {
        assert_string_not_equal(baton_strerror(value), unknown);
        for (int other = BATON_OTHER_OWNER; other < value; other++)
            assert_string_not_equal(baton_strerror(value), baton_strerror(other));
    }
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_table, NULL, "table: the ten algorithms, found by name and row");
    suite_add(&s, test_bad_specs, NULL, "size: bad names, counts and arguments");
    suite_add(&s, test_space, NULL, "size: dt2 grows as L+n, dt1 as Ln");
    suite_add(&s, test_static_sizes, NULL, "size: leaves of the tournament");
    suite_add(&s, test_bad_memory, NULL, "create: memory too small or misaligned");
    suite_add(&s, test_damaged_header, NULL, "attach: any damaged bit of the header");
    suite_add(&s, test_read_only, NULL, "attach: memory that is mapped read-only");
    suite_add(&s, test_messages, NULL, "strerror: a sentence of its own for each value");
    const baton_algorithm *a;
    for (size_t i = 0; (a = baton_algorithm_at(i)) != NULL; i++) {
        suite_add(&s, test_largest, a, "%s: as many participants as it takes", a->name);
        suite_add(&s, test_participants, a, "%s: participants come and go", a->name);
        suite_add(&s, test_try, a, "%s: try", a->name);
        suite_add(&s, test_misuse, a, "%s: misuse is refused and does no harm", a->name);
    }
    return suite_run(&s, "set");
}
