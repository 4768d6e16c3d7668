/*
 * The splitter matrix: lecture-10, section 10.3.3. Left leads to the next row, right to the next
 * column. At most k - i - j come to row i and column j, so the upper left triangle is enough; it is
 * kept diagonal by diagonal, so that what few participants touch lies close together.
 *
 * `where` is row << 16 | column.
 */
#include "object.h"

enum { COLUMN_BITS = 16 };

static size_t nodes(uint32_t n)
{
    return (size_t)n * (n + 1) / 2;
}

static size_t index_of(baton_word where)
{
    size_t row = where >> COLUMN_BITS;
    size_t diagonal = row + (where & ((1U << COLUMN_BITS) - 1));
    return diagonal * (diagonal + 1) / 2 + row;
}

static baton_word at(uint32_t row, uint32_t column)
{
    return (baton_word)row << COLUMN_BITS | column;
}

static baton_word next(baton_word where, baton_turn turn)
{
    return turn == BATON_LEFT ? where + at(1, 0) : where + at(0, 1);
}

/* Whether the node is marked; if somebody has stopped there, adds it. */
static bool look_at(finder *f, baton_word where)
{
    const node *s = node_at(f->in, where);
    if (reg_read(&s->marked, relaxed) == 0) /* 17 */
        return false;
    baton_word i = reg_read(&s->here, acquire); /* and what i had stored before */
    if (i != 0)                                 /* 18 */
        finder_add(f, (uint32_t)i - 1);         /* 19 */
    return true;
}

/*
 * Diagonal after diagonal, only what can be reached from a marked node of the one before, until
 * nothing is marked. marked[] is about the rows low to high of the last diagonal that was looked
 * at, the first and the last of which are marked; what few have marked is found without going
 * through the whole triangle.
 */
static void visit(finder *f)
{
    bool marked[BATON_MAX_IN_MATRIX];
    uint32_t low = 0;
    uint32_t high = 0;
    bool any = marked[0] = look_at(f, at(0, 0));
    for (uint32_t d = 1; any && d < f->in->participants; d++) {
        uint32_t lowest = low;
        uint32_t highest = high + 1;
        any = false;
        for (uint32_t row = highest + 1; row-- > lowest;) {
            bool reached = row == lowest || marked[row - 1] || marked[row];
            marked[row] = reached && look_at(f, at(row, d - row));
            if (!marked[row])
                continue;
            high = any ? high : row;
            low = row;
            any = true;
        }
    }
}

const kind baton_collect_matrix = {
    .name = "matrix",
    .max = BATON_MAX_IN_MATRIX,
    .nodes = nodes,
    .root = 0,
    .index = index_of,
    .next = next,
    .visit = visit,
};
