/* Proofs of a secret, and the digits in which they are said. */
#include "proof.h"
#include "unit.h"

/* RFC 4231, test case 2; and what a client must compute, by another program. */
static void test_known(void **state)
{
    uint8_t proof[PROOF_BYTES], nonce[PROOF_BYTES] = {0};
    char hex[PROOF_HEX + 1];
    (void)state;
    proof_make((proof_secret){"Jefe", 4}, "what do ya want for nothing?", 28, proof);
    proof_to_hex(proof, hex);
    assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    proof_of_client((proof_secret){"Jefe", 4}, nonce, proof);
    proof_to_hex(proof, hex);
    assert_string_equal(hex, "9b688634061c7b27ab41a747d21032e5bfe9678ca3c4122466574caacd1b75fd");
}

static void test_hex(void **state)
{
    uint8_t bytes[PROOF_BYTES], back[PROOF_BYTES];
    char hex[PROOF_HEX + 1];
    (void)state;
    assert_true(proof_nonce(bytes));
    proof_to_hex(bytes, hex);
    assert_true(proof_from_hex((resp_word){hex, PROOF_HEX}, back));
    assert_true(proof_same(bytes, back));
    assert_false(proof_from_hex((resp_word){hex, PROOF_HEX - 1}, back));
    static const char wrong[] = {'g', 'A', '/', ':', '`', ' ', '\0'};
    for (size_t i = 0; i < sizeof wrong; i++) {
        proof_to_hex(bytes, hex);
        hex[i * 9] = wrong[i];
        assert_false(proof_from_hex((resp_word){hex, PROOF_HEX}, back));
    }
    assert_true(proof_nonce(back));
    assert_false(proof_same(bytes, back)); /* 2^-256 */
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_known, NULL, "known proofs");
    suite_add(&s, test_hex, NULL, "digits");
    return suite_run(&s, "proof");
}
