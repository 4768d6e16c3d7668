/* `baton release`: takes a lock away from its holder. */
#include "ask.h"
#include "cli.h"
#include "server_paths.h"

typedef struct wish {
    const char *at;
    server_access by;
} wish;

static const option_row rows[] = {
    {"at", 0, "ADDR",
     "server, HOST:PORT or the path of a Unix socket; without it, the one of 'baton run' for this "
     "user",
     INTO(wish, at), .env = "BATON_AT"},
    ACCESS_ROWS(wish, by),
    {0},
};

const command_line release_line = {
    .program = "baton release",
    .usage = "[OPTION...] NAME TOKEN",
    .intro = "Takes the lock NAME away from its holder, if it is held with TOKEN; the holder is "
             "told. 'baton locks --at ADDR' lists names and tokens.",
    .rows = rows,
    .end = "Exit code: 0 released, 1 not held with that token, 64 wrong usage, 69 no server.",
    .least_words = 2,
    .max_words = 2,
    .takes = "it takes the name of a lock, and a token",
};

static int release(ask *a, const char *name, const char *token)
{
    ask_item item;
    int error = ask_send(a, 3, (const char *[]){"RELEASE", name, token}, &item);
    if (error != EXIT_DONE)
        return error;
    if (item.kind == REPLY_INTEGER && item.number == 1)
        return EXIT_DONE;
    fprintf(stderr, "baton release: %s is not held with token %s; see 'baton locks --at ...'\n",
            name, token);
    return EXIT_FAILED;
}

int cmd_release(char **argv)
{
    wish w = {0};
    options_got got;
    int code;
    uint64_t token;
    char socket_path[PATH_BYTES];
    ask a;
    if (!read_options(&release_line, argv, &w, &got, &code))
        return code;
    if (!parse_number(got.word[1], 1, INT64_MAX, &token))
        return options_wrong(&release_line, "'%s' is no token", got.word[1]);
    code = ask_open(&a, "release", path_server(w.at, socket_path), &w.by);
    if (code != EXIT_DONE)
        return code;
    code = release(&a, got.word[0], got.word[1]);
    ask_close(&a);
    return code;
}
