/* SHA-256 and HMAC against the examples of FIPS 180 and RFC 4231, and over all lengths. */
#include "proof.h"
#include "sha256.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static void assert_digits(const uint8_t bytes[SHA256_BYTES], const char *wanted)
{
    char hex[2 * SHA256_BYTES + 1];
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    assert_string_equal(hex, wanted);
}

static void digest(const void *text, size_t bytes, uint8_t out[SHA256_BYTES])
{
    sha256 s;
    sha256_start(&s);
    sha256_add(&s, text, bytes);
    sha256_end(&s, out);
}

static void test_fips(void **state)
{
    static const char *const known[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    uint8_t out[SHA256_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        digest(known[i][0], strlen(known[i][0]), out);
        assert_digits(out, known[i][1]);
    }
}

static void test_million(void **state)
{
    uint8_t out[SHA256_BYTES];
    sha256 s;
    (void)state;
    sha256_start(&s);
    for (int i = 0; i < 1000000 / 50; i++) /* never a whole block */
        sha256_add(&s, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 50);
    sha256_end(&s, out);
    assert_digits(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The digest of the digests of all, as another program gives it: every length of the padding. */
static void test_lengths(void **state)
{
    uint8_t text[300], out[SHA256_BYTES];
    sha256 all;
    (void)state;
    sha256_start(&all);
    for (size_t n = 0; n < sizeof text; n++) {
        text[n] = (uint8_t)n;
        digest(text, n, out);
        sha256_add(&all, out, sizeof out);
    }
    sha256_end(&all, out);
    assert_digits(out, "df90175783c44235cf6aefd935a2c2747f42399416d16789ece339f1fd26d835");
}

typedef struct example {
    uint8_t key[131];
    size_t key_bytes;
    const char *text, *mac;
} example;

#define FIFTY(c) c c c c c c c c c c c c c c c c c c c c c c c c c
static const char fifty_dd[] = FIFTY("\xdd\xdd"), fifty_cd[] = FIFTY("\xcd\xcd");

static void test_hmac(void **state)
{
    example all[] = {
        {.key_bytes = 20,
         .text = "Hi There",
         .mac = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {.key = "Jefe",
         .key_bytes = 4,
         .text = "what do ya want for nothing?",
         .mac = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {.key_bytes = 20,
         .text = fifty_dd,
         .mac = "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {.key_bytes = 25,
         .text = fifty_cd,
         .mac = "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
        {.key_bytes = 131,
         .text = "Test Using Larger Than Block-Size Key - Hash Key First",
         .mac = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {.key_bytes = 64,
         .text = "a key of one block",
         .mac = "1ad77e19fcc989ac07ba50fafcf71659bdf56d14c6f44efc96e03afe7d1252c4"},
        {.key_bytes = 131,
         .text = "This is a test using a larger than block-size key and a larger than block-size "
                 "data. The key needs to be hashed before being used by the HMAC algorithm.",
         .mac = "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    };
    (void)state;
    memset(all[0].key, 0x0b, 20);
    memset(all[2].key, 0xaa, 20);
    for (uint8_t i = 0; i < 25; i++)
        all[3].key[i] = (uint8_t)(i + 1);
    memset(all[4].key, 0xaa, 131);
    memset(all[5].key, 0xaa, 64);
    memset(all[6].key, 0xaa, 131);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        uint8_t mac[SHA256_BYTES];
        sha256_hmac(all[i].key, all[i].key_bytes, all[i].text, strlen(all[i].text), mac);
        assert_digits(mac, all[i].mac);
    }
}

/* ---- proofs ---- */

static void test_hex(void **state)
{
    uint8_t bytes[PROOF_BYTES], back[PROOF_BYTES];
    char text[PROOF_HEX + 1];
    (void)state;
    for (int round = 0; round < 256; round += PROOF_BYTES) { /* every byte there is */
        for (int i = 0; i < PROOF_BYTES; i++)
            bytes[i] = (uint8_t)(round + i);
        proof_to_hex(bytes, text);
        assert_int_equal(strlen(text), PROOF_HEX);
        assert_true(proof_from_hex((resp_word){at_the_edge(text, PROOF_HEX), PROOF_HEX}, back));
        assert_memory_equal(back, bytes, PROOF_BYTES);
    }
    assert_false(proof_from_hex((resp_word){text, PROOF_HEX - 1}, back));
    assert_false(proof_from_hex((resp_word){text, PROOF_HEX + 1}, back));
    for (const char *wrong = "/:@`gAFG "; *wrong != '\0'; wrong++)
        for (int i = 0; i < 2; i++) {
            proof_to_hex(bytes, text);
            text[i] = *wrong;
            assert_false(proof_from_hex((resp_word){text, PROOF_HEX}, back));
        }
}

static void test_proofs(void **state)
{
    uint8_t nonce[PROOF_BYTES], other[PROOF_BYTES];
    char challenge[PROOF_HEX + 1], answer[PROOF_HEX + 1];
    (void)state;
    assert_true(proof_nonce(nonce) && proof_nonce(other));
    assert_false(proof_same(nonce, other));
    assert_true(proof_same(nonce, nonce));
    for (int i = 0; i < PROOF_BYTES; i++) { /* whichever byte it is that differs */
        memcpy(other, nonce, sizeof other);
        other[i] ^= 0x10;
        assert_false(proof_same(nonce, other));
    }
    proof_to_hex(nonce, challenge);
    assert_true(proof_answer("correct horse", (resp_word){challenge, PROOF_HEX}, answer));
    assert_true(proof_fits("correct horse", nonce, (resp_word){answer, PROOF_HEX}));
    assert_false(proof_fits("correct hors", nonce, (resp_word){answer, PROOF_HEX}));
    assert_false(proof_fits("correct horse", other, (resp_word){answer, PROOF_HEX}));
    assert_false(proof_fits("correct horse", nonce, (resp_word){challenge, PROOF_HEX}));
    assert_false(proof_fits("correct horse", nonce, (resp_word){answer, PROOF_HEX - 1}));
    assert_false(proof_answer("correct horse", (resp_word){challenge, PROOF_HEX - 1}, answer));
    /* What clients of other languages compute: HMAC-SHA-256 of a label and the nonce. */
    memset(nonce, 0, sizeof nonce);
    proof_to_hex(nonce, challenge);
    assert_true(proof_answer("secret", (resp_word){challenge, PROOF_HEX}, answer));
    assert_string_equal(answer, "ac44b717f205a412226b13811739185faa91682fd5e097e03cf3f8b5b9c97d47");
    uint8_t digest_of[PROOF_BYTES];
    proof_digest("abc", 3, digest_of);
    assert_digits(digest_of, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_fips, NULL, "the examples of FIPS 180");
    suite_add(&s, test_million, NULL, "a million a, in pieces");
    suite_add(&s, test_lengths, NULL, "all lengths up to 299");
    suite_add(&s, test_hmac, NULL, "HMAC: the examples of RFC 4231");
    suite_add(&s, test_hex, NULL, "digits and back");
    suite_add(&s, test_proofs, NULL, "proofs of a secret");
    return suite_run(&s, "sha256");
}
