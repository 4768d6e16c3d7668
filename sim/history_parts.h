/*
 * What a history is made of; only for the files history*.c. Everything is judged as it is told,
 * with a few steps for each event. From the first violation on nothing is recorded any more: what
 * follows from it says nothing new.
 */
#ifndef BATON_SIM_HISTORY_PARTS_H
#define BATON_SIM_HISTORY_PARTS_H

#include "history.h"

/* ---- tables ---- */

/* A pair of numbers, and what is known about it. */
typedef struct fact {
    uint64_t a, b;
    uint64_t what;
    uint32_t who;
    uint32_t run; /* the run it was learnt in; of another run: the place is free */
} fact;

/* Facts by their pair; open addressing. All zero is an empty one. */
typedef struct facts {
    fact *slot;
    size_t capacity; /* a power of two */
    size_t count;
    uint32_t run;
} facts;

void facts_forget(facts *t); /* all; keeps the memory */
void facts_free(facts *t);
/* NULL: nothing is known about it. */
const fact *facts_find(const facts *t, uint64_t a, uint64_t b);
/* Any of which `a` is between these; NULL if there is none. */
const fact *facts_between(const facts *t, uint64_t below, uint64_t above);
/* What was known before, or NULL: then it is as given from now on. */
const fact *facts_learn(facts *t, uint64_t a, uint64_t b, uint64_t what, uint32_t who);

/* ---- users and their sections ---- */

typedef enum whereabouts { OUTSIDE, WAITING, INSIDE, LEAVING } whereabouts;

enum { NO_OPERATION = UINT32_MAX };

typedef struct person {
    whereabouts at;
    uint32_t node;
    uint32_t pending; /* its operation that has no answer, or NO_OPERATION */
    uint64_t tried;   /* when */
    uint64_t token;   /* of its section, while in one */
    uint64_t resumes; /* while it waits: that of the section it goes on with, or 0 */
    uint64_t left;    /* exit: when */
    /* The largest token whose section had ended when this one tried: its own should be larger. */
    uint64_t floor;
    bool stale; /* it is not */
} person;

typedef enum fate { PENDING, TOLD, FAILED, UNHEARD } fate; /* UNHEARD: its user was gone */

/* An operation. Those of a section stand in the order in which they were issued. */
typedef struct operation {
    uint64_t key;
    uint64_t token;  /* of its section */
    uint64_t number; /* as which it was executed; 0: not so far */
    uint64_t issued; /* when */
    uint64_t floor;  /* if stale: as that of its user */
    uint32_t user;
    fate fate;
    bool stale; /* its section is: must not be executed */
    bool quiet; /* issued in the quiet period: must not fail */
} operation;

/* A section was resumed: no other has a token between the two. */
typedef struct gap {
    uint64_t below, above;
} gap;

/* ---- replicas ---- */

/* The execution number k of all replicas, and the state after it; 0 is the beginning. */
typedef struct execution {
    uint64_t result;
    uint64_t digest;
    uint32_t operation;
    bool has_digest;
} execution;

typedef struct replica {
    uint64_t number;  /* its last execution */
    uint64_t highest; /* ever */
    uint64_t epoch;   /* the last one it was said to have entered */
} replica;

enum { MAX_REPLICAS = 32 };

struct history {
    uint32_t nodes, users;
    person *person;
    size_t person_capacity;
    operation *operation;
    size_t operations, operation_capacity;
    execution *execution;
    size_t executions, execution_capacity;
    gap *gap;
    size_t gaps, gap_capacity;
    replica replica[MAX_REPLICAS];
    facts keys;   /* (key, 0): its operation */
    facts tokens; /* (token, 0): its user */
    facts slots;  /* (epoch, sn): what, and the node */
    facts epochs; /* (epoch, 0): what, and the first node that said so */

    uint64_t now;
    uint64_t last_ended; /* the largest token of a section that has ended */
    uint64_t last_token; /* the largest of all */
    uint64_t last_told;  /* the largest number that an outcome was told of */
    uint64_t last_epoch;
    uint64_t quiet_from; /* UINT64_MAX: not so far */
    uint64_t stalled_since;
    bool stalls; /* somebody wants something, and nobody is inside with nothing to want */
    history_counts counts;
    history_verdict verdict;
};

/* Every event begins with this; false: the verdict is known already. */
bool history_goes_on(history *h, uint64_t at);
/* Only the first counts. */
__attribute__((format(printf, 4, 5))) void history_break(history *h, history_property p,
                                                         uint64_t at, const char *words, ...);
/* It was put to the test, and held. */
void history_held(history *h, history_property p);
/* Room for one more in an array with `count`; returns where it is now. */
void *history_grow(void *array, size_t count, size_t *capacity, size_t each);

#endif
