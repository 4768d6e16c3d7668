/* `baton bench`: bench.c reads the command line, bench_KIND.c measures and prints one kind. */
#ifndef BATON_CLI_BENCH_H
#define BATON_CLI_BENCH_H

#include "access.h"
#include "board.h"
#include "collect.h"
#include "contest.h"
#include "load.h"

/* How the results are to be shown. */
typedef struct bench_view {
    bool as_json;
    bool with_progress; /* a line on standard error while it works */
    const char *plot;   /* a file to draw into; NULL for none */
} bench_view;

/* Each measures one kind and shows it; returns the exit code. */
int bench_locks(contest *plan, const bench_view *view);
int bench_collect(collect_plan *plan, const bench_view *view);
int bench_board(board_plan *plan, const bench_view *view);
int bench_load(load_plan *plan, const server_access *by, const bench_view *view);

/*
 * One kind of measurement, for bench_run. `measure` and `draw` return NULL, or what went wrong;
 * `results` is what is handed to each of the functions.
 */
typedef struct bench_kind {
    void *results;
    const char *(*measure)(void *results);
    void (*print_text)(const void *results);
    void (*print_json)(const void *results);
    const char *(*draw)(const void *results, int file);
} bench_kind;

/* Measures, prints and draws, in this order; returns the exit code. */
int bench_run(const bench_kind *kind, const bench_view *view);

#endif
