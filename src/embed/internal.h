/*
 * A replica within a program (baton/replica.h), as its files share it: embed.c is what the
 * program's threads do, thread.c what the library's does. These talk by calls: a caller queues
 * one, wakes the loop, and waits for its answer, which comes when the turn that it belongs to has
 * ended. No protocol here; to the node each section is a session like those of the wire.
 */
#ifndef BATON_EMBED_INTERNAL_H
#define BATON_EMBED_INTERNAL_H

#include "baton/replica.h"
#include "driver.h"
#include "list.h"
#include "node_lock.h"

#include <pthread.h>

/*
 * What a thread of the program wants. Lies on its stack; belongs to the library's thread from when
 * it is queued until `answered`, which the mutex guards.
 */
typedef struct call {
    void (*carry_out)(baton_replica *r, struct call *c);
    list_link link; /* among those queued, then of looks, then of answers */
    pthread_cond_t told;
    bool answered;
    int verdict;
    struct stay *stay; /* that is to answer it; NULL: none, or it has */
    uint64_t token;
    bool only_tries;              /* enter */
    byte_string operation;        /* issue */
    baton_replica_result *result; /* issue; may be NULL */
    struct call *about;           /* give up: to enter by that */
    void (*look)(void *context, baton_replica_position place);
    void *context;
} call;

/*
 * Somebody who waits for the lock, or is inside: what a session is to the node. Belongs to the
 * library's thread.
 */
typedef struct stay {
    lock_session who; /* first: found from it */
    baton_replica *of;
    call *call;     /* that waits for an answer; NULL: none */
    uint64_t token; /* 0: not inside yet */
    bool is_over;
    list_link link;
    struct stay *next_over;
} stay;

struct baton_replica {
    list_link kin;  /* among all of the process that are not about to end */
    uint32_t forks; /* in which process of the family it was opened */
    int place[2];   /* descriptors: of the directory, and of the port */
    node_driver driver;
    store_own own;
    node_lock *node_lock;
    baton_replica_resource resource;
    void (*told)(void *context, baton_replica_event event, uint64_t token);
    void *context;
    char *data, *secret, *name; /* own copies; the secret may be NULL */
    pthread_t thread;

    /* between the threads */
    pthread_mutex_t mutex;
    list_head queued; /* calls */
    uint32_t callers;
    pthread_cond_t nobody_calls;
    bool closes;
    bool deaf; /* nobody carries out calls any more */
    bool failed;
    char why[COMPLAINT]; /* it has failed */

    /* of the library's thread */
    uv_loop_t loop;
    uv_async_t wake;
    uv_prepare_t before_sleep;
    uv_timer_t draining;
    uint64_t drains_until; /* 0: it does not */
    bool suspended;        /* as the program was told */
    list_head stays;
    stay *over;
    list_head looks;   /* calls to be carried out when the turn has ended */
    list_head answers; /* calls to be answered then */
};

/* Of a replica whose driver is open. To be followed by one of the other two. */
void replica_prepare(baton_replica *r);
/* The library's thread: until it was told to close, or has failed. Closes the driver. */
void *replica_live(void *context);
/* Instead of it: there is to be no such thread. */
void replica_abandon(baton_replica *r);
/* The replica that this thread is the library's of; it must not wait for itself. */
extern _Thread_local const baton_replica *replica_living;

/* ---- kin.c ---- */

/* From when its driver is open until that is stopped. */
void kin_add(baton_replica *r);
void kin_remove(baton_replica *r); /* if it is there */
/* Whether it was opened by this process, and not by one that this one was forked from. */
bool kin_is_own(const baton_replica *r);

/* ---- calls ---- */
void call_enter(baton_replica *r, call *c);
void call_give_up(baton_replica *r, call *c);
void call_issue(baton_replica *r, call *c);
void call_exit(baton_replica *r, call *c);
void call_look(baton_replica *r, call *c);

#endif
