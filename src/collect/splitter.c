/*
 * The splitter: lecture-10, Algorithm 23.
 *
 *   X   who came last          Y   somebody has passed line 2
 *
 * Who reads its own number in line 6 knows that nobody came since it has set Y, and who comes later
 * sees Y. Both need store before load: line 1 before line 2, and line 5 before line 6 (erratum 7).
 */
#include "object.h"

void baton_splitter_init(baton_splitter *splitter)
{
    reg_init(&splitter->x, 0);
    reg_init(&splitter->y, 0);
}

baton_turn splitter_come(baton_splitter *splitter, baton_word i)
{
    reg_write(&splitter->x, i, seq_cst);                      /* 1 */
    return reg_read(&splitter->y, seq_cst) != 0 ? BATON_RIGHT /* 2, 3 */
                                                : BATON_STOP;
}

baton_turn splitter_go_on(baton_splitter *splitter, baton_word i)
{
    reg_write(&splitter->y, 1, seq_cst);                      /* 5 */
    return reg_read(&splitter->x, seq_cst) == i ? BATON_STOP  /* 6, 7 */
                                                : BATON_LEFT; /* 9 */
}

baton_turn baton_splitter_enter(baton_splitter *splitter, baton_word i)
{
    baton_turn turn = splitter_come(splitter, i);
    return turn == BATON_RIGHT ? turn : splitter_go_on(splitter, i);
}
