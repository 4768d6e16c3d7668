/* See address.h. */
#include "address.h"

#include <string.h>

static const struct scheme {
    const char *name;
    address_kind kind;
} schemes[] = {
    {"tls://", ADDRESS_TLS},   {"rediss://", ADDRESS_TLS}, {"tcp://", ADDRESS_TCP},
    {"redis://", ADDRESS_TCP}, {"unix:", ADDRESS_UNIX},
};

address_parts address_read(const char *text)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t bytes = strlen(schemes[i].name);
        if (strncmp(text, schemes[i].name, bytes) == 0)
            return (address_parts){schemes[i].kind, true, text + bytes};
    }
    return (address_parts){strchr(text, '/') != NULL ? ADDRESS_UNIX : ADDRESS_TCP, false, text};
}

const char *address_host(const char *tcp, char host[ADDRESS_HOST_BYTES])
{
    const char *colon = strrchr(tcp, ':');
    if (colon == NULL || colon == tcp || colon[1] == '\0')
        return NULL;
    bool bracketed = tcp[0] == '[' && colon[-1] == ']';
    size_t bytes = (size_t)(colon - tcp) - (bracketed ? 2 : 0);
    if (bytes == 0 || bytes >= ADDRESS_HOST_BYTES)
        return NULL;
    memcpy(host, tcp + (bracketed ? 1 : 0), bytes);
    host[bytes] = '\0';
    return colon + 1;
}
