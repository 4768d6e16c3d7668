/* See etcd_curl.h. */
#include "etcd_curl.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

enum { MAX_UNACKNOWLEDGED = 3000 }; /* ms, by the host of etcd: it is gone, and not only slow */

/* TCP says soon whether somebody is there; how long an answer takes is another matter. */
static int set_limits(void *context, curl_socket_t socket, curlsocktype purpose)
{
    unsigned limit = MAX_UNACKNOWLEDGED;
    (void)context;
    (void)purpose;
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
    return CURL_SOCKOPT_OK;
}

/* The default of libcurl stays: a certificate must be good, and be that of the host. */
static void set_trust(CURL *curl, const etcd_settings *settings)
{
    if (settings->ca != NULL) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, settings->ca);
        curl_easy_setopt(curl, CURLOPT_CAPATH, NULL); /* nobody else */
    }
    if (settings->cert != NULL) {
        curl_easy_setopt(curl, CURLOPT_SSLCERT, settings->cert);
        curl_easy_setopt(curl, CURLOPT_SSLKEY, settings->key);
        curl_easy_setopt(curl, CURLOPT_KEYPASSWD, ""); /* else OpenSSL asks the terminal for it */
    }
    /* Else a file that was replaced counts a day later, or not for who was trusted before. */
    curl_easy_setopt(curl, CURLOPT_SSL_SESSIONID_CACHE, 0L);
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(curl, CURLOPT_CA_CACHE_TIMEOUT, 0L);
#endif
}

CURL *etcd_curl(const etcd_settings *settings)
{
    CURL *curl = curl_easy_init();
    if (curl == NULL)
        return NULL;
    curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, set_limits);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, 1L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* whatever the environment says */
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    set_trust(curl, settings);
    return curl;
}
