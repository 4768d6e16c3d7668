/*
 * What a process does next, as a function of what it has read.
 *
 * The shipped code is deterministic: which access a call makes next depends only on the process's
 * own memory when the call began and on the answers it got since. So a call is a tree of *points*:
 * each is an access that the process is about to make, each answer leads to the next point. The
 * tree is grown by running the code again from the start of the call with the answers on the way.
 * No process is ever kept suspended, and a point that was visited once costs nothing any more.
 *
 * Different answers often lead to the same: it was only asked whether a flag is below 3. Points at
 * which a process stands alike in every respect can be merged, and the tree becomes a graph.
 */
#ifndef BATON_CHECK_PROCESS_H
#define BATON_CHECK_PROCESS_H

#include "baton/check.h"
#include "registers.h"

#include <stdint.h>

enum { MAX_PROCESSES = BATON_CHECK_MAX_PROCESSES };

typedef enum act {
    ACT_READ,
    ACT_WRITE,
    ACT_SWAP,
    ACT_CAS,
    ACT_ADD,
    ACT_FENCE,
    ACT_AWAIT,      /* about to look at the condition of an await; the answer is always 0 */
    ACT_FAILED,     /* has looked, and the condition did not hold: goes back to its await */
    ACT_WAKE,       /* about to wake who sleeps at a place; only where waiting is parking */
    ACT_FUTEX_WAIT, /* about to sleep at a register, if that holds `expect`; or asleep there */
    ACT_FUTEX_WAKE, /* about to wake one of those, or all */
    ACT_CHOOSE,     /* about to choose one of `value` ways */
    ACT_AGAIN,      /* the call goes on as if it had just begun */
    ACT_END,        /* the call has returned */
    ACT_WRONG,      /* about to do what no lock may do; see `wrong` */
} act;

/* How a sleep has ended: the answer to ACT_FUTEX_WAIT. */
enum { WOKEN, WITHOUT_CAUSE };

typedef uint32_t point_id; /* 0 is none */

/* A place in the source. */
typedef struct place_in_source {
    const char *file;
    int line;
} place_in_source;

typedef struct point {
    act act;
    memory_order order;
    uint16_t reg;      /* index, for accesses */
    baton_word value;  /* written; for cas, what is written on success */
    baton_word expect; /* for cas */
    uint32_t place;    /* for await and wake: where processes sleep; 0 where waiting is spinning */
    place_in_source at;
    const char *wrong;  /* for ACT_WRONG: in words */
    uint16_t steps;     /* accesses of this call before this point, failed looks not counted */
    uint32_t won, lost; /* in this call so far, a bit for each level or node */
    bool resting;       /* the first point of an entry: nothing has been done yet */
    bool roused;        /* has woken up without cause in this call */
    bool doorway;       /* the doorway ended between the last point and this one */
    point_id await;     /* the await whose condition is being looked at, or 0 */
    bool entered;       /* for ACT_END of an entry: false if it was a try that failed */
    uint32_t memory;    /* for ACT_END: own memory afterwards, as for call_begin */
    point_id parent;    /* and the answer that led here first */
    baton_word answer;
    uint32_t first_edge; /* to the points that answers lead to */
} point;

typedef enum call { CALL_ENTER, CALL_EXIT } call;

/*
 * Sets the subject up for so many processes. Returns NULL, or why that is not possible. Forgets
 * what an earlier subject left.
 */
const char *processes_begin(const baton_check_subject *subject, uint32_t processes,
                            baton_waiting waiting);
/* Which points are merged: none; those alike in what is counted on the way, too; all alike. */
typedef enum merging { MERGE_NONE, MERGE_COUNTED, MERGE_ALL } merging;
/* From now on; until then, none. A point that is merged has the way that led to it first. */
void processes_merge_points(merging which);
void processes_end(void);

/* The bytes of an own memory: the subject's memory as its process left it. */
const char *memory_at(uint32_t memory);
/* The subject's memory with these values in its registers; until the next call of anything here. */
void *memory_with(const baton_word values[]);
/* The number of the own memory of a process that has not yet called anything. */
enum { INITIAL_MEMORY = 0 };
/*
 * The point from which a call goes on that begins again: like its first, but under way.
 */
point_id call_again(point_id at);
/* Where a process chooses among several locks, before it calls anything. */
point_id call_choice(void);
/* The first point of a call of process `p` on `lock` whose own memory is `memory`. */
point_id call_begin(uint32_t p, call which, uint32_t lock, uint32_t memory);
const point *point_at(point_id id);
/* Where the answer leads. */
point_id point_next(point_id id, baton_word answer);
/* How many points there are. */
uint32_t points(void);

#endif
