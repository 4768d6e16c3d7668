/* Addresses as people write them: HOST:PORT, the path of a Unix socket, tls://HOST:PORT. */
#ifndef BATON_BASE_ADDRESS_H
#define BATON_BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum address_kind { ADDRESS_TCP, ADDRESS_TLS, ADDRESS_UNIX } address_kind;

typedef struct address_parts {
    address_kind kind;
    bool is_said;     /* by a scheme, and not only by its form */
    const char *rest; /* without its scheme */
} address_parts;

/*
 * tls:// and rediss:// are TLS, tcp:// and redis:// plain TCP, unix: a path. Without any of these,
 * whatever has a '/' is a path.
 */
address_parts address_read(const char *text);

enum { ADDRESS_HOST_BYTES = 256 };

/* The host of HOST:PORT or [HOST]:PORT, and where the port begins; NULL if it is neither. */
const char *address_host(const char *tcp, char host[ADDRESS_HOST_BYTES]);

#endif
