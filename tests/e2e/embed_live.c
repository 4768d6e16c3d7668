/*
 * baton/replica.h, three replicas in one process: `embed_live SCRATCH`. Started by embed_live.sh.
 */
#include "embed_world.h"
#include "port.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- tests; each finds all three running, and leaves them so ---- */

static void test_section(void **state)
{
    baton_replica *a = members[0].replica;
    baton_replica *b = members[1].replica;
    uint64_t ignored;
    baton_replica_result result;
    (void)state;
    uint64_t first = enter(0);
    assert_int_equal(add(0, first, "5"), 5);
    assert_int_equal(add(0, first, "-7"), -2);
    assert_int_equal(baton_replica_enter(b, 0, &ignored), BATON_BUSY);
    assert_int_equal(baton_replica_enter(b, 50, &ignored), BATON_BUSY);
    assert_int_equal(baton_replica_enter(a, 0, &ignored), BATON_BUSY);
    assert_int_equal(baton_replica_enter(a, 50, &ignored), BATON_BUSY);
    assert_int_equal(baton_replica_issue(a, first + 1, "1", 1, &result), BATON_LOST);
    assert_int_equal(baton_replica_issue(b, first, "1", 1, &result), BATON_LOST);
    assert_int_equal(baton_replica_exit(b, first), BATON_LOST);
    assert_int_equal(baton_replica_exit(a, first), BATON_OK);
    assert_int_equal(baton_replica_exit(a, first), BATON_LOST);
    assert_int_equal(baton_replica_issue(a, first, "1", 1, &result), BATON_LOST);
    uint64_t second = enter(1);
    assert_true(second > first);
    assert_int_equal(add(1, second, "2"), 0);
    assert_int_equal(baton_replica_exit(b, second), BATON_OK);
    assert_int_equal(look_at(1).place.executed, 3);
}

static void test_limits(void **state)
{
    static char large[BATON_REPLICA_MAX_OPERATION + 1];
    baton_replica *a = members[0].replica;
    baton_replica_result result;
    uint64_t ignored;
    (void)state;
    uint64_t token = enter(0);
    memset(large, '0', sizeof large);
    assert_int_equal(baton_replica_issue(a, token, "", 0, &result), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_replica_issue(a, token, large, sizeof large, &result),
                     BATON_BAD_ARGUMENT);
    assert_int_equal(baton_replica_issue(a, token, large, sizeof large - 1, NULL), BATON_OK);
    assert_int_equal(baton_replica_issue(a, token, "long", 4, &result), BATON_OK);
    assert_int_equal(result.bytes, BATON_REPLICA_MAX_RESULT);
    assert_int_equal(strlen(result.at), BATON_REPLICA_MAX_RESULT);
    assert_int_equal(baton_replica_issue(a, token, "empty", 5, &result), BATON_OK);
    assert_int_equal(result.bytes, 0);
    /* Nobody waits for himself. */
    assert_int_equal(members[0].inner, BATON_BAD_ARGUMENT);
    assert_int_equal(baton_replica_exit(a, token), BATON_OK);
    assert_int_equal(baton_replica_enter(NULL, 0, &ignored), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_replica_enter(a, 0, NULL), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_replica_look(a, NULL, NULL), BATON_BAD_ARGUMENT);
    assert_string_equal(baton_replica_why(a), "");
    baton_replica_close(NULL);
}

static void test_options(void **state)
{
    baton_replica *never = NULL;
    char why[BATON_REPLICA_WHY_BYTES];
    char name[66] = "";
    (void)state;
    baton_replica_options good = member_options(0);
    good.data = "/proc/nowhere";
    baton_replica_options wrong = good;
    wrong.resource.apply = NULL;
    assert_int_equal(baton_replica_open(&wrong, &never, why), BATON_BAD_ARGUMENT);
    assert_non_null(strstr(why, "must be given"));
    assert_int_equal(baton_replica_open(NULL, &never, NULL), BATON_BAD_ARGUMENT);
    wrong = good;
    memset(name, 'n', sizeof name - 1);
    wrong.name = name;
    assert_int_equal(baton_replica_open(&wrong, &never, why), BATON_BAD_ARGUMENT);
    assert_non_null(strstr(why, "a name has 1 to 64 bytes"));
    assert_int_equal(baton_replica_open(&good, &never, why), BATON_SYSTEM);
    assert_non_null(strstr(why, "/proc/nowhere"));
    assert_null(never);
}

/* ---- many threads ---- */

enum { THREADS = 3, ROUNDS = 15 };

static void *compete(void *context)
{
    int i = *(int *)context;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t token = enter(i);
        int64_t before = add(i, token, "1");
        assert_true(add(i, token, "1") == before + 1); /* nobody in between */
        leave(i, token);
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[NODES * THREADS];
    int at[NODES * THREADS];
    (void)state;
    int64_t before = look_at(0).sum;
    for (int i = 0; i < NODES * THREADS; i++) {
        at[i] = i % NODES;
        assert_int_equal(pthread_create(&threads[i], NULL, compete, &at[i]), 0);
    }
    for (int i = 0; i < NODES * THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < NODES; i++)
        await_sum(i, before + 2 * NODES * THREADS * ROUNDS);
    assert_int_equal(look_at(0).place.executed, look_at(2).place.executed);
}

/* ---- without a majority ---- */

typedef struct issuing {
    pthread_t thread;
    uint64_t token;
    _Atomic int verdict; /* 100: none yet */
} issuing;

static void *issue_one(void *context)
{
    issuing *me = context;
    me->verdict = baton_replica_issue(members[0].replica, me->token, "1", 1, NULL);
    return NULL;
}

/* Two issue at the same time; returns the one that waits. */
static issuing *issue_twice(issuing two[2], uint64_t token)
{
    for (int i = 0; i < 2; i++) {
        two[i].token = token;
        two[i].verdict = 100;
        assert_int_equal(pthread_create(&two[i].thread, NULL, issue_one, &two[i]), 0);
    }
    for (unsigned ms = 0; two[0].verdict == 100 && two[1].verdict == 100; ms += 10) {
        assert_true(ms < PATIENCE);
        rest(10);
    }
    issuing *refused = &two[two[0].verdict == 100];
    assert_int_equal(refused->verdict, BATON_BUSY);
    pthread_join(refused->thread, NULL);
    return refused == &two[0] ? &two[1] : &two[0];
}

static void test_no_majority(void **state)
{
    issuing two[2];
    uint64_t ignored;
    (void)state;
    uint64_t token = enter(0);
    int64_t before = add(0, token, "0");
    int resumed = members[0].events[BATON_REPLICA_RESUMED];
    stop(1);
    stop(2);
    await_event(&members[0], BATON_REPLICA_SUSPENDED, 1);
    issuing *waits = issue_twice(two, token);
    assert_int_equal(baton_replica_exit(members[0].replica, token), BATON_BUSY);
    assert_int_equal(baton_replica_enter(members[0].replica, 50, &ignored), BATON_BUSY);
    assert_int_equal(waits->verdict, 100);
    start(1);
    await_event(&members[0], BATON_REPLICA_RESUMED, resumed + 1);
    pthread_join(waits->thread, NULL);
    assert_true(waits->verdict == BATON_OK || waits->verdict == BATON_LOST);
    baton_replica_exit(members[0].replica, token);
    token = enter(1);
    assert_int_equal(add(1, token, "0"), before + (waits->verdict == BATON_OK));
    leave(1, token);
    start(2);
}

static void test_close(void **state)
{
    issuing two[2];
    (void)state;
    uint64_t token = enter(0);
    stop(1);
    stop(2);
    issuing *waits = issue_twice(two, token);
    stop(0);
    pthread_join(waits->thread, NULL);
    assert_int_equal(waits->verdict, BATON_UNREACHABLE);
    for (int i = 0; i < NODES; i++)
        start(i);
    token = enter(0);
    int64_t sum = add(0, token, "0");
    leave(0, token);
    await_sum(1, sum);
    await_sum(2, sum);
}

/*
 * A replica that is alone begins a new epoch as it is opened, and goes on in a thread of its own;
 * several times as much is written as has room in its journal.
 */
static void test_alone(void **state)
{
    static char large[BATON_REPLICA_MAX_OPERATION];
    member m = {0};
    baton_replica *alone;
    char data[512];
    char peers[64];
    (void)state;
    baton_replica_options options = member_options(0);
    snprintf(data, sizeof data, "%s-alone", options.data);
    snprintf(peers, sizeof peers, "a=127.0.0.1:%d", take_port());
    options.data = data;
    options.peers = peers;
    options.resource.context = options.context = &m;
    memset(large, '0', sizeof large);
    for (int run = 0; run < 2; run++) {
        uint64_t token = 0;
        assert_int_equal(baton_replica_open(&options, &alone, NULL), BATON_OK);
        assert_int_equal(baton_replica_enter(alone, PATIENCE, &token), BATON_OK);
        for (int i = 0; i < 150; i++)
            assert_int_equal(baton_replica_issue(alone, token, large, sizeof large, NULL),
                             BATON_OK);
        assert_int_equal(baton_replica_exit(alone, token), BATON_OK);
        baton_replica_close(alone);
    }
}

/* ---- ejected ---- */

static void stand_still(void *context, baton_replica_position place)
{
    _Atomic bool *goes_on = context;
    (void)place;
    while (!*goes_on)
        rest(10);
}

static void *hold_up(void *context)
{
    assert_int_equal(baton_replica_look(members[0].replica, stand_still, context), BATON_OK);
    return NULL;
}

/* One whose thread stands still is taken for dead, and hears of it. */
static void test_ejected(void **state)
{
    _Atomic bool goes_on = false;
    pthread_t thread;
    (void)state;
    uint64_t token = enter(0);
    int64_t sum = add(0, token, "0");
    assert_int_equal(pthread_create(&thread, NULL, hold_up, &goes_on), 0);
    uint64_t next = enter(1);
    assert_true(next > token);
    goes_on = true;
    pthread_join(thread, NULL);
    assert_int_equal(baton_replica_issue(members[0].replica, token, "1", 1, NULL), BATON_LOST);
    assert_int_equal(baton_replica_exit(members[0].replica, token), BATON_LOST);
    await_event(&members[0], BATON_REPLICA_EJECTED, 1);
    assert_true(members[0].ejected == token);
    assert_int_equal(add(1, next, "0"), sum);
    leave(1, next);
}

/* ---- resources that are wrong ---- */

static void test_blind(void **state)
{
    static char large[BATON_REPLICA_MAX_OPERATION];
    uint64_t ignored;
    (void)state;
    stop(2);
    memset(large, '0', sizeof large);
    members[2].is_blind = true;
    uint64_t token = enter(0);
    int64_t sum = add(0, token, "1000000");
    for (int i = 0; i < 20; i++) /* more than nodes remember, and than a log has */
        assert_int_equal(baton_replica_issue(members[0].replica, token, large, sizeof large, NULL),
                         BATON_OK);
    start(2);
    await_event(&members[2], BATON_REPLICA_FAILED, 1);
    assert_int_equal(baton_replica_enter(members[2].replica, 0, &ignored), BATON_SYSTEM);
    assert_int_equal(baton_replica_exit(members[2].replica, token), BATON_SYSTEM);
    assert_non_null(strstr(baton_replica_why(members[2].replica), "does not understand its state"));
    assert_int_equal(add(0, token, "1"), sum + 1); /* the others go on */
    stop(2);
    members[2].is_blind = false;
    start(2);
    await_sum(2, sum + 1);
    leave(0, token);
}

static void test_not_deterministic(void **state)
{
    char why[BATON_REPLICA_WHY_BYTES] = "";
    (void)state;
    uint64_t token = enter(0);
    int64_t sum = add(0, token, "3");
    leave(0, token);
    await_sum(2, sum);
    stop(2);
    members[2].error = 1;
    assert_int_equal(open_member(2, why), BATON_SYSTEM);
    assert_non_null(strstr(why, "the resource is not deterministic"));
    members[2].error = 0;
    start(2);
    await_sum(2, sum);
}

/* Its directory is lost: it gets all from the others, and counts again. */
static void test_emptied(void **state)
{
    char command[600];
    (void)state;
    uint64_t token = enter(0);
    int64_t sum = add(0, token, "7");
    leave(0, token);
    stop(2);
    snprintf(command, sizeof command, "rm -r '%s'", member_options(2).data);
    assert_int_equal(system(command), 0);
    start(2);
    await_sum(2, sum);
    stop(1); /* so the one that is back is needed */
    token = enter(2);
    assert_int_equal(add(2, token, "1"), sum + 1);
    leave(2, token);
    start(1);
    await_sum(1, sum + 1);
}

/* Who calls its resource something else is a stranger. */
static void test_other_name(void **state)
{
    baton_replica *stranger;
    member m = {0};
    uint64_t ignored;
    char data[512];
    (void)state;
    stop(2);
    baton_replica_options options = member_options(2);
    snprintf(data, sizeof data, "%s-stranger", options.data);
    options.data = data;
    options.name = "another";
    options.resource.context = options.context = &m;
    assert_int_equal(baton_replica_open(&options, &stranger, NULL), BATON_OK);
    await_event(&m, BATON_REPLICA_SUSPENDED, 1); /* nobody talks to it */
    assert_int_equal(baton_replica_enter(stranger, 50, &ignored), BATON_BUSY);
    baton_replica_close(stranger);
    start(2);
}

/* What a child finds of its parent's replica; then it stays until it may go. */
static _Noreturn void be_a_child(baton_replica *r, int tell, int may_go)
{
    uint64_t token;
    char word;
    alarm(PATIENCE / 1000 / 3); /* lest it wait for ever */
    int wrong = baton_replica_enter(r, -1, &token) != BATON_BAD_ARGUMENT;
    wrong += baton_replica_exit(r, 1) != BATON_BAD_ARGUMENT;
    wrong += baton_replica_why(r)[0] == '\0';
    baton_replica_close(r);
    wrong += write(tell, "c", 1) != 1;
    wrong += read(may_go, &word, 1) != 1;
    _exit(wrong);
}

static void test_forked(void **state)
{
    int told[2], go[2], status;
    char word;
    (void)state;
    assert_int_equal(pipe(told), 0);
    assert_int_equal(pipe(go), 0);
    pid_t child = fork();
    if (child == 0)
        be_a_child(members[2].replica, told[1], go[0]);
    close(told[1]);
    assert_int_equal(read(told[0], &word, 1), 1);
    stop(2);
    start(2); /* while the child lives */
    assert_int_equal(write(go[1], "g", 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    uint64_t token = enter(2);
    leave(2, token);
    close(told[0]);
    close(go[0]);
    close(go[1]);
}

int main(int argc, char **argv)
{
    static suite s;
    if (argc != 2) {
        fputs("Usage: embed_live SCRATCH\n", stderr);
        return 2;
    }
    world_begin(argv[1]);
    for (int i = 0; i < NODES; i++)
        start(i);
    suite_add(&s, test_section, NULL, "a section, from one end to the other");
    suite_add(&s, test_limits, NULL, "limits, and calls that are wrong");
    suite_add(&s, test_options, NULL, "options that are wrong");
    suite_add(&s, test_threads, NULL, "threads at all of them compete");
    suite_add(&s, test_no_majority, NULL, "without a majority all wait, and go on");
    suite_add(&s, test_close, NULL, "who waits when it is closed hears so");
    suite_add(&s, test_alone, NULL, "alone, and more than a journal has room for");
    suite_add(&s, test_ejected, NULL, "who stands still is ejected");
    suite_add(&s, test_blind, NULL, "a state that is not understood ends one replica only");
    suite_add(&s, test_not_deterministic, NULL, "not deterministic, and found out");
    suite_add(&s, test_emptied, NULL, "a directory that is lost");
    suite_add(&s, test_other_name, NULL, "another name is another cluster");
    suite_add(&s, test_forked, NULL, "a forked child has no part in it, and holds nobody up");
    int failed = suite_run(&s, "embed");
    for (int i = 0; i < NODES; i++)
        stop(i);
    return failed;
}
