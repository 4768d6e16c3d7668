/*
 * The system that is explored: processes that pass through a lock, and the memory between them.
 *
 * A configuration is everything that matters for the future: where each process stands, and what
 * each register may answer. `step` makes one move of one process. Two memory models:
 *
 *   sc    a register holds one value; a move is one access; all see it at once.
 *   c11   a register holds messages, its writes in modification order. Each process has a view: for
 *         each register the oldest message it may still read. See docs/check.md.
 */
#ifndef BATON_CHECK_MODEL_H
#define BATON_CHECK_MODEL_H

#include "process.h"

enum {
    MAX_NOTED = 8,
    MAX_MESSAGES = 160,
    MAX_VALUES = 255,
    MAX_POINTS = 1 << 24,
    MAX_PACKED = 4096
};

/*
 * For each register the number of a message; behind them, 1 for each lock whose last section is
 * known.
 */
typedef uint8_t view[MAX_REGISTERS + BATON_CHECK_MAX_LOCKS];

typedef struct message {
    uint8_t value; /* index into the table of values */
    uint8_t rmw;   /* glued to the message before it: nothing comes between */
    view carries;  /* what who acquires it learns */
} message;

enum { AWAKE, ASLEEP, STIRRED }; /* standing.sleep */

typedef enum phase { TRYING, INSIDE, LEAVING, DONE } phase;

typedef struct standing {
    point_id at;
    uint8_t phase;
    uint8_t passage; /* passages made; in an endless exploration always 0 */
    uint8_t lock;    /* that it tries for, is inside of or leaves */
    uint8_t rank;    /* place among those who finished their doorway and wait; 0 if not there */
    uint8_t sleep;   /* ASLEEP, or when parking STIRRED if woken while it was looking */
    uint32_t own; /* own memory while INSIDE, or about to choose a lock; of a program, when DONE */
} standing;

/* What the caches of the watched process hold, and what it has paid in this passage. */
typedef struct meter {
    uint8_t cached[MAX_REGISTERS]; /* 1 valid, 2 last written by it, 4 exclusive */
    uint8_t thesis, standard, dsm; /* remote references so far */
} meter;

typedef struct config {
    standing process[MAX_PROCESSES];
    uint8_t value[MAX_REGISTERS];   /* sc */
    uint8_t count[MAX_REGISTERS];   /* c11: messages of each register, */
    uint16_t messages;              /*      all together, */
    view current[MAX_PROCESSES];    /*      what each process must not go back behind, */
    view acquirable[MAX_PROCESSES]; /*      what an acquire fence would add to that, */
    view released[MAX_PROCESSES];   /*      what its last release fence passes on, */
    view global;                    /*      what every seq_cst access respects, */
    view woken;                     /*      and at futexes, who is about to sleep */
    meter meter;
    message message[MAX_MESSAGES]; /* last, since only the first `messages` of them are copied */
} config;

/* What is explored, and how. */
typedef struct scope {
    const baton_check_subject *subject;
    uint32_t processes;
    uint32_t passages; /* of each process; 0: endless */
    bool c11;
    bool park;        /* who waits sleeps and must be woken: the subject was made so */
    bool fences;      /* c11: keep track of what fences need; costs states */
    uint32_t watched; /* process whose remote references are counted, from 1; 0: nobody's */
    uint32_t start;   /* processes before this number stay in their remainder */
    bool reduce;      /* explore less where that shows the same: docs/check.md, "Reductions" */
} scope;

/* What a move can bring to light. */
typedef enum finding {
    FINE,
    NO_MOVE,       /* a look at a condition that did not hold: not a move at all */
    TWO_INSIDE,    /* mutual exclusion */
    STALE_SECTION, /* mutual exclusion: the holder may miss what the last holder wrote */
    NOT_FIFO,
    NO_DOORWAY,
    EXIT_WAITS,
    BAD_OUTCOME,  /* of a program; see model_verdict */
    NOT_UNSHARED, /* a register was said to be unshared, and is not */
    WRONG_ACCESS, /* a reference to nothing, a node given up; the point says which */
    NEEDS_FENCES, /* explore again with plan.fences */
    NEEDS_VIEWS,  /* explore again: a register is not used as it seemed; see memory_keeps_order */
    TOO_LARGE,    /* more messages or values than the model keeps */
} finding;

/* What was seen while exploring: largest values over all executions. */
typedef struct figures {
    uint32_t entry_steps, exit_steps;
    uint32_t thesis, standard,
        dsm; /* remote references per passage; UNBOUNDED if no end was seen */
    bool exit_waits;
    uint32_t registers; /* of the lock and its processes */
    uint32_t acts;      /* that were made, a bit for each */
    /*
     * Most processes that have won at a level or node: until they are out, and until they lose it.
     */
    uint8_t winners[32];
    uint8_t holders[32];
    /* What the judge of a program has noted. */
    struct {
        const char *name;
        uint32_t max;
    } noted[MAX_NOTED];
} figures;

enum { METER_FULL = 50, UNBOUNDED = METER_FULL };

/* Copies no more messages than there are. */
void config_copy(config *to, const config *from);

/*
 * The first configuration; what it brings to light already, if a call comes far without an access.
 */
finding model_begin(const scope *plan, config *first);
/* How many moves process p has: one in sc, one per message it may read or place in c11. */
uint32_t moves_of(const config *c, uint32_t p);
/* Makes one of them. `figures` is brought up to date. */
finding move(const config *from, uint32_t p, uint32_t choice, config *to, figures *figures);
/* Whether process p stands before a condition that does not hold. */
bool is_blocked(const config *c, uint32_t p);
/* Whether it is in its remainder: nothing obliges it to move. */
bool is_resting(const config *c, uint32_t p);
bool is_deadlocked(const config *c);
/* If it is in the middle of a look that has failed, puts it back before the look. */
bool go_back_to_await(config *c, uint32_t p);
/* What the judge said of the last outcome that was bad. */
const char *model_verdict(void);
/* The newest value of a register, which in c11 not everybody has to see. */
baton_word newest_value(const config *c, uint32_t reg);
/* What the access at the point answers if that choice is made. */
baton_word memory_answer(const config *c, uint32_t p, const point *at, uint32_t choice);

/* A configuration as a string of bytes, equal if and only if the configurations are. */
size_t pack(const config *c, uint8_t bytes[MAX_PACKED]);
void unpack(const uint8_t *bytes, config *c);

#endif
