/* A look at a board for `baton top`: whatever is on it, and whatever is done to its file. */
#include "cli.h"
#include "text.h"
#include "top.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <time.h>

uint64_t top_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* ---- a file that is cut off while it is mapped ---- */

static sigjmp_buf before_the_look;
static volatile sig_atomic_t is_looking;

static void on_bus_error(int number)
{
    if (is_looking)
        siglongjmp(before_the_look, 1);
    signal(number, SIG_DFL); /* not ours: it happens again, and ends the process */
}

static void catch_bus_errors(void)
{
    static bool done;
    struct sigaction action = {.sa_handler = on_bus_error};
    if (done)
        return;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
    done = true;
}

/* ---- looking ---- */

/* Cards before locks: so every lock that a card names is there already. */
static int copy_all(const baton_board *board, top_look *look)
{
    look->began_ns = top_now_ns();
    look->participants = baton_board_participants(board);
    int cards = baton_board_look(board, look->card);
    if (cards < 0)
        return cards;
    look->cards = (uint32_t)cards;
    look->locks = baton_board_locks(board);
    for (uint32_t i = 0; i < look->locks; i++) {
        int error = baton_board_lock_at(board, i, &look->lock[i]);
        if (error == BATON_NO_LOCK) /* fewer than a moment ago: somebody has damaged it */
            look->locks = i;
        else if (error != BATON_OK)
            return error;
    }
    look->ended_ns = top_now_ns();
    return BATON_OK;
}

/* What is not to be believed, but to be printed. */
static void clean(top_look *look)
{
    for (uint32_t i = 0; i < look->locks; i++)
        text_clean(look->lock[i].name);
    for (uint32_t i = 0; i < look->cards; i++) {
        text_clean(look->card[i].command);
        if (look->card[i].thread < 0)
            look->card[i].thread = 0;
    }
}

static int find_and_copy(const char *name, top_look *look)
{
    baton_board *board = NULL;
    int error = baton_board_find(name, &board);
    if (error != BATON_OK)
        return error;
    error = copy_all(board, look);
    baton_board_close(board);
    return error;
}

int top_look_at(const char *board, top_look *look)
{
    catch_bus_errors();
    if (sigsetjmp(before_the_look, 1) != 0) {
        is_looking = 0; /* what was mapped stays so: this is the last look */
        return BATON_TOO_SMALL;
    }
    is_looking = 1;
    int error = find_and_copy(board, look);
    is_looking = 0;
    if (error == BATON_OK)
        clean(look);
    return error;
}

/* ---- what went wrong ---- */

int top_failure(const char *board, int error)
{
    int reason = errno;
    fputs("baton top: ", stderr);
    switch (error) {
    case BATON_NO_BOARD:
        fprintf(stderr, "no board '%s'; 'baton top --list' lists them\n", board);
        break;
    case BATON_NOT_BOARD:
        fprintf(
            stderr,
            "'%s' is no board, or not yet, or it is damaged; 'baton top --remove %s' removes it\n",
            board, board);
        break;
    case BATON_OTHER_VERSION:
        fprintf(stderr, "board '%s' was made by another version of Baton\n", board);
        break;
    case BATON_TOO_SMALL:
        fprintf(stderr, "the board was cut off: the file of '%s' is too short\n", board);
        break;
    case BATON_OTHER_NAMESPACE:
        fprintf(stderr,
                "board '%s' belongs to another pid namespace; look at it from inside that one\n",
                board);
        break;
    case BATON_OTHER_OWNER:
        fprintf(stderr,
                "board '%s' belongs to another user, or others may write to it; look at it as the "
                "user who has made it\n",
                board);
        break;
    case BATON_SYSTEM:
        fprintf(stderr, "board '%s': %s\n", board, strerror(reason));
        break;
    case BATON_BAD_NAME:
        fprintf(stderr,
                "'%s' is no name for a board: up to %d letters, digits, '.', '_' and '-', "
                "the first of them no '.'\n",
                board, BATON_BOARD_NAME_BYTES - 1);
        return EXIT_USAGE;
    default:
        fprintf(stderr, "board '%s': %s\n", board, baton_strerror(error));
    }
    return EXIT_FAILED;
}
