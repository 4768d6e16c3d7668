/*
 * The walk over the fields of a message between nodes, from or to words. Shared by peer_walk.c and
 * peer_wire.c only.
 */
#ifndef BATON_CLUSTER_PEER_WALK_H
#define BATON_CLUSTER_PEER_WALK_H

#include "peer_wire.h"

enum {
    WALK_MAX_NUMBERS = 80,      /* of a message */
    WALK_MAX_NUMBER_BYTES = 21, /* digits and a space */
    WALK_MAX_BLOBS = PEER_MAX_OPS + 1,
};

/* A walk over a message. `reads` from the words of a command, or else writes to them. */
typedef struct walk {
    bool reads;
    uint8_t nodes;
    const char *complaint; /* the first one; from then on nothing happens */
    const char *at, *end;  /* what is left of the word of numbers, if it is read */
    char *to;              /* behind the last number, if they are written */
    uint32_t blobs;        /* so far */
    resp_word blob[WALK_MAX_BLOBS];
    uint32_t max_blobs; /* those that there are, if they are read */
} walk;

/*
 * All fields of m->kind. If it reads, operations are made, and a snapshot goes to `in`; what was
 * made stays in the message even if there is a complaint in the end.
 */
void walk_message(walk *w, wme_message *m, peer_snapshot *in);
void walk_complain(walk *w, const char *complaint);

#endif
