/*
 * One question to a server, for commands that hold no lock: connects, says HELLO (and the
 * password), sends one command, and reads the reply, all of it blocking.
 */
#ifndef BATON_CLI_ASK_H
#define BATON_CLI_ASK_H

#include "access.h"
#include "channel.h"
#include "resp_reply.h"

/* A value of the reply; the elements of an array follow it one by one. */
typedef struct ask_item {
    reply_kind kind; /* a map counts as an array of its keys and values */
    int64_t number;  /* of an integer; of an array how many items follow */
    char *text;      /* ends with '\0' beyond its bytes; valid until the next item is read */
    size_t bytes;
} ask_item;

/* Owned by the command that asks; ask_close ends it. */
typedef struct ask {
    const char *command; /* of `baton`, for messages */
    channel channel;
    channel_tls tls;
    char *in; /* received: what was read of it, and what was not yet */
    size_t in_bytes, in_read, in_capacity;
} ask;

/*
 * All of these say what went wrong on standard error. EXIT_DONE, or the code to exit with. Of a
 * list of addresses, with commas in between, the first that can be reached is asked.
 */
int ask_open(ask *a, const char *command, const char *address, const server_access *by);
/* Sends a command of `count` words, and reads the first item of the reply, which is no error. */
int ask_send(ask *a, size_t count, const char *const *words, ask_item *first);
/* The same, but the reply may be an error. */
int ask_exchange(ask *a, size_t count, const char *const *words, ask_item *first);
/* The next item of an array. */
int ask_next(ask *a, ask_item *item);
/* The session of a `baton run`, where nothing is said first. False, with errno: nobody is there. */
bool ask_open_session(ask *a, const char *command, const char *path);
void ask_close(ask *a);

#endif
