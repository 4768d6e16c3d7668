/* What the subcommands share: messages, and the end of output. */
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int usage_error(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "baton %s: ", command);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; see 'baton %s --help'\n", command);
    va_end(arguments);
    return EXIT_USAGE;
}

int option_error(const char *command, const char *complaint, char **argv)
{
    /* A letter is in optopt; of a long option only the word before optind is left. */
    if (optopt > 0 && optopt < 256 && strncmp(argv[optind - 1], "--", 2) != 0)
        return usage_error(command, "'-%c' %s", optopt, complaint);
    return usage_error(command, "'%s' %s", argv[optind - 1], complaint);
}

int finish_output(const char *command)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_DONE;
    fprintf(stderr, "baton %s: cannot write the output: %s\n", command, strerror(errno));
    return EXIT_FAILED;
}
