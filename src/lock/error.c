/*
 * What goes wrong around locks, in words: return values, and misuse found by debug checks.
 */
#include "baton/lock.h"

const char *baton_strerror(int value)
{
    switch (value) {
    case BATON_OK:
        return "no error";
    case BATON_BUSY:
        return "somebody holds the lock";
    case BATON_NO_ALGORITHM:
        return "no lock algorithm of that name; 'baton locks' lists them";
    case BATON_BAD_COUNT:
        return "a number (of locks, participants, collectors or bytes) is zero or too large";
    case BATON_TOO_SMALL:
        return "the memory is too small; ask the function whose name ends in _size";
    case BATON_MISALIGNED:
        return "the memory does not begin at a multiple of BATON_CACHE_LINE";
    case BATON_NOT_LOCKS:
        return "no locks in this memory: it was never set up, is not yet ready, or is damaged";
    case BATON_OTHER_VERSION:
        return "what is in this memory was made by a library with another memory layout";
    case BATON_FULL:
        return "as many participants as it was made for have joined already";
    case BATON_NO_LOCK:
        return "no lock of that number in this set";
    case BATON_NOT_INSIDE:
        return "the participant is not inside that lock";
    case BATON_ALREADY_INSIDE:
        return "the participant is inside a lock; it must exit first";
    case BATON_NOT_JOINED:
        return "the participant has not joined, or has left";
    case BATON_ALREADY_JOINED:
        return "the participant has joined already; it must leave first";
    case BATON_NO_TRY:
        return "the algorithm has no try";
    case BATON_BAD_ARGUMENT:
        return "an argument is null or not one of the values allowed";
    case BATON_NO_OBJECT:
        return "no collect object of that name; there are array, tree and matrix";
    case BATON_NOT_COLLECT:
        return "no collect object in this memory: never set up, not yet ready, or damaged";
    case BATON_NO_BOARD:
        return "no board of that name; a program that opens one makes it";
    case BATON_NOT_BOARD:
        return "this is no board, or it is damaged; remove it, and it will be made anew";
    case BATON_BAD_NAME:
        return "the name is empty, too long, or has characters that are not allowed";
    case BATON_OTHER_NAMESPACE:
        return "the board belongs to another pid namespace, where process numbers mean others";
    case BATON_READ_ONLY:
        return "the board was opened only to look at it";
    case BATON_UNSUPPORTED:
        return "boards need Linux and 64-bit words";
    case BATON_SYSTEM:
        return "the system refused; errno says why";
    case BATON_UNREACHABLE:
        return "nobody answers at that address; start a server with 'baton serve'";
    case BATON_REFUSED:
        return "the server refused: a wrong password, or no server of locks";
    case BATON_LOST:
        return "the lock had been taken away: the lease was over, or the connection lost";
    case BATON_CLOSED:
        return "the server lets nobody in now: it cannot write its files, is not ready, is about "
               "to end, or is full; see its log";
    case BATON_OTHER_OWNER:
        return "the board belongs to another user, or others may write to it; take another name";
    default:
        return "not a value that this library returns";
    }
}

const char *baton_version(void)
{
    return BATON_VERSION;
}

#ifdef BATON_DEBUG_CHECKS
#include <stdio.h>
#include <stdlib.h>

_Noreturn void baton_misuse(const char *what);

_Noreturn void baton_misuse(const char *what)
{
    fprintf(stderr, "baton: misuse of %s\n", what);
    abort();
}
#endif
