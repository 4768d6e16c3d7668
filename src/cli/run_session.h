/* The session of a `baton run`: where `baton issue` finds the holder. See run_session.c. */
#ifndef BATON_RUN_SESSION_H
#define BATON_RUN_SESSION_H

#include "run.h"

typedef struct run_session run_session;

/* Listens from now on, with a thread of its own. NULL, with a complaint, if it cannot. */
run_session *session_begin(const run_job *job, char complaint[512]);
const char *session_path(const run_session *s);
/* Ends the thread, and removes the socket. NULL: nothing. */
void session_over(run_session *s);

#endif
