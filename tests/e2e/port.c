/*
 * See port.h, and world/ports.py, which reserves the same way. Ports that the kernel gives to
 * whoever connects are left out: one that was free a moment ago may be a node's of this very test.
 */
#include "port.h"

#include "unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST = 10000 };

/* Where those begin that the kernel gives away. */
static unsigned end_of_range(void)
{
    char text[32] = "";
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    return (unsigned)strtoul(text, NULL, 10);
}

/* An abstract socket named after it, which ends with this process. */
static bool reserve(unsigned port)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "baton-test-port-%u", port);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    int reservation = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(reservation >= 0);
    if (bind(reservation, (struct sockaddr *)&name, bytes) == 0)
        return true;
    close(reservation);
    return false;
}

static bool is_free(unsigned port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr = {htonl(INADDR_LOOPBACK)},
                                        .sin_port = htons((uint16_t)port)};
    const int on = 1;
    int at = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(at >= 0);
    setsockopt(at, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool is = bind(at, (const struct sockaddr *)&address, sizeof address) == 0;
    close(at);
    return is;
}

int take_port(void)
{
    unsigned end = end_of_range(), chance;
    assert_true(end > FIRST);
    for (;;) {
        assert_int_equal(getrandom(&chance, sizeof chance, 0), sizeof chance);
        unsigned port = FIRST + chance % (end - FIRST);
        if (reserve(port) && is_free(port))
            return (int)port;
    }
}
