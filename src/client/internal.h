/*
 * The client of the lock service, inside. It has several lines, each a connection to the server:
 *
 *   main line       TRY, EXIT; an automaton A (wdme.h) for each name that is of interest
 *   waiting lines   LOCK blocks its line, so each wait has one of its own, and the lock is then
 *                   held over that one; those that are idle are kept for a while
 *
 * When a line breaks over which something is held, and the servers are nodes of a cluster, its
 * sections are adrift: held still, over a line that is dead. A thread of the client's, the mover,
 * makes a new line for each, and asks there to go on with it (move.c), until the lease is over. It
 * also makes lines to ask over whether a server lives, where all others are blocked. Which goes
 * where, and when, is drift.c's to say; when a server is asked, and when a line is given up,
 * watch.c's. Both are pure.
 *
 * Whoever calls sends, and reads the answer, too, if nobody reads that line yet: an answer that one
 * thread reads for another costs a thread switch more. A thread of the client's, the keeper, reads
 * lines that no caller reads, renews leases and notices what is lost; another, the teller, tells
 * the user of that.
 *
 * One mutex guards everything here. It is never held while a thread waits, connects, or is in the
 * user's callback.
 */
#ifndef BATON_CLIENT_INTERNAL_H
#define BATON_CLIENT_INTERNAL_H

#include "baton/client.h"
#include "book.h"
#include "channel.h"
#include "drift.h"
#include "list.h"
#include "name_table.h"
#include "resp_reply.h"
#include "watch.h"
#include "wdme.h"

#include <pthread.h>

enum {
    MAX_LINES = 1024,            /* of one client: so many threads can wait */
    MAX_IDLE = 16,               /* of these, kept though nobody waits */
    IDLE_SECONDS = 30,           /* and for so long */
    MAX_NAMES = 65536,           /* that gates are remembered of, if less than half is held */
    MAX_LOST = 4096,             /* that are kept for baton_client_lost; then the oldest goes */
    FIRST_ROOM = 4096,           /* bytes for replies; grows when one is larger */
    MAX_REPLY = 128 * 1024,      /* bytes */
    MAX_SERVERS = COURSE_MAX,    /* addresses of one client */
    MAX_MOVES = 1000,            /* of one wait, from server to server */
    SESSION_BYTES = 33,          /* of the id of a session, with its end */
    MAX_UNSENT = 4 * 1024 * 1024 /* bytes, for one line */
};

typedef struct line line; /* a connection to the server */
typedef struct lock_name lock_name;

/*
 * A section of this process: from the grant to exit or loss. In the list of its name while it is
 * held, then, if it is lost, in one of the client's lists.
 */
typedef struct hold {
    list_link link;
    lock_name *of; /* while it is held */
    line *over;
    wdme_client *a;  /* of its name, if it was tried for; else its own */
    wdme_client own; /* for LOCK and RESUME */
    uint64_t token;
    uint64_t server_token; /* the same, as the server knows it: another one after a move */
    drifter drift;
    char name[];
} hold;

/*
 * A name of interest: it is held, tried or waited for, or its gate is closed. Forgotten otherwise.
 * There can be two holds for a moment: one that was taken away, not yet known, and the next.
 */
struct lock_name {
    name_entry entry; /* among the client's names */
    wdme_client a;    /* for tries, over the main line */
    list_head holds;
    uint32_t users;          /* calls that look at it */
    pthread_cond_t answered; /* a try is over; threads that try the same name wait for that */
    size_t bytes;
    char name[];
};

typedef enum request_kind {
    ASK_TRY,
    ASK_LOCK,
    ASK_EXIT,
    ASK_RENEW,
    ASK_ISSUE,
    ASK_RESUME
} request_kind;

/*
 * Something sent and not yet answered. Lives with its caller, who waits until it is done; RENEW in
 * its line; RESUME, and the EXIT of what was resumed too late, by itself.
 */
typedef struct request {
    list_link link; /* among those sent over the same line, in that order */
    request_kind kind;
    uint64_t sent_at; /* before it was sent */
    lock_name *of;    /* of TRY and LOCK */
    hold *hold;       /* of these, what is held if they are granted */
    uint64_t token;
    wdme_client *a;
    const baton_client_word *words; /* of ISSUE: the operation */
    size_t word_count;
    uint64_t wait_ms; /* of RESUME: for which the server may wait */
    char *reply;      /* of ISSUE: allocated when it comes, ended by a zero */
    size_t reply_bytes;
    bool done;
    int result;
    int error;  /* errno */
    bool alone; /* nobody waits for it: freed when it is done */
    bool awaited;
    bool reads;              /* its caller is the reader of the line */
    pthread_cond_t answered; /* if awaited */
} request;

/* Made by whoever needs it, in the client's list, closed and freed by the keeper alone. */
struct line {
    list_link link;
    channel channel;
    uint32_t server;  /* which of the addresses */
    bool is_cluster;  /* a node of one answers */
    line_watch watch; /* its lease */
    bool dead;        /* cut: nothing is sent or read any more; its socket is closed by who reads */
    bool has_reader;  /* a caller reads; others, and the keeper, leave it to that one */
    uint32_t watched; /* events for which the keeper is woken (epoll) */
    uint32_t users;   /* calls that look at it */
    bool idle;        /* for LOCK, and free */
    uint64_t idle_since;
    uint64_t heard_at;
    uint32_t holds;
    uint32_t arriving; /* RESUMEs that are not answered: `token` is that of the hold */
    list_head requests;
    request renewal; /* RENEW that nobody waits for; in the list while `renewing` */
    bool renewing;
    resp_out out;
    size_t in_bytes, in_capacity;
    char *in;
};

struct baton_client {
    list_link kin;  /* among all of the process */
    uint32_t forks; /* in which process of the family it was opened */
    pthread_mutex_t mutex;
    pthread_condattr_t monotonic;
    char *kept[5]; /* options that are texts: */
    char *addresses, *password;
    char session[SESSION_BYTES]; /* random; "" if there are not several servers, or is no lease */
    const char *server[MAX_SERVERS]; /* the addresses, one by one, without their schemes */
    address_kind kind[MAX_SERVERS];
    uint32_t servers;
    address_book *book;   /* where they are */
    channel_tls tls;      /* for those that want it; open if there is one */
    uint32_t next_server; /* where the next line is tried first */
    bool is_cluster;
    uint64_t lease, cluster_lease, patience; /* nanoseconds; of a line, see line.watch */
    server_watch watched[MAX_SERVERS];
    uint64_t shunned; /* servers that were silent, or out of reach, and were not heard of since */
    uint64_t wanted;  /* servers to which the mover shall make a line, to ask over */
    void (*lost)(void *context, const char *name, uint64_t token);
    void *context;
    baton_client_counts counts;
    uint64_t unreported; /* tries refused here, of which the server does not know yet */
    name_table names;
    size_t max_names; /* then closed gates are forgotten */
    line *main;       /* NULL: to be connected */
    bool connecting;  /* a call does that; others wait for it */
    uint64_t attempts;
    int attempt_result, attempt_error;
    pthread_cond_t attempted;
    list_head lines; /* all of them */
    uint32_t line_count, idle_lines;
    list_head untold; /* holds that are lost, and the process has not heard of it */
    list_head told;   /* and those that it has: for baton_client_lost */
    uint32_t told_count;
    int lost_fd;           /* readable while there is something in `told` */
    int wake_fd;           /* of the keeper */
    int watch_fd;          /* what the keeper sleeps at (epoll): lines, and wake_fd */
    uint64_t keeper_until; /* when it wakes by itself, at the latest */
    pthread_t keeper;
    pthread_t teller;      /* if there is a `lost` */
    pthread_cond_t news;   /* for the teller: there is something in `untold` */
    pthread_t mover;       /* if there are several servers */
    drift drift;           /* for the mover: sections, */
    pthread_cond_t adrift; /*    and that there is something to do */
    pthread_cond_t moved;  /* a hold that was adrift is not any more */
    bool closing;
};

/* ---- names.c ---- */

/* False if there is no memory. */
bool names_start(name_table *in);
lock_name *names_find(const name_table *in, const char *name, size_t bytes, uint64_t hash);
/* New if there is none; NULL if there is no memory. */
lock_name *names_get(baton_client *c, const char *name, size_t bytes, uint64_t hash);
/* Forgets it if there is nothing to know about it. */
void names_tidy(name_table *in, lock_name *n);
void names_free(name_table *in);
/* Calls `each` for all; it may tidy. */
void names_each(baton_client *c, void (*each)(baton_client *c, lock_name *n, void *context),
                void *context);
hold *names_hold(const lock_name *n, uint64_t token);
/* The one over that line; NULL if there is none, or it is known there by another token. */
hold *names_hold_over(const lock_name *n, const line *k, uint64_t server_token);
void hold_attach(lock_name *n, hold *h);
void hold_detach(hold *h);
/* It was taken away: the process will be told. */
void hold_lose(baton_client *c, hold *h);
void holds_free(list_head *all);

/* ---- connect.c ---- */

/* "a:1,b:2" into its parts; false if one is empty, or there are too many. */
bool servers_split(baton_client *c);
/* Opens TLS if one of them asks for it; false, and baton_client_why says why. */
bool servers_secure(baton_client *c);
/*
 * Connects to the first on that way that can be reached, and says HELLO; without the mutex. NULL,
 * with a result and errno, if none can be.
 */
line *line_open(const baton_client *c, course *way, int *result);
/* The same to that one alone, within so many nanoseconds. */
line *line_open_at(const baton_client *c, uint32_t server, uint64_t patience, int *result);
/* There is room for more to come; false, with errno, if the reply is too large. */
bool line_make_room(line *k);
void line_free(line *k);

/* ---- line.c ---- */

static inline uint64_t clock_now(void)
{
    return channel_clock();
}
void line_add(baton_client *c, line *k);
/*
 * Nobody uses a line for LOCK any more, if that is so; until when it is kept; and somebody uses it
 * again.
 */
void line_rest(baton_client *c, line *k);
uint64_t line_idle_until(const line *k);
void line_stir(baton_client *c, line *k);
/* Sends a command and puts the request in the list. `name` or `number` may be absent (NULL, 0). */
void line_ask(baton_client *c, line *k, request *r, const char *name, uint64_t number);
/*
 * Waits until the request is done, at most so many nanoseconds (0: for ever); then cuts. Reads the
 * line meanwhile, or waits for the thread that does.
 */
void line_await(baton_client *c, line *k, request *r, uint64_t max);
void line_renew(baton_client *c, line *k);
/* Everything that was asked or held over it is over. */
void line_cut(baton_client *c, line *k, int error);
/* Something is still to be sent. */
static inline bool line_owes(const line *k)
{
    return k->out.bytes > 0 || channel_owes(&k->channel);
}
void line_flush(baton_client *c, line *k);
void line_read(baton_client *c, line *k);

/* The holds of a dead line, which it has kept so far. */
void line_lose(baton_client *c, line *k);

/* ---- move.c ---- */

static inline bool is_adrift(const hold *h)
{
    return h->drift.is_adrift;
}
/* Until the hold of that token is not adrift; NULL if it is lost. The mutex is free meanwhile. */
hold *move_await(baton_client *c, lock_name *n, uint64_t token);
/* The answer to RESUME, which ends with it; NULL: the line broke before it came. */
bool move_take(baton_client *c, line *k, request *r, const reply_value *v);
/* A name for the session, if it can use one; false, with errno, if there is no chance to be had. */
bool move_name(baton_client *c);
void *move_run(void *client);

/* ---- answer.c ---- */

/* A reply or a push has come, in these bytes. False: it makes no sense. */
bool answer_take(baton_client *c, line *k, const resp_reply *reply, resp_word bytes);
/* What a reply that grants nothing means: BATON_CLOSED if another time may do, or BATON_REFUSED. */
int answer_refusal(const reply_value *v);
void request_finish(request *r, int result, int error);

/* ---- calls.c ---- */

/* The name as calls need it. */
typedef struct lock_wanted {
    const char *name;
    size_t bytes;
    uint64_t hash;
} lock_wanted;

/* Whether the arguments can be right; BATON_OK, or what is wrong. */
int call_check(const baton_client *c, const char *name, lock_wanted *w);
/* Unlocks, and sets errno where the result has one. */
int call_end(baton_client *c, int result, int error);
/* Sends, waits, and answers with what came. The mutex is free meanwhile. */
void call_ask(baton_client *c, line *k, request *r, const lock_wanted *w, uint64_t number,
              uint64_t max);

/* ---- kin.c ---- */

void kin_add(baton_client *c);
void kin_remove(baton_client *c);
/* Whether it was opened by this process, and not by one that this one was forked from. */
bool kin_is_own(const baton_client *c);
/* By a child: closes its copies of all descriptors. */
void kin_close(baton_client *c);

/* ---- tell.c ---- */

/* It is lost, and in no list any more. */
void tell_loss(baton_client *c, hold *h);
void *tell_run(void *client);

/* ---- keeper.c ---- */

/* A way past all servers, from that one on. */
course course_from(const baton_client *c, uint32_t home);
/* It is silent: cuts every line to it, but for those over which something would be lost by that. */
void server_leave(baton_client *c, uint32_t server);
void *keeper_run(void *client);
bool keeper_prepare(baton_client *c); /* before it runs; false, with errno, if that fails */
/* It must look after the line then, or before. */
void keeper_due(baton_client *c, uint64_t at);
/*
 * From now on it is woken for what comes over the line if no caller reads that, and for room to
 * send if there is something to be sent. Called whenever one of the two changes.
 */
void keeper_watch(const baton_client *c, line *k);
void keeper_wake(const baton_client *c);

#endif
