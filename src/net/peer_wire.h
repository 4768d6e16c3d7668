/*
 * What nodes say to each other once each knows who the other is (peer_auth.h): RESP commands, as
 * clients speak them. Pure: bytes in, a message out; a message in, bytes out.
 *
 *   HEARTBEAT                            I am there
 *   MUSTER "1 2 3 4 5"                   a muster_message: 1 if it asks, nonce, boot id, state, 1
 *                                        if another boot id is known
 *   LIST nonce [name]                    which locks have you a record of, after that one?
 *   LISTED nonce end name ...            these, and 1 if there are no more
 *   KIND name "1 2 3 ..." bytes ...      a wme_message for the lock of that name: all its numbers
 *                                        in one word, then operations, then a snapshot
 *   -ERR text                            the other node has refused something, and hangs up
 *
 * A kind has the fields that wme.h says, in the order of the walk in peer_wire.c. The bytes are not
 * trusted: a word, a number or a length that cannot be is refused before anything is allocated for
 * it. Whether a message makes sense to a stub is wme_check's business.
 */
#ifndef BATON_NET_PEER_WIRE_H
#define BATON_NET_PEER_WIRE_H

#include "../wme/muster.h"
#include "resp.h"

enum {
    PEER_MOST_NAME = 512,              /* bytes of a lock's name */
    PEER_MOST_SNAPSHOT = 17 * 1048576, /* bytes of a resource, if sent as a whole */
    PEER_MOST_REST = 4096,             /* bytes of all but operations and snapshot */
    PEER_MOST_COMPLAINT = 512,         /* bytes of the other node's last words */
    PEER_MOST_OPS = 1 + WME_MOST_LOG,  /* operations in one message */
    PEER_MOST_LISTED = 24,             /* names in one message */
    /* Of a command that is no STATE, and of any: what a buffer for input must have room for. */
    PEER_MOST_SMALL = PEER_MOST_REST + WME_MOST_OP,
    PEER_MOST_BYTES = PEER_MOST_SMALL + PEER_MOST_SNAPSHOT,
    /* What peer_read may allocate for one message, all told. */
    PEER_MOST_ALLOCATED = PEER_MOST_OPS * ((int)sizeof(wme_op) + WME_MOST_OP),
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
    PEER_MUSTER,
    PEER_LIST,
    PEER_LISTED
} peer_verb;

/* LIST, of which `name` has the last name known, or none; LISTED: names that come after it. */
typedef struct peer_list {
    uint64_t nonce;
    bool end;
    uint32_t names;
    resp_word name[PEER_MOST_LISTED];
} peer_list;

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
    muster_message muster; /* MUSTER */
    peer_list list;        /* LIST LISTED */
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
void peer_say_heartbeat(resp_out *out);
/* These are lost, too, if there is no room. */
void peer_say_muster(resp_out *out, const muster_message *m);
void peer_say_list(resp_out *out, const peer_list *l);
void peer_say_listed(resp_out *out, const peer_list *l);

/* "REQUEST"; for logs. */
const char *peer_kind_name(wme_kind kind);

#endif
