/* `baton serve`: reads the command line, and serves. */
#include "../net/serve.h"
#include "../net/listen.h"
#include "cli.h"
#include "places.h"
#include "server_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void help(void)
{
    puts("Usage: baton serve [OPTION...]\n"
         "Serves locks over the network, in the protocol of Redis. A losing try costs no message\n"
         "until the winner leaves.\n"
         "\n"
         "  -l, --listen ADDR         HOST:PORT, or the path of a Unix socket; may be repeated\n"
         "                            (127.0.0.1:7700)\n"
         "      --http PORT|HOST:PORT /health, and /metrics for Prometheus; no password is asked "
         "for\n"
         "      --state FILE          where tokens are remembered over restarts\n"
         "                            ($XDG_STATE_HOME/baton/tokens)\n"
         "      --no-hold-back        after a crash, grant at once what others may still believe "
         "to hold\n"
         "      --auth-file FILE      its first line is the password that AUTH must give; needed "
         "to\n"
         "                            listen beyond this machine\n"
         "      --loops N             event loops, each a thread (one for two processors)\n"
         "      --idle-exit MS        end when nobody was connected for so long (never)\n"
         "      --grace MS            how long a lost connection keeps its locks (0)\n"
         "      --max-connections N   (10000)\n"
         "      --max-waiters N       for one lock (10000)\n"
         "      --max-name BYTES      of a lock (512)\n"
         "      --max-output BYTES    that a client may leave unread (1048576)\n"
         "      --log-level LEVEL     error, warn, info or debug (info)\n"
         "  -h, --help                this help\n"
         "\n"
         "Ends on SIGINT and SIGTERM. Try it: redis-cli -3 -p 7700 TRY mylock");
}

enum {
    STATE = 256,
    HTTP,
    AT_ONCE,
    AUTH,
    LOOPS,
    GRACE,
    IDLE,
    CONNECTIONS,
    WAITERS,
    NAME,
    OUTPUT,
    LEVEL
};

static const struct option options[] = {
    {"listen", required_argument, NULL, 'l'},
    {"http", required_argument, NULL, HTTP},
    {"state", required_argument, NULL, STATE},
    {"no-hold-back", no_argument, NULL, AT_ONCE},
    {"auth-file", required_argument, NULL, AUTH},
    {"loops", required_argument, NULL, LOOPS},
    {"grace", required_argument, NULL, GRACE},
    {"idle-exit", required_argument, NULL, IDLE},
    {"max-connections", required_argument, NULL, CONNECTIONS},
    {"max-waiters", required_argument, NULL, WAITERS},
    {"max-name", required_argument, NULL, NAME},
    {"max-output", required_argument, NULL, OUTPUT},
    {"log-level", required_argument, NULL, LEVEL},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int parse_number_option(int option, serve_settings *s)
{
    static const struct {
        int option;
        const char *name;
        uint64_t least, most;
    } ranges[] = {
        {LOOPS, "loops", 1, MOST_LOOPS},        {GRACE, "grace", 0, 3600000},
        {IDLE, "idle-exit", 0, 86400000},       {CONNECTIONS, "max-connections", 1, 1000000},
        {WAITERS, "max-waiters", 0, 1000000},   {NAME, "max-name", 1, 1000},
        {OUTPUT, "max-output", 4096, 1U << 30},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        uint64_t number;
        if (ranges[i].option != option)
            continue;
        if (!parse_number(optarg, ranges[i].least, ranges[i].most, &number))
            return usage_error("serve", "--%s takes a whole number from %llu to %llu",
                               ranges[i].name, (unsigned long long)ranges[i].least,
                               (unsigned long long)ranges[i].most);
        if (option == LOOPS)
            s->loops = (uint32_t)number;
        else if (option == GRACE)
            s->grace = number;
        else if (option == IDLE)
            s->idle_exit = number;
        else if (option == CONNECTIONS)
            s->most_connections = (uint32_t)number;
        else if (option == WAITERS)
            s->most_waiters = (uint32_t)number;
        else if (option == NAME)
            s->most_name = (size_t)number;
        else
            s->most_output = (size_t)number;
    }
    return EXIT_DONE;
}

static int parse_option(int option, serve_settings *s, const char **auth, char **argv)
{
    switch (option) {
    case 'l':
        if (s->addresses == MOST_ADDRESSES)
            return usage_error("serve", "no more than %d addresses", MOST_ADDRESSES);
        s->address[s->addresses++] = optarg;
        return EXIT_DONE;
    case HTTP:
        s->http = parse_http(optarg);
        if (s->http == NULL)
            return usage_error("serve", "--http takes a port, or HOST:PORT");
        return EXIT_DONE;
    case STATE:
        s->state = optarg;
        return EXIT_DONE;
    case AT_ONCE:
        s->at_once = true;
        return EXIT_DONE;
    case AUTH:
        *auth = optarg;
        return EXIT_DONE;
    case LEVEL:
        if (!parse_level(optarg, &s->level))
            return usage_error("serve", "--log-level is error, warn, info or debug");
        return EXIT_DONE;
    case ':':
        return option_error("serve", "wants a value", argv);
    case '?':
        return option_error("serve", "is no option", argv);
    default:
        return parse_number_option(option, s);
    }
}

static int run(serve_settings *s, const char *auth)
{
    static char state[PLACE_BYTES];
    char *secret = NULL;
    for (uint32_t i = 0; i < s->addresses; i++)
        if (!listen_is_local(s->address[i]) && auth == NULL)
            return usage_error("serve",
                               "%s is no address of this machine alone; that needs --auth-file",
                               s->address[i]);
    if (s->http != NULL && !listen_is_local(s->http) && auth == NULL)
        return usage_error(
            "serve", "%s is no address of this machine alone; that needs --auth-file", s->http);
    if (auth != NULL && (secret = read_password("serve", auth)) == NULL)
        return EXIT_FAILED;
    s->secret = secret;
    if (s->state == NULL && !place_state("tokens", state)) {
        fprintf(stderr, "baton serve: no place to remember tokens; name one with --state\n");
        free(secret);
        return EXIT_FAILED;
    }
    if (s->state == NULL)
        s->state = state;
    const char *trouble = serve(s);
    free(secret);
    if (trouble == NULL)
        return EXIT_DONE;
    fprintf(stderr, "baton serve: %s\n", trouble);
    return EXIT_FAILED;
}

int cmd_serve(int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    long half = processors / 2; /* the other half is for the kernel's part, and for clients */
    serve_settings s = {
        .backend = &serve_alone,
        .loops = half < 1            ? 1
                 : half > MOST_LOOPS ? MOST_LOOPS
                                     : (uint32_t)half,
        .most_connections = 10000,
        .most_waiters = 10000,
        .most_name = 512,
        .most_output = 1 << 20,
        .level = LOG_INFO,
    };
    const char *auth = NULL;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":l:h", options, NULL)) != -1;) {
        if (option == 'h') {
            help();
            return finish_output("serve");
        }
        int error = parse_option(option, &s, &auth, argv);
        if (error != EXIT_DONE)
            return error;
    }
    if (optind < argc)
        return usage_error("serve", "unexpected '%s'", argv[optind]);
    if (s.addresses == 0)
        s.address[s.addresses++] = "127.0.0.1:7700";
    return run(&s, auth);
}
