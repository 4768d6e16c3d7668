/* The command lines of `baton-sim`, one for each protocol. */
#ifndef BATON_SIM_MAIN_H
#define BATON_SIM_MAIN_H

#include "options.h"

enum {
    EXIT_FINE = 0,
    EXIT_BROKEN = 1,
    EXIT_USAGE = OPTIONS_EXIT_USAGE,
    EXIT_IO = 74,
    EXIT_LIMIT = 75,
    EXIT_INTERRUPTED = 130,
};

/* The arguments without the name of the protocol. */
int wdme_main(char **argv);
int wme_main(char **argv);
int node_main(char **argv);

extern const command_line wdme_line, wme_line, node_line;

/* The code, or EXIT_IO with a message if not all output could be written. */
int finish_output(int code);

#endif
