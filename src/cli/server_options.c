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

const char *wrong_tls(const serve_settings *s, const char *auth_file)
{
    bool wanted = false;
    for (uint32_t i = 0; i < s->addresses; i++)
        wanted = wanted || address_read(s->address[i]).kind == ADDRESS_TLS;
    if ((s->tls.cert == NULL) != (s->tls.key == NULL))
        return "--tls-cert and --tls-key go together";
    if (s->tls.ca != NULL && s->tls.cert == NULL)
        return "--tls-ca needs --tls-cert and --tls-key";
    if (wanted && s->tls.cert == NULL && auth_file == NULL)
        return "TLS needs --tls-cert and --tls-key, or the password of --auth-file";
    if (!wanted && s->tls.cert != NULL)
        return "no address asks for TLS; write one of them as tls://HOST:PORT";
    return NULL;
}
