/* `baton issue`: an operation from within the section of the `baton run` around it. */
#include "ask.h"
#include "cli.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 29, MAX_BYTES = 60000 }; /* as baton_client_issue has it */

static const option_row rows[] = {
    HELP_ARGUMENT("SET KEY VALUE", "sets the value of the key"),
    HELP_ARGUMENT("GET KEY", "prints its value; nothing if there is none"),
    HELP_ARGUMENT("DEL KEY", "prints 1, or 0 if there was no such key"),
    HELP_ARGUMENT("INCR KEY [BY]", "adds to a number, and prints the sum"),
    HELP_ARGUMENT("CAS KEY EQ OLD NEW",
                  "changes the value if it is OLD; prints 1, or 0 if it is not"),
    HELP_ARGUMENT("CAS KEY NX NEW", "the same if there is no such key"),
    HELP_ARGUMENT("SCAN [FROM [COUNT]]", "prints keys and values, with a tab in between"),
    {0},
};

const command_line issue_line = {
    .program = "baton issue",
    .usage = "OPERATION [ARGUMENT...]",
    .intro = "Executes an operation on what a lock of a cluster guards. To be called by the "
             "command of 'baton run', which holds the lock: whoever loses the lock loses the right "
             "to change the data.",
    .rows = rows,
    .end = "Exit code: 0 executed, 1 the operation is wrong, 64 wrong usage, 69 the connection "
           "broke: executed or not, 76 the lock was lost: not executed.",
    .least_words = 1,
    .max_words = MAX_WORDS,
    .takes = "it takes an operation of 1 to 29 words",
    .stop_after = 1,
};
static_assert(MAX_WORDS == 29, "as issue_line.takes says");

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
    int64_t count = item.kind == REPLY_ARRAY ? item.number : 0;
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
    case REPLY_ARRAY:
        return print_scan(a);
    case REPLY_NULL:
        return EXIT_DONE;
    case REPLY_ERROR:
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

int cmd_issue(char **argv)
{
    options_got got;
    int code;
    if (!read_options(&issue_line, argv, NULL, &got, &code))
        return code;
    const char *path = getenv("BATON_SESSION");
    size_t bytes = 0;
    for (int i = 0; i < got.words; i++)
        bytes += strlen(got.word[i]);
    if (bytes > MAX_BYTES)
        return options_wrong(&issue_line, "an operation has %d bytes at most", MAX_BYTES);
    if (path == NULL || path[0] == '\0')
        return no_session();
    ask a;
    ask_item item;
    if (!ask_open_session(&a, "issue", path)) {
        fprintf(stderr, "baton issue: the 'baton run' around this has ended (%s: %s)\n", path,
                strerror(errno));
        return EXIT_UNREACHABLE;
    }
    code = ask_exchange(&a, (size_t)got.words, (const char *const *)got.word, &item);
    if (code == EXIT_DONE)
        code = print_result(&a, &item);
    ask_close(&a);
    int written = finish_output("issue");
    return code != EXIT_DONE ? code : written;
}
