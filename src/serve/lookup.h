/*
 * The addresses of a host, looked up while the loop goes on. The resolver is asked by a thread, one
 * for each name at most, however long it takes. The last good answer is kept, and is given again
 * when the resolver fails or takes its time: a host that was found once is found while DNS is away.
 */
#ifndef BATON_SERVE_LOOKUP_H
#define BATON_SERVE_LOOKUP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum {
    LOOKUP_MAX_ADDRESSES = 8, /* more are not used */
    LOOKUP_PATIENCE = 1000,   /* milliseconds */
};

typedef struct lookup_answer {
    uint32_t count; /* 0: none is known */
    struct sockaddr_storage address[LOOKUP_MAX_ADDRESSES];
} lookup_answer;

/* `why` it is an old answer, or none; NULL if the resolver has just given it. */
typedef void lookup_told(void *context, const lookup_answer *a, const char *why);

typedef struct lookup {
    const char *host; /* a name or an address; not copied. NULL: it is not open */
    uint16_t port;
    lookup_told *told;
    void *context;
    bool numeric;
    bool waits; /* somebody does, to be told */
    lookup_answer last;
    struct lookup_job *job; /* what a thread does; NULL: nothing */
    uv_async_t woken;       /* by the thread */
    uv_timer_t patience;
} lookup;

/* False if the loop has no descriptors left; then there is nothing to close. */
bool lookup_open(lookup *l, uv_loop_t *loop, const char *host, uint16_t port, lookup_told *told,
                 void *context);
/* `told` is called, once for all who ask meanwhile: not before this returns. */
void lookup_ask(lookup *l);
/* Nobody is told any more. The loop must run once more before l is freed. */
void lookup_close(lookup *l);

#endif
