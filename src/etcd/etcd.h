/*
 * Asks an etcd cluster over HTTP: libcurl on a libuv loop, nothing blocks. Several requests at a
 * time; each is answered once, if only by "nobody knows". Of several addresses one is used until it
 * fails, then the next. From time to time etcd is asked for nothing, to know whether it is there.
 */
#ifndef BATON_ETCD_ETCD_H
#define BATON_ETCD_ETCD_H

#include "etcd_txn.h"
#include "etcd_urls.h"

#include <uv.h>

enum {
    ETCD_MAX_KEY = 1024,
    ETCD_MAX_AT_ONCE = 16, /* requests */
};

typedef struct etcd etcd;

/* Where it is, and who it must be. Files are PEM, and read again for each connection. */
typedef struct etcd_settings {
    etcd_urls urls;         /* none: there is no etcd */
    const char *ca;         /* file: only what these have signed is trusted; NULL: as the system */
    const char *cert, *key; /* files: what this side shows, and its key; NULL: nothing */
} etcd_settings;

/*
 * What came of a request of `who`: an answer, with the decision as its value if it is one, whoever
 * has proposed it; or NULL: nobody knows whether it was carried out.
 */
typedef void etcd_told(void *context, void *who, uint64_t epoch, const etcd_answer *a);

/* NULL if there is no memory. The files of the settings are not copied. */
etcd *etcd_open(uv_loop_t *loop, const etcd_settings *settings, etcd_told *told, void *context);
/* Whether etcd_propose may be called. If not, it may later: something is under way, or it rests. */
bool etcd_is_ready(const etcd *e);
/*
 * Proposes the value for the end of that epoch of the lock that has this key. `who` is told what
 * came of it, but not before this returns, nor after etcd_close. False if there is no memory.
 */
bool etcd_propose(etcd *e, void *who, etcd_bytes key, uint64_t epoch, etcd_bytes value);
/* Whether it would have taken a write when it was last asked. */
bool etcd_is_reached(const etcd *e);
/* The loop must run once more before etcd_free. */
void etcd_close(etcd *e);
void etcd_free(etcd *e);

#endif
