/*
 * What a client knows of its lease: by src/client/watch.c, the code of the shipped client, told of
 * all that is sent and answered. Every client has one, so that the judge knows who may believe that
 * it is inside; some act on it, as the shipped client does: they renew, leave who is silent, go on
 * with a section at the same node first and then at the others, and give it up when the lease is
 * over, as it is counted here. Its times are nanoseconds.
 */
#ifndef BATON_SIM_NODE_KEEPER_H
#define BATON_SIM_NODE_KEEPER_H

#include "watch.h"

enum { KEEPER_QUESTIONS = 64 }; /* that are not answered yet */

typedef struct keeper {
    bool acts;
    line_watch watch; /* of its line */
    bool renewing;
    uint64_t sent_at[KEEPER_QUESTIONS];
    server_watch node;      /* at the other end */
    uint64_t doubts_since;  /* it was asked over another line, and has not answered; 0: not */
    uint64_t greeted_until; /* for so long it waits for who is to greet it; 0: it is greeted */
    /* the section */
    uint64_t token;  /* the newest: RESUME takes it */
    bool adrift;     /* its line is lost, and it is held still; that was */
    line_watch lost; /* this one, over which */
    uint64_t heard;  /* it was last heard of its node then */
    course way;      /* past all nodes, to go on with it */
    uint32_t stamp;  /* of the next look */
} keeper;

#endif
