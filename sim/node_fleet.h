/*
 * Whole nodes and their clients in one process: all of src/cluster, src/session and src/resource as
 * they ship, with real files; what is simulated is the network, the time, and the misfortune. Every
 * choice comes from the seed, so a seed is a run.
 *
 *   machine   a computer with a disk, that runs a node or does not
 *   line      the connection over which one node speaks to another: ordered, and reliable while it
 *             lasts, as TCP is. Each of two nodes dials the other
 *   guest     a client's connection to a node, with its session there
 *   client    somebody with a script; knows nothing but what it was told, and tells the judge
 *
 * Times are microseconds. A node sees milliseconds, by its machine's clock.
 */
#ifndef BATON_SIM_NODE_FLEET_H
#define BATON_SIM_NODE_FLEET_H

#include "commands.h"
#include "errand.h"
#include "events.h"
#include "node_judge.h"
#include "node_keeper.h"
#include "node_lock.h"
#include "node_plan.h"
#include "note.h"
#include "resp_reply.h"
#include "session.h"

#include <sys/types.h>

enum {
    FLEET_NODES = 7,
    FLEET_LOCKS = 3,
    FLEET_CLIENTS = 8,                          /* with a script; */
    FLEET_PEOPLE = FLEET_CLIENTS + FLEET_NODES, /* and one at each node who looks in the end */
    FLEET_EXPECTED = KEEPER_QUESTIONS,
    MILLISECOND = 1000,
    DISK_BYTES = 4 << 20,
    DISK_SECTOR = 512,       /* comes to a disk as a whole, or not */
    DISK_JOURNAL = 32 << 10, /* short, so that checkpoints are frequent */
};

typedef struct fleet_settings {
    uint64_t seed;
    uint8_t nodes, locks, clients;
    bool ack_all;
    uint16_t in_memory;    /* nodes that keep nothing on their disks, a bit for each */
    bool outside;          /* so is consensus */
    bool kept_is_promised; /* the judge may insist that sections outlive their nodes */
    uint16_t keepers;      /* clients that mind their leases as the shipped one, a bit for each */
    bool aged;             /* locks are near the end of their numbers */
    uint32_t horizon;      /* ms: when misfortune ends */
    uint32_t delay;        /* us, on average, of a message */
    uint32_t disk;         /* us, of a commit */
    uint32_t gather;       /* us, at most, from what happens until the turn ends */
    uint32_t lease;        /* ms */
    uint32_t think;        /* ms, between two things that a client does */
    uint32_t max_detached; /* as node.h, */
    uint32_t rest_after;   /* and in ms */
    bool patrols;          /* if not, all that is lost must be found without */
    node_plan plan;
} fleet_settings;

typedef enum fleet_event {
    FLEET_TICK = 1,
    FLEET_TURN,
    FLEET_DIAL,      /* `from` dials `node` */
    FLEET_ARRIVES,   /* something is there over that line */
    FLEET_UNREACHED, /* `from` learns that its line to `node` is lost */
    FLEET_HEARD,     /* something is there from guest `person` */
    FLEET_TOLD,      /* something is there for it */
    FLEET_GONE,      /* the node learns that guest `person` is gone, */
    FLEET_LEFT,      /* or the client that its node is */
    FLEET_ACTS,      /* client `person` does the next thing, */
    FLEET_KEEPS,     /* or looks after its lease */
    FLEET_BEGINS,    /* mishap `person` */
    FLEET_ENDS,
    FLEET_STARTS,     /* a machine that is down */
    FLEET_DIES,       /* the second half of a swap, or of a disk's being away */
    FLEET_DARKENS,    /* the power of that machine fails */
    FLEET_RESTORES,   /* a copy of its disk is put back: mishap `person` */
    FLEET_ROLLS,      /* it is told to end, and to start with a new list of peers */
    FLEET_ASKED,      /* the register outside is: errand `person`, */
    FLEET_DECIDED,    /* its answer is there, */
    FLEET_UNANSWERED, /* or should be */
    FLEET_LOOKS,      /* is all as it should be? */
} fleet_event;

typedef struct chunk {
    struct chunk *next;
    uint64_t sent, at;
    size_t bytes;
    char data[];
} chunk;

/* Bytes on their way, in order. */
typedef struct conduit {
    chunk *first, *last;
    uint64_t last_at;
    uint64_t sent;    /* when what arrived last was */
    resp_out pending; /* arrived, and not yet understood */
} conduit;

typedef struct line {
    bool stands;    /* as who dials sees it, */
    bool works;     /* and as it is */
    uint32_t stamp; /* of the dialing */
    uint64_t cut_until;
    conduit way;
} line;

typedef struct guest {
    session session; /* first: found from it */
    uint32_t number; /* in fleet.guests */
    uint8_t machine, client;
    uint32_t start; /* of the machine's node */
    bool here;      /* the node has it; */
    bool there;     /* the client has */
    conduit in, out;
} guest;

typedef enum disk_fault { DISK_WORKS, DISK_DIES, DISK_FULL } disk_fault;

typedef struct disk_sector disk_sector;

/* See node_sync.c. Sums are those of store_total. */
typedef struct disk {
    bool watched;         /* what is on its way is known */
    disk_sector *sectors; /* these, */
    uint32_t count, capacity;
    bool known;       /* what it has: */
    uint64_t certain; /* for certain, */
    uint64_t tried;   /* and maybe */
    disk_fault fails; /* from some call on: DISK_DIES, since its process is dead by then, */
    uint32_t calls;   /* after so many, */
    bool until_sync;  /* and at the first sync */
    bool ran_out;     /* of room: that its node runs into */
} disk;

typedef struct machine {
    cluster_node node;
    disk disk;
    store *store;
    peers all;
    service service;
    traffic traffic;
    bool up, drains, turn_due;
    bool settled;   /* it says that it knows what it has ever said, or did so when it last ran */
    uint32_t start; /* how often it has begun */
    uint64_t busy_until, paused_until, drain_until;
    int32_t drift; /* of 1000 */
    notice *first_notice, *last_notice;
    int doom;                    /* point of a turn to die at; -1: none */
    uint64_t doom_until;         /* then in any turn */
    bool doom_waits;             /* for something to change: ambush */
    int doom_settled;            /* the same in the turn in which it has all back; -1: not */
    uint64_t down_again;         /* us, then */
    uint64_t epochs_seen;        /* changes of these */
    uint64_t down_for;           /* us, when it dies */
    bool disk_away;              /* an older disk is to come back */
    bool doom_darkens;           /* when it dies, the power has failed, */
    uint32_t dark_again;         /* and does so as often again, */
    uint64_t dark_after;         /* us after its next start; 0: not */
    uint32_t asked[FLEET_LOCKS]; /* the last errand of each lock */
    /* See node_copies.c. Turns as nodes tell them to each other: */
    uint64_t turn;              /* when it ended, */
    uint64_t begun;             /* and when it began; */
    uint64_t copy_turn;         /* of the copy of its disk */
    uint64_t told[FLEET_NODES]; /* that it has heard of others in this run */
    bool stale;                 /* its data are a copy, older than what it has ever said: */
    uint64_t stale_since;
    uint64_t emptied_at;         /* its disk, last */
    uint32_t address;            /* where it is, */
    uint32_t knows[FLEET_NODES]; /* and where others are, as it was told when it started */
} machine;

typedef enum client_ask {
    ASK_HELLO, /* and other things of no concern */
    ASK_SESSION,
    ASK_LEASE,
    ASK_RENEW,
    ASK_TRY,
    ASK_ENTER,
    ASK_RESUME,
    ASK_OPERATION,
    ASK_LEAVE,
    ASK_LOOK,
} client_ask;

typedef struct client {
    uint64_t chance;
    guest *line;         /* NULL: none */
    uint32_t plan;       /* what it was to do is of no interest if it has another by then */
    bool hasty;          /* it will not wait for the next answer */
    uint64_t waits_from; /* for an answer; 0: not */
    client_ask expected[FLEET_EXPECTED];
    uint32_t expects, answered;
    /* the section */
    bool inside;
    uint8_t lock, home;
    uint64_t token;
    uint64_t lost_at;   /* when its connection was; it may resume */
    uint32_t operation; /* number of the one that is open, + 1 */
    uint32_t left;      /* operations to go in this section */
    keeper keeper;      /* what it knows of its lease */
    /* of one who looks */
    uint32_t keys_read;
    bool finished;
} client;

typedef struct fleet_counts {
    uint64_t begun[MISHAP_KINDS]; /* mishaps that came to be */
    uint64_t starts, deaths, points[TURN_POINTS + 1];
    uint64_t events, messages, turns, commits, operations, sections, resumed, refused, ejected;
    uint64_t epochs, broken_lines, lingered, rested;
    uint64_t renewed, given_up, left_silent, overlaps; /* of leases; overlaps: such as may be */
    uint64_t failed_calls, torn, lost_sectors, full;   /* of disks; turns of which a part is lost */
    uint64_t in_memory, mixed, outside;                /* runs */
    uint64_t stale, unjudged; /* copies that were restored; runs in which nothing was promised */
    uint64_t asked, asked_lost, asked_twice, asked_late;
    uint64_t virtual_us;
} fleet_counts;

typedef struct errand errand;

typedef struct fleet {
    fleet_settings settings;
    uint64_t now, chance;
    events events;
    machine machines[FLEET_NODES];
    line lines[FLEET_NODES][FLEET_NODES];
    uint32_t slow; /* us at most, to each delay */
    guest **guests;
    uint32_t guest_count;
    client clients[FLEET_PEOPLE];
    bool rejoins; /* a node that had forgotten has started: it ends two epochs of every lock */
    bool over;    /* misfortune is */
    uint64_t over_at;
    bool rests; /* all have entered everywhere; what is left is to read */
    bool ends;
    uint64_t deadline;                /* for what is awaited */
    uint64_t last_token[FLEET_LOCKS]; /* told to anybody, */
    uint64_t released[FLEET_LOCKS];   /* and released by force */
    uint32_t keys;    /* to be read of each node: of all operations, and what each lock counts */
    uint64_t *values; /* of these, as each node has them; and where each lock is */
    outside_register registers[FLEET_LOCKS];
    errand *errands; /* to these and back, all that ever were */
    uint32_t errand_count;
    judge judge;
    fleet_counts counts;
    FILE *trace;    /* NULL: nobody wants to know */
    teller *teller; /* likewise */
} fleet;

fleet *fleet_new(const fleet_settings *s, FILE *trace, teller *to);
bool fleet_step(fleet *f); /* false at the end */
void fleet_free(fleet *f);

/* ---- node_fleet.c ---- */
void fleet_put(fleet *f, uint64_t at, fleet_event kind, uint8_t from, uint8_t node, uint32_t stamp,
               uint32_t person);
uint64_t fleet_pick(fleet *f, uint64_t least, uint64_t max);
bool fleet_happens(fleet *f, uint32_t percent);
uint64_t fleet_delay(fleet *f);
__attribute__((format(printf, 3, 4))) void fleet_say(const fleet *f, const char *who,
                                                     const char *format, ...);
_Noreturn void fleet_out_of_order(const char *what);
void conduit_put(conduit *c, const char *bytes, size_t count, uint64_t sent, uint64_t at);
/* What has arrived by now is pending. */
void conduit_take(conduit *c, uint64_t now);
void conduit_used(conduit *c, size_t used);
/* All but the first so many pieces, and half of the next, never arrive. */
void conduit_cut(conduit *c, uint64_t pieces);
void conduit_clear(conduit *c);

/* ---- node_machine.c ---- */
uint64_t host_clock(const fleet *f, uint8_t node);
void host_start(fleet *f, uint8_t node);
void host_dies(fleet *f, uint8_t node);
bool host_forgets(const fleet *f, uint8_t node);
/* Whether it may die now: of those that keep all in memory a majority must never be off. */
bool host_may_die(const fleet *f, uint8_t node);
/* All know what they have ever said. */
bool hosts_settled(const fleet *f);
/* Something happened there: a turn is to end. */
void host_touched(fleet *f, uint8_t node);
void host_tick(fleet *f, uint8_t node);
void host_turn(fleet *f, uint8_t node);
/* When it can take an event; not before it is back from its disk, or from a pause. */
uint64_t host_free_at(const fleet *f, uint8_t node);

/* ---- node_guests.c ---- */
guest *guest_new(fleet *f, uint8_t who, uint8_t node);
void guest_heard(fleet *f, guest *g);
void guest_gone(fleet *f, guest *g);
void guest_notices(fleet *f, uint8_t node);
void guests_time(fleet *f, uint8_t node);
/* All that their sessions have to say is on its way at that time; a part of it only. */
void guests_send(fleet *f, uint8_t node, uint64_t at, bool part);
void guests_die(fleet *f, uint8_t node);
/* Those that hold nothing are cut off. */
void guests_drain(fleet *f, uint8_t node);

/* ---- node_lines.c ---- */
void line_dial(fleet *f, uint8_t from, uint8_t to, uint32_t stamp);
void line_arrives(fleet *f, uint8_t from, uint8_t to);
/* Bytes of which, if it is a part, only the first leave. */
void line_send(fleet *f, uint8_t from, uint8_t to, resp_out *said, uint64_t at, bool part);
/* It works no longer; who dials learns so in `after` us. */
void line_break(fleet *f, uint8_t from, uint8_t to, uint64_t after);
void line_unreached(fleet *f, uint8_t from, uint8_t to, uint32_t stamp);
void lines_cut(fleet *f, uint16_t from, uint16_t to, uint64_t until);
void lines_die(fleet *f, uint8_t node);

/* ---- node_disk.c ---- */
void disk_path(uint8_t node, const char *what, char path[128]);
/* Locks on a new disk become old ones. */
void disk_age(uint8_t node, uint8_t count, uint8_t nodes);
void disk_empty(uint8_t node, const char *what);
void disk_move(uint8_t node, const char *from, const char *to);
/* Its data as they are now, as "copy". */
void disk_copy(uint8_t node);
void disks_empty(void);
/* When that process has ended, or is about to. */
void disks_leave(pid_t process);

/* ---- node_sync.c ---- */
/* From now on it is this machine that writes; a NULL: nobody. */
void disk_use(fleet *f, uint8_t node);
/* The power has failed: of what was not synced some has come to the disk, page by page. */
void disk_tears(fleet *f, uint8_t node);
/* Its store is open: has it what it must have? */
void disk_opened(fleet *f, uint8_t node);
void disk_is_new(fleet *f, uint8_t node);
void disk_free(disk *d);

/* ---- node_copies.c ---- */
/* By that mishap of the plan. */
void host_is_copied(fleet *f, uint8_t node, uint32_t number);
void host_is_emptied(fleet *f, uint8_t node);
void host_is_restored(fleet *f, uint8_t node, uint32_t number);
/* Every message: does it know better than to believe it? */
void host_hears(fleet *f, uint8_t from, uint8_t to, const peer_said *said);

/* ---- node_outside.c ---- */
/* The node's locks have their questions asked. */
void outside_asks(fleet *f, uint8_t node);
void outside_hears(fleet *f, uint32_t number);
void outside_answers(fleet *f, uint32_t number);
void outside_does_not(fleet *f, uint32_t number);
void outside_free(fleet *f);

/* ---- node_mishaps.c ---- */
void mishap_begins(fleet *f, uint32_t number);
void mishap_ends(fleet *f, uint32_t number);
void host_died_again(fleet *f, uint8_t node);
void host_darkens(fleet *f, uint8_t node);
void host_rolls(fleet *f, uint8_t node);
/* It is up: what is to befall it then? */
void host_started(fleet *f, uint8_t node);
void fleet_calm(fleet *f);

/* ---- node_clients.c, node_script.c ---- */
void client_acts(fleet *f, uint8_t who, uint32_t intent);
void client_told(fleet *f, guest *g);
void client_left(fleet *f, const guest *g);
void client_hangs_up(fleet *f, uint8_t who);
/* The same, and it does the next thing soon. */
void client_leaves(fleet *f, uint8_t who);
/* False if nobody is there. */
bool client_connects(fleet *f, uint8_t who, uint8_t node);
/* The same, and it says who it is. */
bool client_greets(fleet *f, uint8_t who, uint8_t node);
__attribute__((format(printf, 4, 5))) void client_says(fleet *f, uint8_t who, client_ask what,
                                                       const char *format, ...);
void client_next(fleet *f, uint8_t who, uint64_t least_ms, uint64_t most_ms);

/* ---- node_keeper.c ---- */
/* Somebody is told that it is inside: the judge, and all who believe that they are, hear of it. */
void keeper_entered(fleet *f, const judged_entry *e);
void keeper_connected(fleet *f, uint8_t who);
void keeper_loses_line(fleet *f, uint8_t who);
/* `which`: of all that it asks over this line. */
void keeper_asks(fleet *f, uint8_t who, uint32_t which, client_ask what);
void keeper_hears(fleet *f, uint8_t who, uint32_t which, client_ask what, const resp_reply *r);
void keeper_begins(fleet *f, uint8_t who, uint64_t token);
void keeper_pushed(fleet *f, uint8_t who, const char *kind, uint64_t token);
void keeper_looks(fleet *f, uint8_t who, uint32_t stamp);
/* Its section is adrift: to the next node; and there, when it was greeted. */
void keeper_moves(fleet *f, uint8_t who);
void keeper_resumes(fleet *f, uint8_t who);
/* RESUME is granted: is it not too late? */
bool keeper_may_go_on(const fleet *f, uint8_t who);
/* Its section is over, which it should not be where that is promised. */
void keeper_is_ejected(fleet *f, uint8_t who);

/* What the script makes of an answer. */
void script_acts(fleet *f, uint8_t who);
void script_answered(fleet *f, uint8_t who, client_ask what, const resp_reply *r);
void script_pushed(fleet *f, uint8_t who, const resp_reply *r);

/* ---- node_look.c: in the end ---- */
void looker_acts(fleet *f, uint8_t who);
void looker_answered(fleet *f, uint8_t who, client_ask what, const resp_reply *r);
void fleet_look(fleet *f);

/* ---- node_notes.c ---- */
void note_message(const fleet *f, uint8_t from, uint8_t to, uint64_t sent, const peer_said *said);
void note_states(const fleet *f, uint8_t node);
/* It starts, or dies, or has lost its disk. */
void note_machine(const fleet *f, note_kind kind, uint8_t node);
void note_pause(const fleet *f, const mishap *m);

#endif
