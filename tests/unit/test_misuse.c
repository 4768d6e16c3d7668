/*
 * Debug checks: an exit by a process that did not enter ends with a message, in a library that was
 * built to look for it. Each misuse runs in a child of its own.
 */
#include "baton/lock.h"
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void tas(void)
{
    baton_tas lock;
    baton_tas_init(&lock, BATON_SPIN);
    baton_tas_enter(&lock);
    baton_tas_exit(&lock);
    baton_tas_exit(&lock);
}

static void peterson(void)
{
    baton_peterson lock;
    baton_peterson_init(&lock, BATON_SPIN);
    baton_peterson_enter(&lock, 0);
    baton_peterson_exit(&lock, 1);
}

static baton_filter *filter_entered_by_0(void (*enter)(baton_filter *, uint32_t))
{
    baton_filter *lock = malloc(BATON_FILTER_SIZE(3));
    if (lock == NULL)
        _exit(3);
    baton_filter_init(lock, 3, BATON_SPIN);
    enter(lock, 0);
    return lock;
}

static void filter(void)
{
    baton_filter_exit(filter_entered_by_0(baton_filter_enter), 1);
}

static void filter_fme1(void)
{
    baton_filter_fme1_exit(filter_entered_by_0(baton_filter_fme1_enter), 1);
}

static void filter_fme2(void)
{
    baton_filter_fme2_exit(filter_entered_by_0(baton_filter_fme2_enter), 1);
}

static void tournament(void)
{
    baton_tournament *lock = malloc(BATON_TOURNAMENT_SIZE(3));
    if (lock == NULL)
        _exit(3);
    baton_tournament_init(lock, 3, BATON_SPIN);
    baton_tournament_enter(lock, 0);
    baton_tournament_exit(lock, 1);
}

static void tournament_fme(void)
{
    baton_tournament_fme *lock = malloc(BATON_TOURNAMENT_FME_SIZE(3));
    if (lock == NULL)
        _exit(3);
    baton_tournament_fme_init(lock, 3, BATON_SPIN);
    baton_tournament_fme_enter(lock, 0);
    baton_tournament_fme_exit(lock, 1);
}

#define QUEUE(name)                              \
    static void name(void)                       \
    {                                            \
        static baton_##name lock;                \
        static baton_##name##_participant me;    \
        static baton_##name##_participant other; \
        baton_##name##_init(&lock, BATON_SPIN);  \
        baton_##name##_join(&me, 1);             \
        baton_##name##_join(&other, 2);          \
        baton_##name##_enter(&lock, &me);        \
        baton_##name##_exit(&lock, &other);      \
    }

QUEUE(mcs)
QUEUE(dt1)
QUEUE(dt2)

typedef struct misuse {
    const char *name;
    void (*commit)(void);
} misuse;

static const misuse misuses[] = {
    {"tas", tas},
    {"peterson", peterson},
    {"filter", filter},
    {"filter-fme1", filter_fme1},
    {"filter-fme2", filter_fme2},
    {"tournament", tournament},
    {"tournament-fme", tournament_fme},
    {"mcs", mcs},
    {"dt1", dt1},
    {"dt2", dt2},
};

static void test_misuse(void **state)
{
    const misuse *m = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        m->commit();
        _exit(0);
    }
    close(ends[1]);
    char said[256] = "";
    size_t length = 0;
    ssize_t got;
    while (length < sizeof said - 1 &&
           (got = read(ends[0], said + length, sizeof said - 1 - length)) > 0)
        length += (size_t)got;
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(said, "baton: misuse of "));
    assert_non_null(strstr(said, "exit"));
}

/* Whoever does it right hears nothing; it would be the end of this test. */
static void test_right_use(void **state)
{
    (void)state;
    const baton_algorithm *a;
    for (size_t i = 0; (a = baton_algorithm_at(i)) != NULL; i++) {
        baton_locks_spec spec = {a->name, 2, 2, BATON_SPIN};
        baton_locks *locks = make_locks(&spec);
        baton_participant me[2] = {0};
        for (int n = 0; n < 2; n++)
            assert_int_equal(baton_join(locks, &me[n]), BATON_OK);
        for (uint32_t n = 0; n < 12; n++) {
            assert_int_equal(baton_enter(&me[n % 2], n % 3 % 2), BATON_OK);
            assert_int_equal(baton_exit(&me[n % 2], n % 3 % 2), BATON_OK);
        }
        for (int n = 0; n < 2; n++)
            assert_int_equal(baton_leave(&me[n]), BATON_OK);
        free(locks);
    }
}

int main(void)
{
    suite s = {0};
    for (size_t i = 0; i < sizeof misuses / sizeof misuses[0]; i++)
        suite_add(&s, test_misuse, &misuses[i], "%s: exit without enter is found", misuses[i].name);
    suite_add(&s, test_right_use, NULL, "right use is let be");
    return suite_run(&s, "misuse");
}
