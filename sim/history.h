/*
 * The history of a run of weak mutual exclusion, and its judge: the six properties of the wme
 * paper, section 3, and what a service promises beyond them. Knows nothing of the algorithm: it is
 * told what users and resources saw, by whoever runs them (the simulator, or a test of real nodes).
 *
 * Time is any number that never goes back; events at the same time are ordered as they are told.
 * An operation is known by its key, given by who issues it, never 0, never twice.
 */
#ifndef BATON_SIM_HISTORY_H
#define BATON_SIM_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct history history;

typedef enum history_property {
    HISTORY_FINE,
    HISTORY_WELL_FORMED, /* what a user and its stub say to each other comes in order */
    HISTORY_WME1,        /* sections have an order in which none overlaps (tokens are unique) */
    HISTORY_WME2,        /* that order, by token, keeps to real time; a section for which nothing
                            is executed may stand elsewhere in it */
    HISTORY_WME3,        /* operations were executed in the order of their sections */
    HISTORY_ONE_COPY,    /* every replica executes the same operations in the same order, with
                            the same results; each once */
    HISTORY_OUTCOME,     /* every outcome is that of an execution, with its result */
    HISTORY_EJECTED,     /* an operation that ended by ejection was executed nowhere */
    HISTORY_ONE_SLOT,    /* no two slots with one number in an epoch; one maker at a time */
    HISTORY_AGREEMENT,   /* an epoch begins in the same way everywhere */
    HISTORY_LOST,        /* something acknowledged is gone */
    HISTORY_RESUMED,     /* between a section and the one that goes on with it there is no other */
    HISTORY_STARVATION_FREEDOM, /* at the end of a quiet period: nobody still waits, */
    HISTORY_RELEASE_PROGRESS,   /* nobody's exit is unanswered, */
    HISTORY_OPERATION_PROGRESS, /* no operation is, and none issued in the quiet period
                                   was ejected */
    HISTORY_DIVERGED,           /* replicas that run at the end are not equal */
    HISTORY_PROPERTIES
} history_property;

const char *history_property_name(history_property p);

/*
 * `users` in all, numbered from 0; `nodes`, numbered from 0, at most 32. Without memory the program
 * ends.
 */
history *history_new(uint32_t nodes, uint32_t users);
void history_free(history *h);
/* As a new one, in the memory of the old: for many runs one after the other. */
void history_reset(history *h, uint32_t nodes, uint32_t users);

/* ---- what a user and its stub say; each with the time ---- */
void history_try(history *h, uint32_t user, uint32_t node, uint64_t at);
/* The same, to go on with the section of that token, which nobody uses any more. */
void history_resume(history *h, uint32_t user, uint32_t node, uint64_t token, uint64_t at);
void history_crit(history *h, uint32_t user, uint64_t token, uint64_t at);
/* Still inside; from now on known by that token, too. */
void history_kept(history *h, uint32_t user, uint64_t token, uint64_t at);
void history_issue(history *h, uint32_t user, uint64_t key, uint64_t at);
void history_outcome(history *h, uint32_t user, uint64_t key, uint64_t result, uint64_t at);
void history_exit(history *h, uint32_t user, uint64_t at);
void history_rem(history *h, uint32_t user, uint64_t at);
void history_ejected(history *h, uint32_t user, uint64_t at);
/*
 * It is gone (it disconnected), or its node is: its section, if any, ends here; later it may try
 * anew.
 */
void history_gone(history *h, uint32_t user, uint64_t at);

/* ---- what a replica of the resource does ---- */
void history_execute(history *h, uint32_t node, uint64_t number, uint64_t key, uint64_t result,
                     uint64_t at);
/* It was replaced by one that has executed this many, or came back from the disk as that. */
void history_install(history *h, uint32_t node, uint64_t number, uint64_t digest, uint64_t at);
/*
 * Digest of the resource after `number` operations; equal for equal states. Called after each
 * execution.
 */
void history_state(history *h, uint32_t node, uint64_t number, uint64_t digest, uint64_t at);

/* ---- what the nodes do; not needed for the six properties ---- */
/* A node has sent slot sn of that epoch, for the first time or again; `what` tells slots apart. */
void history_slot(history *h, uint32_t node, uint64_t epoch, uint64_t sn, uint64_t what,
                  uint64_t at);
/* A node has entered an epoch by decision; `what` tells beginnings apart. */
void history_epoch(history *h, uint32_t node, uint64_t epoch, uint64_t what, uint64_t at);

/* ---- verdicts ---- */
/*
 * From `at` on nothing fails any more, and all have settled after what failed before: what is
 * issued then must not be ejected, except at a node that has not entered the last epoch.
 */
void history_quiet(history *h, uint64_t at);
/*
 * After the last event. `runs`: a bit for each node that runs and could reach a majority; only
 * these and their users are judged, so with 0 nobody is found to be late. Who stays inside without
 * doing anything, in the last section of all, excuses those who wait.
 */
void history_end(history *h, uint32_t runs, uint64_t at);

typedef struct history_verdict {
    history_property broken; /* HISTORY_FINE if none; else the first that was */
    char what[160];          /* in words, with users, tokens, numbers */
    uint64_t at;
} history_verdict;
/* At any time: what was found so far. */
const history_verdict *history_wrong(const history *h);

typedef struct history_counts {
    uint64_t tries, sections, issued, outcomes, ejected;
    uint64_t resumed;            /* of the sections: those that go on with another */
    uint64_t executed, installs; /* by all replicas together */
    uint64_t stale; /* sections with a smaller token than one that had ended before their try */
    uint64_t longest_wait; /* from try to crit */
    /*
     * Somebody wanted something, nobody was inside with nothing to want, and nobody got anything.
     */
    uint64_t longest_stall;
    /* How often each property could have been found broken, and was not: a promise that nothing
       puts to the test is not kept, only untested. */
    uint64_t judged[HISTORY_PROPERTIES];
} history_counts;
history_counts history_count(const history *h);

#endif
