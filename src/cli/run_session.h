/* The session of a `baton run`: where `baton issue` finds the holder. See run_session.c. */
#ifndef BATON_CLI_RUN_SESSION_H
#define BATON_CLI_RUN_SESSION_H

#include "run.h"

/*
 * Listens from now on, with a thread of its own. NULL if the lock is not of a cluster; or, after a
 * message, if it cannot: the command can run without, only `baton issue` will complain.
 */
run_session *session_begin(const run *r);
const char *session_path(const run_session *s);
/* Ends the thread, and removes the socket. NULL: nothing. */
void session_over(run_session *s);

#endif
