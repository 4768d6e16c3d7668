/*
 * What the files of this room share: the registers of an object, and what array, tree and matrix
 * have to tell about themselves.
 *
 *   header | seats: a line per participant | requests: a line per collector | places | nodes
 */
#ifndef BATON_COLLECT_OBJECT_H
#define BATON_COLLECT_OBJECT_H

#define BATON_REG_SHORT_NAMES
#include "baton/collect.h"

typedef baton_collect_parts parts;

/*
 * A participant's own line; only the owner of the id writes to it, but for `owner`.
 *
 * progress   0, or how far the first store of this id has come: three parts of a word, see walk.c.
 *            Never goes back, whoever has the id.
 * value      the value itself if it fits into a word (R_i); else in which place it lies
 */
typedef struct seat {
    BATON_OWN_LINE baton_reg owner;
    baton_reg progress;
    baton_reg value;
} seat;

/* What a collector is reading, on a line of its own: see value.c. */
typedef struct request {
    BATON_OWN_LINE baton_reg owner;
    baton_reg reads;
} request;

/* A splitter S with M_S and Z_S. */
typedef struct node {
    baton_splitter splitter;
    baton_reg marked; /* M: somebody has come through, or is here */
    baton_reg here;   /* Z: who has stopped here, from 1; 0 is the paper's bottom */
} node;

/* Called for each id that a collect has found. */
typedef struct finder finder;
struct finder {
    const parts *in;
    uint32_t collector;
    uint32_t found;
    uint32_t *ids;
    char *values;
};

/*
 * Array, tree or matrix. `where` is a position as the kind numbers them; it fits into a quarter of
 * a word's values.
 */
typedef struct kind {
    const char *name;
    uint32_t max;                /* participants */
    size_t (*nodes)(uint32_t n); /* how many it takes */
    baton_word root;             /* where a first store begins */
    size_t (*index)(baton_word where);
    baton_word (*next)(baton_word where, baton_turn turn);
    void (*visit)(finder *f); /* COLLECT: all who may have stored */
} kind;

extern const kind baton_collect_array;
extern const kind baton_collect_tree;
extern const kind baton_collect_matrix;

/* The two halves of Algorithm 23, which a first store may have to go on with: lines 1-3 and 5-9. */
baton_turn splitter_come(baton_splitter *splitter, baton_word i);
baton_turn splitter_go_on(baton_splitter *splitter, baton_word i);

/*
 * Lines 2-16 of Algorithm 24: if id has no place yet, finds one. False if where its owner had come
 * to is no node: the memory is damaged.
 */
bool first_store(const parts *in, uint32_t id);
/* Where an id has stopped; false if it has not. */
bool first_store_is_over(baton_word progress, baton_word *where);

/* R_i := val. */
void value_write(const parts *in, uint32_t id, const void *value);
/* val := R_i, by that collector. The id has stored. False if the memory is damaged. */
bool value_read(const parts *in, uint32_t id, uint32_t collector, void *value);
/* After the last read of a collect. */
void value_reads_over(const parts *in, uint32_t collector);
/* Registers of one place, and how many places an id has; 0 if values fit into a word. */
size_t value_words(size_t value_bytes);
uint32_t value_slots(size_t value_bytes, uint32_t collectors);

/* Adds an id to the view. */
void finder_add(finder *f, uint32_t id);

/* Makes a storer or a collector of one who owns that number already. */
void storer_sits(baton_storer *me, const parts *in, uint32_t id);
void collector_sits(baton_collector *me, const parts *in, uint32_t number);
/* Where the parts of an object are. */
int find_parts(const baton_collect *object, parts *in);

static inline seat *seat_of(const parts *in, uint32_t id)
{
    return (seat *)(void *)in->seats + id;
}

static inline request *request_of(const parts *in, uint32_t collector)
{
    return (request *)(void *)in->requests + collector;
}

static inline node *node_at(const parts *in, baton_word where)
{
    return (node *)(void *)in->nodes + ((const kind *)in->kind)->index(where);
}

#endif
