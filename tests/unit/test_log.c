/* Log lines, and durations that are counted: what operators read. */
#include "durations.h"
#include "log.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- log lines ---- */

enum { MOST = 1023 }; /* bytes of a line, with its end */

static char said[8192];

/* What is said on standard error from here to caught(). */
static int kept, ends[2];

static void catch_it(void)
{
    fflush(stderr);
    assert_int_equal(pipe(ends), 0);
    kept = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
}

static const char *caught(void)
{
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[1]);
    size_t bytes = 0;
    for (ssize_t got; (got = read(ends[0], said + bytes, sizeof said - 1 - bytes)) > 0;)
        bytes += (size_t)got;
    close(ends[0]);
    said[bytes] = '\0';
    return said;
}

static void test_line(void **state)
{
    (void)state;
    int year, month, day, hour, minute, second, ms, used = 0;
    catch_it();
    log_line(LOG_WARN, "tests", "number=%d", 7);
    const char *text = caught();
    int found = sscanf(text, "time=%4d-%2d-%2dT%2d:%2d:%2d.%3dZ %n", &year, &month, &day, &hour,
                       &minute, &second, &ms, &used);
    assert_int_equal(found, 7);
    assert_int_equal(used, (int)strlen("time=2000-01-01T00:00:00.000Z "));
    assert_string_equal(text + used, "level=warn event=tests number=7\n");
}

static void test_levels(void **state)
{
    (void)state;
    static const char *const names[] = {"level=error", "level=warn", "level=info", "level=debug"};
    for (int max = -1; max <= LOG_DEBUG; max++) {
        if (max >= 0)
            log_set_level((log_level)max);
        catch_it();
        for (int level = LOG_ERROR; level <= LOG_DEBUG; level++)
            log_line((log_level)level, "tests", "a=b");
        const char *text = caught();
        for (int level = LOG_ERROR; level <= LOG_DEBUG; level++)
            assert_int_equal(strstr(text, names[level]) != NULL,
                             level <= (max >= 0 ? max : LOG_INFO)); /* as it is at first */
    }
    log_set_level(LOG_INFO);
}

/* Whatever a client has sent, it is one line. */
static void test_one_line(void **state)
{
    (void)state;
    static char large[4 * MOST];
    catch_it();
    log_line(LOG_INFO, "tests", "name=a\nb\x1b\x7f");
    const char *text = caught();
    assert_string_equal(strstr(text, "name="), "name=a?b??\n");
    for (size_t more = 900; more < sizeof large - 1; more += more < 1100 ? 1 : 500) {
        memset(large, 'x', more);
        large[more] = '\0';
        catch_it();
        log_line(LOG_INFO, "tests", "%s", large);
        text = caught();
        size_t before = strcspn(text, "x"), bytes = strlen(text);
        assert_int_equal(bytes, before + more + 1 < MOST ? before + more + 1 : MOST);
        assert_int_equal(strspn(text + before, "x"), bytes - before - 1);
        assert_int_equal(text[bytes - 1], '\n');
    }
}

/* What others have chosen is one value, which ends where its quotes do. */
static void test_quoted(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *quoted;
    } row[] = {
        {"", 0, "\"\""},
        {"stock ~", 7, "\"stock ~\""},
        {"a\" level=error b=\"", 18, "\"a\\\" level=error b=\\\"\""},
        {"a\\", 2, "\"a\\\\\""},
        {"\x9b"
         "2J",
         3, "\"\\x9b2J\""}, /* clears a terminal's screen */
        {"\x1b\n\x7f", 3, "\"\\x1b\\x0a\\x7f\""},
        {"a\0b", 3, "\"a\\x00b\""},
        {"\xc3\xa9", 2, "\"\\xc3\\xa9\""},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        assert_string_equal(log_quote(row[i].bytes, row[i].count).text, row[i].quoted);
    assert_string_equal(log_quote_text("x\"y").text, "\"x\\\"y\"");
    catch_it();
    log_line(LOG_INFO, "tests", "lock=%s token=%d", log_quote("a\"\x9b", 3).text, 7);
    assert_string_equal(strstr(caught(), "lock="), "lock=\"a\\\"\\x9b\" token=7\n");
}

/* One that is cut is still in quotes, and no escape in it is torn. */
static void test_quoted_long(void **state)
{
    (void)state;
    static const char *const bytes[] = {"x", "\"", "\x9b"};
    static char large[2 * LOG_VALUE];
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        memset(large, bytes[i][0], sizeof large);
        size_t each = strlen(log_quote(large, 1).text) - 2;
        for (size_t count = 0; count < sizeof large; count++) {
            log_value v = log_quote(large, count);
            size_t length = strnlen(v.text, sizeof v.text);
            assert_true(length < sizeof v.text);
            assert_int_equal(v.text[length - 1], '"');
            if (length == 2 + count * each)
                continue;
            assert_memory_equal(v.text + length - 4, "...\"", 4);
            assert_int_equal((length - 5) % each, 0);
            assert_true(length + each >= sizeof v.text); /* not cut too early */
        }
    }
}

/* However often it happens, it is one line in a while, and none of the times is left out. */
static void test_summed(void **state)
{
    (void)state;
    log_sum s = {.level = LOG_WARN, .event = "refused"};
    catch_it();
    log_sum_tell(&s, 1);
    assert_string_equal(caught(), "");
    catch_it();
    for (int i = 0; i < 1000; i++)
        log_summed(&s, 5, "from=%d", i);
    log_sum_tell(&s, 4 + LOG_SUM_OFTEN);
    assert_string_equal(strstr(caught(), "level="), "level=warn event=refused from=0 times=1\n");
    catch_it();
    log_sum_tell(&s, 5 + LOG_SUM_OFTEN);
    log_sum_tell(&s, 6 + 2 * LOG_SUM_OFTEN);
    assert_string_equal(strstr(caught(), "from="), "from=999 times=999\n");
    catch_it();
    log_summed(&s, 4 + 2 * LOG_SUM_OFTEN, "from=%s", "x");
    log_summed(&s, 5 + 2 * LOG_SUM_OFTEN, "from=%s", "y");
    assert_string_equal(strstr(caught(), "from="), "from=y times=2\n");
}

/* ---- durations ---- */

static void test_durations(void **state)
{
    (void)state;
    durations one = {0}, other = {0};
    for (uint32_t i = 0; i < DURATION_BOUNDS; i++) {
        assert_true(i == 0 || duration_bound[i] > duration_bound[i - 1]);
        durations_add(&one, duration_bound[i]);     /* belongs to the bound */
        durations_add(&one, duration_bound[i] + 1); /* and that does not */
    }
    durations_add(&one, 0);
    durations longest = {0};
    durations_add(&longest, UINT64_MAX);
    assert_int_equal(longest.count[DURATION_BOUNDS], 1);
    assert_true(longest.total == UINT64_MAX);
    uint64_t total = 0;
    for (uint32_t i = 0; i < DURATION_BOUNDS; i++)
        total += 2 * duration_bound[i] + 1;
    assert_int_equal(one.count[0], 2);
    for (uint32_t i = 1; i < DURATION_BOUNDS; i++)
        assert_int_equal(one.count[i], 2);
    assert_int_equal(one.count[DURATION_BOUNDS], 1);
    assert_int_equal(one.total, total);
    durations_add(&other, UINT32_MAX);
    durations_join(&other, &one);
    for (uint32_t i = 0; i < DURATION_BOUNDS; i++)
        assert_int_equal(other.count[i], 2);
    assert_int_equal(other.count[DURATION_BOUNDS], 2);
    assert_int_equal(other.total, total + UINT32_MAX);
}

int main(void)
{
    static suite s;
    suite_add(&s, test_line, NULL, "a line");
    suite_add(&s, test_levels, NULL, "levels");
    suite_add(&s, test_one_line, NULL, "one line, whatever is in it");
    suite_add(&s, test_quoted, NULL, "values that others have chosen, in quotes");
    suite_add(&s, test_quoted_long, NULL, "long values that others have chosen");
    suite_add(&s, test_summed, NULL, "what happens often is summed up");
    suite_add(&s, test_durations, NULL, "durations between bounds");
    return suite_run(&s, "log");
}
