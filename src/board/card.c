/*
 * Publishing: a card is pinned, says what its participant does, is taken down.
 *
 * What it says is stored lazily: a look may see it some nanoseconds late, but in order. Time is the
 * expensive part, so a holder reads the kernel's coarse clock, and one who waits reads the exact
 * one only if the lock looks held, when it has time.
 */
#include "internal.h"
#include "life.h"

#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/*
 * What the three words say of the lock: row and word. Short, since all of it is paid per passage.
 */

static inline void waits(baton_card *card, uint32_t lock)
{
    bool held = reg_read(&card->board->row[lock].passages, relaxed) % 2 != 0;
    uint64_t since = held ? read_clock(CLOCK_MONOTONIC) : 0;
    baton_store_lazily(&card->storer, said(BATON_WAITS, lock, since));
}

static inline void holds(baton_card *card, uint32_t lock)
{
    baton_reg *passages = &card->board->row[lock].passages;
    reg_write(passages, (reg_read(passages, relaxed) + 1) | 1, relaxed); /* odd, whatever it was */
    uint64_t since = read_clock(CLOCK_MONOTONIC_COARSE);
    baton_store_lazily(&card->storer, said(BATON_HOLDS, lock, since));
}

static inline void rests(baton_card *card, uint32_t lock)
{
    baton_reg *passages = &card->board->row[lock].passages;
    reg_write(passages, (reg_read(passages, relaxed) | 1) + 1, relaxed);
    baton_store_lazily(&card->storer, said(BATON_RESTS, 0, 0));
}

static inline void show(baton_card *card, baton_doing doing, uint32_t lock)
{
    if (lock >= card->board->locks) /* BATON_NOT_SHOWN as well */
        return;
    if (doing == BATON_WAITS)
        waits(card, lock);
    else if (doing == BATON_HOLDS)
        holds(card, lock);
    else
        rests(card, lock);
}

static void tell(baton_watch *watch, baton_doing doing, uint32_t lock)
{
    baton_card *card = (baton_card *)(void *)watch;
    show(card, doing, card->locks[lock]);
}

void baton_card_waits(baton_card *card, uint32_t lock)
{
    show(card, BATON_WAITS, lock);
}

void baton_card_holds(baton_card *card, uint32_t lock)
{
    show(card, BATON_HOLDS, lock);
}

void baton_card_rests(baton_card *card, uint32_t lock)
{
    show(card, BATON_RESTS, lock);
}

int baton_card_watch(baton_card *card, baton_participant *me, const uint32_t *locks)
{
    if (card == NULL || me == NULL)
        return BATON_BAD_ARGUMENT;
    if (card->storer.self != &card->storer)
        return BATON_NOT_JOINED;
    int error = baton_watch_by(me, locks != NULL ? &card->watch : NULL);
    if (error == BATON_OK)
        card->locks = locks;
    return error;
}

/* The place of one whose process has ended: of those who did nothing if `idle`, else of any. */
static int take_over(baton_board *board, baton_word owner, baton_card *card, bool idle)
{
    for (uint32_t id = 0; id < board->participants; id++) {
        seat *s = seat_of(&board->cards_in, id);
        baton_word dead = reg_read(&s->owner, acquire);
        if (dead == 0 || (idle && said_doing(reg_read(&s->value, acquire)) != BATON_RESTS) ||
            !life_is_over(dead))
            continue;
        int error = baton_storer_take_over(board->cards, id, dead, owner, &card->storer);
        if (error != BATON_FULL) /* FULL: somebody else was faster */
            return error;
    }
    return BATON_FULL;
}

/*
 * The card's owner comes after its first word, and `ready` last: who sees it ready sees the owner
 * and a word of this owner's.
 */
static void show_face(baton_board *board, baton_card *card, baton_word owner)
{
    card_owner *f = &board->card_owner[card->storer.id];
    char command[sizeof(baton_word) * 2] = "";
    baton_word words[2];
    prctl(PR_GET_NAME, command);
    memcpy(words, command, sizeof words);
    reg_write(&f->thread, (baton_word)gettid(), relaxed);
    reg_write(&f->command[0], words[0], relaxed);
    reg_write(&f->command[1], words[1], relaxed);
    reg_write(&f->ready, owner, release);
}

int baton_card_pin(baton_board *board, baton_card *card)
{
    if (board == NULL || card == NULL)
        return BATON_BAD_ARGUMENT;
    if (!board->writable)
        return BATON_READ_ONLY;
    if (card->storer.self == &card->storer)
        return BATON_ALREADY_JOINED;
    baton_word owner = life_of_this_process();
    if (owner == 0)
        return BATON_SYSTEM;
    *card = (baton_card){.watch = {tell}, .board = board};
    int error = baton_storer_join(board->cards, owner, &card->storer);
    if (error == BATON_FULL)
        error = take_over(board, owner, card, true);
    if (error == BATON_FULL)
        error = take_over(board, owner, card, false);
    if (error != BATON_OK)
        return error;
    baton_word nothing = said(BATON_RESTS, 0, 0);
    if (baton_store(&card->storer, &nothing) != BATON_OK) {
        baton_storer_leave(&card->storer);
        return BATON_NOT_BOARD;
    }
    show_face(board, card, owner);
    return BATON_OK;
}

int baton_card_take_down(baton_card *card)
{
    if (card == NULL)
        return BATON_BAD_ARGUMENT;
    if (card->storer.self != &card->storer)
        return BATON_NOT_JOINED;
    baton_word nothing = said(BATON_RESTS, 0, 0);
    baton_store(&card->storer, &nothing);
    reg_write(&card->board->card_owner[card->storer.id].ready, 0, release);
    return baton_storer_leave(&card->storer);
}
