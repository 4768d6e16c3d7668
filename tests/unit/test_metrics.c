/* The page for Prometheus: every figure under its name, and nothing else. */
#include "metrics.h"
#include "unit.h"

#include "baton/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A figure as it must stand there; the values of these tests are all different. */
typedef struct figure {
    const char *name, *type, *value; /* NULL: a histogram */
} figure;

static const figure figures[] = {
    {"baton_tries_total", "counter", "11"},
    {"baton_failed_tries_total", "counter", "12"},
    {"baton_local_refusals_total", "counter", "13"},
    {"baton_grants_total", "counter", "8"},
    {"baton_handoffs_total", "counter", "15"},
    {"baton_wait_timeouts_total", "counter", "16"},
    {"baton_resets_total", "counter", "17"},
    {"baton_lost_sections_total", "counter", "18"},
    {"baton_stale_exits_total", "counter", "19"},
    {"baton_connections_accepted_total", "counter", "20"},
    {"baton_messages_received_total", "counter", "6"},
    {"baton_messages_sent_total", "counter", "14"},
    {"baton_open", "gauge", "1"},
    {"baton_hold_back_seconds", "gauge", "1000.089"},
    {"baton_locks", "gauge", "23"},
    {"baton_locks_held", "gauge", "24"},
    {"baton_queue_length", "gauge", "25"},
    {"baton_longest_queue_length", "gauge", "26"},
    {"baton_connections", "gauge", "27"},
    {"baton_messages_per_section", "gauge", "2.500"},
};

static const metrics full = {
    .locks = {.tries = 11,
              .failed = 12,
              .sections = 8,
              .handed_on = 15,
              .timeouts = 16,
              .resets = 17,
              .lost = 18,
              .stale = 19,
              .locks = 23,
              .held = 24,
              .waiting = 25,
              .longest_queue = 26},
    .refused_by_clients = 13,
    .accepted = 20,
    .received = 6,
    .sent = 14,
    .open = true,
    .held_back = 1000089,
    .connections = 27,
};

static const char *write_page(const metrics *m)
{
    static char page[65536];
    resp_out out = {.max = sizeof page - 1};
    metrics_write(m, &out);
    assert_false(out.overflow);
    memcpy(page, out.at, out.bytes);
    page[out.bytes] = '\0';
    resp_free(&out);
    return page;
}

/* "# HELP", "# TYPE" and the sample, in this order. Returns what follows. */
static const char *expect_figure(const char *at, const figure *f)
{
    char line[400];
    int length = snprintf(line, sizeof line, "# HELP %s ", f->name);
    assert_memory_equal(at, line, (size_t)length);
    at = strchr(at, '\n') + 1;
    assert_memory_equal(at - 2, ".\n", 2); /* a sentence */
    length = snprintf(line, sizeof line, "# TYPE %s %s\n", f->name, f->type);
    assert_memory_equal(at, line, (size_t)length);
    at += length;
    if (f->value == NULL)
        return at;
    length = snprintf(line, sizeof line, "%s %s\n", f->name, f->value);
    assert_memory_equal(at, line, (size_t)length);
    return at + length;
}

/* So many in each bucket and all before it. */
static const char *expect_histogram(const char *at, const char *name, const char *sum)
{
    static const char *const bounds[] = {"0.001", "0.005", "0.01", "0.05", "0.1",  "0.5",  "1",
                                         "5",     "10",    "60",   "300",  "3600", "86400"};
    char line[400];
    at = expect_figure(at, &(figure){name, "histogram", NULL});
    for (int i = 0; i <= DURATION_BOUNDS; i++) {
        int length = snprintf(line, sizeof line, "%s_bucket{le=\"%s\"} %d\n", name,
                              i < DURATION_BOUNDS ? bounds[i] : "+Inf", (i + 1) * (i + 2) / 2);
        assert_memory_equal(at, line, (size_t)length);
        at += length;
    }
    int length = snprintf(line, sizeof line, "%s_sum %s\n%s_count %d\n", name, sum, name,
                          (DURATION_BOUNDS + 1) * (DURATION_BOUNDS + 2) / 2);
    assert_memory_equal(at, line, (size_t)length);
    return at + length;
}

static void test_all(void **state)
{
    (void)state;
    char build[100];
    metrics m = full;
    for (uint32_t i = 0; i <= DURATION_BOUNDS; i++)
        m.locks.holds.count[i] = m.locks.waits.count[i] = i + 1;
    m.locks.holds.total = 2000034;
    m.locks.waits.total = 999;
    const char *at = write_page(&m);
    snprintf(build, sizeof build, "baton_build_info{version=\"%s\"} 1\n", baton_version());
    at = expect_figure(at, &(figure){"baton_build_info", "gauge", NULL});
    assert_memory_equal(at, build, strlen(build));
    at += strlen(build);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        at = expect_figure(at, &figures[i]);
    at = expect_histogram(at, "baton_hold_seconds", "2000.034");
    at = expect_histogram(at, "baton_wait_seconds", "0.999");
    assert_string_equal(at, "");
}

static void test_nothing_yet(void **state)
{
    (void)state;
    const char *page = write_page(&(metrics){0});
    assert_non_null(strstr(page, "\nbaton_messages_per_section NaN\n"));
    assert_non_null(strstr(page, "\nbaton_open 0\n"));
    assert_non_null(strstr(page, "\nbaton_hold_back_seconds 0.000\n"));
}

/* A line that is too long is cut, and nothing behind it is read. */
static void test_long_help(void **state)
{
    (void)state;
    char help[400], name[] = "baton_long";
    size_t around = strlen("# HELP baton_long \n# TYPE baton_long gauge\n");
    size_t most = 255;
    for (size_t length = 150; length < sizeof help; length++) {
        resp_out out = {.max = 65536};
        memset(help, 'x', length);
        help[length] = '\0';
        metrics_gauge(&out, name, 1, help);
        size_t head = around + length < most ? around + length : most;
        assert_int_equal(out.bytes, head + strlen("baton_long 1\n"));
        assert_null(memchr(out.at, '\0', out.bytes));
        resp_free(&out);
    }
}

int main(void)
{
    static suite s;
    suite_add(&s, test_all, NULL, "every figure under its name");
    suite_add(&s, test_nothing_yet, NULL, "nothing has happened yet");
    suite_add(&s, test_long_help, NULL, "a line that is too long");
    return suite_run(&s, "metrics");
}
