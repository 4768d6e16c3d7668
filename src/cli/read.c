/* `baton read`: what a node of a cluster has under a key, without a lock. */
#include "ask.h"
#include "cli.h"

#include <inttypes.h>

typedef struct wish {
    const char *at;
    server_access by;
    bool quiet;
} wish;

static const option_row rows[] = {
    {"at", 0, "ADDR[,ADDR...]",
     "nodes, HOST:PORT or the path of a Unix socket; the first that can be reached is asked",
     INTO(wish, at), .env = "BATON_AT"},
    ACCESS_ROWS(wish, by),
    {"quiet", 'q', NULL, "print only the value", INTO(wish, quiet)},
    {0},
};

const command_line read_line = {
    .program = "baton read",
    .usage = "[OPTION...] NAME KEY",
    .intro = "Prints what one node of a cluster has under KEY among the data of the lock NAME, "
             "without holding it, and on standard error as of which epoch and section. Other nodes "
             "may have more: to be sure, hold the lock, and use 'baton issue GET KEY'.",
    .rows = rows,
    .end = "Exit code: 0 printed, 1 no such key, or refused, 64 wrong usage, 69 no node.",
    .least_words = 2,
    .max_words = 2,
    .takes = "it takes the name of a lock, and a key",
};

/* Value or null, epoch, section, operations. */
static int read_key(ask *a, const char *name, const char *key, bool quiet)
{
    ask_item item;
    int64_t number[3] = {0};
    int error = ask_send(a, 3, (const char *[]){"READ", name, key}, &item);
    if (error == EXIT_DONE && (item.kind != REPLY_ARRAY || item.number != 4)) {
        fputs("baton read: the server gives an answer that is not understood\n", stderr);
        return EXIT_FAILED;
    }
    if (error == EXIT_DONE)
        error = ask_next(a, &item);
    if (error != EXIT_DONE)
        return error;
    bool found = item.kind == REPLY_BULK;
    if (found) {
        fwrite(item.text, 1, item.bytes, stdout);
        putchar('\n');
    }
    for (int i = 0; i < 3 && error == EXIT_DONE; i++) {
        error = ask_next(a, &item);
        number[i] = item.number;
    }
    if (error != EXIT_DONE)
        return error;
    if (!quiet)
        fprintf(stderr,
                "baton read: %sas of epoch %" PRId64 ", sn %" PRId64 " (%" PRId64 " operations)\n",
                found ? "" : "no such key, ", number[0], number[1], number[2]);
    return found ? EXIT_DONE : EXIT_FAILED;
}

int cmd_read(char **argv)
{
    wish w = {0};
    options_got got;
    int code;
    if (!read_options(&read_line, argv, &w, &got, &code))
        return code;
    if (w.at == NULL || w.at[0] == '\0')
        return options_wrong(&read_line, "--at, or BATON_AT, must name a node");
    ask a;
    code = ask_open(&a, "read", w.at, &w.by);
    if (code != EXIT_DONE)
        return code;
    code = read_key(&a, got.word[0], got.word[1], w.quiet);
    ask_close(&a);
    int written = finish_output("read");
    return code != EXIT_DONE ? code : written;
}
