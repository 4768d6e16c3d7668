/*
 * SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104). Our own, so that a program which is linked with
 * libbaton needs no other library to prove its password.
 */
#ifndef BATON_RESP_SHA256_H
#define BATON_RESP_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

typedef struct sha256 {
    uint32_t state[8];
    uint64_t bytes; /* so far; those of the last block that is not full are in `block` */
    uint8_t block[SHA256_BLOCK];
} sha256;

void sha256_start(sha256 *s);
void sha256_add(sha256 *s, const void *text, size_t bytes);
void sha256_end(sha256 *s, uint8_t digest[SHA256_BYTES]);

void sha256_hmac(const void *key, size_t key_bytes, const void *text, size_t bytes,
                 uint8_t mac[SHA256_BYTES]);

#endif
