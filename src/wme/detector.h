/*
 * Failure detector, eventually perfect: every node says now and then that it is there; who is
 * silent for longer than its time-out is suspected, and who is heard of again was suspected
 * wrongly and gets a longer time-out. Who was not heard of since the start has the longest: it may
 * have to find this node first. One per node. Pure: the time is told to it.
 *
 * Completeness: a node that is silent for ever is suspected for ever, after max_timeout at the
 * latest. Eventual accuracy: if messages and ticks take at most some time, unknown but less than
 * max_timeout, a node that is there is suspected wrongly only a bounded number of times.
 */
#ifndef BATON_WME_DETECTOR_H
#define BATON_WME_DETECTOR_H

#include "wme.h"

/* In whatever unit the clock has. */
typedef struct detector_settings {
    uint64_t beat;          /* between two heartbeats */
    uint64_t first_timeout; /* of who was heard of; at least two beats */
    uint64_t max_timeout;
} detector_settings;

typedef struct detector {
    detector_settings settings;
    uint8_t me, nodes;
    uint16_t suspected; /* a bit for each node; never the own */
    uint16_t met;       /* heard of since the start */
    uint64_t next_beat;
    uint64_t heard[WME_MAX_NODES];   /* when */
    uint64_t timeout[WME_MAX_NODES]; /* grows after a wrong suspicion */
    uint64_t wrong;                  /* suspicions that were, so far */
} detector;

void detector_start(detector *d, uint8_t me, uint8_t nodes, detector_settings settings,
                    uint64_t now);
/* Any message from that node, not only a heartbeat. Returns whether `suspected` has changed. */
bool detector_heard(detector *d, uint8_t from, uint64_t now);
/* The time; a clock that goes back is taken for one that stands still. */
typedef struct detector_news {
    bool beat;    /* send a heartbeat to everybody */
    bool changed; /* `suspected` has */
} detector_news;
detector_news detector_time(detector *d, uint64_t now);

#endif
