/* `baton issue`: an operation from within the section of the `baton run` around it. */
#include "ask.h"
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 29, MOST_BYTES = 60000 }; /* as baton_client_issue has it */

static void help(void)
{
    puts(
        "Usage: baton issue OPERATION [ARGUMENT...]\n"
        "Executes an operation on what a lock of a cluster guards. To be called by the command of\n"
        "'baton run', which holds the lock: with the lock, the right to change is lost.\n"
        "\n"
        "  SET KEY VALUE        the value of the key, from now on\n"
        "  GET KEY              prints its value; nothing if there is none\n"
        "  DEL KEY              prints 1, or 0 if there was no such key\n"
        "  INCR KEY [BY]        adds to a number, and prints the sum\n"
        "  CAS KEY EQ OLD NEW   changes the value if it is OLD; prints 1, or 0 if it is not\n"
        "  CAS KEY NX NEW       the same if there is no such key\n"
        "  SCAN [FROM [COUNT]]  prints keys and values, with a tab in between\n"
        "  -h, --help           this help\n"
        "\n"
        "Exit code: 0 executed, 1 the operation is wrong, 64 wrong usage, 69 the connection "
        "broke:\n"
        "executed or not, 76 the lock was lost: not executed.");
}

static int print_text(const ask_item *item)
{
    fwrite(item->text, 1, item->bytes, stdout);
    return putchar('\n') == '\n' ? EXIT_DONE : EXIT_FAILED;
}

/* The key to go on from, then an array of keys and values in turn. */
static int print_scan(ask *a)
{
    ask_item item;
    char *next = NULL;
    int error = ask_next(a, &item);
    if (error == EXIT_DONE && item.bytes > 0)
        next = strndup(item.text, item.bytes);
    if (error == EXIT_DONE)
        error = ask_next(a, &item);
    int64_t count = item.kind == '*' ? item.number : 0;
    for (int64_t i = 0; error == EXIT_DONE && i < count; i++) {
        error = ask_next(a, &item);
        if (error != EXIT_DONE)
            break;
        fwrite(item.text, 1, item.bytes, stdout);
        putchar(i % 2 == 0 ? '\t' : '\n');
    }
    if (error == EXIT_DONE && next != NULL)
        fprintf(stderr, "baton issue: there are more; go on with 'baton issue SCAN %s'\n", next);
    free(next);
    return error;
}

static int print_result(ask *a, const ask_item *item)
{
    switch (item->kind) {
    case '*':
        return print_scan(a);
    case '_':
        return EXIT_DONE;
    case '-':
        fprintf(stderr, "baton issue: %s\n", item->text);
        return strncmp(item->text, "LOST ", 5) == 0      ? EXIT_LOST
               : strncmp(item->text, "UNKNOWN ", 8) == 0 ? EXIT_UNREACHABLE
                                                         : EXIT_FAILED;
    default:
        return print_text(item);
    }
}

static int no_session(void)
{
    fputs(getenv("BATON_LOCK") == NULL
              ? "baton issue: there is no 'baton run' around this; operations are for holders of a "
                "lock\n"
              : "baton issue: the lock of the 'baton run' around this is not of a cluster, and "
                "guards no data; see baton-node(1)\n",
          stderr);
    return EXIT_USAGE;
}

int cmd_issue(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "+:h", options, NULL)) != -1;) {
        if (option != 'h')
            return option_error("issue", "is no option", argv);
        help();
        return finish_output("issue");
    }
    size_t count = (size_t)(argc - optind);
    const char *const *words = (const char *const *)argv + optind;
    const char *path = getenv("BATON_SESSION");
    if (count == 0 || count > MOST_WORDS)
        return usage_error("issue", "it takes an operation of 1 to %d words", MOST_WORDS);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(words[i]);
    if (bytes > MOST_BYTES)
        return usage_error("issue", "an operation has %d bytes at most", MOST_BYTES);
    if (path == NULL || path[0] == '\0')
        return no_session();
    ask a;
    ask_item item;
    if (!ask_open_session(&a, "issue", path)) {
        fprintf(stderr, "baton issue: the 'baton run' around this has ended (%s: %s)\n", path,
                strerror(errno));
        return EXIT_UNREACHABLE;
    }
    int code = ask_exchange(&a, count, words, &item);
    if (code == EXIT_DONE)
        code = print_result(&a, &item);
    ask_close(&a);
    int written = finish_output("issue");
    return code != EXIT_DONE ? code : written;
}
