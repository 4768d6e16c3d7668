/* `baton`: finds the subcommand and runs it. */
#include "baton/lock.h"
#include "cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name;
    const char *summary;
    const command_line *line;
    int (*run)(char **argv);
} commands[] = {
    {"bench", "measure locks against pthread and Concurrency Kit, or a cluster", &bench_line,
     cmd_bench},
    {"issue", "change what a lock of a cluster guards, from within 'baton run'", &issue_line,
     cmd_issue},
    {"locks", "list the lock algorithms, or the locks that a server has given", &locks_line,
     cmd_locks},
    {"read", "print what a node of a cluster has under a key", &read_line, cmd_read},
    {"release", "take a lock away from its holder, by force", &release_line, cmd_release},
    {"run", "run a command while holding a lock", &run_line, cmd_run},
    {"serve", "serve locks over the network, in the protocol of Redis", &serve_line, cmd_serve},
    {"node", "run a node of a cluster: locks and data that survive crashes", &node_line, cmd_node},
    {"status", "say how the nodes of a cluster are", &status_line, cmd_status},
    {"top", "show who holds and who waits, live", &top_line, cmd_top},
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

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    fprintf(stderr, "baton: no command '%s'; see 'baton --help'\n", name);
    return NULL;
}

static int help_about(const char *name)
{
    const struct command *command = find(name);
    if (command == NULL)
        return EXIT_USAGE;
    options_help(command->line, stdout);
    return finish_output(name);
}

int main(int argc, char **argv)
{
    use_linked_tls();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is reported by finish_output */
    const char *word = argc > 1 ? argv[1] : NULL;
    if (word == NULL) {
        help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(word, "help") == 0 && argc > 2)
        return help_about(argv[2]);
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "help") == 0) {
        help(stdout);
        return finish_output("help");
    }
    if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
        printf("baton %s\n", baton_version());
        return finish_output("--version");
    }
    const struct command *command = find(word);
    return command != NULL ? command->run(argv + 1) : EXIT_USAGE;
}
