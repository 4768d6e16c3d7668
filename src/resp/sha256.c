/* SHA-256 and HMAC; the numbers at the right margin are sections of FIPS 180-4. */
#include "sha256.h"

#include <string.h>

/* 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void put_word(uint8_t *at, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(x >> (24 - 8 * i));
}

static void take_block(sha256 *s)
{
    uint32_t w[64], v[8];
    for (size_t t = 0; t < 16; t++) {
        const uint8_t *at = s->block + 4 * t;
        w[t] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (int t = 16; t < 64; t++) { /* 6.2.2, 1 */
        uint32_t a = w[t - 15], b = w[t - 2];
        w[t] = w[t - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[t - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(v, s->state, sizeof v);
    for (int t = 0; t < 64; t++) { /* 6.2.2, 3 */
        uint32_t a = v[0], e = v[4];
        uint32_t one = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
                       ((e & v[5]) ^ (~e & v[6])) + K[t] + w[t];
        uint32_t two =
            (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        s->state[i] += v[i];
}

void sha256_start(sha256 *s)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, /* 5.3.3 */
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, first, sizeof first);
    s->bytes = 0;
}

void sha256_add(sha256 *s, const void *text, size_t bytes)
{
    const uint8_t *from = text;
    for (size_t i = 0; i < bytes; i++) {
        s->block[s->bytes++ % SHA256_BLOCK] = from[i];
        if (s->bytes % SHA256_BLOCK == 0)
            take_block(s);
    }
}

void sha256_end(sha256 *s, uint8_t digest[SHA256_BYTES])
{
    static const uint8_t padding[SHA256_BLOCK] = {0x80}; /* 5.1.1 */
    uint64_t bits = s->bytes * 8;
    uint8_t length[8];
    put_word(length, (uint32_t)(bits >> 32));
    put_word(length + 4, (uint32_t)bits);
    sha256_add(s, padding, 1 + (119 - s->bytes % SHA256_BLOCK) % SHA256_BLOCK);
    sha256_add(s, length, sizeof length);
    for (size_t i = 0; i < 8; i++)
        put_word(digest + 4 * i, s->state[i]);
}

void sha256_hmac(const void *key, size_t key_bytes, const void *text, size_t bytes,
                 uint8_t mac[SHA256_BYTES])
{
    uint8_t pad[SHA256_BLOCK] = {0};
    sha256 s;
    sha256_start(&s);
    sha256_add(&s, key, key_bytes);
    if (key_bytes > SHA256_BLOCK)
        sha256_end(&s, pad);
    else if (key_bytes > 0)
        memcpy(pad, key, key_bytes);
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36;
    sha256_start(&s);
    sha256_add(&s, pad, sizeof pad);
    sha256_add(&s, text, bytes);
    sha256_end(&s, mac);
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    sha256_start(&s);
    sha256_add(&s, pad, sizeof pad);
    sha256_add(&s, mac, SHA256_BYTES);
    sha256_end(&s, mac);
    explicit_bzero(pad, sizeof pad);
    explicit_bzero(&s, sizeof s);
}
