/*
 * The client of the lock service against a real server: `client_live BATON SCRATCH`. Starts, stops
 * and kills `baton serve` on a Unix socket in that directory. Started by client.sh.
 */
#include "client_world.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tests; more of them in client_crowd.c and client_loss.c ---- */

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

/* LOCK and EXIT, and their answers; the lease costs nothing more. */
static void a_section_costs_four_messages(void **unused)
{
    (void)unused;
    baton_client *c = open_with((baton_client_options){.lease_ms = 60000});
    uint64_t token = lock(c, "four"); /* makes the line for it */
    assert_int_equal(baton_client_exit(c, "four", token), BATON_OK);
    uint64_t before = baton_client_count(c).messages;
    for (int i = 0; i < 10; i++) {
        token = lock(c, "four");
        assert_int_equal(baton_client_exit(c, "four", token), BATON_OK);
    }
    assert_int_equal(baton_client_count(c).messages - before, 40);
    baton_client_close(c);
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

static void passwords(void **unused)
{
    (void)unused;
    stop_server(SIGTERM);
    start_server(server_secret);
    baton_client_options options = {.address = server_path};
    baton_client *c = (void *)&options;
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

static void several_addresses(void **unused)
{
    (void)unused;
    baton_client *c;
    char list[1000], too_many[65 * 4 + 1] = "";
    baton_client_options options = {.address = list, .patience_ms = 10000};
    snprintf(list, sizeof list, "/nowhere/at/all,127.0.0.1:1,%s", server_path);
    assert_int_equal(baton_client_open(&options, &c), BATON_OK);
    assert_false(baton_client_is_cluster(c));
    uint64_t token = lock(c, "several");
    const baton_client_word get[] = {{"GET", 3}, {"a", 1}};
    baton_client_reply reply;
    assert_int_equal(baton_client_issue(c, "several", token + 1, get, 2, &reply), BATON_LOST);
    assert_int_equal(baton_client_issue(c, "several", token, get, 0, &reply), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_issue(c, "several", token, get, 30, &reply), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_issue(c, "several", token, get, 2, &reply), BATON_OK);
    assert_true(strncmp(reply.at, "-ERR ", 5) == 0); /* one server has no data */
    free(reply.at);
    stop_server(SIGTERM);
    await_lost(c, "several", token);
    assert_int_equal(baton_client_lock(c, "several", -1, &token), BATON_UNREACHABLE);
    assert_int_equal(baton_client_try(c, "several", &token), BATON_UNREACHABLE);
    start_server(NULL);
    token = try_until_free(c, "several");
    assert_int_equal(baton_client_exit(c, "several", token), BATON_OK);
    baton_client_close(c);
    const char *const wrong[] = {",", "127.0.0.1:1,", ",127.0.0.1:1", "a:1,,b:2", too_many};
    for (int i = 0; i < 65; i++)
        strcat(too_many, i == 0 ? "a:1" : ",a:1");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        options.address = wrong[i];
        assert_int_equal(baton_client_open(&options, &c), BATON_BAD_ARGUMENT);
    }
}

/* Which lease it is depends on who answers. */
static void lease_of_a_cluster(void **unused)
{
    (void)unused;
    const baton_client_options options = {.lease_ms = 60000, .cluster_lease_ms = 5000};
    baton_client *c = open_with(options), *unleased;
    uint64_t token = lock(c, "leased");
    assert_true(baton_client_lease_left_ms(c, "leased", token) > 30000);
    baton_client_close(c);
    stop_server(SIGTERM);
    start_node();
    c = open_with(options);
    assert_true(baton_client_is_cluster(c));
    token = lock(c, "leased");
    int64_t left = baton_client_lease_left_ms(c, "leased", token);
    assert_true(left > 0 && left < 5000);
    assert_int_equal(baton_client_exit(c, "leased", token), BATON_OK);
    assert_int_equal(baton_client_try(c, "leased", &token), BATON_OK); /* over the main line */
    left = baton_client_lease_left_ms(c, "leased", token);
    assert_true(left > 0 && left < 5000);
    rest(6000); /* longer than that lease: it is renewed */
    assert_true(baton_client_holds(c, "leased", token));
    baton_client_close(c);
    c = open_with((baton_client_options){.lease_ms = 60000}); /* not said: the same */
    token = lock(c, "leased");
    assert_true(baton_client_lease_left_ms(c, "leased", token) > 30000);
    baton_client_close(c);
    stop_server(SIGTERM);
    start_server(NULL);
    assert_int_equal(
        baton_client_open(&(baton_client_options){.address = server_path, .cluster_lease_ms = 5000},
                          &unleased),
        BATON_BAD_ARGUMENT);
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

#define in_a_cluster(test) cmocka_unit_test_setup_teardown(test, cluster_set_up, cluster_tear_down)

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: client_live BATON SCRATCH\n", stderr);
        return 2;
    }
    cmocka_set_test_filter(getenv("CLIENT_TESTS")); /* a pattern; all if there is none */
    if (world_begin(argv[1], argv[2]) != 0)
        return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(try_busy_exit),
        cmocka_unit_test(losing_costs_no_message),
        cmocka_unit_test(a_section_costs_four_messages),
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(crowd_that_waits),
        cmocka_unit_test(crowd_that_tries),
        cmocka_unit_test(crowd_that_does_both),
        cmocka_unit_test(crowd_that_connects_anew),
        cmocka_unit_test(wait_that_times_out),
        cmocka_unit_test(lost_by_release),
        cmocka_unit_test(lost_by_death_of_the_server),
        cmocka_unit_test(lost_by_own_clock),
        cmocka_unit_test(wait_longer_than_the_lease),
        cmocka_unit_test(slow_to_hear_of_a_loss),
        cmocka_unit_test(child_that_closes),
        cmocka_unit_test(passwords),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(several_addresses),
        cmocka_unit_test(lease_of_a_cluster),
        in_a_cluster(wait_at_a_node_that_hangs),
        in_a_cluster(wait_beside_a_line_elsewhere),
        in_a_cluster(operation_at_a_node_that_hangs),
        in_a_cluster(many_leave_a_node_that_hangs),
        in_a_cluster(no_descriptor_is_spare),
        in_a_cluster(names_are_away),
        in_a_cluster(names_are_away_when_a_node_dies),
        cmocka_unit_test(names),
        cmocka_unit_test(no_descriptor_is_left),
        cmocka_unit_test(figures),
    };
    return cmocka_run_group_tests_name("client", tests, server_set_up, server_tear_down);
}
