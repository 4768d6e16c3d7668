/* The command line of `baton-sim node`. */
#ifndef BATON_SIM_NODE_OPTIONS_H
#define BATON_SIM_NODE_OPTIONS_H

#include "node_once.h"
#include "options.h"

enum { NODE_RUNS = 200 };

typedef enum node_task {
    TASK_RUNS,
    TASK_REPLAY,
    TASK_PICTURE,
    TASK_HISTORY,
    TASK_PLAN,
    TASK_MINIMIZE
} node_task;

typedef struct node_request {
    node_task task;
    node_wishes wishes;
    node_plan plan;
    uint64_t seed, runs; /* runs: 0 if not said */
    uint32_t jobs;
    bool seeded, keep_going, as_json;
    const char *svg_file, *history_file;
    uint64_t from, to;                 /* of the picture, us */
    bool replay, print_plan, minimize; /* as options; at most one, see `task` */
} node_request;

options_verdict node_request_parse(node_request *q, char **argv);

#endif
