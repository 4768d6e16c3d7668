/*
 * A session: one client's connection as the lock service sees it. Commands come in as bytes,
 * replies and pushes go out as bytes; where they come from and go to is somebody else's business,
 * and so is the clock. docs/protocol.md describes the commands.
 */
#ifndef BATON_SESSION_SESSION_H
#define BATON_SESSION_SESSION_H

#include "baton/reg.h"
#include "guesses.h"
#include "lock_backend.h"
#include "proof.h"
#include "resp.h"
#include "traffic.h"

/* What all sessions of a server share; made by the server, and not changed while it runs. */
typedef struct service {
    locks *locks;
    resp_limits limits;
    size_t max_output;      /* bytes that a client may leave unread */
    size_t max_name;        /* bytes of a lock's name */
    uint64_t longest_lease; /* milliseconds */
    BATON_ATOMIC(bool)
    closed;             /* nobody is let in for now: there is no token that is sure to be new */
    const char *secret; /* that AUTH must give; NULL: no AUTH */
    guesses *guesses;   /* wrong ones, and how long others wait for them; NULL: not at all */
    /*
     * Before a session's lease changes, 0 for none; false if it cannot. From any loop. NULL: nobody
     * needs to know.
     */
    bool (*change_lease)(struct service *s, uint64_t from, uint64_t to);
    void (*info)(struct service *s, resp_out *out); /* more for INFO */
    const struct session_command
        *more; /* commands besides the usual; ended by one without a name */
    /* All that was done since the last call: must be so before anything is sent. NULL: it is. */
    void (*turn_ends)(struct service *s);
    void (*turn_told)(struct service *s); /* when it was sent; there if turn_ends is */
    /* Something to be written down, about a lock, or about none if its name is empty. */
    void (*audit)(struct service *s, const char *from, const char *what, resp_word lock);
} service;

typedef struct session {
    lock_session who; /* first, so that one can be found from the other */
    service *of;
    traffic *traffic; /* of its loop */
    resp_out out;
    uint32_t request;
    bool waits;      /* for an answer: commands behind that stay unread */
    bool unfinished; /* its share of the turn is used up, and it may have said more */
    bool trusted;
    uint64_t stranger_until; /* milliseconds: until then it is trusted, or leaves; 0: no matter */
    uint64_t guess_at;       /* when its password may be looked at; 0: it has given none yet */
    bool comes_again;        /* the command at hand is to be read once more, later */
    bool challenged;         /* it has asked for `challenge`, and not answered yet */
    uint8_t challenge[PROOF_BYTES];
    bool lost_unheard;    /* something was taken away, and its protocol has no push for that */
    bool quits;           /* it will not come back */
    bool ends;            /* nothing more is read; to be closed when `out` has been sent */
    uint64_t wait_until;  /* milliseconds; 0 for ever */
    uint64_t lease;       /* milliseconds of silence after which it loses what it holds; 0: none */
    uint64_t lease_until; /* 0 if there is none */
    uint32_t share;       /* commands that it may still say before others have their turn */
    char *waits_for;      /* a lock, by LOCK: its name */
    size_t waits_for_bytes;
} session;

/* A command that is being carried out. */
typedef struct order {
    session *me;
    const resp_command *command;
    uint64_t now;
} order;

typedef struct session_command {
    const char *name;
    uint32_t least, max; /* words, with the command itself */
    bool for_strangers;  /* before AUTH, too */
    void (*run)(const order *o);
} session_command;

/* The name in the first word after the command; false, with an error, if it cannot be one. */
bool order_name(const order *o, resp_word *name);
/* The same for the token in word `at`. */
bool order_token(const order *o, uint32_t at, uint64_t *token);

/*
 * The session waits for that lock, for as many milliseconds as word `at` says, if there is one, and
 * 0 is no end; false, with an error, if it cannot.
 */
bool order_wait(const order *o, resp_word name, uint32_t at);
/* It waits no longer: the answer is there. */
void session_stop_waiting(session *me);

/*
 * AUTH; and HELLO's part of it: false, with an error, if that is not the secret; or without one, if
 * it is too early to look at that: then the command comes again.
 */
void session_auth(const order *o);
/* It has shown that it knows the secret, by other means. */
void session_trust(session *me);
bool session_authenticate(const order *o, resp_word secret);

/* `post` as in lock_backend.h. */
void session_start(session *me, service *of, traffic *counted,
                   void (*post)(lock_session *me, notice *n));
/*
 * Reads commands, as far as they are complete, and no more than SESSION_SHARE: the rest must wait
 * until others had theirs. Returns how many bytes were used. `now` is when these were read. A
 * command that takes long, since it looks at many things, costs as much of the share as these.
 */
enum { SESSION_SHARE = 64 };
void session_spend(session *me, uint64_t things);
size_t session_feed(session *me, const char *bytes, size_t count, uint64_t now);
/* A notice has arrived at the loop of the session. Frees it. */
void session_notice(notice *n, uint64_t now);
/* When it must be told the time, in milliseconds; 0: not at all. */
uint64_t session_deadline(const session *me);
void session_time(session *me, uint64_t now);
/*
 * The connection is gone: so is everything that the session held. Notices may still be on their
 * way; the session must stay until those that were posted before now have been taken. Returns its
 * lease if it held something, 0 if not.
 */
uint64_t session_end(session *me, uint64_t now);
void session_free(session *me);

#endif
