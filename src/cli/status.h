/* How the nodes of a cluster are, as they say themselves. */
#ifndef BATON_CLI_STATUS_H
#define BATON_CLI_STATUS_H

#include "access.h"

#include <stdbool.h>
#include <stdint.h>

enum { STATUS_MAX_NODES = 16, STATUS_TEXT = 512 };

/* A lock, as one node has it. */
typedef struct status_lock {
    char *name; /* to be freed */
    uint64_t epoch, sn, executed;
    uint64_t held, waiting; /* there */
    char owner[64];
    char state[32];
} status_lock;

typedef struct status_node {
    char address[STATUS_TEXT];
    bool up;
    char id[64];
    char nodes[STATUS_TEXT], reached[STATUS_TEXT], suspected[STATUS_TEXT]; /* ids, with commas */
    char state[16], why[STATUS_TEXT]; /* up, new, rejoins; and what it waits for */
    uint64_t locks, held, waiting, operations, ejected, epochs;
    uint64_t commits, bytes, max_bytes;
    uint64_t sent, received, dropped; /* messages */
    char consensus[40];               /* "paxos", "etcd", "etcd/NAME" */
    uint64_t etcd_reached, etcd_asked, etcd_unanswered, etcd_refused; /* if it is etcd */
    uint64_t lag; /* operations that another of those asked has executed, and this one not */
    status_lock *lock;
    uint64_t listed; /* of the locks; a node does not list more than 1000 */
} status_node;

/*
 * Asks the node at `address`, which is filled in. False if it is not to be reached or does not
 * answer as a node does; says why on standard error.
 */
bool status_ask(status_node *n, const server_access *by);
/* Fills in `lag`: compares locks that nodes list. */
void status_compare(status_node *nodes, uint32_t count);
void status_free(status_node *n);

#endif
