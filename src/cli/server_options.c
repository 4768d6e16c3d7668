/* Options that all servers have in common. */
#include "server_options.h"
#include "listen.h"
#include "number.h"

#include <stdio.h>

bool take_http(void *into, const char *value)
{
    static char local[32];
    serve_settings *s = into;
    uint64_t port;
    if (parse_number(value, 0, 65535, &port)) {
        snprintf(local, sizeof local, "127.0.0.1:%u", (unsigned)port);
        s->http = local;
        return true;
    }
    s->http = value;
    return listen_is_tcp(value);
}
