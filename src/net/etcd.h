/*
 * Asks an etcd cluster over HTTP: libcurl on a libuv loop, nothing blocks. Several requests at a
 * time; each is answered once, if only by "nobody knows". Of several addresses one is used until it
 * fails, then the next. From time to time etcd is asked for nothing, to know whether it is there.
 */
#ifndef BATON_NET_ETCD_H
#define BATON_NET_ETCD_H

#include "etcd_txn.h"
#include "etcd_urls.h"

#include <uv.h>

enum {
    ETCD_MOST_KEY = 1024,
    ETCD_MOST_AT_ONCE = 16, /* requests */
};

typedef struct etcd etcd;

/*
 * What came of a request of `who`: an answer, with the decision as its value if it is one, whoever
 * has proposed it; or NULL: nobody knows whether it was carried out.
 */
typedef void etcd_told(void *context, void *who, uint64_t epoch, const etcd_answer *a);

/* NULL if there is no memory. */
etcd *etcd_open(uv_loop_t *loop, const etcd_urls *urls, etcd_told *told, void *context);
/* Whether etcd_propose may be called. If not, it may later: something is under way, or it rests. */
bool etcd_is_ready(const etcd *e);
/*
 * Proposes the value for the end of that epoch of the lock that has this key. `who` is told what
 * came of it, but not before this returns, nor after etcd_close. False if there is no memory.
 */
bool etcd_propose(etcd *e, void *who, etcd_bytes key, uint64_t epoch, etcd_bytes value);
/* Whether it has answered when it was last asked. */
bool etcd_is_reached(const etcd *e);
/* The loop must run once more before etcd_free. */
void etcd_close(etcd *e);
void etcd_free(etcd *e);

#endif
