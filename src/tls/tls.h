/*
 * TLS between the bytes of a network and those of a program, by OpenSSL. No socket, no clock:
 * whoever has the socket feeds what came from it, reads what that means, writes what is to be said,
 * and sends what is to go out.
 *
 * A party is one side: who it is, and whom it believes. It shows a certificate, or both sides have
 * a key in common, which neither sends. A stream is one connection of a party.
 */
#ifndef BATON_TLS_TLS_H
#define BATON_TLS_TLS_H

#include "complaint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TLS_KEY_BYTES = 32,
    TLS_MAX_IDENTITY = 128, /* of who knows a key, in bytes */
};

/* The key of who says that it is `identity`; false if it has none. */
typedef bool tls_find_key(void *context, const char *identity, uint8_t key[TLS_KEY_BYTES]);

/* What is not given is not there: a party without key and certificate can only dial. */
typedef struct tls_settings {
    const char *cert, *key, *ca; /* files in PEM; `ca`: who must have signed what the other shows */
    bool asks_for_cert;          /* whoever dials must show one */
    bool takes_tls12;            /* for programs that do not know TLS 1.3 */
    tls_find_key *find_key;
    void *context; /* of find_key */
} tls_settings;

typedef struct tls_party tls_party;
typedef struct tls_stream tls_stream;

/* NULL, and why: a file cannot be read, or is not what it should be. */
tls_party *tls_open(const tls_settings *settings, char complaint[COMPLAINT]);
/* When all its streams are closed. */
void tls_close(tls_party *p);

/*
 * A connection that was accepted; one that this side has made, to a server of that name, which its
 * certificate must have; one by a key. NULL: out of memory.
 */
tls_stream *tls_accept(tls_party *p);
tls_stream *tls_dial(tls_party *p, const char *name);
tls_stream *tls_dial_by_key(tls_party *p, const char *identity, const uint8_t key[TLS_KEY_BYTES]);
void tls_hang_up(tls_stream *s);

/* From the network. False: it cannot go on; see tls_why. */
bool tls_feed(tls_stream *s, const void *bytes, size_t count);
/*
 * For the program, as much as is there; 0: nothing, until more is fed. To be called until it
 * returns 0, and after that tls_failed. Goes on with the handshake, too.
 */
size_t tls_read(tls_stream *s, void *into, size_t room);
/* From the program, if it is ready. */
bool tls_write(tls_stream *s, const void *bytes, size_t count);
/*
 * To the network: how many bytes, and where; valid until the next call. So many of them are sent.
 */
size_t tls_unsent(const tls_stream *s, const char **at);
void tls_sent(tls_stream *s, size_t count);

/* The handshake is over, and the other side is whom it must be. */
bool tls_is_ready(const tls_stream *s);
/* It has failed, or the other side has ended it; why, in words. */
bool tls_failed(const tls_stream *s);
const char *tls_why(const tls_stream *s);
/* It has failed because the other side's key is another, though its identity has one. */
bool tls_was_wrong_key(const tls_stream *s);
/* Of one that was accepted by a key: who dialed. "" if it was not by a key. */
const char *tls_identity(const tls_stream *s);
/* Whether the other side's certificate has that DNS name, as it is. */
bool tls_is_named(const tls_stream *s, const char *name);

#endif
