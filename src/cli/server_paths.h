/* Where a command finds its server and its files: sockets, tokens, passwords. */
#ifndef BATON_CLI_SERVER_PATHS_H
#define BATON_CLI_SERVER_PATHS_H

#include <stdbool.h>
#include <stddef.h>

enum { PATH_BYTES = 4096 }; /* as the kernel has it */

/*
 * Directory of the private server. It should depend on the user alone, lest two commands of one
 * user have two servers, and both enter: $BATON_RUNTIME_DIR if somebody has chosen one; else
 * /run/user/UID/baton if that user directory is there, else $XDG_RUNTIME_DIR/baton, each only if it
 * is this user's; else /tmp/baton-UID.
 */
void path_runtime(char directory[PATH_BYTES]);
/* The same with another directory in place of /run/user. */
void path_runtime_among(const char *users, char directory[PATH_BYTES]);
/*
 * Makes it if it is missing. NULL if it then belongs to this user alone; or why it cannot be used.
 */
const char *path_runtime_make(const char *directory);

/*
 * File of that name in the user's state directory, $XDG_STATE_HOME/baton or ~/.local/state/baton,
 * which is made if it is missing; false if there is none, or its path is too long.
 */
bool path_state(const char *name, char file[PATH_BYTES]);

/*
 * Where a command shall find its server: `given`, unless it is NULL or empty, else the socket of
 * the private server, whose path is written to `socket_path`.
 */
const char *path_server(const char *given, char socket_path[PATH_BYTES]);

/*
 * The password in the first line of the file, to be freed. NULL, with a message, if there is none,
 * or others may read it.
 */
char *read_password(const char *command, const char *name);

#endif
