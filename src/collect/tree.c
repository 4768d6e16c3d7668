/*
 * The binary splitter tree: lecture-10, Algorithm 24. Not all who enter a splitter turn the same
 * way, so of k at most k - d come to depth d, and at depth k - 1 at the latest one is alone and
 * stops.
 *
 * `where` is the number of a node: the root is 1, the children of v are 2v and 2v + 1.
 */
#include "object.h"

static size_t nodes(uint32_t n)
{
    return ((size_t)1 << n) - 1;
}

static size_t index_of(baton_word v)
{
    return v - 1;
}

static baton_word next(baton_word v, baton_turn turn)
{
    return turn == BATON_LEFT ? 2 * v : 2 * v + 1; /* 8, 10 */
}

static void visit_below(finder *f, baton_word v)
{
    if (v > nodes(f->in->participants))
        return;
    const node *s = node_at(f->in, v);
    if (reg_read(&s->marked, relaxed) == 0) /* 17 */
        return;
    baton_word i = reg_read(&s->here, acquire); /* and what i had stored before */
    if (i != 0)                                 /* 18 */
        finder_add(f, (uint32_t)i - 1);         /* 19 */
    visit_below(f, 2 * v);
    visit_below(f, 2 * v + 1);
}

static void visit(finder *f)
{
    visit_below(f, 1);
}

const kind baton_collect_tree = {
    .name = "tree",
    .max = BATON_MAX_IN_TREE,
    .nodes = nodes,
    .root = 1,
    .index = index_of,
    .next = next,
    .visit = visit,
};
