/* See tls.h. Memory BIOs are what OpenSSL takes for the network. */
#include "tls.h"

#include <assert.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tls_party {
    SSL_CTX *context;
    tls_find_key *find_key;
    void *finds_in;
};

struct tls_stream {
    const tls_party *of;
    SSL *ssl;
    BIO *from_network, *to_network; /* the SSL's */
    bool by_key;                    /* dialed so */
    bool failed, wrong_key;
    char identity[TLS_MAX_IDENTITY + 1]; /* which key was used; "" none */
    uint8_t key[TLS_KEY_BYTES];
    char why[COMPLAINT];
};

static tls_stream *stream_of(const SSL *ssl)
{
    return SSL_get_app_data(ssl);
}

/* ---- keys ---- */

/* As OpenSSL wants a key that both sides know: a session of no earlier connection. */
static SSL_SESSION *session_of_key(SSL *ssl, const uint8_t key[TLS_KEY_BYTES])
{
    static const uint8_t aes_128_gcm_sha256[] = {0x13, 0x01};
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
    SSL_SESSION *made = SSL_SESSION_new();
    if (made != NULL && cipher != NULL && SSL_SESSION_set1_master_key(made, key, TLS_KEY_BYTES) &&
        SSL_SESSION_set_cipher(made, cipher) &&
        SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION))
        return made;
    SSL_SESSION_free(made);
    return NULL;
}

/* For who dials. */
static int use_key(SSL *ssl, const EVP_MD *digest, const unsigned char **identity, size_t *bytes,
                   SSL_SESSION **session)
{
    tls_stream *s = stream_of(ssl);
    (void)digest; /* asked again for the digest of the cipher: it is that of the session */
    *session = NULL;
    if (!s->by_key)
        return 1;
    *session = session_of_key(ssl, s->key);
    *identity = (const unsigned char *)s->identity;
    *bytes = strlen(s->identity);
    return *session != NULL;
}

/* For who listens. A stranger is let go on without a key, which then is not enough. */
static int find_key(SSL *ssl, const unsigned char *identity, size_t bytes, SSL_SESSION **session)
{
    tls_stream *s = stream_of(ssl);
    uint8_t key[TLS_KEY_BYTES];
    *session = NULL;
    if (bytes == 0 || bytes > TLS_MAX_IDENTITY || memchr(identity, '\0', bytes) != NULL)
        return 1;
    memcpy(s->identity, identity, bytes);
    s->identity[bytes] = '\0';
    if (s->of->find_key(s->of->finds_in, s->identity, key))
        *session = session_of_key(ssl, key);
    else
        s->identity[0] = '\0';
    OPENSSL_cleanse(key, sizeof key);
    return 1;
}

/* ---- parties ---- */

static bool complain(char complaint[COMPLAINT], const char *what, const char *file)
{
    unsigned long error = ERR_peek_error(); /* the first: others only pass it on */
    const char *why = ERR_GET_LIB(error) == ERR_LIB_SYS ? strerror(ERR_GET_REASON(error))
                                                        : ERR_reason_error_string(error);
    snprintf(complaint, COMPLAINT, "%s %s: %s", what, file, why != NULL ? why : "no reason given");
    ERR_clear_error();
    return false;
}

static bool use_files(SSL_CTX *c, const tls_settings *s, char complaint[COMPLAINT])
{
    if (s->cert != NULL && SSL_CTX_use_certificate_chain_file(c, s->cert) != 1)
        return complain(complaint, "cannot use the certificate", s->cert);
    if (s->key != NULL && SSL_CTX_use_PrivateKey_file(c, s->key, SSL_FILETYPE_PEM) != 1)
        return complain(complaint, "cannot use the key", s->key);
    if (s->key != NULL && SSL_CTX_check_private_key(c) != 1)
        return complain(complaint, "that is the key of another certificate:", s->key);
    if (s->ca != NULL && SSL_CTX_load_verify_locations(c, s->ca, NULL) != 1)
        return complain(complaint, "cannot use the authority", s->ca);
    if (s->ca != NULL && s->asks_for_cert) /* so that who has several knows which to show */
        SSL_CTX_set_client_CA_list(c, SSL_load_client_CA_file(s->ca));
    if (s->ca == NULL && s->find_key == NULL)
        SSL_CTX_set_default_verify_paths(c); /* whom this system trusts */
    return true;
}

/* No passphrase is asked for at a terminal that nobody looks at. */
static int no_passphrase(char *into, int room, int writes, void *context)
{
    (void)into, (void)room, (void)writes, (void)context;
    return 0;
}

static bool prepare(tls_party *p, const tls_settings *s, char complaint[COMPLAINT])
{
    SSL_CTX *c = p->context;
    SSL_CTX_set_min_proto_version(c, s->takes_tls12 ? TLS1_2_VERSION : TLS1_3_VERSION);
    SSL_CTX_set_options(c, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(c, 0); /* whoever comes again proves again who it is */
    SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_default_passwd_cb(c, no_passphrase);
    SSL_CTX_set_psk_use_session_callback(c, use_key);
    if (s->find_key != NULL)
        SSL_CTX_set_psk_find_session_callback(c, find_key);
    return use_files(c, s, complaint);
}

tls_party *tls_open(const tls_settings *settings, char complaint[COMPLAINT])
{
    tls_party *p = calloc(1, sizeof *p);
    if (p != NULL)
        p->context = SSL_CTX_new(TLS_method());
    if (p == NULL || p->context == NULL) {
        snprintf(complaint, COMPLAINT, "out of memory");
        tls_close(p);
        return NULL;
    }
    p->find_key = settings->find_key;
    p->finds_in = settings->context;
    int accepts = settings->asks_for_cert ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                                          : SSL_VERIFY_NONE;
    SSL_CTX_set_verify(p->context, accepts, NULL); /* who dials: see dial */
    if (prepare(p, settings, complaint))
        return p;
    tls_close(p);
    return NULL;
}

void tls_close(tls_party *p)
{
    if (p == NULL)
        return;
    SSL_CTX_free(p->context);
    free(p);
}

/* ---- streams: begin and end ---- */

static tls_stream *new_stream(tls_party *p)
{
    tls_stream *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->of = p;
    s->ssl = SSL_new(p->context);
    s->from_network = BIO_new(BIO_s_mem());
    s->to_network = BIO_new(BIO_s_mem());
    if (s->ssl == NULL || s->from_network == NULL || s->to_network == NULL) {
        BIO_free(s->from_network);
        BIO_free(s->to_network);
        SSL_free(s->ssl);
        free(s);
        return NULL;
    }
    SSL_set_bio(s->ssl, s->from_network, s->to_network); /* its own, from now on */
    SSL_set_app_data(s->ssl, s);
    return s;
}

tls_stream *tls_accept(tls_party *p)
{
    tls_stream *s = new_stream(p);
    if (s != NULL)
        SSL_set_accept_state(s->ssl);
    return s;
}

/* The first bytes are to be sent at once. What the server shows is looked at, always. */
static tls_stream *dial(tls_stream *s)
{
    SSL_set_verify(s->ssl, SSL_VERIFY_PEER, NULL);
    SSL_set_connect_state(s->ssl);
    SSL_set_hostflags(s->ssl,
                      X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_do_handshake(s->ssl); /* waits for an answer */
    ERR_clear_error();
    return s;
}

tls_stream *tls_dial(tls_party *p, const char *name)
{
    tls_stream *s = new_stream(p);
    if (s == NULL)
        return NULL;
    X509_VERIFY_PARAM *param = SSL_get0_param(s->ssl);
    bool is_number = X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1;
    ERR_clear_error();
    if (!is_number &&
        (SSL_set1_host(s->ssl, name) != 1 || SSL_set_tlsext_host_name(s->ssl, name) != 1)) {
        tls_hang_up(s);
        return NULL;
    }
    return dial(s);
}

tls_stream *tls_dial_by_key(tls_party *p, const char *identity, const uint8_t key[TLS_KEY_BYTES])
{
    tls_stream *s = new_stream(p);
    if (s == NULL)
        return NULL;
    assert(strlen(identity) <= TLS_MAX_IDENTITY);
    s->by_key = true;
    memcpy(s->identity, identity, strlen(identity) + 1);
    memcpy(s->key, key, TLS_KEY_BYTES);
    SSL_set_min_proto_version(s->ssl, TLS1_3_VERSION);
    SSL_set_ciphersuites(s->ssl, "TLS_AES_128_GCM_SHA256"); /* with another, the key is not used */
    return dial(s);
}

void tls_hang_up(tls_stream *s)
{
    if (s == NULL)
        return;
    SSL_free(s->ssl);
    OPENSSL_cleanse(s->key, sizeof s->key);
    free(s);
}

/* ---- streams: what goes wrong ---- */

static void say_why(tls_stream *s, const char *words)
{
    if (!s->failed)
        snprintf(s->why, sizeof s->why, "%s", words);
    s->failed = true;
    ERR_clear_error();
}

/* The words of OpenSSL, but for what people meet most. */
static const char *reason(const tls_stream *s)
{
    unsigned long error = ERR_peek_error();
    if (ERR_GET_LIB(error) != ERR_LIB_SSL)
        return ERR_reason_error_string(error) != NULL ? ERR_reason_error_string(error)
                                                      : "TLS ends without a reason";
    long verified = SSL_get_verify_result(s->ssl);
    const char *said = ERR_reason_error_string(error);
    static const char different_secrets[] = "the two sides have different secrets";
    switch (ERR_GET_REASON(error)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
        return "the other side does not speak TLS";
    case SSL_R_BINDER_DOES_NOT_VERIFY:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
        return different_secrets;
    case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER: /* in these words OpenSSL says it to who dials */
        return s->by_key ? different_secrets : said;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return X509_verify_cert_error_string(verified);
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return "the other side shows no certificate";
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
    case SSL_R_SSLV3_ALERT_BAD_RECORD_MAC: /* that is what the other side says */
        return "bytes were changed on their way";
    default:
        return said != NULL ? said : "TLS ends without a reason";
    }
}

/* After a call of OpenSSL's that has not done all it should; true if it only wants more bytes. */
static bool wants_more(tls_stream *s, int result)
{
    switch (SSL_get_error(s->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        ERR_clear_error();
        return true;
    case SSL_ERROR_ZERO_RETURN:
        say_why(s, "closed");
        return false;
    default:
        s->wrong_key = ERR_GET_REASON(ERR_peek_error()) == SSL_R_BINDER_DOES_NOT_VERIFY;
        say_why(s, reason(s));
        return false;
    }
}

/* ---- streams: bytes ---- */

bool tls_feed(tls_stream *s, const void *bytes, size_t count)
{
    size_t taken;
    if (s->failed || count == 0)
        return !s->failed;
    if (BIO_write_ex(s->from_network, bytes, count, &taken) != 1 || taken != count)
        say_why(s, "out of memory");
    return !s->failed;
}

size_t tls_read(tls_stream *s, void *into, size_t room)
{
    size_t got = 0;
    if (s->failed)
        return 0;
    ERR_clear_error(); /* or what others have left there is taken for a failure of this stream */
    int result = SSL_read_ex(s->ssl, into, room, &got);
    if (result != 1 && !wants_more(s, result))
        return 0;
    if (s->by_key && SSL_is_init_finished(s->ssl) && SSL_session_reused(s->ssl) != 1) {
        say_why(s, "the other side has a certificate, and does not know the secret");
        return 0;
    }
    return result == 1 ? got : 0;
}

bool tls_write(tls_stream *s, const void *bytes, size_t count)
{
    size_t done = 0;
    if (s->failed || !tls_is_ready(s))
        return false;
    ERR_clear_error();
    int result = count > 0 ? SSL_write_ex(s->ssl, bytes, count, &done) : 1;
    if (result != 1 && wants_more(s, result))
        say_why(s, "out of memory"); /* a memory BIO takes all there is */
    return !s->failed;
}

size_t tls_unsent(const tls_stream *s, const char **at)
{
    char *bytes = NULL;
    long count = BIO_get_mem_data(s->to_network, &bytes);
    *at = bytes;
    return count > 0 ? (size_t)count : 0;
}

/* Gives back what something large needed. */
static void shrink(tls_stream *s)
{
    enum { KEPT = 65536 };
    BUF_MEM *memory = NULL;
    BIO_get_mem_ptr(s->to_network, &memory);
    if (BIO_ctrl_pending(s->to_network) > 0 || memory == NULL || memory->max <= KEPT)
        return;
    BIO *fresh = BIO_new(BIO_s_mem());
    if (fresh == NULL)
        return;
    SSL_set0_wbio(s->ssl, fresh);
    s->to_network = fresh;
}

void tls_sent(tls_stream *s, size_t count)
{
    char scratch[4096];
    for (int taken; count > 0; count -= (size_t)taken) { /* BIO_reset would clear all of it */
        size_t now = count < sizeof scratch ? count : sizeof scratch;
        taken = BIO_read(s->to_network, scratch, (int)now);
        assert(taken > 0);
    }
    shrink(s);
}

/* ---- streams: who is there ---- */

bool tls_is_ready(const tls_stream *s)
{
    return !s->failed && SSL_is_init_finished(s->ssl) &&
           (!s->by_key || SSL_session_reused(s->ssl) == 1);
}

bool tls_failed(const tls_stream *s)
{
    return s->failed;
}

const char *tls_why(const tls_stream *s)
{
    return s->why;
}

bool tls_was_wrong_key(const tls_stream *s)
{
    return s->wrong_key;
}

const char *tls_identity(const tls_stream *s)
{
    return SSL_session_reused(s->ssl) == 1 ? s->identity : "";
}

bool tls_is_named(const tls_stream *s, const char *name)
{
    X509 *shown = SSL_get0_peer_certificate(s->ssl);
    const unsigned strictly = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS;
    return shown != NULL && X509_check_host(shown, name, 0, strictly, NULL) == 1;
}
