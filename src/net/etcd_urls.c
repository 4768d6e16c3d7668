/* Where etcd is, as people write it; every complaint names the address. */
#include "etcd_urls.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

static bool complain_of(char words[ETCD_URLS_COMPLAINT], const char *url, const char *what)
{
    snprintf(words, ETCD_URLS_COMPLAINT, "'%.80s' is no address of etcd: %s", url, what);
    return false;
}

static bool has_part(CURLU *parsed, CURLUPart part, const char *but)
{
    char *text = NULL;
    bool has = curl_url_get(parsed, part, &text, 0) == CURLUE_OK && strcmp(text, but) != 0;
    curl_free(text);
    return has;
}

static bool is_http(CURLU *parsed)
{
    return !has_part(parsed, CURLUPART_SCHEME, "http") ||
           !has_part(parsed, CURLUPART_SCHEME, "https");
}

static bool check_url(const char *url, char words[ETCD_URLS_COMPLAINT])
{
    CURLU *parsed = curl_url();
    bool fine = false;
    if (parsed == NULL)
        complain_of(words, url, "out of memory");
    else if (strstr(url, "://") == NULL ||
             curl_url_set(parsed, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
             !is_http(parsed))
        complain_of(words, url, "write http://HOST:PORT or https://HOST:PORT");
    else if (has_part(parsed, CURLUPART_USER, "") || has_part(parsed, CURLUPART_PASSWORD, ""))
        complain_of(words, url, "users and passwords are not supported");
    else if (has_part(parsed, CURLUPART_PATH, "/") || has_part(parsed, CURLUPART_QUERY, "") ||
             has_part(parsed, CURLUPART_FRAGMENT, ""))
        complain_of(words, url, "nothing may stand behind its port");
    else
        fine = true;
    curl_url_cleanup(parsed);
    return fine;
}

bool etcd_urls_parse(etcd_urls *u, const char *list, char words[ETCD_URLS_COMPLAINT])
{
    u->count = 0;
    for (const char *at = list; at != NULL;) {
        size_t length = strcspn(at, ",");
        if (u->count == ETCD_MOST_URLS) {
            snprintf(words, ETCD_URLS_COMPLAINT, "no more than %d addresses of etcd",
                     ETCD_MOST_URLS);
            return false;
        }
        char *url = u->url[u->count++];
        if (length > ETCD_MOST_URL)
            return complain_of(words, at, "it is too long");
        memcpy(url, at, length);
        url[length] = '\0';
        if (!check_url(url, words))
            return false;
        if (url[length - 1] == '/')
            url[length - 1] = '\0';
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return true;
}
