/* Proofs of a secret. */
#include "proof.h"

#include <string.h>
#include <sys/random.h>

void proof_make(proof_secret secret, const void *text, size_t bytes, uint8_t proof[PROOF_BYTES])
{
    sha256_hmac(secret.at, secret.bytes, text, bytes, proof);
}

bool proof_same(const uint8_t a[PROOF_BYTES], const uint8_t b[PROOF_BYTES])
{
    volatile uint8_t differ = 0; /* or a compiler could stop at the first that does */
    for (size_t i = 0; i < PROOF_BYTES; i++)
        differ = (uint8_t)(differ | (a[i] ^ b[i]));
    return differ == 0;
}

void proof_digest(const void *text, size_t bytes, uint8_t digest[PROOF_BYTES])
{
    sha256 s;
    sha256_start(&s);
    sha256_add(&s, text, bytes);
    sha256_end(&s, digest);
}

bool proof_nonce(uint8_t nonce[PROOF_BYTES])
{
    return getrandom(nonce, PROOF_BYTES, 0) == PROOF_BYTES; /* so few bytes come at once */
}

void proof_to_hex(const uint8_t bytes[PROOF_BYTES], char text[PROOF_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < PROOF_BYTES; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[PROOF_HEX] = '\0';
}

static int value_of(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool proof_from_hex(resp_word text, uint8_t bytes[PROOF_BYTES])
{
    if (text.bytes != PROOF_HEX)
        return false;
    for (size_t i = 0; i < PROOF_BYTES; i++) {
        int high = value_of(text.at[2 * i]);
        int low = value_of(text.at[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

void proof_of_client(proof_secret secret, const uint8_t nonce[PROOF_BYTES],
                     uint8_t proof[PROOF_BYTES])
{
    static const char label[] = "baton client 1";
    enum { LABEL = sizeof label - 1 };
    uint8_t text[LABEL + PROOF_BYTES];
    memcpy(text, label, LABEL);
    memcpy(text + LABEL, nonce, PROOF_BYTES);
    proof_make(secret, text, sizeof text, proof);
}

void proof_of_tls(const char *secret, uint8_t key[PROOF_BYTES])
{
    static const char label[] = "baton client tls 1";
    proof_make((proof_secret){secret, strlen(secret)}, label, sizeof label - 1, key);
}

bool proof_answer(const char *secret, resp_word challenge, char hex[PROOF_HEX + 1])
{
    uint8_t nonce[PROOF_BYTES];
    uint8_t proof[PROOF_BYTES];
    if (!proof_from_hex(challenge, nonce))
        return false;
    proof_of_client((proof_secret){secret, strlen(secret)}, nonce, proof);
    proof_to_hex(proof, hex);
    return true;
}

bool proof_fits(const char *secret, const uint8_t nonce[PROOF_BYTES], resp_word hex)
{
    uint8_t given[PROOF_BYTES];
    uint8_t right[PROOF_BYTES];
    proof_secret its = {secret, strlen(secret)};
    if (!proof_from_hex(hex, given))
        return false;
    proof_of_client(its, nonce, right);
    return proof_same(given, right);
}
