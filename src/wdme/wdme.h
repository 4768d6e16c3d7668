/*
 * WDME: wait-free mutual exclusion over a network, after the wdme paper with errata 11 to 16. Two
 * automata, both pure: they know no clock, no socket, no disk and no thread.
 *
 *   A, the client side   one per connection and lock (client.c). After a failed try it answers
 *                        no by itself, without a message, until it hears that the lock was free
 *   B, the register      one per lock (register.c). Who holds it, in which generation, who is to be
 *                        told when it is free, and beyond the paper who waits for it, in order
 *
 * A generation is one critical section. Its number is the fencing number: it grows with every
 * section, also over restarts, if the counter it comes from does.
 */
#ifndef BATON_WDME_WDME_H
#define BATON_WDME_WDME_H

#include <stdbool.h>
#include <stdint.h>

typedef enum wdme_kind {
    /* from A to B */
    WDME_TRY,    /* may I enter? now or not */
    WDME_LOCK,   /* may I enter? I wait for it */
    WDME_CANCEL, /* I wait no longer */
    WDME_EXIT,   /* I am out of that generation */
    /* from B to A */
    WDME_OK,        /* you are in; the generation is yours */
    WDME_FAIL,      /* somebody holds it, in that generation; you will hear of its end */
    WDME_RESET,     /* it was free, from that generation on */
    WDME_EXIT_DONE, /* you were in, and are out */
    WDME_STALE,     /* you were not in: somebody may be in a later generation */
    WDME_TIMEOUT,   /* you have waited in vain */
    WDME_LOST,      /* your lease is over: that generation is no longer yours */
} wdme_kind;

/* `request` numbers what a client asks for, so that it knows an answer to what it has given up. */
typedef struct wdme_message {
    wdme_kind kind;
    uint32_t request;    /* of TRY, LOCK, CANCEL, and their answers */
    uint64_t generation; /* of EXIT, and of all from B to A but TIMEOUT */
} wdme_message;

/* ---- A ---- */

typedef enum wdme_doing {
    WDME_RESTS,
    WDME_TRIES, /* has sent TRY */
    WDME_WAITS, /* has sent LOCK */
    WDME_HOLDS,
} wdme_doing;

/*
 * All zero: a client that has just connected. Owned by who has the connection.
 *
 * newest, failed   G and F of the corrected automaton; 0 for none
 */
typedef struct wdme_client {
    wdme_doing doing;
    uint32_t request;  /* the last one; current while it tries or waits */
    uint32_t given_up; /* a try that was given up and is not yet answered; 0 for none */
    uint64_t newest;
    uint64_t failed;
    uint64_t lost;  /* newest generation that was taken away from it; 0 for none */
    uint64_t token; /* the generation it holds */
} wdme_client;

/* What the process is told. */
typedef enum wdme_answer {
    WDME_NOTHING,
    WDME_ENTERED,   /* with a token */
    WDME_REFUSED,   /* the try failed */
    WDME_TIMED_OUT, /* the wait is over */
    WDME_LEFT,
    WDME_LEFT_LATE, /* it had been taken away before the process left */
    WDME_WAS_LOST, /* it has just been taken away, or was before the process heard that it has it */
    WDME_CUT,      /* the connection broke before there was an answer */
    WDME_MISUSE,   /* not now: it has asked already, or does not hold it */
} wdme_answer;

/* What a step of a client brings: at most one message, at most one answer. */
typedef struct wdme_step {
    bool sends;
    wdme_message message;
    wdme_answer answer;
    uint64_t token; /* with WDME_ENTERED */
} wdme_step;

/* Whether a try would cost a message. If not, it is refused here and now. */
bool wdme_gate_is_open(const wdme_client *a);
wdme_step wdme_client_try(wdme_client *a);
wdme_step wdme_client_lock(wdme_client *a);
/* Gives up what it has asked for; nothing if there is nothing. */
wdme_step wdme_client_cancel(wdme_client *a);
wdme_step wdme_client_exit(wdme_client *a);
wdme_step wdme_client_receive(wdme_client *a, wdme_message m);
/* The connection is gone, and with it everything that the register knew of this client. */
wdme_step wdme_client_cut(wdme_client *a);

/* ---- B ---- */

#define WDME_NOBODY UINT32_MAX

/* What the register knows of one connection. All zero: nothing. Owned by the register's owner. */
typedef struct wdme_member {
    bool waits;      /* in the queue, */
    uint32_t before; /*    between these two */
    uint32_t after;
    uint32_t request;    /* that it waits with */
    bool loses;          /* among those to be told when it is free, */
    uint32_t next_loser; /*    before this one */
} wdme_member;

/*
 * The word {generation, holder} of the paper, with W and the queue. Nobody waits while it is free:
 * who is first in the queue enters as soon as the holder is out.
 */
typedef struct wdme_register {
    uint64_t generation;
    uint32_t holder;
    uint32_t first, last; /* the queue, */
    uint32_t waiting;     /* and how many are in it */
    uint32_t losers;      /* W */
} wdme_register;

/*
 * A register with what it needs. Members are numbered by their place in an array, so that all of it
 * can be copied and moved.
 */
typedef struct wdme_context {
    wdme_register *reg;
    wdme_member *members;
    uint64_t
        *next_generation; /* grows for ever; shared by all registers, restored after a restart */
    void (*send)(void *context, uint32_t to, wdme_message m);
    void *context;
} wdme_context;

/* Free, in a generation of its own. */
void wdme_register_start(wdme_context *b);
void wdme_register_receive(wdme_context *b, uint32_t from, wdme_message m);
/* The lease of the holder is over; it is told so. Nothing if it does not hold. */
void wdme_register_lease_over(wdme_context *b, uint32_t member);
/* The wait of that member has taken too long; it is told so. Nothing if it does not wait. */
void wdme_register_wait_over(wdme_context *b, uint32_t member);
/* The member is gone, whatever it was. It is told nothing. */
void wdme_register_gone(wdme_context *b, uint32_t member);

#endif
