/*
 * A connection between nodes, as the files of this room share it: peer_connection.c is one
 * connection, its bytes and its end; dialing.c is how it is made; links.c has them all.
 */
#ifndef BATON_NODE_PEER_CONNECTION_H
#define BATON_NODE_PEER_CONNECTION_H

#include "links.h"
#include "list.h"
#include "listen.h"
#include "log.h"
#include "lookup.h"
#include "peer_tls.h"

enum {
    LINK_LEAST_PAUSE = 50,
    LINK_MAX_PAUSE = 1000,
    LINK_MAX_GREETING = 2000, /* milliseconds from the first packet until both know each other */
    LINK_CHUNK = 65536,
};

/*
 * A connection. Of those that this node dials there is one for each peer, for ever; one that was
 * accepted lives as long as its socket.
 */
typedef struct peer_connection {
    links *of;
    bool dials;
    bool open; /* the socket is libuv's, and not yet closed */
    bool closing;
    uint64_t waits_since, early_since; /* turns; of what is said, and early: 0: nothing waits */
    bool writes;
    bool doubted; /* late, at the last look */
    bool pauses;  /* until it dials again */
    bool unknown; /* its name was not found the last time */
    uint8_t peer; /* whom it dials */
    uint32_t pause;
    uint32_t tried; /* addresses of the peer: a name may have several */
    uv_tcp_t socket;
    uv_timer_t again; /* of one that dials: then; while it greets, or was accepted: the end */
    uint64_t heard;   /* when the other last said something */
    uv_connect_t connecting;
    lookup name; /* of one that dials: where the peer is */
    uv_write_t write;
    tls_stream *tls; /* while the socket is open */
    bool greets;     /* TLS is ready, and this side has begun with its hello */
    peer_hello hello;
    resp_out greeting; /* of peer_hello */
    resp_out sending;  /* what libuv is writing, as TLS has made it */
    char *pending;
    size_t pending_bytes, pending_capacity;
    list_link in_guests; /* if it was accepted: or among the strangers */
} peer_connection;

struct links {
    uv_loop_t *loop;
    cluster_node *node;
    const peers *all;
    peer_tls tls;
    listeners *listening;
    peer_connection to[WME_MAX_NODES];
    list_head guests;    /* that are known */
    list_head strangers; /* that are not yet; the oldest first */
    uint32_t stranger_count;
    log_sum refused[2][WME_MAX_NODES + 1]; /* those who dialed, those dialed; by id, or without */
    bool ends;
    uint64_t turns;
    peer_said said; /* large, and used up before the next */
    char chunk[LINK_CHUNK];
    char plain[LINK_CHUNK]; /* what that means */
};

/* ---- peer_connection.c ---- */
/* Ends it, if it has not ended yet. One that this node dials is dialed again. */
void link_hang_up(peer_connection *l, const char *why);
/* Of a timer: whoever said nothing for too long, or does not take what it is sent, is gone. */
void link_look_at_clock(uv_timer_t *timer);
/* Takes the bytes away from `out`, if it can send anything now. */
void link_transmit(peer_connection *l, resp_out *out);
/* Its socket is connected. NULL: there is no memory for TLS. */
void link_begin(peer_connection *l, tls_stream *tls);
/* Each knows who the other is. */
static inline bool link_is_known(const peer_connection *l)
{
    return l->hello.state == PEER_HELLO_DONE;
}

/* ---- dialing.c ---- */
/* False: out of descriptors, and nothing is to be closed. */
bool link_dials(peer_connection *l);
void link_dial_after(peer_connection *l, uint32_t pause);
/* It dials no more. */
void link_dials_no_more(peer_connection *l);

#endif
