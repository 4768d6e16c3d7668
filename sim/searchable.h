/*
 * What is simulated: a model is a world of plain bytes, what can happen in it, and what must never.
 * Searches, random runs and counts work with any of them.
 */
#ifndef BATON_SIM_SEARCHABLE_H
#define BATON_SIM_SEARCHABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_CLIENTS = 16, MAX_LETTERS = 96, MAX_TEXT = 160, MAX_WORLD = 8192 };

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

enum { MAX_HAPPENINGS = MAX_LETTERS + 7 * MAX_CLIENTS + 1 };

typedef struct model {
    const char *name;
    size_t bytes; /* of a world, at most MAX_WORLD */
    void (*start)(void *at, const limits *of);
    /* All that can happen next. Returns how many. */
    uint32_t (*can)(const void *at, const limits *of, happening can[MAX_HAPPENINGS]);
    /* Lets it happen, and checks everything that must hold at any time. */
    void (*happen)(void *at, happening what);
    /* What is broken; NULL if nothing is. */
    const char *(*wrong)(const void *at);
    /* The same for what must hold when nothing is on its way and nobody is inside. */
    const char *(*at_rest)(const void *at, const limits *of);
    void (*describe)(const void *at, happening what, char text[MAX_TEXT]);
    counts (*counted)(const void *at);
    /* The bytes that matter for the future, equal for worlds that are alike; and back. */
    size_t (*pack)(const void *at, const limits *of, uint8_t bytes[MAX_WORLD]);
    void (*unpack)(const uint8_t *bytes, const limits *of, void *at);
} model;

#endif
