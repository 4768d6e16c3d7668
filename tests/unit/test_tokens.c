/* The file of tokens: what it says after each step, and what is no such file. */
#include "tokens.h"
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { AHEAD = 1 << 24 }; /* that are reserved at a time */

static char directory[] = "/tmp/baton-tokens-XXXXXX";
static char path[64], fresh[80], lock[80];
static char complaint[COMPLAINT];

static int set_up(void **state)
{
    (void)state;
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/tokens", directory);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    snprintf(lock, sizeof lock, "%s.lock", path);
    complaint[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    unlink(lock);
    return rmdir(directory);
}

static uint64_t open_it(tokens *t)
{
    uint64_t first = 0;
    assert_true(tokens_open(t, path, &first, complaint));
    return first;
}

static void expect_file(uint64_t reserved, uint64_t lease)
{
    char text[200] = "", expected[200];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    snprintf(expected, sizeof expected, "baton tokens 2\n%" PRIu64 "\nlease %" PRIu64 "\n",
             reserved, lease);
    assert_string_equal(text, expected);
}

static void write_it(const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* It is replaced as a whole, so it is another one when it was written. */
static ino_t which_file(void)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_ino;
}

/* What is opened for writing next is in the way of itself. */
static void break_it(void)
{
    assert_int_equal(mkdir(fresh, 0700), 0);
}

static void mend_it(void)
{
    assert_int_equal(rmdir(fresh), 0);
}

/* ---- tokens ---- */

static void test_reserved(void **state)
{
    (void)state;
    tokens t;
    assert_int_equal(open_it(&t), 1);
    expect_file(1 + AHEAD, 0);
    assert_int_equal(t.reserved, 1 + AHEAD);
    ino_t before = which_file();
    assert_true(tokens_reserve(&t, AHEAD / 2)); /* plenty */
    assert_int_equal(which_file(), before);
    assert_true(tokens_reserve(&t, 1 + AHEAD / 2));
    assert_int_not_equal(which_file(), before);
    expect_file(1 + AHEAD / 2 + AHEAD, 0);
    assert_int_equal(t.reserved, 1 + AHEAD / 2 + AHEAD);
    assert_false(tokens_are_short(&t, t.reserved - AHEAD / 4));
    assert_true(tokens_are_short(&t, t.reserved - AHEAD / 4 + 1));
    uint64_t reserved = t.reserved;
    assert_true(tokens_close(&t, 0));
    assert_int_equal(open_it(&t), reserved); /* none below comes back */
    expect_file(reserved + AHEAD, 0);
    assert_true(tokens_close(&t, 0));
}

static void test_cannot_be_written(void **state)
{
    (void)state;
    tokens t;
    open_it(&t);
    break_it();
    assert_false(tokens_reserve(&t, AHEAD));
    assert_int_equal(t.reserved, 1 + AHEAD);
    assert_true(tokens_reserve(&t, 1)); /* needs no file */
    assert_false(tokens_change_lease(&t, 0, 100));
    assert_false(tokens_change_lease(&t, 0, 100)); /* as if it had not been asked before */
    assert_true(tokens_settle(&t, 0));             /* nobody has it */
    mend_it();
    assert_true(tokens_reserve(&t, AHEAD));
    assert_true(tokens_change_lease(&t, 0, 100));
    expect_file(2 * AHEAD, 100);
    break_it();
    assert_false(tokens_close(&t, 0));
    mend_it();
    expect_file(2 * AHEAD, 100);
    break_it();
    uint64_t first;
    assert_false(tokens_open(&t, path, &first, complaint));
    assert_non_null(strstr(complaint, "cannot write "));
    mend_it();
    assert_int_equal(open_it(&t), 2 * AHEAD); /* it was let go by who could not write it */
    assert_true(tokens_close(&t, 0));
}

/* ---- leases ---- */

static void test_leases(void **state)
{
    (void)state;
    tokens t;
    open_it(&t);
    assert_true(tokens_change_lease(&t, 0, 500));
    expect_file(1 + AHEAD, 500);
    ino_t before = which_file();
    assert_true(tokens_change_lease(&t, 0, 500));
    assert_true(tokens_change_lease(&t, 0, 300));
    assert_int_equal(which_file(), before);
    assert_true(tokens_change_lease(&t, 300, 501));
    expect_file(1 + AHEAD, 501);
    assert_true(tokens_close(&t, 400)); /* the longer one is over */
    expect_file(1 + AHEAD, 400);
    open_it(&t);
    assert_int_equal(t.inherited, 400);
    before = which_file();
    assert_true(tokens_change_lease(&t, 0, 399)); /* is in the file, for another reason */
    assert_true(tokens_change_lease(&t, 399, 400));
    assert_int_equal(which_file(), before);
    assert_true(tokens_close(&t, 100));
    expect_file(1 + 2 * AHEAD, 100);
}

/* The file says no less than the longest lease of a session and what is left of the inherited. */
static void test_leases_that_are_over(void **state)
{
    (void)state;
    tokens t;
    write_it("baton tokens 2\n1\nlease 9000\n");
    open_it(&t);
    assert_true(tokens_change_lease(&t, 0, 2048));
    assert_true(tokens_settle(&t, 8000));
    expect_file(1 + AHEAD, 8000);
    assert_true(tokens_settle(&t, 0));
    expect_file(1 + AHEAD, 4095); /* there is a lease of 12 bits */
    ino_t before = which_file();
    assert_true(tokens_change_lease(&t, 0, 4095));
    assert_true(tokens_settle(&t, 0));
    assert_int_equal(which_file(), before);
    assert_true(tokens_change_lease(&t, 4095, 0));
    assert_true(tokens_change_lease(&t, 2048, 2047));
    assert_true(tokens_settle(&t, 0));
    expect_file(1 + AHEAD, 2047);
    break_it();
    assert_true(tokens_change_lease(&t, 2047, 0));
    assert_false(tokens_settle(&t, 0));
    mend_it();
    expect_file(1 + AHEAD, 2047);
    assert_true(tokens_change_lease(&t, 0, 2047)); /* the file still has it */
    assert_true(tokens_change_lease(&t, 2047, LONGEST_LEASE));
    assert_true(tokens_settle(&t, 0));
    expect_file(1 + AHEAD, LONGEST_LEASE);
    assert_true(tokens_change_lease(&t, LONGEST_LEASE, 0));
    assert_true(tokens_settle(&t, 0));
    expect_file(1 + AHEAD, 0);
    assert_true(tokens_close(&t, 0));
}

/* A write takes its time: below a minute, or an eighth, it is not worth one. */
static void test_when_to_settle(void **state)
{
    (void)state;
    tokens t;
    write_it("baton tokens 2\n1\nlease 60000\n");
    open_it(&t);
    assert_false(tokens_say_too_much(&t, 0));
    assert_true(tokens_change_lease(&t, 0, 80000));
    assert_true(tokens_change_lease(&t, 80000, 0));
    assert_true(tokens_say_too_much(&t, 69999));
    assert_false(tokens_say_too_much(&t, 70000));
    assert_true(tokens_change_lease(&t, 0, 70000)); /* of 17 bits, which may be up to 131071 */
    assert_false(tokens_say_too_much(&t, 0));
    assert_true(tokens_close(&t, 0));
}

/* ---- whose file it is ---- */

static void *leave_later(void *its)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    tokens_close(its, 0);
    return NULL;
}

/* It waits a little for who is about to leave it. */
static void test_one_at_a_time(void **state)
{
    (void)state;
    static tokens one, next;
    pthread_t thread;
    open_it(&one);
    assert_int_equal(pthread_create(&thread, NULL, leave_later, &one), 0);
    assert_int_equal(open_it(&next), 1 + AHEAD);
    pthread_join(thread, NULL);
    assert_true(tokens_close(&next, 0));
}

static void test_no_place_for_it(void **state)
{
    (void)state;
    tokens t;
    uint64_t first;
    char longest[600];
    snprintf(longest, sizeof longest, "%s/none/tokens", directory);
    assert_false(tokens_open(&t, longest, &first, complaint));
    assert_non_null(strstr(complaint, "cannot write "));
    memset(longest, 'x', sizeof longest);
    longest[sizeof t.file] = '\0';
    assert_false(tokens_open(&t, longest, &first, complaint));
    assert_non_null(strstr(complaint, "too long"));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(tokens_open(&t, path, &first, complaint));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(open_it(&t), 1);
    assert_true(tokens_close(&t, 0));
}

/* ---- what is in it ---- */

static void test_what_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t first, inherited; /* first is 0: no file of tokens */
    } rows[] = {
        {"baton tokens 2\n7\nlease 0\n", 7, 0},
        {"baton tokens 2\n7\nlease 500\n", 7, 500},
        {"baton tokens 2\n7\nlease 86400000\n", 7, LONGEST_LEASE},
        {"baton tokens 2\n7\nlease 86400001\n", 0, 0},
        {"baton tokens 2\n7\n", 0, 0},
        {"baton tokens 2\n7\nlease\n", 0, 0},
        {"baton tokens 1\n7\n", 7, 0}, /* knew no leases */
        {"baton tokens 0\n7\nlease 0\n", 0, 0},
        {"baton tokens 3\n7\nlease 0\n", 0, 0},
        {"baton tokens 2\n0\nlease 0\n", 0, 0},
        {"baton tokens 2\n1\nlease 0\n", 1, 0},
        {"baton tokens 2\n4611686018427387902\nlease 0\n", 4611686018427387902, 0},
        {"baton tokens 2\n4611686018427387903\nlease 0\n", 0, 0},
        {"baton tokens 2\n", 0, 0},
        {"something else\n", 0, 0},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tokens t;
        uint64_t first = 0;
        write_it(rows[i].text);
        bool opened = tokens_open(&t, path, &first, complaint);
        assert_int_equal(opened, rows[i].first != 0);
        if (!opened) {
            assert_non_null(strstr(complaint, "is no file of tokens"));
            continue;
        }
        assert_int_equal(first, rows[i].first);
        assert_int_equal(t.inherited, rows[i].inherited);
        expect_file(first + AHEAD, rows[i].inherited);
        assert_true(tokens_close(&t, 0));
    }
}

#define in_a_directory(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_directory(test_reserved),        in_a_directory(test_cannot_be_written),
        in_a_directory(test_leases),          in_a_directory(test_one_at_a_time),
        in_a_directory(test_when_to_settle),  in_a_directory(test_leases_that_are_over),
        in_a_directory(test_no_place_for_it), in_a_directory(test_what_is_read),
    };
    return cmocka_run_group_tests_name("tokens", tests, NULL, NULL);
}
