/* The keeper of a `baton run`, a process that ends the command in time. See run_keeper.c. */
#ifndef BATON_CLI_RUN_KEEPER_H
#define BATON_CLI_RUN_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* When the keeper shall act, in milliseconds of the monotonic clock; 0: never. */
typedef struct keeper_order {
    pid_t group;
    int64_t terminate_at;
    int64_t kill_at;
} keeper_order;

/*
 * The other end of the line is the keeper. If the line breaks, because this process was killed, the
 * keeper kills the group, and only then tells the server that it is over, and lets go of the
 * connection, which it has inherited: so the lock stays held until the command is dead.
 */
typedef struct keeper {
    pid_t process; /* 0: none */
    int line;
} keeper;

typedef enum keeper_news { KEEPER_QUIET, KEEPER_ACTED, KEEPER_GONE } keeper_news;

/* `socket` is where the server is told when the command of a dead `baton run` is dead; or -1. */
bool keeper_start(keeper *k, int socket);
bool keeper_tell(const keeper *k, const keeper_order *order);
keeper_news keeper_hear(const keeper *k);
/* Ends it, without harm to the group. */
void keeper_end(keeper *k);

int64_t monotonic_ms(void);

#endif
