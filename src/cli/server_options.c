/* Options that all servers have in common. */
#include "server_options.h"
#include "../net/listen.h"
#include "number.h"

#include <stdio.h>
#include <string.h>

bool parse_level(const char *name, log_level *level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) {
            *level = (log_level)i;
            return true;
        }
    return false;
}

const char *parse_http(const char *given)
{
    static char local[32];
    uint64_t port;
    if (parse_number(given, 0, 65535, &port)) {
        snprintf(local, sizeof local, "127.0.0.1:%u", (unsigned)port);
        return local;
    }
    return listen_is_tcp(given) ? given : NULL;
}
