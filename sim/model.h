/*
 * What is simulated: a model is a world of plain bytes, what can happen in it, and what must never.
 * Searches, random runs and counts work with any of them.
 */
#ifndef BATON_SIM_MODEL_H
#define BATON_SIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_CLIENTS = 16, MOST_LETTERS = 96, MOST_TEXT = 160, MOST_WORLD = 8192 };

/* What may happen, and how often. */
typedef struct limits {
    uint32_t clients;
    uint16_t tries, locks;                   /* of each process */
    uint8_t cancels, cuts, leases, restarts; /* of all together */
} limits;

/* Counted, not explored: what was sent. */
typedef struct counts {
    uint64_t messages; /* both ways */
    uint64_t sections;
    uint64_t tries;        /* by processes */
    uint64_t refused_here; /* of these, without a message */
} counts;

typedef enum deed {
    DELIVERS, /* letter number `which` arrives */
    TRIES,    /* process number `which` tries; and so on */
    LOCKS,
    CANCELS,
    EXITS,
    LOSES_CONNECTION,
    CONNECTS,
    LEASE_ENDS, /* of the holder: it is silent, though it may believe to hold */
    RESTARTS,   /* the register, with everything it knew but the counter */
} deed;

typedef struct happening {
    deed deed;
    uint32_t which;
} happening;

enum { MOST_HAPPENINGS = MOST_LETTERS + 7 * MOST_CLIENTS + 1 };

typedef struct model {
    const char *name;
    size_t bytes; /* of a world, at most MOST_WORLD */
    void (*start)(void *at, const limits *of);
    /* All that can happen next. Returns how many. */
    uint32_t (*can)(const void *at, const limits *of, happening can[MOST_HAPPENINGS]);
    /* Lets it happen, and checks everything that must hold at any time. */
    void (*happen)(void *at, happening what);
    /* What is broken; NULL if nothing is. */
    const char *(*wrong)(const void *at);
    /* The same for what must hold when nothing is on its way and nobody is inside. */
    const char *(*at_rest)(const void *at, const limits *of);
    void (*describe)(const void *at, happening what, char text[MOST_TEXT]);
    counts (*counted)(const void *at);
    /* The bytes that matter for the future, equal for worlds that are alike; and back. */
    size_t (*pack)(const void *at, const limits *of, uint8_t bytes[MOST_WORLD]);
    void (*unpack)(const uint8_t *bytes, const limits *of, void *at);
} model;

#endif
