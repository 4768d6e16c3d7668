/* `baton`: finds the subcommand and runs it. */
#include "baton/lock.h"
#include "cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"bench", "measure locks against pthread and Concurrency Kit", cmd_bench},
    {"issue", "change what a lock of a cluster guards, from within 'baton run'", cmd_issue},
    {"locks", "list the lock algorithms, or the locks that a server has given", cmd_locks},
    {"read", "print what a node of a cluster has under a key", cmd_read},
    {"release", "take a lock away from its holder, by force", cmd_release},
    {"run", "run a command while holding a lock", cmd_run},
    {"serve", "serve locks over the network, in the protocol of Redis", cmd_serve},
    {"node", "run a node of a cluster: locks and data that survive crashes", cmd_node},
    {"status", "say how the nodes of a cluster are", cmd_status},
    {"top", "show who holds and who waits, live", cmd_top},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void help(FILE *out)
{
    fputs("Usage: baton COMMAND [OPTION...]\n"
          "One holder at a time, from cache line to cluster.\n"
          "\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "  -h, --help     this help; 'baton COMMAND --help' tells about one command\n"
          "  -V, --version  the version\n",
          out);
}

static int run(const char *name, int argc, char **argv)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc, argv);
    fprintf(stderr, "baton: no command '%s'; see 'baton --help'\n", name);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is reported by finish_output */
    const char *word = argc > 1 ? argv[1] : NULL;
    if (word == NULL) {
        help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(word, "help") == 0 && argc > 2)
        return run(argv[2], 2, (char *[]){argv[2], (char[]){"--help"}, NULL});
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "help") == 0) {
        help(stdout);
        return finish_output("help");
    }
    if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
        printf("baton %s\n", baton_version());
        return finish_output("--version");
    }
    return run(word, argc - 1, argv + 1);
}
