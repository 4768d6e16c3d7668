/*
 * What the subcommands of `baton` share. Each subcommand is one file, cmd_NAME in NAME.c, and takes
 * its own name as argv[0]. Exit codes: 0 done, 1 failed, 64 wrong usage (EX_USAGE); of those that
 * ask a server: 69 unreachable (EX_UNAVAILABLE), 75 not acquired (EX_TEMPFAIL), 76 lost.
 */
#ifndef BATON_CLI_H
#define BATON_CLI_H

#include "number.h"

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 64,
    EXIT_UNREACHABLE = 69,
    EXIT_NOT_ACQUIRED = 75,
    EXIT_LOST = 76,
};

int cmd_bench(int argc, char **argv);
int cmd_issue(int argc, char **argv);
int cmd_locks(int argc, char **argv);
int cmd_read(int argc, char **argv);
int cmd_release(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_node(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_top(int argc, char **argv);

/* "baton COMMAND: MESSAGE; see 'baton COMMAND --help'" on standard error; returns EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int usage_error(const char *command, const char *format, ...);

/* The same for the option that getopt_long has just refused: "'-x' COMPLAINT". */
int option_error(const char *command, const char *complaint, char **argv);

/* Flushes standard output; EXIT_FAILED with a message if what was printed did not get there. */
int finish_output(const char *command);

#endif
