/*
 * `baton run`: a command that runs while a lock is held.
 *
 *     run.c         options; waits for the lock
 *     run_server.c  the private server, for those who name none
 *     run_child.c   the command's process group: signals, the terminal, the end
 *     run_keeper.c  the keeper, a process that kills the group in time even if this one cannot
 *     run_session.c where the command has operations issued, if the lock is of a cluster
 */
#ifndef BATON_RUN_H
#define BATON_RUN_H

#include "baton/client.h"

#include <signal.h>
#include <sys/types.h>

/* What is to be run under which lock. Made by run.c, and not changed while the command runs. */
typedef struct run_job {
    baton_client *client;
    const char *name; /* of the lock */
    uint64_t token;
    int64_t lease_ms; /* 0: none */
    int64_t grace_ms; /* from TERM to KILL, at most */
    char **command;
} run_job;

/* ---- run_server.c ---- */

/* Starts the private server if nobody answers at `socket`. False, with a complaint, if not. */
bool private_server(const char *socket, char complaint[512]);
/*
 * The guard of a lock of the private server: a file lock that the holder and its keeper keep until
 * the command is dead. A server that was killed forgets who holds what; the guard does not. Returns
 * a descriptor, to be closed, or one of these.
 */
enum { GUARD_HELD = -1, GUARD_IMPOSSIBLE = -2 };
int private_guard(const char *socket, const char *name);

/* ---- run_child.c ---- */

/* 0, or the exit code for a command that cannot be run: 126 not executable, 127 not found. */
int command_missing(const char *command);
/* Signals that are passed on are blocked from here on, in threads that are started later too. */
void hold_signals(sigset_t *before);

typedef struct run_end {
    int code;
    bool lost;
} run_end;

/* Runs the command, with signals held, until it is dead, and if the lock is lost, its group too. */
run_end run_child(const run_job *job, const sigset_t *before);
/* `sh -c text`, until it ends. */
void run_shell(const char *text, const sigset_t *before);

/* ---- run_keeper.c ---- */

/* When the keeper shall act, in milliseconds of the monotonic clock; 0: never. */
typedef struct keeper_order {
    pid_t group;
    int64_t terminate_at;
    int64_t kill_at;
} keeper_order;

/*
 * The other end of the line is the keeper. If the line breaks, because this process was killed, the
 * keeper kills the group, and only then lets go of the descriptors that it inherited: the server's
 * connection among them, so that the lock stays held until the command is dead.
 */
typedef struct keeper {
    pid_t process;
    int line;
} keeper;

typedef enum keeper_news { KEEPER_QUIET, KEEPER_ACTED, KEEPER_GONE } keeper_news;

bool keeper_start(keeper *k);
bool keeper_tell(const keeper *k, const keeper_order *order);
keeper_news keeper_hear(const keeper *k);
/* Ends it, without harm to the group. */
void keeper_end(keeper *k);

int64_t monotonic_ms(void);

#endif
