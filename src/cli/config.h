/* Files of settings: a line is KEY = VALUE, or empty, or begins with '#'. */
#ifndef BATON_CLI_CONFIG_H
#define BATON_CLI_CONFIG_H

#include "options.h"

/*
 * Takes the settings of the file, which are named as the options of the command, after these were
 * read; see options_set. Says on standard error which line is wrong. Values are in *text, to be
 * freed when they are used no more. EXIT_DONE, or the code to exit with.
 */
int config_read(const command_line *line, const char *file, char **text, void *into, void *unused,
                options_got *got);

#endif
