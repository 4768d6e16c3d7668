/*
 * The client of the lock service against a real server: `client_live BATON SCRATCH`. Starts, stops
 * and kills `baton serve` on a Unix socket in that directory. Started by client.sh.
 */
#include "../unit/unit.h"
#include "baton/client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

static const char *baton;
static char path[200], state[200], secret[200];
static pid_t server;

/* ---- the world around ---- */

static uint64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void rest(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static int connect_raw(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int at = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(at >= 0);
    if (connect(at, (struct sockaddr *)&address, sizeof address) == 0)
        return at;
    close(at);
    return -1;
}

static void start_server(const char *auth_file)
{
    server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        int log = open("/dev/null", O_WRONLY);
        dup2(log, 2);
        execl(baton, baton, "serve", "--listen", path, "--state", state,
              auth_file != NULL ? "--auth-file" : NULL, auth_file, NULL);
        _exit(127);
    }
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        int at = connect_raw();
        if (at >= 0) {
            close(at);
            return;
        }
        rest(10);
    }
    fail_msg("the server does not answer");
}

static void stop_server(int with)
{
    kill(server, with);
    waitpid(server, NULL, 0);
}

static int set_up(void **unused)
{
    (void)unused;
    start_server(NULL);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    stop_server(SIGTERM);
    return 0;
}

static baton_client *open_with(baton_client_options options)
{
    baton_client *c;
    options.address = path;
    int result = baton_client_open(&options, &c);
    if (result != BATON_OK)
        fail_msg("open: %s", baton_strerror(result));
    return c;
}

static baton_client *open_plain(void)
{
    return open_with((baton_client_options){0});
}

static uint64_t lock(baton_client *c, const char *name)
{
    uint64_t token = 0;
    assert_int_equal(baton_client_lock(c, name, PATIENCE_MS, &token), BATON_OK);
    assert_true(token > 0);
    return token;
}

/* The gate opens when the push has come. */
static uint64_t try_until_free(baton_client *c, const char *name)
{
    uint64_t token = 0;
    int result = BATON_BUSY;
    for (int i = 0; i < PATIENCE_MS && result == BATON_BUSY; i++) {
        result = baton_client_try(c, name, &token);
        if (result == BATON_BUSY)
            rest(1);
    }
    assert_int_equal(result, BATON_OK);
    return token;
}

static void release(const char *name, uint64_t token)
{
    char line[200], reply[64];
    int at = connect_raw();
    int length =
        snprintf(line, sizeof line, "RELEASE %s %llu\r\n", name, (unsigned long long)token);
    assert_int_equal(write(at, line, (size_t)length), length);
    ssize_t got = read(at, reply, sizeof reply);
    assert_true(got >= 4 && memcmp(reply, ":1\r\n", 4) == 0);
    close(at);
}

/* How many tries clients have refused by themselves, as far as the server knows. */
static uint64_t refusals_reported(void)
{
    static const char ask[] = "INFO\r\nQUIT\r\n", figure[] = "refused_by_clients:";
    char text[4096];
    size_t bytes = 0;
    int at = connect_raw();
    assert_int_equal(write(at, ask, sizeof ask - 1), sizeof ask - 1);
    for (ssize_t got; (got = read(at, text + bytes, sizeof text - 1 - bytes)) > 0;)
        bytes += (size_t)got;
    close(at);
    text[bytes] = '\0';
    const char *found = strstr(text, figure);
    assert_non_null(found);
    return strtoull(found + strlen(figure), NULL, 10);
}

static void await_lost(baton_client *c, const char *name, uint64_t token)
{
    char lost_name[BATON_CLIENT_NAME_BYTES];
    uint64_t lost_token;
    struct pollfd fd = {.fd = baton_client_fd(c), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
    assert_false(baton_client_holds(c, name, token));
    assert_int_equal(baton_client_lost(c, lost_name, &lost_token), BATON_OK);
    assert_string_equal(lost_name, name);
    assert_true(lost_token == token);
    assert_int_equal(baton_client_lost(c, lost_name, &lost_token), BATON_BUSY);
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(baton_client_exit(c, name, token), BATON_LOST);
}

/* ---- tests ---- */

static void try_busy_exit(void **unused)
{
    (void)unused;
    baton_client *a = open_plain(), *b = open_plain();
    uint64_t first, second, ignored;
    assert_int_equal(baton_client_try(a, "one", &first), BATON_OK);
    assert_true(baton_client_holds(a, "one", first));
    assert_true(baton_client_lease_left_ms(a, "one", first) == INT64_MAX); /* there is none */
    assert_false(baton_client_holds(a, "one", first + 1));
    assert_false(baton_client_holds(b, "one", first));
    assert_int_equal(baton_client_try(b, "one", &ignored), BATON_BUSY);
    uint64_t before = baton_client_count(a).messages;
    assert_int_equal(baton_client_try(a, "one", &ignored), BATON_BUSY); /* its own: no message */
    assert_true(baton_client_count(a).messages == before);
    assert_int_equal(baton_client_exit(b, "one", first), BATON_LOST);
    assert_int_equal(baton_client_exit(a, "one", first), BATON_OK);
    assert_int_equal(baton_client_exit(a, "one", first), BATON_LOST);
    assert_false(baton_client_holds(a, "one", first));
    second = try_until_free(b, "one");
    assert_true(second > first);
    baton_client_close(b); /* leaves it */
    baton_client_close(a);
    a = open_plain();
    assert_int_equal(baton_client_try(a, "one", &first), BATON_OK);
    assert_true(first > second);
    baton_client_close(a);
}

static void losing_costs_no_message(void **unused)
{
    (void)unused;
    baton_client *a = open_plain(), *b = open_plain();
    uint64_t reported = refusals_reported();
    for (int round = 0; round < 3; round++) {
        uint64_t token = try_until_free(a, "gate"), ignored;
        assert_int_equal(baton_client_try(b, "gate", &ignored), BATON_BUSY);
        baton_client_counts before = baton_client_count(b);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(baton_client_try(b, "gate", &ignored), BATON_BUSY);
        baton_client_counts after = baton_client_count(b);
        assert_true(after.messages == before.messages);
        assert_true(after.refused_here == before.refused_here + 1000);
        assert_int_equal(baton_client_exit(a, "gate", token), BATON_OK);
        token = try_until_free(b, "gate");
        assert_int_equal(baton_client_exit(b, "gate", token), BATON_OK);
    }
    reported = refusals_reported() - reported; /* said along with what was sent anyway */
    assert_true(reported ==
                baton_client_count(a).refused_here + baton_client_count(b).refused_here);
    baton_client_close(a);
    baton_client_close(b);
}

/* What the threads of a test share. */
static struct {
    baton_client *client;
    atomic_int next, failures;
    int order[16];
    atomic_int arrived;
    uint64_t last_token; /* guarded by the lock, as is the counter */
    long counter;
} shared;

enum { CROWD = 16, SECTIONS = 200 };

static void *wait_in_line(void *argument)
{
    int me = (int)(intptr_t)argument;
    uint64_t token;
    if (baton_client_lock(shared.client, "line", -1, &token) != BATON_OK)
        shared.failures++;
    shared.order[shared.next++] = me;
    if (baton_client_exit(shared.client, "line", token) != BATON_OK)
        shared.failures++;
    return NULL;
}

static void first_come_first_served(void **unused)
{
    (void)unused;
    memset(&shared, 0, sizeof shared);
    shared.client = open_plain();
    pthread_t thread[8];
    uint64_t token = lock(shared.client, "line");
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, wait_in_line, (void *)(intptr_t)i), 0);
        rest(100); /* so that it is in line before the next */
    }
    assert_int_equal(baton_client_exit(shared.client, "line", token), BATON_OK);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(shared.failures, 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(shared.order[i], i);
    baton_client_close(shared.client);
}

static void *count_up(void *argument)
{
    bool tries = argument != NULL;
    for (int i = 0; i < SECTIONS; i++) {
        uint64_t token;
        int result;
        do {
            result = tries ? baton_client_try(shared.client, "count", &token)
                           : baton_client_lock(shared.client, "count", -1, &token);
            if (result == BATON_BUSY)
                sched_yield();
        } while (result == BATON_BUSY);
        if (result != BATON_OK || token <= shared.last_token)
            shared.failures++;
        shared.last_token = token;
        shared.counter++;
        if (baton_client_exit(shared.client, "count", token) != BATON_OK)
            shared.failures++;
    }
    return NULL;
}

/* With locks, tries, or half of them each. */
static void crowd(int tries)
{
    memset(&shared, 0, sizeof shared);
    shared.client = open_with((baton_client_options){.lease_ms = 20000});
    pthread_t thread[CROWD];
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, count_up, i < tries ? &shared : NULL), 0);
    for (int i = 0; i < CROWD; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(shared.failures, 0);
    assert_int_equal(shared.counter, CROWD * SECTIONS);
    assert_true(baton_client_count(shared.client).entries == CROWD * SECTIONS);
    baton_client_close(shared.client);
}

static void crowd_that_waits(void **unused)
{
    (void)unused;
    crowd(0);
}

static void crowd_that_tries(void **unused)
{
    (void)unused;
    crowd(CROWD);
}

static void crowd_that_does_both(void **unused)
{
    (void)unused;
    crowd(CROWD / 2);
}

static void wait_that_times_out(void **unused)
{
    (void)unused;
    baton_client *a = open_plain(), *b = open_plain();
    uint64_t token = lock(a, "slow"), ignored;
    uint64_t begin = now_ns();
    assert_int_equal(baton_client_lock(b, "slow", 200, &ignored), BATON_BUSY);
    uint64_t took = (now_ns() - begin) / 1000000;
    assert_true(took >= 190 && took < 5000);
    assert_int_equal(baton_client_lock(b, "slow", 0, &ignored), BATON_BUSY);
    assert_int_equal(baton_client_exit(a, "slow", token), BATON_OK);
    token = lock(b, "slow");
    assert_int_equal(baton_client_exit(b, "slow", token), BATON_OK);
    baton_client_close(a);
    baton_client_close(b);
}

static atomic_ullong told_token;

static void note_loss(void *context, const char *name, uint64_t token)
{
    assert_string_equal(name, context);
    told_token = token;
}

static void lost_by_release(void **unused)
{
    (void)unused;
    char forced[] = "forced";
    baton_client *c = open_with((baton_client_options){.lost = note_loss, .context = forced});
    uint64_t token;
    assert_int_equal(baton_client_try(c, "forced", &token), BATON_OK);
    release("forced", token);
    await_lost(c, "forced", token);
    assert_true(told_token == token);
    token = lock(c, "forced"); /* over a connection of its own */
    release("forced", token);
    await_lost(c, "forced", token);
    assert_true(told_token == token);
    token = lock(c, "forced");
    assert_int_equal(baton_client_exit(c, "forced", token), BATON_OK);
    assert_true(baton_client_count(c).lost == 2);
    baton_client_close(c);
}

static void *wait_in_vain(void *argument)
{
    uint64_t token;
    shared.order[0] = baton_client_lock(argument, "dead", -1, &token);
    return NULL;
}

static void lost_by_death_of_the_server(void **unused)
{
    (void)unused;
    stop_server(SIGTERM); /* one that knows of no longer lease */
    start_server(NULL);
    baton_client *c = open_with((baton_client_options){.lease_ms = 3000});
    uint64_t token = lock(c, "dead"), again;
    pthread_t waiting;
    assert_int_equal(pthread_create(&waiting, NULL, wait_in_vain, c), 0);
    rest(100);
    stop_server(SIGKILL);
    pthread_join(waiting, NULL);
    assert_int_equal(shared.order[0], BATON_UNREACHABLE);
    await_lost(c, "dead", token);
    assert_int_equal(baton_client_try(c, "dead", &again), BATON_UNREACHABLE);
    assert_true(errno == ECONNREFUSED || errno == ENOENT);
    assert_int_equal(baton_client_lock(c, "dead", 100, &again), BATON_UNREACHABLE);
    start_server(NULL); /* it lets nobody in before the lease must be over */
    assert_int_equal(baton_client_try(c, "dead", &again), BATON_BUSY);
    again = lock(c, "dead");
    assert_true(again > token);
    assert_int_equal(baton_client_exit(c, "dead", again), BATON_OK);
    token = again;
    again = try_until_free(c, "dead");
    assert_true(again > token);
    assert_int_equal(baton_client_exit(c, "dead", again), BATON_OK);
    token = lock(c, "dead");
    assert_true(token > again);
    baton_client_close(c);
}

static void lost_by_own_clock(void **unused)
{
    (void)unused;
    baton_client *c = open_with((baton_client_options){.lease_ms = 600, .patience_ms = 1000});
    uint64_t tried, waited, begin;
    assert_int_equal(baton_client_try(c, "tried", &tried), BATON_OK);
    rest(1500); /* longer than the lease: it is renewed */
    assert_true(baton_client_holds(c, "tried", tried));
    int64_t left = baton_client_lease_left_ms(c, "tried", tried);
    assert_true(left > 0 && left < 600);
    begin = now_ns();
    kill(server, SIGSTOP);
    await_lost(c, "tried", tried);
    assert_int_equal(baton_client_lease_left_ms(c, "tried", tried), 0);
    uint64_t took = (now_ns() - begin) / 1000000;
    assert_true(took < 5000);
    assert_int_equal(baton_client_try(c, "tried", &waited), BATON_UNREACHABLE);
    kill(server, SIGCONT);
    tried = try_until_free(c, "tried");
    waited = lock(c, "waited");
    kill(server, SIGSTOP);
    rest(700);
    assert_false(baton_client_holds(c, "waited", waited));
    assert_false(baton_client_holds(c, "tried", tried));
    assert_int_equal(baton_client_exit(c, "waited", waited), BATON_LOST);
    kill(server, SIGCONT);
    baton_client_close(c);
}

static void *wait_long(void *argument)
{
    uint64_t token = 0;
    shared.order[0] = baton_client_lock(argument, "long", -1, &token);
    rest(900); /* a lease and a half */
    shared.order[1] = baton_client_holds(argument, "long", token);
    shared.order[2] = baton_client_exit(argument, "long", token);
    return NULL;
}

/* The lease must be as good after a wait that took longer. */
static void wait_longer_than_the_lease(void **unused)
{
    (void)unused;
    baton_client *a = open_plain();
    baton_client *b = open_with((baton_client_options){.lease_ms = 600});
    uint64_t token = lock(a, "long");
    pthread_t waiting;
    assert_int_equal(pthread_create(&waiting, NULL, wait_long, b), 0);
    rest(1700);
    assert_int_equal(baton_client_exit(a, "long", token), BATON_OK);
    pthread_join(waiting, NULL);
    assert_int_equal(shared.order[0], BATON_OK);
    assert_true(shared.order[1]);
    assert_int_equal(shared.order[2], BATON_OK);
    assert_true(baton_client_count(b).lost == 0);
    baton_client_close(a);
    baton_client_close(b);
}

static void passwords(void **unused)
{
    (void)unused;
    stop_server(SIGTERM);
    start_server(secret);
    baton_client *c = (void *)&shared;
    baton_client_options options = {.address = path};
    assert_int_equal(baton_client_open(&options, &c), BATON_REFUSED);
    assert_null(c);
    options.password = "wrong";
    assert_int_equal(baton_client_open(&options, &c), BATON_REFUSED);
    options.password = "open sesame";
    assert_int_equal(baton_client_open(&options, &c), BATON_OK);
    uint64_t token = lock(c, "safe");
    assert_int_equal(baton_client_exit(c, "safe", token), BATON_OK);
    baton_client_close(c);
    stop_server(SIGTERM);
    start_server(NULL);
}

static void nobody_there(void **unused)
{
    (void)unused;
    baton_client *c;
    baton_client_options options = {.address = "127.0.0.1:1", .patience_ms = 2000};
    assert_int_equal(baton_client_open(&options, &c), BATON_UNREACHABLE);
    assert_int_equal(errno, ECONNREFUSED);
    options.address = "/nowhere/at/all";
    assert_int_equal(baton_client_open(&options, &c), BATON_UNREACHABLE);
    assert_int_equal(errno, ENOENT);
    options.address = "no address";
    assert_int_equal(baton_client_open(&options, &c), BATON_UNREACHABLE);
    options.address = "";
    assert_int_equal(baton_client_open(&options, &c), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_open(NULL, &c), BATON_BAD_ARGUMENT);
    baton_client_close(NULL);
}

static void names(void **unused)
{
    (void)unused;
    baton_client *c = open_plain();
    uint64_t token;
    char name[BATON_CLIENT_NAME_BYTES + 1];
    memset(name, 'n', sizeof name);
    name[BATON_CLIENT_NAME_BYTES] = '\0';
    assert_int_equal(baton_client_try(c, name, &token), BATON_BAD_NAME);
    assert_int_equal(baton_client_lock(c, name, 1, &token), BATON_BAD_NAME);
    assert_int_equal(baton_client_exit(c, name, 1), BATON_BAD_NAME);
    assert_int_equal(baton_client_try(c, "", &token), BATON_BAD_NAME);
    assert_int_equal(baton_client_try(c, NULL, &token), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_try(c, "a", NULL), BATON_BAD_ARGUMENT);
    name[BATON_CLIENT_NAME_BYTES - 1] = '\0';
    assert_int_equal(baton_client_try(c, name, &token), BATON_OK);
    assert_int_equal(baton_client_exit(c, name, token), BATON_OK);
    token = lock(c, "with a space,\r\nand a line");
    assert_int_equal(baton_client_exit(c, "with a space,\r\nand a line", token), BATON_OK);
    baton_client_close(c);
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    while (readdir(all) != NULL)
        count++;
    closedir(all);
    return count;
}

static void no_descriptor_is_left(void **unused)
{
    (void)unused;
    int before = open_descriptors();
    for (int i = 0; i < 100; i++) {
        baton_client *c = open_with((baton_client_options){.lease_ms = 10000});
        uint64_t token = lock(c, "leak"), other;
        assert_int_equal(baton_client_try(c, "other", &other), BATON_OK);
        if (i % 2 == 0)
            assert_int_equal(baton_client_exit(c, "leak", token), BATON_OK);
        baton_client_close(c);
    }
    assert_int_equal(open_descriptors(), before);
}

/* ---- figures, not judged here ---- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void figures(void **unused)
{
    (void)unused;
    enum { TRIES = 1000000, TRIPS = 5001 };
    static uint64_t trip[TRIPS];
    baton_client *a = open_plain(), *b = open_plain();
    uint64_t token = lock(a, "figures"), ignored;
    assert_int_equal(baton_client_try(b, "figures", &ignored), BATON_BUSY);
    uint64_t begin = now_ns();
    for (int i = 0; i < TRIES; i++)
        baton_client_try(b, "figures", &ignored);
    uint64_t each = (now_ns() - begin) / TRIES;
    assert_int_equal(baton_client_exit(a, "figures", token), BATON_OK);
    for (int i = 0; i < TRIPS; i++) {
        begin = now_ns();
        assert_int_equal(baton_client_try(a, "trip", &token), BATON_OK);
        assert_int_equal(baton_client_exit(a, "trip", token), BATON_OK);
        trip[i] = now_ns() - begin;
    }
    qsort(trip, TRIPS, sizeof trip[0], compare);
    printf("# a losing try: %llu ns; TRY and EXIT: p50 %llu us, p99 %llu us\n",
           (unsigned long long)each, (unsigned long long)(trip[TRIPS / 2] / 1000),
           (unsigned long long)(trip[TRIPS * 99 / 100] / 1000));
    baton_client_close(a);
    baton_client_close(b);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: client_live BATON SCRATCH\n", stderr);
        return 2;
    }
    baton = argv[1];
    snprintf(path, sizeof path, "%s/client-socket", argv[2]);
    snprintf(state, sizeof state, "%s/client-tokens", argv[2]);
    snprintf(secret, sizeof secret, "%s/client-secret", argv[2]);
    int at = open(secret, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (at < 0 || write(at, "open sesame\n", 12) != 12)
        return 2;
    close(at);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(try_busy_exit),
        cmocka_unit_test(losing_costs_no_message),
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(crowd_that_waits),
        cmocka_unit_test(crowd_that_tries),
        cmocka_unit_test(crowd_that_does_both),
        cmocka_unit_test(wait_that_times_out),
        cmocka_unit_test(lost_by_release),
        cmocka_unit_test(lost_by_death_of_the_server),
        cmocka_unit_test(lost_by_own_clock),
        cmocka_unit_test(wait_longer_than_the_lease),
        cmocka_unit_test(passwords),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(names),
        cmocka_unit_test(no_descriptor_is_left),
        cmocka_unit_test(figures),
    };
    return cmocka_run_group_tests_name("client", tests, set_up, tear_down);
}
