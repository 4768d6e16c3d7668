/*
 * What the subcommands of `baton` share. Each subcommand is one file, cmd_NAME in NAME.c, and takes
 * its own name as argv[0], and NULL behind the last word. Exit codes: 0 done, 1 failed, 64 wrong
 * usage (EX_USAGE); of those that ask a server: 69 unreachable (EX_UNAVAILABLE), 75 not acquired
 * (EX_TEMPFAIL), 76 lost.
 */
#ifndef BATON_CLI_CLI_H
#define BATON_CLI_CLI_H

#include "number.h"
#include "options.h"

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = OPTIONS_EXIT_USAGE,
    EXIT_UNREACHABLE = 69,
    EXIT_NOT_ACQUIRED = 75,
    EXIT_LOST = 76,
};

int cmd_bench(char **argv);
int cmd_issue(char **argv);
int cmd_locks(char **argv);
int cmd_read(char **argv);
int cmd_release(char **argv);
int cmd_run(char **argv);
int cmd_serve(char **argv);
int cmd_node(char **argv);
int cmd_status(char **argv);
int cmd_top(char **argv);

/* The interface of each, from which --help is made. */
extern const command_line bench_line, issue_line, locks_line, read_line, release_line, run_line,
    serve_line, node_line, status_line, top_line;

/*
 * Reads the options of a command into its struct. False: the command ends here, with *code, after
 * --help or wrong usage.
 */
bool read_options(const command_line *line, char **argv, void *into, options_got *got, int *code);

/* TLS for clients is linked in: nothing need be loaded for it. */
void use_linked_tls(void);

/* Flushes standard output; EXIT_FAILED with a message if what was printed did not get there. */
int finish_output(const char *command);

#endif
