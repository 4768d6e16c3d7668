/*
 * The first store of an id: lecture-10, Algorithm 24, lines 2 to 16, for the tree and the matrix.
 *
 * The owner of an id may die on the way, and another go on under the same id. It must not enter as
 * one more process: a splitter that has n - 1 others to part would see n + 1, and send somebody out
 * of the tree. So the way is written down, and who takes over goes on as the same process that was
 * merely slow:
 *
 *   0                 nothing yet
 *   where, COMES      about to do lines 1-3 of the splitter there, or doing them. To write X once
 *                     more is harmless: who is misled by the first time only goes left
 *   where, GOES_ON    has seen that Y is not set: about to do lines 5-9, or doing them. Doing them
 *                     again gives the same answer, or left instead of stop
 *   where, STOPPED    has stopped there, and is in the view for good
 */
#include "object.h"

#include <assert.h>

enum { COMES = 1, GOES_ON, STOPPED, STAGES };

static void write_down(seat *mine, baton_word where, baton_word stage)
{
    reg_write(&mine->progress, where * STAGES + stage, relaxed); /* only for who takes over */
}

static baton_turn enter(const parts *in, uint32_t id, baton_word where, baton_word stage)
{
    seat *mine = seat_of(in, id);
    baton_splitter *s = &node_at(in, where)->splitter;
    if (stage == COMES) {
        if (splitter_come(s, id + 1) == BATON_RIGHT)
            return BATON_RIGHT;
        write_down(mine, where, GOES_ON);
    }
    return splitter_go_on(s, id + 1);
}

bool first_store(const parts *in, uint32_t id)
{
    const kind *of = in->kind;
    seat *mine = seat_of(in, id);
    baton_word progress = reg_read(&mine->progress, relaxed);
    if (progress % STAGES == STOPPED) /* 2 */
        return true;
    if (of->next == NULL) { /* an array: everybody has a place from the beginning */
        reg_write(&mine->progress, STOPPED, release); /* the value before that it is there */
        return true;
    }
    baton_word where = of->root; /* 3 */
    baton_word stage = COMES;
    if (progress == 0) {
        write_down(mine, where, COMES);
    } else { /* somebody was here before me, under this id */
        where = progress / STAGES;
        stage = progress % STAGES;
        if (of->index(where) >= of->nodes(in->participants)) /* damaged memory only */
            return false;
        if (reg_read(&node_at(in, where)->here, relaxed) == id + 1) { /* and had done line 15 */
            write_down(mine, where, STOPPED);
            return true;
        }
    }
    for (;;) {
        baton_turn turn = enter(in, id, where, stage);      /* 4, 12 */
        reg_write(&node_at(in, where)->marked, 1, relaxed); /* 5, 13 */
        if (turn == BATON_STOP)                             /* 6 */
            break;
        where = of->next(where, turn); /* 7-11 */
        stage = COMES;
        assert(of->index(where) < of->nodes(in->participants));
        write_down(mine, where, COMES);
    }
    reg_write(&node_at(in, where)->here, id + 1,
              release); /* 15; the value before that I am there */
    write_down(mine, where, STOPPED);
    return true;
}

bool first_store_is_over(baton_word progress, baton_word *where)
{
    *where = progress / STAGES;
    return progress % STAGES == STOPPED;
}
