/*
 * A session: one client's connection as the lock service sees it. Commands come in as bytes,
 * replies and pushes go out as bytes; where they come from and go to is somebody else's business,
 * and so is the clock. docs/protocol.md describes the commands.
 */
#ifndef BATON_NET_SESSION_H
#define BATON_NET_SESSION_H

#include "baton/reg.h"
#include "proof.h"
#include "registry.h"
#include "resp.h"
#include "traffic.h"

/* What all sessions of a server share; made by the server, and not changed while it runs. */
typedef struct service {
    registry *locks;
    resp_limits limits;
    size_t most_output;     /* bytes that a client may leave unread */
    size_t most_name;       /* bytes of a lock's name */
    uint64_t longest_lease; /* milliseconds */
    BATON_ATOMIC(bool)
    closed;             /* nobody is let in for now: there is no token that is sure to be new */
    const char *secret; /* that AUTH must give; NULL: no AUTH */
    /* Before a lease is granted; false if it cannot be. From any loop. */
    bool (*remember_lease)(struct service *s, uint64_t lease);
    void (*info)(struct service *s, resp_out *out); /* more for INFO */
    const struct session_command
        *more; /* commands besides the usual; ended by one without a name */
    /* All that was done since the last call: must be so before anything is sent. NULL: it is. */
    void (*turn_ends)(struct service *s);
    void (*audit)(struct service *s, const char *from, const char *what); /* a forced release */
} service;

typedef struct session {
    session_roles roles; /* first, so that one can be found from the other */
    service *of;
    traffic *traffic; /* of its loop */
    resp_out out;
    uint32_t request;
    bool waits; /* for an answer: commands behind that stay unread */
    bool trusted;
    bool challenged; /* it has asked for `challenge`, and not answered yet */
    uint8_t challenge[PROOF_BYTES];
    bool ends;            /* nothing more is read; to be closed when `out` has been sent */
    uint64_t wait_until;  /* milliseconds; 0 for ever */
    uint64_t lease;       /* milliseconds of silence after which it loses what it holds; 0: none */
    uint64_t lease_until; /* 0 if there is none */
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
    uint32_t least, most; /* words, with the command itself */
    bool for_strangers;   /* before AUTH, too */
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

/* AUTH; and HELLO's part of it: false, with an error, if that is not the secret. */
void session_auth(const order *o);
bool session_authenticate(const order *o, resp_word secret);

/* `post` as in registry.h. */
void session_start(session *me, service *of, traffic *counted,
                   void (*post)(session_roles *me, notice *n));
/* Reads commands, as far as they are complete; returns how many bytes were used. */
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
