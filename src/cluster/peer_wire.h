/*
 * What nodes say to each other once each knows who the other is (peer_hello.h): RESP commands, as
 * clients speak them. Pure: bytes in, a message out; a message in, bytes out.
 *
 *   HEARTBEAT turn                       I am there, and my data are of that turn
 *   BOOT "1 2 3 4 5 6 7 8 9"             a boot_message: 1 if it asks, nonce, boot id, state, 1
 *                                        if another boot id is known, life, life that is known,
 *                                        run, turn that it began with
 *   LIST nonce [name]                    which locks have you a record of, after that one?
 *   LISTED nonce end name ...            these, and 1 if there are no more
 *   KIND name "1 2 3 ..." bytes ...      a wme_message for the lock of that name: all its numbers
 *                                        in one word, then operations, then a snapshot
 *   SYNCS "1 2 3 ..." name ...           SYNC for several locks: the numbers of all in one word
 *   -ERR text                            the other node has refused something, and hangs up
 *
 * A kind has the fields that wme.h says, in the order of the walk in peer_walk.c. The bytes are not
 * trusted: a word, a number or a length that cannot be is refused before anything is allocated for
 * it. Whether a message makes sense to a stub is wme_check's business.
 */
#ifndef BATON_CLUSTER_PEER_WIRE_H
#define BATON_CLUSTER_PEER_WIRE_H

#include "boot_check.h"
#include "resp.h"

enum {
    PEER_MAX_NAME = 512,              /* bytes of a lock's name */
    PEER_MAX_SNAPSHOT = 17 * 1048576, /* bytes of a resource, if sent as a whole */
    PEER_MAX_REST = 4096,             /* bytes of all but operations and snapshot */
    PEER_MAX_COMPLAINT = 512,         /* bytes of the other node's last words */
    PEER_MAX_OPS = 1 + WME_MAX_LOG,   /* operations in one message */
    PEER_MAX_LISTED = 24,             /* names in one message */
    PEER_SYNC_NUMBERS = 3,            /* epoch, sn, executed */
    /* Of a command that is no STATE, and of any: what a buffer for input must have room for. */
    PEER_MAX_SMALL = PEER_MAX_REST + WME_MAX_OP,
    PEER_MAX_BYTES = PEER_MAX_SMALL + PEER_MAX_SNAPSHOT,
    /* What peer_read may allocate for one message, all told. */
    PEER_MAX_ALLOCATED = PEER_MAX_OPS * ((int)sizeof(wme_op) + WME_MAX_OP),
};

/*
 * A resource as bytes. The wire takes wme_message.resource for one of these; in a message that was
 * read it lies in the bytes that were read.
 */
typedef struct peer_snapshot {
    const void *at;
    size_t bytes;
} peer_snapshot;

typedef enum peer_verb {
    PEER_HEARTBEAT,
    PEER_MESSAGE,
    PEER_COMPLAINT,
    PEER_BOOT,
    PEER_LIST,
    PEER_LISTED,
    PEER_SYNCS
} peer_verb;

/* LIST, of which `name` has the last name known, or none; LISTED: names that come after it. */
typedef struct peer_list {
    uint64_t nonce;
    bool end;
    uint32_t names;
    resp_word name[PEER_MAX_LISTED];
} peer_list;

/* SYNCS: how far the sender is in each of these locks. */
typedef struct peer_syncs {
    uint32_t names;
    resp_word name[PEER_MAX_LISTED];
    uint64_t number[PEER_MAX_LISTED * PEER_SYNC_NUMBERS];
} peer_syncs;

/*
 * What was read. `words` and a snapshot lie in the bytes that were read. The operations are this
 * one's own: each has one holder, to be dropped by peer_said_drop; a stub that is told the message
 * keeps those it wants for longer. Not to be copied, as the message refers to `snapshot`.
 */
typedef struct peer_said {
    peer_verb verb;
    resp_word words;     /* MESSAGE: name of the lock; COMPLAINT: its text */
    wme_message message; /* MESSAGE; fields that the kind does not have are 0 */
    peer_snapshot snapshot;
    uint64_t turn;           /* HEARTBEAT */
    boot_message boot_check; /* BOOT */
    peer_list list;          /* LIST LISTED */
    peer_syncs syncs;        /* SYNCS */
} peer_said;

/*
 * Reads one command from the beginning of the bytes, in a cluster of so many nodes. Unless it is
 * complete, there is nothing in `said` to be dropped.
 */
resp_parsed peer_read(const char *bytes, size_t count, uint8_t nodes, peer_said *said);
void peer_said_drop(peer_said *said);

/*
 * Appends a message. NULL, or why it cannot be sent: a snapshot that is too large, no room in
 * `out`. Then `out` is as it was before, and may go on as if the message had been lost.
 */
const char *peer_say(resp_out *out, uint8_t nodes, resp_word name, const wme_message *m);
void peer_say_heartbeat(resp_out *out, uint64_t turn);
/* These are lost, too, if there is no room. */
void peer_say_boot(resp_out *out, const boot_message *m);
void peer_say_list(resp_out *out, const peer_list *l);
void peer_say_listed(resp_out *out, const peer_list *l);

/* One more of these; there must be room for it. The name is borrowed. */
void peer_syncs_add(peer_syncs *s, resp_word name, const wme_message *sync);
wme_message peer_syncs_at(const peer_syncs *s, uint32_t at);
/* NULL, or why it cannot be sent, as peer_say. */
const char *peer_say_syncs(resp_out *out, const peer_syncs *s);

/* "REQUEST"; for logs. */
const char *peer_kind_name(wme_kind kind);

#endif
