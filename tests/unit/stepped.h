/*
 * Processes that a test moves step by step through the library's own lock code, compiled against
 * stepped_reg.h. Between two calls of this header no process moves.
 */
#ifndef BATON_STEPPED_H
#define BATON_STEPPED_H

#include <stdbool.h>

typedef enum standing {
    READY,   /* stands before an access to a register */
    BLOCKED, /* has looked at what it waits for, and it was not there */
    DONE,    /* its body has returned */
} standing;

typedef struct process process;

/* Starts a process and stops it before its first access. */
process *process_start(void (*body)(void *argument), void *argument);
/* Lets it make one access, and the private work behind it. Returns where it then stands. */
standing process_step(process *p);
/* Lets it go on until it is blocked or done. */
standing process_run(process *p);
standing process_state(const process *p);
/* Lets it go on to its end, which must be near, and frees it. */
void process_finish(process *p);
/* From within a process: a point where it can be stopped, as before an access. */
void process_pause(void);

#endif
