/*
 * Where etcd is, as people write it; every complaint names the address. Stricter than a parser of
 * all that is a URL: what such a one forgives (http:///a is a, http://1 is 0.0.0.1) is a mistake in
 * a file of settings.
 */
#include "etcd_urls.h"
#include "number.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"
#define HEX     DIGITS "abcdefABCDEF"

static bool complain_of(char words[ETCD_URLS_COMPLAINT], const char *url, size_t length,
                        const char *what)
{
    snprintf(words, ETCD_URLS_COMPLAINT, "'%.*s' is no address of etcd: %s",
             length < 80 ? (int)length : 80, url, what);
    return false;
}

/* What stands behind http:// or https://; NULL if neither is there. */
static const char *skip_scheme(const char *text, bool *tls)
{
    *tls = strncasecmp(text, "https://", 8) == 0;
    if (*tls)
        return text + 8;
    return strncasecmp(text, "http://", 7) == 0 ? text + 7 : NULL;
}

/* Names may have an underscore: those of containers do. */
static bool is_name(const char *host)
{
    return host[0] != '\0' && host[0] != '.' && strstr(host, "..") == NULL &&
           host[strspn(host, LETTERS DIGITS "-._")] == '\0';
}

/* A last part of digits makes it an address, and no name. */
static bool is_number(const char *host)
{
    const char *dot = strrchr(host, '.');
    const char *last = dot != NULL ? dot + 1 : host;
    return *last != '\0' && last[strspn(last, DIGITS)] == '\0';
}

/* Whether it seems to be an address of IPv6. */
static bool is_bare(const char *text)
{
    return text[strspn(text, HEX ":.")] == '\0' && strchr(text, ':') != strrchr(text, ':');
}

/* Takes HOST or HOST:PORT apart; what is wrong with it, or NULL. */
static const char *take_host(etcd_url *u, const char *text)
{
    static const char brackets[] = "write an address of IPv6 in square brackets";
    union {
        struct in_addr of4;
        struct in6_addr of6;
    } address;
    bool bracketed = text[0] == '[';
    size_t length = strcspn(text, bracketed ? "]" : ":");
    if (bracketed && text[length] == '\0')
        return brackets;
    const char *rest = text + length + bracketed;
    snprintf(u->host, sizeof u->host, "%.*s", (int)length - bracketed, text + bracketed);
    if (bracketed ? inet_pton(AF_INET6, u->host, &address.of6) != 1 : is_bare(text))
        return brackets;
    u->named = !bracketed && !is_number(u->host);
    if (u->named ? !is_name(u->host) : !bracketed && inet_pton(AF_INET, u->host, &address.of4) != 1)
        return "a name or an address of a host is missing";
    uint64_t port = u->tls ? 443 : 80;
    if (*rest != '\0' && (*rest != ':' || !parse_number(rest + 1, 1, UINT16_MAX, &port)))
        return "its port is a number from 1 to 65535";
    u->port = (uint16_t)port;
    return NULL;
}

/* What is wrong with u->text, or NULL. */
static const char *take_apart(etcd_url *u)
{
    char host[ETCD_MAX_URL + 1];
    const char *after = skip_scheme(u->text, &u->tls);
    if (after == NULL)
        return "write http://HOST:PORT or https://HOST:PORT";
    size_t length = strcspn(after, "/?#");
    if (memchr(after, '@', length) != NULL)
        return "users and passwords are not supported";
    memcpy(host, after, length);
    host[length] = '\0';
    const char *wrong = take_host(u, host);
    if (wrong == NULL && after[length] != '\0' && strcmp(after + length, "/") != 0)
        return "nothing may stand behind its port";
    memcpy(u->text, u->tls ? "https" : "http", u->tls ? 5 : 4);
    u->text[(size_t)(after - u->text) + length] = '\0';
    return wrong;
}

bool etcd_urls_parse(etcd_urls *u, const char *list, char words[ETCD_URLS_COMPLAINT])
{
    u->count = 0;
    for (const char *at = list; at != NULL;) {
        size_t length = strcspn(at, ",");
        if (u->count == ETCD_MAX_URLS) {
            snprintf(words, ETCD_URLS_COMPLAINT, "no more than %d addresses of etcd",
                     ETCD_MAX_URLS);
            return false;
        }
        etcd_url *url = &u->url[u->count++];
        if (length > ETCD_MAX_URL)
            return complain_of(words, at, length, "it is too long");
        memcpy(url->text, at, length);
        url->text[length] = '\0';
        const char *wrong = take_apart(url);
        if (wrong != NULL)
            return complain_of(words, at, length, wrong);
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return true;
}
