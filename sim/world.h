/*
 * The world of wdme: a register, its clients, the processes that use them, and a network between.
 * The automata are the shipped ones; everything else here is virtual. A world is plain bytes: it
 * can be copied, compared and kept.
 *
 * Messages between a client and the register may overtake each other. A connection may be cut: what
 * was on its way to the client is gone, what was on its way to the register may still arrive, until
 * the register learns that the connection is gone. The client may connect anew before that; the
 * register then knows it as another member.
 */
#ifndef BATON_SIM_WORLD_H
#define BATON_SIM_WORLD_H

#include "searchable.h"
#include "wdme.h"

enum { MEMBERS = 2 * MAX_CLIENTS };

/* A message on its way; of a cut connection, or that it is gone. */
typedef struct letter {
    wdme_message message;
    uint8_t member;
    bool to_register;
    bool gone; /* not a message: the register learns that the connection is gone */
} letter;

/* A process and its client. */
typedef struct person {
    wdme_client client;
    uint16_t tries, locks; /* that it may still make */
    bool connected;
    bool second;        /* it is the second of its two members that is connected */
    bool believes;      /* in the critical section, as far as it knows */
    bool doubtful;      /* and the register has already given that generation up */
    uint64_t token;     /* of that section, or of its last one */
    uint64_t told_lost; /* last generation that this connection has heard to be lost */
    uint64_t failed_in; /* last generation in which a try of this connection failed, as sent */
} person;

typedef struct world {
    wdme_register reg;
    wdme_member member[MEMBERS];
    person person[MAX_CLIENTS];
    uint64_t next_generation;
    uint64_t last_token; /* of all sections so far */
    letter letter[MAX_LETTERS];
    uint32_t letters;
    bool polls;                              /* clients send every try */
    uint8_t cancels, cuts, leases, restarts; /* that may still happen */
    const char *wrong;                       /* what is broken; NULL if nothing is */
    counts counts;
} world;

/* As model.h says. */
size_t world_pack(const void *at, const limits *of, uint8_t *bytes);
void world_unpack(const uint8_t *bytes, const limits *of, void *at);

extern const model corrected;
extern const model polling;

#endif
