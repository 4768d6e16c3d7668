/*
 * `baton run`: a command that runs while a lock is held. The walk, which run.c makes from top to
 * bottom, has a file for each step:
 *
 *     run_options.c   what is asked for
 *     run_connect.c   the client; run_server.c: the private server, for those who name none
 *     run_enter.c     the lock, after a wait
 *     run_child.c     the command's process, which waits at its gate until it is guarded
 *     run_terminal.c  the terminal, which is given to the command, and taken back
 *     run_keep.c      lease, signals and losses, until the command is dead
 *     run_leave.c     the lock is left; what is said and run if it was lost
 *
 * and beside it go run_keeper.c, a process that kills the command in time even if this one cannot,
 * and run_session.c, a thread through which the command issues operations of a cluster.
 */
#ifndef BATON_CLI_RUN_H
#define BATON_CLI_RUN_H

#include "access.h"
#include "baton/client.h"
#include "run_keeper.h"
#include "server_paths.h"

#include <signal.h>
#include <sys/types.h>

typedef struct run_session run_session; /* see run_session.h */

/* Milliseconds. What is not given depends on who answers. */
#define RUN_NOT_GIVEN UINT64_MAX

/* One walk. Each step fills in its part, and leaves the parts before it alone. */
typedef struct run {
    /* run_options.c */
    const char *name; /* of the lock */
    char **command;
    const char *at, *on_lost;
    server_access by;
    uint64_t timeout, lease, grace;
    bool try, quiet;
    /* run_connect.c */
    bool is_private; /* the server was not named */
    bool is_nested;  /* within the command of another that has, or had, the same lock */
    char socket_path[PATH_BYTES];
    char *password;
    baton_client *client;
    int64_t lease_ms; /* 0: none */
    int64_t grace_ms; /* from TERM to KILL, at most */
    /* run_enter.c */
    int64_t began;
    uint64_t token;
    int guard;            /* of a private server: a locked file; else -1 */
    run_session *session; /* of a cluster; else NULL */
    /* run_child.c */
    sigset_t signals_before;
    int signals; /* signalfd */
    keeper keeper;
    pid_t leader;      /* of the command's process group; 0: there is none */
    int gate, trouble; /* pipes: opens the gate; tells why the command could not be executed */
    int exec_error;    /* errno of an exec that failed; else 0 */
    bool has_terminal; /* was given it; it may have passed on to others since */
    bool had_terminal; /* until it ended */
    int fatal;         /* the signal that ended it; else 0 */
    int code;          /* to exit with */
    /* run_keep.c */
    sigset_t passed_on; /* to the command, so far */
    bool ended;         /* the leader; not reaped yet */
    bool given_up;      /* the keeper is to end the command, unless that has ended by itself */
    bool lost;          /* and the command was ended for it */
    int64_t lease_end;  /* monotonic milliseconds, as known last; 0: none */
} run;

/* "baton run: ..." on standard error, unless it is to be quiet. */
__attribute__((format(printf, 2, 3))) void run_say(const run *r, const char *format, ...);

/* ---- run_options.c ---- */

/* False: the walk ends here, with r->code, after --help or wrong usage. */
bool run_options(run *r, char **argv);

/* ---- run_connect.c ---- */

/* Which server it is, and its password. False, after a message, if that cannot be read. */
bool run_find_server(run *r);
/* Not a result of the client: there is no server, and a message has said why. */
enum { RUN_SAID = 1000 };
/* BATON_OK with a client, its lease, and the grace; else a result of the client, or RUN_SAID. */
int run_connect(run *r);
/* The same once, for run_server.c: a private server must be there already. */
int run_open_client(run *r);

/* ---- run_server.c ---- */

/* As run_connect, at r->socket_path; starts the private server if nobody answers. */
int run_connect_private(run *r);
/*
 * Locks the guard of a lock of the private server: a file lock that the holder and its keeper keep
 * until the command is dead. A server that was killed forgets who holds what; the guard does not.
 * Returns a descriptor, to be closed, or one of these.
 */
enum { GUARD_HELD = -1, GUARD_IMPOSSIBLE = -2 };
int lock_guard_file(const char *socket_path, const char *name);

/* ---- run_enter.c ---- */

/* BATON_OK with a token; else the client is closed. */
int run_enter(run *r);
/* Says why nobody was let in, and returns the code to exit with. */
int run_refused(const run *r, int result);

/* ---- run_child.c ---- */

/* False, with r->code, if there is no such command. */
bool run_command_exists(run *r);
/* Signals that are passed on are blocked from here on, in threads that are started later too. */
void run_hold_signals(run *r);
/* The keeper, and a process for the command, at its gate. False, after a message. */
bool run_fork(run *r);
/* Executes the command. False, after a message, if it cannot be executed. */
bool run_open_gate(run *r);
/* If the lock is lost, the group dies. Ends the keeper, reaps the leader: r->code is its code. */
void run_bury(run *r);
/* `sh -c text`, until it ends. */
void run_shell(const run *r, const char *text);
/*
 * Ends this process by the signal that ended the command, so that a shell knows that its script is
 * to end. Returns if the process cannot die of it, such as process 1 of a container.
 */
void run_end_likewise(const run *r);

/* ---- run_terminal.c ---- */

/* Gives the terminal to the command if it is ours. Whether it was. */
bool give_terminal(run *r);
/* Takes it back if it was given to the command, and the command has it. Whether it did. */
bool take_terminal_back(const run *r);
/* A signal has stopped the command: gives it the terminal if it wanted that, or stops too. */
void terminal_stop(run *r, int number);

/* ---- run_keep.c ---- */

sigset_t watched_signals(void);
/* The keeper knows of the command from here on, and until when the lock is safe. */
void run_guard(run *r);
/* Until the leader has ended. */
void run_keep(run *r);

/* ---- run_leave.c ---- */

/* Leaves the lock, and closes the client. Returns the code to exit with. */
int run_leave(run *r);

#endif
