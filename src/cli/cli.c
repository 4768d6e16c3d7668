/* What the subcommands share: reading options, and the end of output. */
#include "cli.h"
#include "channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool read_options(const command_line *line, char **argv, void *into, options_got *got, int *code)
{
    options_verdict verdict = options_read(line, argv, into, got);
    if (verdict == OPTIONS_HELPED)
        *code = finish_output(argv[0]);
    if (verdict == OPTIONS_WRONG)
        *code = EXIT_USAGE;
    return verdict == OPTIONS_FINE;
}

void use_linked_tls(void)
{
    baton__tls_calls = &baton_tls_calls_1;
}

int finish_output(const char *command)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_DONE;
    fprintf(stderr, "baton %s: cannot write the output: %s\n", command, strerror(errno));
    return EXIT_FAILED;
}
