/*
 * Proofs that somebody knows a secret, without telling it: HMAC-SHA-256 over what both sides have
 * just said. Who overhears a proof can still try out secrets by himself: a secret is to be long and
 * random, not a word.
 */
#ifndef BATON_RESP_PROOF_H
#define BATON_RESP_PROOF_H

#include "resp.h"
#include "sha256.h"

enum {
    PROOF_BYTES = SHA256_BYTES, /* of a proof, a nonce, a digest */
    PROOF_HEX = 2 * PROOF_BYTES,
};

typedef struct proof_secret {
    const char *at; /* NULL: there is none */
    size_t bytes;
} proof_secret;

void proof_make(proof_secret secret, const void *text, size_t bytes, uint8_t proof[PROOF_BYTES]);
/* Takes as long whether they are the same or not. */
bool proof_same(const uint8_t a[PROOF_BYTES], const uint8_t b[PROOF_BYTES]);
/* SHA-256 */
void proof_digest(const void *text, size_t bytes, uint8_t digest[PROOF_BYTES]);
/* A random number that nobody has seen before; false if the system has none. */
bool proof_nonce(uint8_t nonce[PROOF_BYTES]);

/* Ended by a zero. */
void proof_to_hex(const uint8_t bytes[PROOF_BYTES], char text[PROOF_HEX + 1]);
/* False unless the word is just that many digits, a to f in lower case. */
bool proof_from_hex(resp_word text, uint8_t bytes[PROOF_BYTES]);

/*
 * A client's proof for AUTH PROOF, in answer to the nonce that AUTH CHALLENGE has given. It fits
 * nothing that nodes say to each other.
 */
void proof_of_client(proof_secret secret, const uint8_t nonce[PROOF_BYTES],
                     uint8_t proof[PROOF_BYTES]);
/* The same, from what AUTH CHALLENGE said to what AUTH PROOF says; false if that was no nonce. */
bool proof_answer(const char *secret, resp_word challenge, char hex[PROOF_HEX + 1]);
/* The key of TLS between a client and a server that both have the password; and whose it is. */
#define PROOF_TLS_IDENTITY "baton client"
void proof_of_tls(const char *secret, uint8_t key[PROOF_BYTES]);
/* Whether the word is that proof, as digits. */
bool proof_fits(const char *secret, const uint8_t nonce[PROOF_BYTES], resp_word hex);

#endif
