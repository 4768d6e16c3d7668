/*
 * Where etcd is: which of its addresses is in use, whether anybody is there, how long an answer may
 * take, and what the names of hosts mean. Names are looked up here: libcurl would have a thread do
 * that for each request, and with DNS away there would be hundreds.
 */
#ifndef BATON_ETCD_ETCD_PLACE_H
#define BATON_ETCD_ETCD_PLACE_H

#include "etcd_urls.h"
#include "lookup.h"

enum {
    PLACE_HOSTS = ETCD_MAX_URL + 16 + LOOKUP_MAX_ADDRESSES * (INET6_ADDRSTRLEN + 3),
    PLACE_REASON = 200,
    PLACE_NOWHERE = ETCD_MAX_URLS,
};

struct etcd_place;

/* An address whose host has a name. */
typedef struct place_name {
    struct etcd_place *of;
    lookup name;
    char hosts[PLACE_HOSTS]; /* HOST:PORT:ADDRESS,... for libcurl; "": not found yet */
} place_name;

typedef struct etcd_place {
    uv_loop_t *loop;
    etcd_urls urls;
    uint32_t url; /* in use until it fails, then the next */
    enum { PLACE_UNKNOWN, PLACE_REACHED, PLACE_LOST } state;
    uint32_t failures;                      /* since etcd was last reached */
    char said[ETCD_MAX_URLS][PLACE_REASON]; /* why it failed, as it was last complained of */
    uint32_t scouted;                       /* the address that was tried last beside that in use */
    uint64_t took;                          /* by the last answer */
    uint64_t rests_until;
    uv_timer_t move;
    place_name named[ETCD_MAX_URLS];
} etcd_place;

/* False: out of descriptors, and what was opened is to be closed. */
bool place_open(etcd_place *p, uv_loop_t *loop, const etcd_urls *urls);
/* Whether the address in use can be used now. */
bool place_is_found(const etcd_place *p);
/* Whether it rests, since all addresses have failed. */
bool place_rests(const etcd_place *p);
/* In milliseconds: for a connection, and for an answer. */
uint64_t place_connecting(const etcd_place *p);
uint64_t place_patience(const etcd_place *p);
/*
 * Another address than the one in use, which may be silent for a minute, while etcd is lost: each
 * in its turn. PLACE_NOWHERE: etcd is not lost, or that has no address now.
 */
uint32_t place_scout(etcd_place *p);
/* There was an answer at that address, after so long. If etcd was lost, it is used from now on. */
void place_reached(etcd_place *p, uint32_t url, uint64_t took);
/* There was none. */
void place_lost(etcd_place *p, uint32_t url, const char *why);
/* The loop must run once more before p is freed. */
void place_close(etcd_place *p);

#endif
