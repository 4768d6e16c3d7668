/* The command lines of `baton-sim`, one for each protocol. */
#ifndef BATON_SIM_MAIN_H
#define BATON_SIM_MAIN_H

enum {
    EXIT_FINE = 0,
    EXIT_BROKEN = 1,
    EXIT_USAGE = 64,
    EXIT_IO = 74,
    EXIT_LIMIT = 75,
    EXIT_INTERRUPTED = 130,
};

/* The arguments without the name of the protocol. */
int wdme_main(int argc, char **argv);
int wme_main(int argc, char **argv);

/* `complaint` has one %s, for `which`. Returns EXIT_USAGE. */
int usage_error(const char *complaint, const char *which);
/* The code, or EXIT_IO with a message if not all output could be written. */
int finish_output(int code);

#endif
