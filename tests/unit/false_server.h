/*
 * A server that says what a test wants it to say: late, wrong, or cut in the middle. By itself it
 * answers as a node of a cluster does to whoever connects.
 */
#ifndef BATON_TESTS_FALSE_SERVER_H
#define BATON_TESTS_FALSE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct false_server false_server;

/* A command that has come. */
typedef struct asked {
    int over; /* which connection: counted from 0, and never used again */
    char verb[32];
    char name[64];   /* its first argument; "" if there is none */
    uint64_t number; /* and its second, if that is a number */
    char reply[200]; /* to be filled; "": nothing is said for now */
    bool cuts;       /* the connection is cut when that is said */
} asked;

/* What is answered, by a thread of the server's. False: it answers by itself. */
typedef bool false_answer(void *context, asked *what);

/* At a Unix socket of that path. */
false_server *false_server_start(const char *path, false_answer *answers, void *context);
void false_server_end(false_server *s);
/* Says that over one connection. */
void false_server_say(false_server *s, int over, const char *text);
/* Of all that it says over each connection, only so many bytes, and then cuts it; 0: all. */
void false_server_limit(false_server *s, size_t bytes);
/* How many connections there were. */
int false_server_count(false_server *s);
/* How many there are. */
int false_server_open(false_server *s);

#endif
