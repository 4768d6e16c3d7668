/* Where a user's things are: the private server of `baton run`, tokens, passwords. */
#ifndef BATON_PLACES_H
#define BATON_PLACES_H

#include <stdbool.h>
#include <stddef.h>

enum { PLACE_BYTES = 512 };

/*
 * Directory of the private server: $XDG_RUNTIME_DIR/baton, else /tmp/baton-UID. `make` makes it if
 * it is missing, and is false, with a complaint, unless it then belongs to this user alone.
 */
void place_runtime(char directory[PLACE_BYTES]);
bool place_runtime_make(const char *directory, char complaint[PLACE_BYTES]);

/*
 * File of that name in the user's state directory, $XDG_STATE_HOME/baton or ~/.local/state/baton,
 * which is made if it is missing; false if there is none.
 */
bool place_state(const char *name, char file[PLACE_BYTES]);

/*
 * Where a command shall find its server: `given`, else BATON_AT, else the private server's socket,
 * which is written to `room`.
 */
const char *place_server(const char *given, char room[PLACE_BYTES]);

/*
 * The password in the first line of the file, to be freed. NULL, with a message, if there is none,
 * or others may read it.
 */
char *read_password(const char *command, const char *name);

#endif
