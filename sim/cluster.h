/*
 * A cluster of nodes that run the shipped replicas over a virtual network, with virtual clocks and
 * disks, and people who use the locks. Everything follows from the settings, bit for bit.
 *
 * One event is one call of the shipped code. What it wants done is then done action by action; a
 * crash may come between any two. What a node had in memory is then gone, and its disk is as the
 * last WME_PERSIST left it.
 *
 * cluster.c is the clock and what happens; stages.c how a run comes to its end; carry.c carries out
 * what the code wants done; network.c is letters and weather; outside.c a consensus that is not
 * among the nodes; people.c the users.
 */
#ifndef BATON_SIM_CLUSTER_H
#define BATON_SIM_CLUSTER_H

#include "detector.h"
#include "errand.h"
#include "events.h"
#include "history.h"
#include "note.h"
#include "plan.h"
#include "replica.h"
#include "trouble.h"

enum {
    MAX_LOCKS = 3,
    MAX_PEOPLE = 3, /* at one node, for one lock */
    MS = 1000,
    TICK = 40 * MS,
    BEAT = 40 * MS,
    FIRST_TIMEOUT = 130 * MS,
    MAX_TIMEOUT = 600 * MS,
    SLOWEST = 500 * MS, /* a message that is not lost */
};

typedef enum delay_kind { DELAY_CONSTANT, DELAY_UNIFORM, DELAY_LONG_TAIL } delay_kind;

typedef struct settings {
    uint64_t seed;
    uint8_t nodes, locks, people;
    bool ack_all;
    bool outside;    /* so is consensus */
    bool upkeep;     /* ticks, heartbeats */
    bool people_act; /* by themselves; else somebody has them act */
    bool judged;     /* by histories */
    delay_kind delay;
    uint32_t least_delay, mean_delay; /* us */
    uint32_t rest;                    /* of a person between two tries, on average, us */
    uint32_t horizon;                 /* ms; the faults are over */
    uint64_t fail_epoch;              /* to reach this epoch counts as a failure; 0: no */
    plan plan;
} settings;

/* What is replicated: a digest of all operations in their order. */
typedef struct resource {
    uint64_t count;
    uint64_t digest;
    uint64_t answered[WME_MAX_NODES]; /* id of the last operation of each origin */
    uint64_t result[WME_MAX_NODES];   /* of that */
} resource;

/* On its way to one node or several. */
typedef struct letter {
    struct letter *next; /* while free */
    uint32_t copies;
    uint64_t serial;
    wme_message message;
    resource resource;
} letter;

typedef enum mood {
    OUTSIDE,
    WAITING,
    THINKING, /* inside */
    ISSUING,
    LEAVING,
    LINGERING /* inside still, but it goes on elsewhere, as `other` */
} mood;

typedef struct person {
    wme_user user; /* first: the stub's word for it leads here */
    mood mood;
    uint8_t node, lock, index;
    uint8_t operations;   /* that it still wants to issue */
    bool patient;         /* waits for whatever it waits for */
    uint32_t stamp;       /* of the event that it will act upon */
    uint32_t number;      /* in the history of its lock */
    uint64_t key;         /* of the last operation */
    uint64_t token;       /* of its section, as it was last told */
    uint64_t resumes;     /* that of the section which it goes on with, if it does */
    struct person *other; /* who lingers for this one that resumes, and the other way round */
} person;

/* A lock at one node. */
typedef struct lock_copy {
    replica replica;
    resource resource;
    person people[MAX_PEOPLE];
    bool lives; /* the replica is there */
    /* the disk */
    bool saved;
    replica_durable durable;
    resource durable_resource;
    /* as last told */
    wme_state told_state;
    bool told_blocked;
    uint64_t told_epoch;
} lock_copy;

typedef struct machine {
    wme_node node;
    detector detector;
    lock_copy locks[MAX_LOCKS];
    bool runs;
    bool booted;   /* on disk */
    bool armed;    /* crashes after so many actions, */
    bool ambush;   /* of an epoch change */
    uint64_t away; /* us until it then starts again */
    bool lost;     /* for ever */
    bool forgets;  /* its disk is to be emptied when it crashes */
    bool emptied;  /* it was, and what it knew is not all back */
    int32_t actions;
    uint32_t starts;
    uint64_t restart_at;
    uint64_t paused_until;
    int32_t drift;                /* percent */
    uint64_t clock, clock_set_at; /* its own clock, when the drift last changed */
    uint16_t cut;                 /* nodes that its messages do not reach */
} machine;

typedef enum stage { FAULTY, SETTLING, QUIET, CLOSING, OVER } stage;

typedef struct tally {
    uint64_t events;
    uint64_t sent[WME_KINDS], heartbeats, lost, doubled, missed;
    uint64_t actions, persists, crashes, forgettings, suspicions, suspended, max_letters;
    uint64_t settling; /* us from the end of the faults until all had settled */
    uint64_t end;      /* us */
} tally;

typedef struct cluster {
    settings settings;
    uint64_t now;
    events events;
    machine machines[WME_MAX_NODES];
    history *histories[MAX_LOCKS];
    outside_register registers[MAX_LOCKS];
    uint64_t network_chance, people_chance, start_chance;
    uint32_t lose, duplicate, slow; /* the weather; percent, percent, us */
    letter *free_letters;
    uint64_t letters, serial;
    uint64_t keys;
    uint64_t ops_before; /* alive before this run */
    stage stage;
    uint64_t stage_since, settled_since;
    tally tally;
    trouble trouble;
    teller *teller;
    const letter *received; /* while it is dealt with */
    wme_out out;
} cluster;

cluster *cluster_new(const settings *s, teller *t);
void cluster_free(cluster *c);
/* One event. False if there is none, or the run is over. */
bool cluster_step(cluster *c);
/* After the last: says what can be said only then. */
void cluster_close(cluster *c);

/* ---- between its parts ---- */
void cluster_wrong(cluster *c, const char *property, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cluster_tell(cluster *c, note n);
void machine_crash(cluster *c, uint8_t node);
void machine_end(cluster *c, machine *m); /* what it has in memory is gone */

/* stages.c */
void stage_look(cluster *c);

/* carry.c: does what is in c->out for that lock at that node. */
void carry_out(cluster *c, uint8_t node, uint8_t lock);
wme_op *cluster_op_new(uint64_t key);
uint64_t ops_alive(void);

/* network.c */
void network_post(cluster *c, uint8_t from, uint16_t to, uint8_t lock, const wme_message *m);
void network_beat(cluster *c, uint8_t from);
void network_weather(cluster *c); /* the plan has come to another point */
letter *letter_write(cluster *c, const wme_message *m, const resource *r);
void letter_done(cluster *c, letter *l);
uint64_t network_delay(cluster *c);
bool network_happens(cluster *c, uint32_t percent);
void letters_free(cluster *c);

/* outside.c */
void outside_ask(cluster *c, uint8_t node, uint8_t lock, const wme_record *proposal);
void outside_hear(cluster *c, const event *question);
void outside_end(cluster *c);

/* people.c */
void person_act(cluster *c, person *p);
void person_try(cluster *c, person *p);
void person_issue(cluster *c, person *p);
void person_exit(cluster *c, person *p);
void person_told(cluster *c, person *p, const wme_action *a); /* CRIT REM EJECTED */
void person_outcome(cluster *c, person *p, uint64_t key, uint64_t result);
void people_gone(cluster *c, uint8_t node);
void people_start(cluster *c, uint8_t node);

#endif
