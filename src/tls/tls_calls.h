/*
 * What a client needs of tls.h, as a table: libbaton itself needs libc only, and loads libbaton-tls
 * when an address asks for TLS. A program that has TLS linked in hands the table over.
 */
#ifndef BATON_TLS_TLS_CALLS_H
#define BATON_TLS_TLS_CALLS_H

#include "tls.h"

typedef struct tls_calls {
    tls_party *(*open)(const tls_settings *settings, char complaint[COMPLAINT]);
    void (*close)(tls_party *p);
    tls_stream *(*dial)(tls_party *p, const char *name);
    tls_stream *(*dial_by_key)(tls_party *p, const char *identity,
                               const uint8_t key[TLS_KEY_BYTES]);
    void (*hang_up)(tls_stream *s);
    bool (*feed)(tls_stream *s, const void *bytes, size_t count);
    size_t (*read)(tls_stream *s, void *into, size_t room);
    bool (*write)(tls_stream *s, const void *bytes, size_t count);
    size_t (*unsent)(const tls_stream *s, const char **at);
    void (*sent)(tls_stream *s, size_t count);
    bool (*is_ready)(const tls_stream *s);
    bool (*failed)(const tls_stream *s);
    const char *(*why)(const tls_stream *s);
} tls_calls;

/* The only name that libbaton-tls gives away. */
__attribute__((visibility("default"))) extern const tls_calls baton_tls_calls_1;

#endif
