/* What is still to happen, ordered by time, and at the same time as it was put in. */
#ifndef BATON_SIM_EVENTS_H
#define BATON_SIM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum event_kind {
    EVENT_LETTER,       /* arrives at `node` */
    EVENT_HEARTBEAT,    /* likewise */
    EVENT_ANSWER,       /* of the register outside, likewise */
    EVENT_TICK,         /* of that start of the node */
    EVENT_PERSON,       /* has made up its mind, if `stamp` is still its own */
    EVENT_QUESTION,     /* arrives at the register outside */
    EVENT_FAULT_BEGINS, /* number `stamp` of the plan */
    EVENT_FAULT_ENDS,
    EVENT_RESTART,
    EVENT_LOOK, /* at the whole: has it settled? */
} event_kind;

typedef struct event {
    uint64_t at;
    uint64_t sequence;
    struct letter *letter;
    uint32_t stamp;
    uint32_t person;
    uint8_t kind;
    uint8_t node, from, lock;
} event;

typedef struct events {
    event *heap;
    uint32_t count, capacity;
    uint64_t sequence;
} events;

void events_put(events *of, event e); /* e.sequence is set here */
bool events_take(events *of, event *e);
void events_free(events *of);

#endif
