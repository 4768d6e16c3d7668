/* Files of settings: a line is KEY = VALUE, or empty, or begins with '#'. */
#ifndef BATON_CLI_CONFIG_H
#define BATON_CLI_CONFIG_H

#include <stdint.h>

/*
 * Calls `take` for each setting, until it is not EXIT_DONE; says on standard error in which line
 * that was. Keys and values are in *text, which is to be freed when they are used no more. EXIT_DONE, or
 * the code to exit with.
 */
int config_read(const char *command, const char *file, char **text,
                int (*take)(void *context, const char *key, char *value), void *context);

#endif
