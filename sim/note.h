/*
 * What can be told of a run while it runs: to a reader (run_trace.c), to a
 * picture (svg.c), or to a checker (jepsen.c). Whoever
 * wants to know hands a teller to the cluster.
 */
#ifndef BATON_SIM_NOTE_H
#define BATON_SIM_NOTE_H

#include "plan.h"
#include "wme.h"

typedef enum note_kind {
    NOTE_START,    /* the node runs; `value` is how often it has started */
    NOTE_CRASH,    /* it does not any more */
    NOTE_EMPTIED,  /* and has lost what was on its disk */
    NOTE_FAULT,    /* begins */
    NOTE_HEALED,   /* that fault is over */
    NOTE_SUSPECTS, /* the node suspects those of `value` */
    NOTE_TICK,
    NOTE_TRY,
    NOTE_RESUME, /* with the section of token `value` */
    NOTE_ISSUE,  /* operation `value` */
    NOTE_EXIT,
    NOTE_LEAVE,
    NOTE_SENT, /* `message` to `other`, number `value`; arrives at `until`, 0: never */
    NOTE_ARRIVED,
    NOTE_MISSED,   /* arrived where nobody is */
    NOTE_ACTION,   /* of `action`, any but sending */
    NOTE_OUTCOME,  /* operation `value` for `person`, result `until` */
    NOTE_EXECUTED, /* operation `value` at a replica in state `before`, which is then in `until` */
    NOTE_FINAL,    /* when all is over: the state `until` of a replica */
    NOTE_STATE,    /* the stub is now as it is */
    NOTE_QUIET,
    NOTE_WRONG, /* in words */
} note_kind;

typedef struct note {
    note_kind kind;
    uint64_t at;
    uint8_t node, other, lock;
    uint32_t person;
    uint64_t value, until, before;
    const wme_message *message;
    const wme_action *action;
    const wme_stub *stub;
    const fault *fault;
    const char *words;
} note;

typedef struct teller {
    void (*tell)(struct teller *to, const note *n);
} teller;

#endif
