/* Addresses of etcd, as `--consensus etcd=...` lists them. */
#ifndef BATON_NET_ETCD_URLS_H
#define BATON_NET_ETCD_URLS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ETCD_MOST_URLS = 9,
    ETCD_MOST_URL = 300,
    ETCD_URLS_COMPLAINT = 160,
};

/* Where etcd is: http://HOST:PORT or https://HOST:PORT, with commas between. */
typedef struct etcd_urls {
    uint32_t count;
    char url[ETCD_MOST_URLS][ETCD_MOST_URL + 1];
} etcd_urls;

/* False, and what is wrong with it in `words`. */
bool etcd_urls_parse(etcd_urls *u, const char *list, char words[ETCD_URLS_COMPLAINT]);

#endif
