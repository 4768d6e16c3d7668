/*
 * The client of the lock service (`baton serve`) and of clusters (`baton node`): locks that
 * processes on many machines share.
 *
 *     baton_client_options options = {.address = "127.0.0.1:7700", .lease_ms = 10000};
 *     baton_client_open(&options, &client);
 *     if (baton_client_lock(client, "nightly", 60000, &token) == BATON_OK) {
 *         ... pass the token on to whatever you change, so that it can refuse an older one ...
 *         baton_client_exit(client, "nightly", token);
 *     }
 *
 * One client is for many threads and many locks. Each lock is held by at most one thread of all
 * clients together; threads of one process compete like any others. A try that fails costs no
 * message until the holder has left: until then the client answers by itself (wdme, Theorem 1).
 * Threads that try the same lock at the same time share one message and its answer.
 *
 * What is held is held by the connection: if that breaks (but see below for clusters), or if the
 * server has not heard of this process for the length of its lease, the lock is lost, and another
 * may hold it. The process hears of it at once (`lost`, and baton_client_fd), or by its own clock
 * when the lease is over, whichever is first: that is always before the server gives the lock to
 * another, if clocks run alike.
 *
 * Of a cluster, give all nodes: "a:7700,b:7700,c:7700". Any is as good as another; when one cannot
 * be reached, or its connection breaks, the next in the list is tried. Who waited goes on there,
 * behind those who wait already. What is held, under a lease, goes on at the same node or another,
 * if nobody was inside since: it is lost only if somebody was, or the lease is over before. While
 * it is on its way it counts as held (baton_client_holds), operations and exits wait, and the token
 * stays what it was: nobody can have got a larger one in between. To this end a node keeps what is
 * held until its lease is over, even if the process has died.
 *
 * A node that hangs, or sees no majority, is left too. That it hangs is noticed within a third of
 * the lease if something is held there; if somebody only waits there, within one and a half times
 * the patience. The others may let somebody in before; against that only the token, and operations
 * (baton_client_issue), are safe. Of what is held without a lease nothing goes on at another node.
 *
 * Where sections go on they take a connection each; of more than 64, or where the process has no
 * more descriptors, several share one.
 */
#ifndef BATON_CLIENT_H
#define BATON_CLIENT_H

#include <baton/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct baton_client baton_client;

/* Zero stands for the default. */
typedef struct baton_client_options {
    /*
     * HOST:PORT, or tls://HOST:PORT (rediss:// too), or the path of a Unix socket; must be given.
     * Several, up to 64, with commas in between, are nodes of one cluster.
     */
    const char *address;
    const char *password; /* proved to the server, and never sent; NULL: none */
    uint32_t lease_ms;    /* renewed by the client itself while the process runs; 0: no lease */
    /* For connecting, to all addresses together, and for an answer to anything but a wait */
    uint32_t patience_ms; /* (5000) */
    /*
     * Called by a thread of the client's own for that, when a lock is lost. It must not try, lock,
     * issue or exit, and nothing else is told until it returns; leases are renewed meanwhile. May
     * be NULL.
     */
    void (*lost)(void *context, const char *name, uint64_t token);
    void *context;
    /*
     * The lease if a node of a cluster answers, instead of lease_ms; 0: the same. A section goes on
     * at another node within its lease, so that of a cluster can be shorter. Not without lease_ms.
     */
    uint32_t cluster_lease_ms;
    /*
     * For tls://. A file of certificates in PEM: who must have signed the server's, which must have
     * the HOST of the address as one of its names; "system": who is trusted by this system. NULL: a
     * server with a password must know that, and nothing else is looked at; without a password, as
     * "system". TLS needs libbaton-tls, which is loaded when an address asks for it.
     */
    const char *tls_ca;
    const char *tls_cert, *tls_key; /* shown to the server, if it asks; files in PEM; NULL: none */
} baton_client_options;

/* The longest name of a lock, with its end. */
#define BATON_CLIENT_NAME_BYTES 513

/*
 * Connects. Errors: BATON_UNREACHABLE (errno says why), BATON_REFUSED (a wrong password, no server
 * of locks, a lease longer than it allows, or TLS has failed), BATON_CLOSED (the server has too
 * many clients, or cannot write its files), BATON_BAD_ARGUMENT, BATON_SYSTEM.
 */
BATON_API int baton_client_open(const baton_client_options *options, baton_client **client);
/* What went wrong with TLS in this thread's last baton_client_open, as words; "" if nothing did. */
BATON_API const char *baton_client_why(void);
/*
 * Leaves everything that is held. No thread may be in a call. Not from within `lost`.
 *
 * A client is of the process that has opened it. In a child that was forked since, all calls
 * return BATON_BAD_ARGUMENT, nothing is held, and this closes the child's copies of the
 * connections, and leaves nothing: do so, lest what the parent holds outlive it. exec does the
 * same.
 */
BATON_API void baton_client_close(baton_client *client);

/*
 * Enters if nobody is inside: BATON_OK with a token, or BATON_BUSY. Connects anew if the connection
 * was lost. Errors: BATON_UNREACHABLE, BATON_REFUSED, BATON_CLOSED (the server lets nobody in for
 * now), BATON_BAD_NAME (a name has 1 to 512 bytes), BATON_BAD_ARGUMENT, BATON_SYSTEM; BATON_LOST if
 * it entered, but lost the lock before it returned.
 */
BATON_API int baton_client_try(baton_client *client, const char *name, uint64_t *token);
/*
 * Waits for its turn, first come, first served; at most `timeout_ms` (negative: without end; 0: it
 * only tries), then BATON_BUSY. Each wait, and what is held after it, takes a connection. Errors:
 * the same, also if the connection is lost while it waits and there is no other address;
 * BATON_FULL: too many wait here.
 */
BATON_API int baton_client_lock(baton_client *client, const char *name, int64_t timeout_ms,
                                uint64_t *token);
/*
 * Leaves; waits for a section that is on its way to another node. BATON_LOST: it was not held any
 * more, so somebody else may have been inside since, or the server did not say. The lock is left
 * either way.
 */
BATON_API int baton_client_exit(baton_client *client, const char *name, uint64_t token);

/* Whether a node of a cluster has answered last, and not a server that stands alone. */
BATON_API bool baton_client_is_cluster(baton_client *client);

/* Any bytes. */
typedef struct baton_client_word {
    const char *at;
    size_t bytes;
} baton_client_word;

/* As the protocol writes it (docs/protocol.md), and a zero behind its bytes. To be freed. */
typedef struct baton_client_reply {
    char *at;
    size_t bytes;
} baton_client_reply;

/*
 * Executes an operation, such as SET key value, on what a lock of a cluster guards, from within the
 * section of that token: on all nodes or none, and never after the section. BATON_OK: `reply` is
 * the result, or says what is wrong with the operation. BATON_LOST: the section is over, and
 * nothing was executed. BATON_UNREACHABLE: the connection broke, or the lock was taken away (then
 * errno is ECANCELED), while it was under way; whether it was executed is not known, and it is not
 * repeated. The section may go on over another connection (baton_client_holds): from there, what
 * was changed can be seen. An operation has 1 to 29 words, of 60000 bytes together.
 */
BATON_API int baton_client_issue(baton_client *client, const char *name, uint64_t token,
                                 const baton_client_word *words, size_t count,
                                 baton_client_reply *reply);

/*
 * Becomes readable when a lock is lost, for poll(); baton_client_lost then takes what was lost, one
 * at a time: BATON_OK, or BATON_BUSY if there is no more. `name` takes BATON_CLIENT_NAME_BYTES. Of
 * what nobody takes the last 4096 are kept.
 */
BATON_API int baton_client_fd(const baton_client *client);
BATON_API int baton_client_lost(baton_client *client, char *name, uint64_t *token);
/*
 * Whether that token is held as far as this process can know: not lost, and the lease not over by
 * its own clock. Costs no message.
 */
BATON_API bool baton_client_holds(baton_client *client, const char *name, uint64_t token);
/*
 * Milliseconds until the lease of that token is over by this process's own clock, counted from the
 * moment at which the last renewal that the server has acknowledged was sent: so never later than
 * the server's own end of it. INT64_MAX if there is no lease; 0 if it is over, or the token not
 * held. Grows with each acknowledged renewal. Costs no message, and does not wait for one.
 */
BATON_API int64_t baton_client_lease_left_ms(baton_client *client, const char *name,
                                             uint64_t token);

/* What a client has done so far. */
typedef struct baton_client_counts {
    uint64_t tries;
    uint64_t refused_here; /* of these, without a message */
    uint64_t entries;
    uint64_t lost;
    uint64_t messages; /* both ways */
} baton_client_counts;

BATON_API baton_client_counts baton_client_count(baton_client *client);

#ifdef __cplusplus
}
#endif

#endif
