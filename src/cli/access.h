/* How a command gets in at a server: its options, the same in all that ask one. */
#ifndef BATON_CLI_ACCESS_H
#define BATON_CLI_ACCESS_H

#include "options.h"

typedef struct server_access {
    const char *password_file;
    const char *tls_ca, *tls_cert, *tls_key;
} server_access;

/* Rows of a table of options, for a server_access that is a member of `type`. */
#define ACCESS_ROWS(type, access)                                                                \
    {"password-file",                                                                            \
     0,                                                                                          \
     "FILE",                                                                                     \
     "its first line is the server's password",                                                  \
     INTO(type, access.password_file),                                                           \
     .env = "BATON_PASSWORD_FILE"},                                                              \
        {"tls-ca",                                                                               \
         0,                                                                                      \
         "FILE",                                                                                 \
         "for tls://HOST:PORT: who must have signed the server's certificate; 'system': who is " \
         "trusted here. Without it, the server must know the password",                          \
         INTO(type, access.tls_ca),                                                              \
         .env = "BATON_TLS_CA"},                                                                 \
        {"tls-cert",                                                                             \
         0,                                                                                      \
         "FILE",                                                                                 \
         "certificate to show to a server that asks for one",                                    \
         INTO(type, access.tls_cert),                                                            \
         .env = "BATON_TLS_CERT"},                                                               \
    {                                                                                            \
        "tls-key", 0, "FILE", "its key, without a passphrase", INTO(type, access.tls_key),       \
            .env = "BATON_TLS_KEY"                                                               \
    }

#endif
