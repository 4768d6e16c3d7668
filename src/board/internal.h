/*
 * What the files of this room share: how a board lies in memory, and what a card says in a word.
 *
 *   header | rows: a line per lock | card_owners: a line per card | collect object (matrix)
 */
#ifndef BATON_BOARD_INTERNAL_H
#define BATON_BOARD_INTERNAL_H

#define BATON_REG_SHORT_NAMES
#include "baton/board.h"
#include "object.h"

/*
 * A lock. `name` is written once, before the number of rows in the header comes to include it.
 *
 * passages   twice the number of entries, less one while somebody is inside. Only the holder writes
 *            it, between enter and exit, so it needs no read-modify-write. Odd for good if a holder
 *            has died inside, until the next one enters
 */
typedef struct board_row {
    BATON_OWN_LINE baton_reg passages;
    char name[BATON_BOARD_LOCK_NAME_BYTES];
} board_row;

/*
 * Who a card belongs to. `ready` is the owner's word (see life.h) when the rest is its own, and 0
 * or another word before.
 */
typedef struct card_owner {
    BATON_OWN_LINE baton_reg ready;
    baton_reg thread;
    baton_reg command[2];
} card_owner;

/* Written once by the maker, but for `rows`; magic and checksum as in a set of locks. */
typedef struct board_header {
    BATON_ATOMIC(uint64_t) magic;
    uint32_t layout;
    uint32_t word_bytes;
    uint32_t participants;
    uint32_t locks;
    uint64_t
        name_space; /* inode of the pid namespace in which its process numbers mean something */
    uint64_t bytes;
    uint64_t checksum;
    baton_reg rows; /* how many locks have a name */
} board_header;

/* A process's handle. */
struct baton_board {
    board_header *header;
    board_row *row;
    card_owner *card_owner;
    baton_collect *cards;
    parts cards_in;
    size_t bytes;
    uint32_t participants;
    uint32_t locks;
    int file;
    bool writable;
};

/*
 * What a card says, in one word, so that nobody sees half of it:
 *
 *   since: 48 bits, in units of 1024 ns | lock: 14 bits | doing: 2 bits
 */
enum { DOING_BITS = 2, LOCK_BITS = 14, SINCE_UNIT_BITS = 10 };

static inline baton_word said(baton_doing doing, uint32_t lock, uint64_t since_ns)
{
    return (baton_word)(since_ns >> SINCE_UNIT_BITS << (DOING_BITS + LOCK_BITS)) |
           (baton_word)lock << DOING_BITS | (baton_word)doing;
}

static inline baton_doing said_doing(baton_word word)
{
    return (baton_doing)(word & ((1U << DOING_BITS) - 1));
}

static inline uint32_t said_lock(baton_word word)
{
    return (uint32_t)(word >> DOING_BITS) & ((1U << LOCK_BITS) - 1);
}

static inline uint64_t said_since_ns(baton_word word)
{
    return (uint64_t)word >> (DOING_BITS + LOCK_BITS) << SINCE_UNIT_BITS;
}

#endif
