/*
 * Measuring locks: contenders, and a contest between them in interleaved rounds.
 * Uses the library through its public headers only, as its users do.
 */
#ifndef BATON_BENCH_CONTEST_H
#define BATON_BENCH_CONTEST_H

#include "baton/lock.h"
#include "measure.h"

#include <pthread.h>
#include <stdint.h>

enum { MAX_CONTENDERS = 32, MAX_THREADS = 1024, MAX_COUNTS = 32 };

typedef struct contender contender;
typedef struct arena arena;

/* One thread of a measurement. On lines of its own, since it counts while others do. */
typedef struct worker {
    _Alignas(2 * BATON_CACHE_LINE) arena *arena;
    uint32_t index;
    pthread_t thread;
    baton_participant participant; /* for Baton's locks */
    uint64_t passages;
    uint64_t longest_wait_ns;
    uint64_t context_switches;
    uint64_t random;
} worker;

/*
 * What is measured: one lock, its threads, and what they do. `inside` and `outside` are turns of an
 * empty loop that a thread makes in and after the critical section.
 */
struct arena {
    const contender *contender;
    uint32_t threads;
    baton_waiting waiting;
    uint64_t inside;
    uint64_t outside; /* on average: each time a random number of turns from 0 to twice as many */
    bool timed;       /* clock every entry, at the cost of throughput */
    void *lock;
    size_t lock_bytes;
    atomic_bool go; /* all threads are there */
    _Alignas(2 * BATON_CACHE_LINE) atomic_bool stop;
    _Alignas(2 * BATON_CACHE_LINE) uint64_t count; /* guarded by the lock, and by nothing else */
    worker worker[];
};

/* A lock that can be measured: one of Baton's table, or a peer. */
struct contender {
    const char *name;
    const baton_algorithm *algorithm; /* NULL for a peer */
    uint32_t max_threads;             /* 0: any */
    const char *(*open)(arena *);     /* NULL, or what went wrong */
    void (*run)(worker *);
    void (*close)(arena *);
};

/*
 * All contenders: pthread first, then Concurrency Kit's MCS, then the table. NULL beyond the end.
 */
const contender *contender_at(size_t index);
const contender *contender_find(const char *name);

/* How many turns of the empty loop take `ns` nanoseconds here. */
uint64_t turns_for(uint64_t ns);

/* What to measure and for how long. */
typedef struct contest {
    const contender *contender[MAX_CONTENDERS];
    size_t contenders;
    uint32_t threads[MAX_COUNTS];
    size_t counts;
    uint32_t rounds;
    double seconds; /* for everything together */
    uint64_t inside_ns;
    uint64_t outside_ns;
    baton_waiting waiting;
    /* Called now and then with the share that is done, from 0 to 1. May be NULL. */
    void (*progress)(double share, const char *contender, uint32_t threads);
} contest;

/* What one contender showed at one number of threads: medians over the rounds. */
typedef struct outcome {
    bool measured; /* false: it does not take so many threads */
    double passages_per_s;
    double ns_per_passage;   /* of wall-clock time, all threads together */
    double ratio_to_pthread; /* of throughput, median of the rounds; 0 if pthread was not there */
    double ratio_to_ck;      /* likewise to Concurrency Kit's MCS */
    double fairness;        /* Jain's index of passages per thread: 1 all equal, 1/n one took all */
    double longest_wait_us; /* from a round of its own, in which every entry is clocked */
    double switches_per_s;  /* context switches */
} outcome;

/*
 * Runs the contest. outcome[c * counts + t] is contender c at thread count t. Returns NULL, or what
 * went wrong: memory, threads, or a lock that let two processes in.
 */
const char *contest_run(const contest *plan, outcome *outcomes);

/* Draws throughput over threads as SVG with gnuplot, into an open file. Returns NULL, or what went
 * wrong. */
const char *contest_plot(const contest *plan, const outcome *outcomes, int file);

#endif
