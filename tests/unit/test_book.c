/* Where servers are: names that are looked up, kept and looked up again. The time is told. */
#include "book.h"
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND ((uint64_t)1000000000)
enum { SOON = 1, OLD = 60, PATIENCE_MS = 20000 };

/* ---- the world of the book: a clock, and a service of names ---- */

static _Atomic uint64_t time_is;
static atomic_int look_ups; /* of names: numbers do not count */
static atomic_bool is_away; /* it does not answer */
static atomic_int code;     /* of getaddrinfo */
static atomic_int system_error;
static atomic_uint first; /* of the addresses that it knows */
static atomic_int count;  /* of them */

uint64_t channel_clock(void); /* in place of the client's */
uint64_t channel_clock(void)
{
    return time_is;
}

static void rest_a_moment(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    nanosleep(&moment, NULL);
}

static struct addrinfo *new_address(in_addr_t host, const char *port)
{
    struct addrinfo *one = calloc(1, sizeof *one);
    struct sockaddr_in *at = calloc(1, sizeof *at);
    assert_true(one != NULL && at != NULL);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
    at->sin_port = htons((in_port_t)strtoul(port, NULL, 10));
    one->ai_addr = (struct sockaddr *)at;
    one->ai_addrlen = sizeof *at;
    return one;
}

static int read_number(const char *host, const char *port, struct addrinfo **all)
{
    struct in_addr number;
    if (inet_pton(AF_INET, host, &number) != 1)
        return EAI_NONAME;
    *all = new_address(ntohl(number.s_addr), port);
    return 0;
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *want,
                struct addrinfo **all)
{
    if ((want->ai_flags & AI_NUMERICHOST) != 0)
        return read_number(host, port, all);
    assert_string_equal(host, "name");
    look_ups++;
    for (int i = 0; i < PATIENCE_MS && is_away; i++)
        rest_a_moment();
    errno = system_error;
    if (code != 0)
        return code;
    *all = NULL;
    for (unsigned i = (unsigned)count; i-- > 0;) {
        struct addrinfo *one = new_address(first + i, port);
        one->ai_next = *all;
        *all = one;
    }
    return 0;
}

void freeaddrinfo(struct addrinfo *all)
{
    while (all != NULL) {
        struct addrinfo *next = all->ai_next;
        free(all->ai_addr);
        free(all);
        all = next;
    }
}

static int begin(void **unused)
{
    (void)unused;
    time_is = 1000 * SECOND;
    look_ups = code = system_error = 0;
    is_away = false;
    first = 1;
    count = 1;
    return 0;
}

/* ---- short words ---- */

static address_book *open_one(const char *address)
{
    address_book *b = book_open(&address, 1);
    assert_non_null(b);
    return b;
}

/* Waits for an answer, if there is none yet. */
static book_entry find(address_book *b)
{
    book_entry found;
    assert_true(book_find(b, 0, time_is + PATIENCE_MS * SECOND / 1000, &found));
    return found;
}

static in_addr_t address_of(const book_entry *found, uint32_t which)
{
    return ntohl(((const struct sockaddr_in *)&found->address[which].at)->sin_addr.s_addr);
}

static void await_address(address_book *b, in_addr_t host)
{
    book_entry found = find(b);
    for (int i = 0; i < PATIENCE_MS && address_of(&found, 0) != host; i++) {
        rest_a_moment();
        found = find(b);
    }
    assert_int_equal(address_of(&found, 0), host);
}

static void await_look_ups(int expected)
{
    for (int i = 0; i < PATIENCE_MS && look_ups < expected; i++)
        rest_a_moment();
    assert_int_equal(look_ups, expected);
}

/* One more would have begun by now. */
static void expect_look_ups(int expected)
{
    for (int i = 0; i < 20; i++)
        rest_a_moment();
    assert_int_equal(look_ups, expected);
}

static void expect_failure(address_book *b, uint64_t until, int error)
{
    book_entry found;
    errno = 0;
    assert_false(book_find(b, 0, until, &found));
    assert_int_equal(errno, error);
}

/* ---- tests ---- */

static void numbers_are_known(void **unused)
{
    (void)unused;
    static const char *const numbers[] = {"10.0.0.7:7700", "[10.0.0.7]:7700"};
    for (int i = 0; i < 2; i++) {
        address_book *b = open_one(numbers[i]);
        book_entry found = find(b);
        const struct sockaddr_in *at = (const struct sockaddr_in *)&found.address[0].at;
        assert_int_equal(found.count, 1);
        assert_int_equal(found.address[0].bytes, sizeof *at);
        assert_int_equal(address_of(&found, 0), 0x0a000007);
        assert_int_equal(ntohs(at->sin_port), 7700);
        time_is += 2 * OLD * SECOND;
        book_doubt(b, 0);
        find(b);
        book_close(b);
    }
    expect_look_ups(0);
    book_close(NULL);
}

static void paths_and_nonsense_are_not(void **unused)
{
    (void)unused;
    static const char *const none[] = {"/a/path:1", "name", "name:", ":1"};
    for (int i = 0; i < 4; i++) {
        address_book *b = open_one(none[i]);
        expect_failure(b, UINT64_MAX, EINVAL);
        book_doubt(b, 0);
        book_close(b);
    }
    expect_look_ups(0);
}

/* So who connects later does not wait for it. */
static void name_is_looked_up_in_advance(void **unused)
{
    (void)unused;
    address_book *b = open_one("name:7700");
    await_look_ups(1);
    await_address(b, 1);
    book_close(b);
    expect_look_ups(1);
}

static void some_of_many_addresses(void **unused)
{
    (void)unused;
    for (int i = BOOK_ADDRESSES - 1; i <= BOOK_ADDRESSES + 1; i++) {
        count = i;
        address_book *b = open_one("name:7700");
        book_entry found = find(b);
        assert_int_equal(found.count, i < BOOK_ADDRESSES ? i : BOOK_ADDRESSES);
        for (uint32_t n = 0; n < found.count; n++)
            assert_int_equal(address_of(&found, n), 1 + n);
        book_close(b);
    }
}

/* What is known is used meanwhile. */
static void old_names_are_looked_up_again(void **unused)
{
    (void)unused;
    address_book *b = open_one("name:7700");
    await_address(b, 1);
    first = 2;
    time_is += OLD * SECOND - 1;
    await_address(b, 1);
    expect_look_ups(1);
    is_away = true;
    time_is += 1;
    await_address(b, 1);
    await_look_ups(2);
    await_address(b, 1); /* one look-up at a time */
    is_away = false;
    await_address(b, 2);
    expect_look_ups(2);
    book_close(b);
}

/* Nobody was reached there: it may be elsewhere. But not in each moment. */
static void doubtful_names_are_looked_up_again(void **unused)
{
    (void)unused;
    address_book *b = open_one("name:7700");
    await_address(b, 1);
    first = 2;
    time_is += SOON * SECOND - 1;
    book_doubt(b, 0);
    expect_look_ups(1);
    time_is += 1;
    book_doubt(b, 0);
    await_address(b, 2);
    assert_int_equal(look_ups, 2);
    book_close(b);
}

/* What was known may still be true. */
static void failure_takes_nothing_back(void **unused)
{
    (void)unused;
    address_book *b = open_one("name:7700");
    await_address(b, 1);
    code = EAI_AGAIN;
    time_is += SOON * SECOND;
    book_doubt(b, 0);
    await_look_ups(2);
    expect_look_ups(2); /* and has its answer by now */
    await_address(b, 1);
    book_close(b);
}

static void failures_have_a_reason(void **unused)
{
    (void)unused;
    static const struct {
        int code, error;
    } rows[] = {{EAI_NONAME, EHOSTUNREACH}, {EAI_MEMORY, ENOMEM}, {EAI_SYSTEM, EMFILE}};
    system_error = EMFILE;
    for (int i = 0; i < 3; i++) {
        code = rows[i].code;
        address_book *b = open_one("name:7700");
        expect_failure(b, UINT64_MAX, rows[i].error);
        look_ups = code = 0;
        expect_failure(b, UINT64_MAX, rows[i].error); /* it was asked for just now */
        expect_look_ups(0);
        time_is += SOON * SECOND;
        await_address(b, 1);
        book_close(b);
    }
}

static void no_answer_in_time(void **unused)
{
    (void)unused;
    is_away = true;
    address_book *b = open_one("name:7700");
    expect_failure(b, time_is, ETIMEDOUT);
    expect_failure(b, time_is - 1, ETIMEDOUT);
    is_away = false;
    await_address(b, 1); /* and it was looked up once */
    assert_int_equal(look_ups, 1);
    is_away = true;
    time_is += OLD * SECOND;
    await_address(b, 1);
    await_look_ups(2);
    book_close(b); /* whoever looks it up still has the book */
    is_away = false;
    rest_a_moment();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(numbers_are_known, begin),
        cmocka_unit_test_setup(paths_and_nonsense_are_not, begin),
        cmocka_unit_test_setup(name_is_looked_up_in_advance, begin),
        cmocka_unit_test_setup(some_of_many_addresses, begin),
        cmocka_unit_test_setup(old_names_are_looked_up_again, begin),
        cmocka_unit_test_setup(doubtful_names_are_looked_up_again, begin),
        cmocka_unit_test_setup(failure_takes_nothing_back, begin),
        cmocka_unit_test_setup(failures_have_a_reason, begin),
        cmocka_unit_test_setup(no_answer_in_time, begin),
    };
    return cmocka_run_group_tests_name("book", tests, NULL, NULL);
}
