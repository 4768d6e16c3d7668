/*
 * The walk over the fields of a message between nodes, from or to words. Shared by peer_walk.c and
 * peer_wire.c only.
 */
#ifndef BATON_NET_PEER_WALK_H
#define BATON_NET_PEER_WALK_H

#include "peer_wire.h"

enum {
    WALK_MOST_NUMBERS = 80,      /* of a message */
    WALK_MOST_NUMBER_BYTES = 21, /* digits and a space */
    WALK_MOST_BLOBS = PEER_MOST_OPS + 1,
};

/* A walk over a message. `reads` from the words of a command, or else writes to them. */
typedef struct walk {
    bool reads;
    uint8_t nodes;
    const char *complaint; /* the first one; from then on nothing happens */
    const char *at, *end;  /* what is left of the word of numbers, if it is read */
    char *to;              /* behind the last number, if they are written */
    uint32_t blobs;        /* so far */
    resp_word blob[WALK_MOST_BLOBS];
    uint32_t most_blobs; /* those that there are, if they are read */
} walk;

/*
 * All fields of m->kind. If it reads, operations are made, and a snapshot goes to `in`; what was
 * made stays in the message even if there is a complaint in the end.
 */
void walk_message(walk *w, wme_message *m, peer_snapshot *in);
void walk_complain(walk *w, const char *complaint);

#endif
