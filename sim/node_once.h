/* One run of whole nodes: its settings, drawn from its seed as far as nobody says otherwise. */
#ifndef BATON_SIM_NODE_ONCE_H
#define BATON_SIM_NODE_ONCE_H

#include "node_fleet.h"

/*
 * What is drawn besides mishaps. A scene is for what chance alone would rarely come to, or for a
 * promise that holds only if little goes wrong.
 */
typedef enum node_scene {
    SCENE_ANY,
    SCENE_FAILOVER, /* one node dies or hangs, once; each client has a lock of its own */
    SCENE_AGED,     /* locks are near the end of their numbers */
    NODE_SCENES
} node_scene;

extern const char *const scene_names[NODE_SCENES];

/* What is asked of runs; 0 or NULL leaves it to the seed. */
typedef struct node_wishes {
    uint8_t nodes;
    uint8_t locks;
    const char *ack;        /* "all", "owner" */
    const char *durability; /* "disk", "memory" */
    const char *consensus;  /* "paxos", "outside" */
    const char *clients;    /* "script", "library" */
    int mishaps;            /* kinds; used if there is no plan */
    node_scene scene;
    const node_plan *plan;
    const char *plan_file; /* it came from there */
} node_wishes;

typedef struct once_result {
    trouble trouble;
    fleet_counts counts;
} once_result;

fleet_settings once_settings(const node_wishes *w, uint64_t seed);
/* `to`: the teller of a picture; NULL for none. */
once_result once_run(const fleet_settings *s, FILE *trace, teller *to);
/* As once_run, and `heard` is what its judge was told. */
once_result once_run_heard(const fleet_settings *s, judge *heard);
/* The command that makes this run again. */
void once_command(const node_wishes *w, const fleet_settings *s, uint64_t seed, char text[512]);

#endif
