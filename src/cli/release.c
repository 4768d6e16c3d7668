/* `baton release`: takes a lock away from its holder. */
#include "ask.h"
#include "cli.h"
#include "places.h"

#include <getopt.h>
#include <string.h>

static void help(void)
{
    puts("Usage: baton release [--at ADDR] NAME TOKEN\n"
         "Takes the lock NAME away from its holder, if it is held with TOKEN; the holder is told.\n"
         "'baton locks --at ADDR' lists names and tokens.\n"
         "\n"
         "  --at ADDR             server, HOST:PORT or the path of a Unix socket ($BATON_AT; else\n"
         "                        the one of 'baton run' for this user)\n"
         "  --password-file FILE  its first line is the server's password\n"
         "                        ($BATON_PASSWORD_FILE)\n"
         "  -h, --help            this help\n"
         "\n"
         "Exit code: 0 released, 1 not held with that token, 64 wrong usage, 69 no server.");
}

static int release(ask *a, const char *name, const char *token)
{
    ask_item item;
    int error = ask_send(a, 3, (const char *[]){"RELEASE", name, token}, &item);
    if (error != EXIT_DONE)
        return error;
    if (item.kind == ':' && item.number == 1)
        return EXIT_DONE;
    fprintf(stderr, "baton release: %s is not held with token %s; see 'baton locks --at ...'\n",
            name, token);
    return EXIT_FAILED;
}

int cmd_release(int argc, char **argv)
{
    enum { AT = 256, PASSWORD };
    static const struct option options[] = {
        {"at", required_argument, NULL, AT},
        {"password-file", required_argument, NULL, PASSWORD},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *at = NULL;
    const char *password_file = NULL;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        switch (option) {
        case AT:
            at = optarg;
            break;
        case PASSWORD:
            password_file = optarg;
            break;
        case 'h':
            help();
            return finish_output("release");
        case ':':
            return option_error("release", "wants a value", argv);
        default:
            return option_error("release", "is no option", argv);
        }
    }
    uint64_t token;
    if (argc - optind != 2)
        return usage_error("release", "it takes the name of a lock, and a token");
    if (!parse_number(argv[optind + 1], 1, INT64_MAX, &token))
        return usage_error("release", "'%s' is no token", argv[optind + 1]);
    char room[PLACE_BYTES];
    ask a;
    int code = ask_open(&a, "release", place_server(at, room), password_file);
    if (code != EXIT_DONE)
        return code;
    code = release(&a, argv[optind], argv[optind + 1]);
    ask_close(&a);
    return code;
}
