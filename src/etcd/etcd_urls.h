/* Addresses of etcd, as `--consensus etcd=...` lists them. */
#ifndef BATON_ETCD_ETCD_URLS_H
#define BATON_ETCD_ETCD_URLS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ETCD_MAX_URLS = 9,
    ETCD_MAX_URL = 300,
    ETCD_URLS_COMPLAINT = 200,
};

/* http://HOST[:PORT] or https://HOST[:PORT] */
typedef struct etcd_url {
    char text[ETCD_MAX_URL + 1]; /* without a slash at its end */
    char host[ETCD_MAX_URL + 1]; /* a name, or an address; if that is of IPv6, without brackets */
    uint16_t port;
    bool named; /* the host has a name, not a number */
    bool tls;
} etcd_url;

typedef struct etcd_urls {
    uint32_t count;
    etcd_url url[ETCD_MAX_URLS];
} etcd_urls;

/* Of a list with commas between. False, and what is wrong with it in `words`. */
bool etcd_urls_parse(etcd_urls *u, const char *list, char words[ETCD_URLS_COMPLAINT]);

#endif
