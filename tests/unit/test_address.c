/* Addresses as people write them. */
#include "address.h"
#include "unit.h"

#include <string.h>

typedef struct row {
    const char *text;
    address_kind kind;
    bool is_said;
    const char *rest;
} row;

static const row rows[] = {
    {"127.0.0.1:7700", ADDRESS_TCP, false, "127.0.0.1:7700"},
    {"tls://h:1", ADDRESS_TLS, true, "h:1"},
    {"rediss://h:1", ADDRESS_TLS, true, "h:1"},
    {"tcp://h:1", ADDRESS_TCP, true, "h:1"},
    {"redis://h:1", ADDRESS_TCP, true, "h:1"},
    {"unix:name", ADDRESS_UNIX, true, "name"},
    {"unix:/run/name", ADDRESS_UNIX, true, "/run/name"},
    {"/run/name", ADDRESS_UNIX, false, "/run/name"},
    {"./tls://h:1", ADDRESS_UNIX, false, "./tls://h:1"},
    {"tls:/h:1", ADDRESS_UNIX, false, "tls:/h:1"},
    {"", ADDRESS_TCP, false, ""},
};

static void test_read(void **state)
{
    const row *r = *state;
    address_parts got = address_read(r->text);
    assert_int_equal(got.kind, r->kind);
    assert_int_equal(got.is_said, r->is_said);
    assert_string_equal(got.rest, r->rest);
}

typedef struct host_row {
    const char *text, *host, *port; /* NULL: it has none */
} host_row;

static const host_row hosts[] = {
    {"localhost:7700", "localhost", "7700"},
    {"[::1]:7700", "::1", "7700"},
    {"::1:7700", "::1", "7700"},
    {"h:x", "h", "x"}, /* whether that is a port is for others to say */
    {"h:", NULL, NULL},
    {":1", NULL, NULL},
    {"[]:1", NULL, NULL},
    {"h", NULL, NULL},
    {"", NULL, NULL},
};

static void test_host(void **state)
{
    const host_row *r = *state;
    char host[ADDRESS_HOST_BYTES] = "";
    const char *port = address_host(r->text, host);
    if (r->host == NULL) {
        assert_null(port);
    } else {
        assert_string_equal(host, r->host);
        assert_string_equal(port, r->port);
    }
}

/* As long as there is room for it, and not a byte more. */
static void test_longest(void **state)
{
    char text[ADDRESS_HOST_BYTES + 8], host[ADDRESS_HOST_BYTES];
    (void)state;
    memset(text, 'h', sizeof text);
    memcpy(text + ADDRESS_HOST_BYTES - 1, ":77", 4);
    assert_string_equal(address_host(text, host), "77");
    assert_int_equal(strlen(host), ADDRESS_HOST_BYTES - 1);
    text[ADDRESS_HOST_BYTES - 1] = 'h';
    memcpy(text + ADDRESS_HOST_BYTES, ":77", 4);
    assert_null(address_host(text, host));
}

int main(void)
{
    suite s = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        suite_add(&s, test_read, &rows[i], "'%s'", rows[i].text);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        suite_add(&s, test_host, &hosts[i], "the host of '%s'", hosts[i].text);
    suite_add(&s, test_longest, NULL, "the longest host");
    return suite_run(&s, "address");
}
