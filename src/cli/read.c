/* `baton read`: what a node of a cluster has under a key, without a lock. */
#include "ask.h"
#include "cli.h"
#include "places.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

static void help(void)
{
    puts(
        "Usage: baton read [--at ADDR[,ADDR...]] NAME KEY\n"
        "Prints what one node of a cluster has under KEY among the data of the lock NAME, without\n"
        "holding it, and on standard error as of which epoch and section. Others may have more:\n"
        "to be sure, hold the lock, and use 'baton issue GET KEY'.\n"
        "\n"
        "  --at ADDR[,ADDR...]   nodes, HOST:PORT or the path of a Unix socket; the first that\n"
        "                        can be reached is asked ($BATON_AT)\n"
        "  --password-file FILE  its first line is the cluster's password\n"
        "                        ($BATON_PASSWORD_FILE)\n"
        "  -q, --quiet           only the value\n"
        "  -h, --help            this help\n"
        "\n"
        "Exit code: 0 printed, 1 no such key, or refused, 64 wrong usage, 69 no node.");
}

/* Value or null, epoch, section, operations. */
static int read_key(ask *a, const char *name, const char *key, bool quiet)
{
    ask_item item;
    int64_t number[3] = {0};
    int error = ask_send(a, 3, (const char *[]){"READ", name, key}, &item);
    if (error == EXIT_DONE && (item.kind != '*' || item.number != 4)) {
        fputs("baton read: the server gives an answer that is not understood\n", stderr);
        return EXIT_FAILED;
    }
    if (error == EXIT_DONE)
        error = ask_next(a, &item);
    if (error != EXIT_DONE)
        return error;
    bool found = item.kind == '$';
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

int cmd_read(int argc, char **argv)
{
    enum { AT = 256, PASSWORD };
    static const struct option options[] = {
        {"at", required_argument, NULL, AT},
        {"password-file", required_argument, NULL, PASSWORD},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *at = getenv("BATON_AT");
    const char *password_file = NULL;
    bool quiet = false;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":qh", options, NULL)) != -1;) {
        switch (option) {
        case AT:
            at = optarg;
            break;
        case PASSWORD:
            password_file = optarg;
            break;
        case 'q':
            quiet = true;
            break;
        case 'h':
            help();
            return finish_output("read");
        case ':':
            return option_error("read", "wants a value", argv);
        default:
            return option_error("read", "is no option", argv);
        }
    }
    if (argc - optind != 2)
        return usage_error("read", "it takes the name of a lock, and a key");
    if (at == NULL || at[0] == '\0')
        return usage_error("read", "--at, or BATON_AT, must name a node");
    ask a;
    int code = ask_open(&a, "read", at, password_file);
    if (code != EXIT_DONE)
        return code;
    code = read_key(&a, argv[optind], argv[optind + 1], quiet);
    ask_close(&a);
    int written = finish_output("read");
    return code != EXIT_DONE ? code : written;
}
