/* What the files of the load generator share; others include load.h. */
#ifndef BATON_BENCH_LOAD_PARTS_H
#define BATON_BENCH_LOAD_PARTS_H

#include "list.h"
#include "load.h"
#include "resp_reply.h"

#define LOAD_SECOND UINT64_C(1000000000)

/* What a client waits for. From STEP_ENTER_OWN to STEP_EXIT it is an answer about a lock. */
typedef enum load_step {
    STEP_RESTS, /* after an error, or before it connects again */
    STEP_CONNECTS,
    STEP_CHALLENGE,
    STEP_PROOF,
    STEP_HELLO,
    STEP_IDLE, /* something to do */
    STEP_ENTER_OWN,
    STEP_ENTER,
    STEP_TRY,
    STEP_ISSUE,
    STEP_READ,
    STEP_EXIT,
} load_step;

typedef struct load load;

/* One client and its connection. Owned by the load. */
typedef struct load_client {
    list_link link; /* among those that are idle, or those that rest */
    load *of;
    uint32_t number;
    uint32_t address;
    int socket; /* -1: none */
    load_step step;
    bool has_task;  /* an operation is under way; else it only gets ready */
    bool is_ready;  /* it has been, once */
    bool has_error; /* the operation fails, though it goes on to its EXIT */
    bool is_polled_for_room;
    load_kind kind;
    uint32_t lock;  /* of those that are shared */
    uint64_t due;   /* ns: when its operation was */
    uint64_t wake;  /* ns: end of its rest */
    uint64_t token; /* of the section of its operation */
    uint64_t own;   /* token of the lock that it keeps for `issue`; 0: it does not have it */
    resp_out out;
    size_t sent; /* of it */
    char *in;
    size_t in_bytes, in_capacity;
} load_client;

/*
 * The whole of it. First all clients get ready, then the load begins; it is measured when it is
 * warm. At the end no more is begun, and what is under way is waited for.
 */
struct load {
    const load_plan *plan;
    load_result *result;
    char *complaint; /* why nothing can be measured; if it is not empty, it is over */
    int poll, timer;
    load_client *client;
    list_head idle, resting; /* those that rest, in the order in which they wake */
    uint32_t started, ready; /* clients that have begun to get ready, and that have been */
    uint32_t tasks;          /* operations under way */
    uint32_t weights;        /* their sum */
    uint64_t chance;
    bool is_measured, is_closed;  /* the measurement has begun; nothing more is begun */
    uint64_t given;               /* operations so far, warm-up too */
    uint64_t now;                 /* ns, like all times here */
    uint64_t ready_at, answer_at; /* when the last client was ready, the last operation answered */
    uint64_t begin, from, end;    /* of the load, and of what is measured; 0: not yet */
    uint64_t drained;             /* what is not answered until then never will be */
    uint64_t timer_at;            /* what the timer is set to */
    uint64_t shown_at, shown;     /* the last progress: when, and how many were answered */
    double processor;             /* seconds that this process had taken before */
    char value[LOAD_MAX_VALUE];
};

/* ---- the wire: load_wire.c ---- */

bool wire_connect(load_client *c);
/* Sends what is in `out`, as far as it goes. False: the connection is broken. */
bool wire_send(load_client *c);
/* Reads what is there. False: the connection is broken, or the other side has closed it. */
bool wire_receive(load_client *c);
void wire_close(load_client *c);

/* ---- clients: load_client.c ---- */

/* The socket has something to say. */
void client_event(load_client *c);
/* After its rest, and for the first time. */
void client_wake(load_client *c);
/* Begins an operation of that kind, due at that time. */
void client_begin(load_client *c, load_kind kind, uint64_t due);

/* ---- the loop: load_run.c ---- */

/* Gives it something to do, if there is something; else it is idle. */
void load_give_work(load *l, load_client *c);
/* One more client has become ready. */
void load_is_ready(load *l);
/* Whether as many operations have begun as were to be counted. */
bool load_is_counted(const load *l);
/* How many operations of an open loop are due before that time, from its beginning. */
uint64_t load_due_before(uint64_t time, uint64_t rate);

/* ---- figures: load_report.c ---- */

/* Its operation is over, with an error or without. */
void load_finished(load *l, const load_client *c);
/* Counts an error of that kind; before anything is measured it is the end, with that sentence. */
void load_error(load *l, const load_client *c, const char *kind, size_t bytes, resp_word sentence);
/* Shows how it goes, about once a second. */
void load_show(load *l);
/* Seconds of processor time that this process has taken. */
double load_processor(void);
void load_sum_up(load *l);

#endif
