/*
 * The board: who holds what, and who waits for whom.
 *
 * A named piece of shared memory in which participants of locks publish what they do, by STORE
 * (baton/collect.h), and which `baton top` COLLECTs and shows. Nobody who publishes ever waits.
 *
 *     baton_board_open("orders", NULL, &board);            makes it if there is none
 *     baton_board_lock(board, "stock", &stock);            a lock is known by its name
 *
 *     baton_card card = {0};
 *     baton_card_pin(board, &card);                        one card for each participant
 *     baton_card_watch(&card, &me, (uint32_t[]){stock});   me publishes what it does from now on
 *     baton_enter(&me, 0); ...                             $ baton top orders
 *
 * A participant of a set of locks is watched, as above. Who uses locks directly, or locks that are
 * not Baton's, calls baton_card_waits, _holds and _rests itself.
 *
 * Linux with 64-bit words only: elsewhere open and find return BATON_UNSUPPORTED. A board belongs
 * to one pid namespace, since it names processes by their numbers. Whoever may write to the file of
 * a board can also cut it off under the feet of those who have mapped it: so it is made for its
 * owner alone (mode 600), and refused if its owner is neither this user nor root, or others may
 * write.
 */
#ifndef BATON_BOARD_H
#define BATON_BOARD_H

#include <baton/collect.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct baton_board baton_board;

/* How large a new board is. 0 stands for the default. */
typedef struct baton_board_spec {
    uint32_t participants; /* how many cards it has room for, at most 1024 (128) */
    uint32_t locks;        /* how many names of locks, at most 16384 (256) */
} baton_board_spec;

enum {
    BATON_MAX_ON_BOARD = BATON_MAX_IN_MATRIX,
    BATON_MAX_LOCKS_ON_BOARD = 1 << 14,
    BATON_BOARD_NAME_BYTES = 64,     /* of a board's name, with its end */
    BATON_BOARD_LOCK_NAME_BYTES = 48 /* of a lock's name, with its end */
};

/*
 * Opens the board of that name, and makes it if there is none; `spec` (NULL: defaults) is for that
 * case only. A name consists of letters, digits, '.', '_' and '-', and does not begin with '.'.
 * Errors: BATON_BAD_NAME, BATON_BAD_COUNT, BATON_NOT_BOARD, BATON_OTHER_VERSION, BATON_TOO_SMALL
 * (it was cut off), BATON_OTHER_NAMESPACE, BATON_OTHER_OWNER, BATON_SYSTEM (errno says what),
 * BATON_UNSUPPORTED.
 */
BATON_API int baton_board_open(const char *name, const baton_board_spec *spec, baton_board **board);
/* Opens an existing one, only to look at it. Errors: the same, and BATON_NO_BOARD. */
BATON_API int baton_board_find(const char *name, baton_board **board);
/* Cards that are pinned to it must have been taken down before. */
BATON_API void baton_board_close(baton_board *board);
/* Removes the name. Those who have it open keep it. Errors: BATON_NO_BOARD, BATON_BAD_NAME, ... */
BATON_API int baton_board_remove(const char *name);

/*
 * The number under which the board knows a lock. All who give the same name get the same number; so
 * two locks must not have the same name. Errors: BATON_BAD_NAME (empty, too long, or with control
 * characters), BATON_FULL, BATON_READ_ONLY.
 */
BATON_API int baton_board_lock(baton_board *board, const char *name, uint32_t *lock);

/* ---- publishing ---- */

/*
 * A participant's card on a board, all zero before it is first pinned. It stays where it is while
 * it is pinned, and is used by one thread at a time: the one that has pinned it, since that is who
 * is shown. After a fork the child pins cards of its own.
 */
typedef struct baton_card {
    baton_watch watch; /* first: what a participant's set calls */
    baton_storer storer;
    baton_board *board;
    const uint32_t *locks; /* what baton_card_watch was given */
} baton_card;

/*
 * Pins a card: there is one more on the board, which does nothing yet. If the board is full, takes
 * the place of one whose process has ended, of those who did nothing first. Taking down needs the
 * card to rest. Errors: BATON_FULL, BATON_ALREADY_JOINED, BATON_NOT_JOINED, BATON_READ_ONLY,
 * BATON_NOT_BOARD (it is damaged).
 */
BATON_API int baton_card_pin(baton_board *board, baton_card *card);
BATON_API int baton_card_take_down(baton_card *card);

/*
 * Shows on the card what `me` does with the locks of its set. locks[i] is the board's number for
 * lock i of the set, or BATON_NOT_SHOWN; the array must stay. NULL ends it. `me` must be outside
 * all locks. Errors: BATON_NOT_JOINED, BATON_ALREADY_INSIDE.
 */
BATON_API int baton_card_watch(baton_card *card, baton_participant *me, const uint32_t *locks);
#define BATON_NOT_SHOWN UINT32_MAX

/*
 * The card says that its participant waits for the lock, holds it, or is out of it. To be called
 * before enter, after it, and before exit. Nothing is checked but the number of the lock.
 */
BATON_API void baton_card_waits(baton_card *card, uint32_t lock);
BATON_API void baton_card_holds(baton_card *card, uint32_t lock);
BATON_API void baton_card_rests(baton_card *card, uint32_t lock);

/* ---- looking ---- */

/* What was seen on a card. */
typedef struct baton_seen {
    uint32_t card; /* its number on the board */
    baton_doing doing;
    uint32_t lock; /* that it waits for or holds */
    /*
     * Since when, on CLOCK_MONOTONIC. Of a holder to a few milliseconds; of one who waits to a
     * microsecond, or 0 if the lock looked free when it came.
     */
    uint64_t since_ns;
    int32_t process;
    int32_t thread;
    bool dead;        /* the process has ended without taking the card down */
    char command[16]; /* its name when it pinned the card */
} baton_seen;

/* A lock of a board. */
typedef struct baton_board_lock_seen {
    char name[BATON_BOARD_LOCK_NAME_BYTES];
    uint64_t passages; /* through it so far, of those who are shown */
} baton_board_lock_seen;

/* How many cards there can be, and how many locks there are now. */
BATON_API uint32_t baton_board_participants(const baton_board *board);
BATON_API uint32_t baton_board_locks(const baton_board *board);
/* Lock number `lock`. Error: BATON_NO_LOCK. */
BATON_API int baton_board_lock_at(const baton_board *board, uint32_t lock,
                                  baton_board_lock_seen *seen);
/*
 * Looks at all cards; there must be room for baton_board_participants. Returns how many there are,
 * or an error. Like every collect it is no snapshot: two cards may not have said so at the same
 * moment.
 */
BATON_API int baton_board_look(const baton_board *board, baton_seen *seen);

#ifdef __cplusplus
}
#endif

#endif
