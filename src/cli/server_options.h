/* Options that all servers have in common. */
#ifndef BATON_CLI_SERVER_OPTIONS_H
#define BATON_CLI_SERVER_OPTIONS_H

#include "options.h"
#include "serve.h"

/* In the order of log_level. */
#define LOG_LEVELS "error|warn|info|debug"

/*
 * The value of --http, for a struct that begins with a serve_settings. A port alone is for this
 * machine alone. False if it makes no sense.
 */
bool take_http(void *into, const char *value);

/* Rows for TLS with clients, for a struct that begins with a serve_settings called `serve`. */
#define TLS_ROWS(type)                                                                           \
    {"tls-cert", 0, "FILE",                                                                      \
     "certificate for clients that come to tls://HOST:PORT, with --tls-key. Without it, TLS is " \
     "keyed by the password of --auth-file, for clients of Baton's",                             \
     INTO(type, serve.tls.cert)},                                                                \
        {"tls-key", 0, "FILE", "its key, without a passphrase", INTO(type, serve.tls.key)},      \
    {                                                                                            \
        "tls-ca", 0, "FILE", "clients must show a certificate that one of these has signed",     \
            INTO(type, serve.tls.ca)                                                             \
    }
/* NULL, or what is wrong with what was given for TLS. */
const char *wrong_tls(const serve_settings *s, const char *auth_file);

#endif
