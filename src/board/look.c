/* Looking: what the cards say, and whose they are. */
#include "internal.h"
#include "life.h"

#include <string.h>

uint32_t baton_board_participants(const baton_board *board)
{
    return board != NULL ? board->participants : 0;
}

uint32_t baton_board_locks(const baton_board *board)
{
    if (board == NULL)
        return 0;
    baton_word rows = reg_read(&board->header->rows, acquire);
    return rows < board->locks ? (uint32_t)rows : board->locks;
}

int baton_board_lock_at(const baton_board *board, uint32_t lock, baton_board_lock_seen *seen)
{
    if (board == NULL || seen == NULL)
        return BATON_BAD_ARGUMENT;
    if (lock >= baton_board_locks(board))
        return BATON_NO_LOCK;
    const board_row *row = &board->row[lock];
    memcpy(seen->name, row->name, sizeof seen->name);
    seen->name[sizeof seen->name - 1] = '\0';
    seen->passages = (reg_read(&row->passages, relaxed) + 1) / 2;
    return BATON_OK;
}

/*
 * Reads a card and whose it is, of one and the same owner. False if it is being pinned or taken
 * down, or changes hands all the time.
 */
static bool look_at_card(const baton_board *board, uint32_t id, baton_seen *seen)
{
    const seat *s = seat_of(&board->cards_in, id);
    const card_owner *f = &board->card_owner[id];
    for (int again_and_again = 0; again_and_again < 3; again_and_again++) {
        baton_word owner = reg_read(&s->owner, acquire);
        if (owner == 0 || reg_read(&f->ready, acquire) != owner)
            return false;
        baton_word word = reg_read(&s->value, acquire);
        baton_word thread = reg_read(&f->thread, relaxed);
        baton_word command[2] = {reg_read(&f->command[0], relaxed),
                                 reg_read(&f->command[1], relaxed)};
        reg_fence(acquire);
        if (reg_read(&s->owner, relaxed) != owner)
            continue;
        *seen = (baton_seen){
            .card = id,
            .doing = said_doing(word),
            .lock = said_lock(word),
            .since_ns = said_since_ns(word),
            .process = life_process(owner),
            .thread = (int32_t)thread,
            .dead = life_is_over(owner),
        };
        memcpy(seen->command, command, sizeof seen->command);
        seen->command[sizeof seen->command - 1] = '\0';
        return seen->doing <= BATON_HOLDS && seen->lock < board->locks;
    }
    return false;
}

int baton_board_look(const baton_board *board, baton_seen *seen)
{
    uint32_t ids[BATON_MAX_ON_BOARD];
    baton_word words[BATON_MAX_ON_BOARD];
    baton_collector me;
    if (board == NULL || seen == NULL)
        return BATON_BAD_ARGUMENT;
    collector_sits(&me, &board->cards_in, 0); /* words need no collector's number: nobody notices */
    int found = baton_collect_view(&me, ids, words);
    int count = 0;
    for (int i = 0; i < found; i++)
        count += look_at_card(board, ids[i], &seen[count]);
    return count;
}
