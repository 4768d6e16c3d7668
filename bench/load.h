/*
 * Load on a cluster, or on one server: clients that speak the protocol over connections of their
 * own, all from one thread with one event loop, and how long their operations take.
 *
 * Closed loop: each client begins an operation when its last one is answered. Open loop: operations
 * are due at a given rate, whoever is free takes the next, and the time of each counts from when it
 * was due, so a server that stands still is not spared the operations it keeps from being sent.
 */
#ifndef BATON_BENCH_LOAD_H
#define BATON_BENCH_LOAD_H

#include "histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    LOAD_MAX_ADDRESSES = 16,
    LOAD_MAX_CLIENTS = 10000,
    LOAD_MAX_LOCKS = 10000000,
    LOAD_MAX_VALUE = 32000, /* bytes, as the protocol has it */
    LOAD_MAX_PREFIX = 200,
    LOAD_ADDRESS_BYTES = 256,
    LOAD_ERROR_KINDS = 24, /* the last one takes what does not fit */
    LOAD_ERROR_BYTES = 32,
    LOAD_COMPLAINT = 512,
};

/* What a client may do. Only `issue` keeps a lock, one of its own; the others share theirs. */
typedef enum load_kind {
    LOAD_READ,    /* READ, in no section */
    LOAD_ISSUE,   /* ISSUE, in a section that goes on all the time */
    LOAD_SECTION, /* LOCK, ISSUE, EXIT */
    LOAD_LOCK,    /* LOCK, EXIT */
    LOAD_TRY,     /* TRY, and EXIT if it is in */
    LOAD_KINDS,
} load_kind;

extern const char *const load_kind_name[LOAD_KINDS];

typedef struct load_address {
    char text[LOAD_ADDRESS_BYTES]; /* HOST:PORT, [HOST]:PORT, or the path of a Unix socket */
    struct sockaddr_storage name;  /* where somebody has answered; set by the caller */
    socklen_t bytes;
} load_address;

/* How it goes, for a line on a terminal. */
typedef struct load_progress {
    const char *doing;
    double share; /* of the time or the count, from 0 to 1 */
    double per_s; /* operations, since the last time */
    double p50_ms, p99_ms;
    uint64_t errors;
} load_progress;

typedef struct load_plan {
    load_address address[LOAD_MAX_ADDRESSES];
    uint32_t addresses;
    const char *password; /* NULL: none */
    const char *prefix;   /* of the names of all locks */
    uint32_t clients, locks;
    uint32_t least_bytes, max_bytes; /* of a value */
    uint32_t weight[LOAD_KINDS];
    bool counts;    /* INCR instead of SET */
    uint64_t rate;  /* per second; 0: closed loop */
    uint64_t ms;    /* to be measured; 0: no limit */
    uint64_t count; /* operations to be measured; 0: no limit */
    uint64_t warm_up_ms;
    void (*progress)(const load_progress *now); /* about once a second. May be NULL */
} load_plan;

/* What came out. Operations are those that were due while it was measured, unless it says other. */
typedef struct load_result {
    histogram took[LOAD_KINDS]; /* nanoseconds of those that were answered without an error */
    uint64_t refused;           /* TRYs that found somebody inside; in `took` as well */
    uint64_t begun, failed;     /* operations */
    uint64_t unsent;            /* open loop: were due, and no client was free to the end */
    uint64_t issued;            /* ISSUEs acknowledged from the beginning to the end, warm-up too */
    uint64_t in_time[LOAD_KINDS]; /* of those in `took`, answered before the end */
    double seconds;               /* that were measured */
    double processor;             /* that this process took: 1 is one processor, all the time */
    bool interrupted;
    struct load_error {
        char kind[LOAD_ERROR_BYTES];
        uint64_t count;
    } error[LOAD_ERROR_KINDS];
    uint32_t errors;
} load_result;

/* Options. False if they make no sense; then what they go to may have changed. */
bool load_take_addresses(load_plan *plan, const char *list); /* "a:1,b:2" */
bool load_take_mix(load_plan *plan, const char *mix);        /* "issue=80,read=20" or "lock" */
bool load_take_size(load_plan *plan, const char *size);      /* "64" or "16-4096" */

/*
 * Runs it, to the end or until SIGINT or SIGTERM. False if nothing could be measured; then the
 * complaint says why. Errors that come later are counted.
 */
bool load_run(const load_plan *plan, load_result *result, char complaint[LOAD_COMPLAINT]);

/* Draws time over percentile as SVG with gnuplot, a line per kind. NULL, or what went wrong. */
const char *load_plot(const load_plan *plan, const load_result *result, int file);

#endif
