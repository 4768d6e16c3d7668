/*
 * For `baton locks --at`: who holds and who waits, as the server at that address knows it. The
 * pattern may be NULL. Returns the exit code.
 */
#ifndef BATON_CLI_HELD_H
#define BATON_CLI_HELD_H

#include "access.h"

int print_held(const char *address, const server_access *by, const char *pattern);
int print_held_json(const char *address, const server_access *by, const char *pattern);

#endif
