/* `baton-sim`: which protocol? */
#include "main.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const option_row rows[] = {
    HELP_ARGUMENT("wdme",
                  "the lock service: a register, its clients, and all that can happen between"),
    HELP_ARGUMENT("wme", "the cluster: replicas that crash, restart, and suspect each other"),
    HELP_ARGUMENT("node", "whole nodes of a cluster with their data, and their clients"),
    {0},
};

static const command_line sim_line = {
    .program = "baton-sim",
    .usage = "PROTOCOL [OPTION...]",
    .intro = "Runs the shipped protocols in a virtual network, and says whether they keep their "
             "promises; if not, shows the run that breaks one.",
    .rows = rows,
    .end = "'baton-sim PROTOCOL --help' tells the options.",
};

int finish_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "baton-sim: cannot write the output: %s\n", strerror(errno));
    return EXIT_IO;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*main)(char **argv);
    } protocols[] = {{"wdme", wdme_main}, {"wme", wme_main}, {"node", node_main}};
    const char *stranger = NULL;
    for (int i = 1; i < argc; i++) {
        for (size_t p = 0; p < sizeof protocols / sizeof protocols[0]; p++) {
            if (strcmp(argv[i], protocols[p].name) != 0)
                continue;
            for (int k = i; k < argc; k++) /* up to and with the NULL at the end */
                argv[k] = argv[k + 1];
            return protocols[p].main(argv);
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            options_help(&sim_line, stdout);
            return finish_output(EXIT_FINE);
        }
        if (argv[i][0] != '-' && stranger == NULL)
            stranger = argv[i];
    }
    if (stranger != NULL && stranger == argv[1])
        return options_wrong(&sim_line, "no protocol '%s'", stranger);
    return options_wrong(&sim_line, "name a protocol: wdme, wme or node");
}
