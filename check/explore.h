/*
 * The search: every configuration that can be reached, each once, nearest first.
 */
#ifndef BATON_CHECK_EXPLORE_H
#define BATON_CHECK_EXPLORE_H

#include "model.h"

/* One move of a run: who, and which of his choices. */
typedef struct step {
    uint8_t process;
    uint8_t choice;
} step;

/* How a search ended. */
typedef enum ending {
    EXHAUSTED,  /* everything was seen, nothing was wrong */
    VIOLATION,  /* something was wrong; the shortest run to it is in `run` */
    LIMIT,      /* stopped at the limit; what was seen was right */
    IMPOSSIBLE, /* could not even begin; see `trouble` */
} ending;

typedef struct result {
    ending ending;
    const char *property; /* that was violated */
    const char *detail;
    const char *trouble;
    uint64_t states;
    uint64_t moves;
    double executions; /* complete runs; of a random search, runs made */
    double seconds;
    figures figures;
    step *run; /* to the violation; freed by result_free */
    uint32_t run_length;
} result;

/* Called now and then while searching; NULL for silence. */
typedef void on_progress(const scope *plan, uint64_t states, uint64_t moves);

enum { DEFAULT_LIMIT = 60000000 };

/* Begins the list of views anew; called before a search. */
void pack_begin(const scope *plan);

result explore(const scope *plan, uint64_t limit, on_progress *progress);
result explore_randomly(const scope *plan, uint64_t seed, uint64_t runs, on_progress *progress);
void result_free(result *r);
/* The property that a finding violates, and what it means. NULL, if it violates none. */
const char *property_of(finding found, const char **detail);

/*
 * What endless runs show, in sc: whether a process can be kept out for ever while all go on, and
 * the most critical sections that a process can see while it waits if steps take no time.
 */
typedef struct endless {
    ending ending; /* EXHAUSTED, LIMIT, IMPOSSIBLE, or VIOLATION if there is a way to starve */
    const char *trouble;
    uint64_t states;
    uint32_t worst_wait; /* in critical sections; UNBOUNDED if there is no end */
    uint32_t victim;
    double seconds;
} endless;

/*
 * What runs in time show, in sc: each step takes at most l, each critical section at most c, and an
 * adversary draws the durations from the extremes and searches for long waits. The longest one that
 * was seen, from the beginning of a try to its entry, as c-part and l-part.
 */
typedef struct timed {
    const char *trouble;
    uint64_t runs;
    uint64_t entries;
    uint32_t sections; /* of the longest wait: so many times c, */
    uint32_t steps;    /* and so many times l besides */
    uint64_t seed;     /* from which the search came to it */
    double seconds;
} timed;

timed explore_timed(const scope *plan, uint64_t seed, uint64_t runs, on_progress *progress);

endless explore_endless(const scope *plan, uint64_t limit, on_progress *progress);

#endif
