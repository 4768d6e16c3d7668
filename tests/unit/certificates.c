/* See certificates.h. */
#include "certificates.h"
#include "unit.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char scratch[] = "/tmp/baton-certificates.XXXXXX";

typedef struct authority {
    EVP_PKEY *key;
    X509 *cert;
} authority;

const char *certificates_path(const char *name, const char *ending)
{
    static char path[8][64];
    static int next;
    char *made = path[next++ % 8];
    snprintf(made, sizeof path[0], "%s/%s.%s", scratch, name, ending);
    return made;
}

static void write_pem(const char *name, X509 *cert, EVP_PKEY *key)
{
    FILE *file = fopen(certificates_path(name, "crt"), "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, cert), 1);
    fclose(file);
    file = fopen(certificates_path(name, "key"), "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
}

static X509 *new_cert(EVP_PKEY *key, const char *name, bool is_authority)
{
    X509 *cert = X509_new();
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints,
                                                    is_authority ? "CA:TRUE" : "CA:FALSE");
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
    return cert;
}

static authority make_authority(const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = new_cert(key, name, true);
    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    write_pem(name, cert, key);
    return (authority){key, cert};
}

/* NAME.crt and NAME.key; `names` as openssl writes them, or NULL: none, but the subject is a. */
static void issue(const authority *by, const char *name, const char *names)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = new_cert(key, names != NULL ? name : "a", false);
    if (names != NULL) {
        X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
        X509_add_ext(cert, extension, -1);
        X509_EXTENSION_free(extension);
    }
    X509_set_issuer_name(cert, X509_get_subject_name(by->cert));
    assert_true(X509_sign(cert, by->key, EVP_sha256()) > 0);
    write_pem(name, cert, key);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void forget(authority *a)
{
    X509_free(a->cert);
    EVP_PKEY_free(a->key);
}

void certificates_make(void)
{
    assert_non_null(mkdtemp(scratch));
    authority ours = make_authority("ours");
    authority theirs = make_authority("theirs");
    issue(&ours, "a", "DNS:a");
    issue(&ours, "b", "DNS:b,IP:127.0.0.1");
    issue(&ours, "bare", NULL);
    issue(&theirs, "fake", "DNS:b");
    forget(&ours);
    forget(&theirs);
}

void certificates_remove(void)
{
    static const char *const names[] = {"ours", "theirs", "a", "b", "bare", "fake"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unlink(certificates_path(names[i], "crt"));
        unlink(certificates_path(names[i], "key"));
    }
    rmdir(scratch);
}
