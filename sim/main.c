/* `baton-sim`: which protocol? */
#include "main.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int usage_error(const char *complaint, const char *which)
{
    fprintf(stderr, "baton-sim: ");
    fprintf(stderr, complaint, which);
    fprintf(stderr, "; see 'baton-sim --help'\n");
    return EXIT_USAGE;
}

int finish_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "baton-sim: cannot write the output: %s\n", strerror(errno));
    return EXIT_IO;
}

static int help(void)
{
    printf("Usage: baton-sim PROTOCOL [OPTION...]\n"
           "Runs the shipped protocols in a virtual network, and says whether they keep their\n"
           "promises; if not, shows the run that breaks one.\n"
           "\n"
           "  wdme    the lock service: a register, its clients, and all that can happen between\n"
           "  wme     the cluster: replicas that crash, restart, and suspect each other\n"
           "\n"
           "'baton-sim PROTOCOL --help' tells the options.\n");
    return finish_output(EXIT_FINE);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*main)(int argc, char **argv);
    } protocols[] = {{"wdme", wdme_main}, {"wme", wme_main}};
    const char *stranger = NULL;
    for (int i = 1; i < argc; i++) {
        for (size_t p = 0; p < sizeof protocols / sizeof protocols[0]; p++) {
            if (strcmp(argv[i], protocols[p].name) != 0)
                continue;
            for (int k = i; k < argc; k++) /* up to and with the NULL at the end */
                argv[k] = argv[k + 1];
            return protocols[p].main(argc - 1, argv);
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return help();
        if (argv[i][0] != '-' && stranger == NULL)
            stranger = argv[i];
    }
    if (stranger != NULL && stranger == argv[1])
        return usage_error("no protocol '%s'", stranger);
    return usage_error("name a protocol: wdme or wme%s", "");
}
