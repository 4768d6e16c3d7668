/* What every measurement needs: a clock, medians, and gnuplot to draw what came out. */
#ifndef BATON_BENCH_MEASURE_H
#define BATON_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

enum { MAX_ROUNDS = 101 };

static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Both are of at least one value, and put the values in order. */
double median(double *values, size_t count);
/*
 * The mean without the highest tenth, for times of single operations: a clock may tick so coarsely
 * that the median is one of its ticks, and a plain mean is full of interrupts.
 */
double mean_of_max(double *values, size_t count);

/* A gnuplot that waits for its script and draws SVG into an open file. */
typedef struct gnuplot {
    pid_t child;
    FILE *script;
} gnuplot;

/* Both return NULL, or what went wrong; after an error of start there is nothing to finish. */
const char *gnuplot_start(gnuplot *drawing, int file);
const char *gnuplot_finish(gnuplot *drawing);

/* A string in gnuplot's single quotes. */
void gnuplot_quoted(const gnuplot *drawing, const char *text);

#endif
