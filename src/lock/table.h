/*
 * A row of the table of algorithms, with what the public row leaves out: sizes and operations.
 * table.c lists the rows; set.c makes sets of locks from them.
 */
#ifndef BATON_LOCK_TABLE_H
#define BATON_LOCK_TABLE_H

#include "baton/lock.h"

/*
 * `seat` is a participant's part of the memory: of `pair_bytes` if each lock wants one of its own,
 * else of `participant_bytes`, for all locks together; NULL if the algorithm has none. `i` is the
 * participant's number, from 0.
 */
typedef struct row {
    baton_algorithm is;
    size_t (*lock_bytes)(uint32_t n);
    size_t participant_bytes;
    size_t pair_bytes;
    void (*init)(void *lock, uint32_t n, baton_waiting waiting);
    void (*join)(void *seat, baton_word number); /* NULL if there are no seats */
    void (*enter)(void *lock, void *seat, uint32_t i);
    bool (*try)(void *lock, void *seat, uint32_t i); /* NULL if there is none */
    void (*exit)(void *lock, void *seat, uint32_t i);
} row;

const row *baton_row_find(const char *name);

#endif
