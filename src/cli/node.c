/* `baton node`: reads the command line, and runs a node of a cluster. */
#include "../net/listen.h"
#include "../node/daemon.h"
#include "cli.h"
#include "config.h"
#include "places.h"
#include "server_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void help(void)
{
    puts(
        "Usage: baton node --id ID --peers ID=HOST:PORT,... --data DIR [OPTION...]\n"
        "Runs one node of a cluster: locks that survive the crash of a minority of nodes, and for\n"
        "each a key-value store that only its holder may change.\n"
        "\n"
        "      --id ID               this node; 1 to 32 of a-z, 0-9 and '-'\n"
        "      --peers LIST          all nodes, this one too, and where they talk to each other;\n"
        "                            the same list on all of them\n"
        "      --data DIR            what this node must not forget; made if it is not there\n"
        "  -c, --client ADDR         where clients connect: HOST:PORT, or the path of a Unix\n"
        "                            socket; may be repeated (127.0.0.1:7700)\n"
        "      --http PORT|HOST:PORT /health, and /metrics for Prometheus; no password is asked "
        "for\n"
        "      --ack all|owner       who hears that an operation was accepted: all nodes, or the\n"
        "                            one whose operation it is (owner)\n"
        "      --durability HOW      disk: what was acknowledged survives the loss of power at "
        "all\n"
        "                            nodes; memory: it survives as long as a majority runs (disk)\n"
        "      --consensus ENGINE    what decides how an epoch ends: paxos, among the nodes "
        "(paxos), "
        "or\n"
        "                            etcd[/NAME]=URL,...: an etcd cluster; the same engine on all\n"
        "                            nodes, for ever\n"
        "      --auth-file FILE      its first line is the secret of this cluster, for nodes and\n"
        "                            clients; needed beyond this machine\n"
        "      --max-bytes BYTES     that the data may take (1073741824)\n"
        "      --drain MS            on SIGTERM, wait so long for sections held here, and give "
        "tokens\n"
        "                            to other nodes (3000); 0: end at once\n"
        "      --config FILE         settings, a line for each: KEY = VALUE, named as these "
        "options\n"
        "                            are; what is given here wins\n"
        "      --check-config        say whether all this makes sense, and end\n"
        "      --log-level LEVEL     error, warn, info or debug (info)\n"
        "  -h, --help                this help\n"
        "\n"
        "Ends on SIGINT and SIGTERM; at once, on a second one.");
}

enum {
    ID = 256,
    PEERS,
    DATA,
    HTTP,
    ACK,
    DURABILITY,
    CONSENSUS,
    AUTH,
    BYTES,
    DRAIN,
    CONFIG,
    CHECK,
    LEVEL
};

static const struct option options[] = {
    {"id", required_argument, NULL, ID},
    {"peers", required_argument, NULL, PEERS},
    {"data", required_argument, NULL, DATA},
    {"client", required_argument, NULL, 'c'},
    {"http", required_argument, NULL, HTTP},
    {"ack", required_argument, NULL, ACK},
    {"durability", required_argument, NULL, DURABILITY},
    {"consensus", required_argument, NULL, CONSENSUS},
    {"auth-file", required_argument, NULL, AUTH},
    {"max-bytes", required_argument, NULL, BYTES},
    {"drain", required_argument, NULL, DRAIN},
    {"config", required_argument, NULL, CONFIG},
    {"check-config", no_argument, NULL, CHECK},
    {"log-level", required_argument, NULL, LEVEL},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* What was asked for. */
typedef struct wish {
    serve_settings serve;
    node_daemon *daemon;
    const char *id, *peers, *auth, *consensus;
    bool only_check, wants_help;
    char *config; /* the text of the file of settings, which others of these point into */
} wish;

static int parse_option(int option, wish *w, char **argv)
{
    uint64_t number;
    switch (option) {
    case ID:
        w->id = optarg;
        return EXIT_DONE;
    case PEERS:
        w->peers = optarg;
        return EXIT_DONE;
    case DATA:
        w->daemon->driver.data = optarg;
        return EXIT_DONE;
    case 'c':
        if (w->serve.addresses == MOST_ADDRESSES)
            return usage_error("node", "no more than %d addresses", MOST_ADDRESSES);
        w->serve.address[w->serve.addresses++] = optarg;
        return EXIT_DONE;
    case HTTP:
        w->serve.http = parse_http(optarg);
        return w->serve.http != NULL ? EXIT_DONE
                                     : usage_error("node", "--http takes a port, or HOST:PORT");
    case ACK:
        w->daemon->driver.ack_all = strcmp(optarg, "all") == 0;
        return w->daemon->driver.ack_all || strcmp(optarg, "owner") == 0
                   ? EXIT_DONE
                   : usage_error("node", "--ack is all or owner");
    case DURABILITY:
        w->daemon->driver.durability = strcmp(optarg, "memory") == 0 ? STORE_MEMORY : STORE_DISK;
        return w->daemon->driver.durability == STORE_MEMORY || strcmp(optarg, "disk") == 0
                   ? EXIT_DONE
                   : usage_error("node", "--durability is disk or memory");
    case CONSENSUS:
        w->consensus = optarg;
        return EXIT_DONE;
    case AUTH:
        w->auth = optarg;
        return EXIT_DONE;
    case BYTES:
        if (!parse_number(optarg, 1 << 20, 1ULL << 42, &number))
            return usage_error("node", "--max-bytes takes a whole number from 1048576");
        w->daemon->driver.most_bytes = (size_t)number;
        return EXIT_DONE;
    case DRAIN:
        return parse_number(optarg, 0, 3600000, &w->serve.drain)
                   ? EXIT_DONE
                   : usage_error("node", "--drain takes milliseconds, up to 3600000");
    case CONFIG: /* was read before */
        return EXIT_DONE;
    case CHECK:
        w->only_check = true;
        return EXIT_DONE;
    case LEVEL:
        return parse_level(optarg, &w->serve.level)
                   ? EXIT_DONE
                   : usage_error("node", "--log-level is error, warn, info or debug");
    default:
        return option_error("node", option == ':' ? "wants a value" : "is no option", argv);
    }
}

/* A setting of the file: as if it were given as an option. */
static int take_setting(void *context, const char *key, char *value)
{
    static char *nothing[] = {NULL};
    const struct option *o = options;
    while (o->name != NULL && (strcmp(o->name, key) != 0 || o->has_arg == no_argument))
        o++;
    if (o->name == NULL || o->val == CONFIG)
        return usage_error("node", "'%s' is no setting", key);
    optarg = value;
    return parse_option(o->val, context, nothing);
}

/* The file of settings, if one is named; it is read first, so that options win. */
static int read_config(int argc, char **argv, wish *w)
{
    const char *file = NULL;
    for (int option; (option = getopt_long(argc, argv, ":c:h", options, NULL)) != -1;)
        if (option == CONFIG)
            file = optarg;
    optind = 1;
    return file == NULL ? EXIT_DONE : config_read("node", file, &w->config, take_setting, w);
}

static bool is_local(const wish *w)
{
    for (uint32_t i = 0; i < w->serve.addresses; i++)
        if (!listen_is_local(w->serve.address[i]))
            return false;
    return driver_is_local(&w->daemon->driver) &&
           (w->serve.http == NULL || listen_is_local(w->serve.http));
}

/* paxos, or etcd=URL,... or etcd/NAME=URL,... */
static int choose_engine(wish *w)
{
    char engine[PEERS_MOST_ENGINE + 1];
    char words[ETCD_URLS_COMPLAINT];
    const char *equals = strchr(w->consensus, '=');
    if (strcmp(w->consensus, "paxos") == 0)
        return EXIT_DONE;
    size_t length = equals != NULL ? (size_t)(equals - w->consensus) : 0;
    if (length == 0 || length > PEERS_MOST_ENGINE)
        return usage_error("node", "--consensus is paxos, or etcd=http://HOST:PORT, or with a name "
                                   "of up to 24 characters etcd/NAME=http://HOST:PORT");
    memcpy(engine, w->consensus, length);
    engine[length] = '\0';
    if (!peers_set_engine(&w->daemon->driver.peers, engine))
        return usage_error("node",
                           "'%s' is no engine of consensus: paxos, etcd or etcd/NAME; a "
                           "name is of a-z, 0-9 and '-'",
                           engine);
    return etcd_urls_parse(&w->daemon->etcd, equals + 1, words) ? EXIT_DONE
                                                                : usage_error("node", "%s", words);
}

/* EXIT_DONE if all that was asked for makes sense together. */
static int check(wish *w)
{
    char words[PEERS_COMPLAINT];
    if (w->id == NULL || w->peers == NULL || w->daemon->driver.data == NULL)
        return usage_error("node", "--id, --peers and --data are needed");
    if (!peers_parse(&w->daemon->driver.peers, w->peers, w->id, words))
        return usage_error("node", "%s", words);
    if (words[0] != '\0')
        fprintf(stderr, "baton node: %s\n", words);
    if (w->serve.addresses == 0)
        w->serve.address[w->serve.addresses++] = "127.0.0.1:7700";
    if (w->auth == NULL && !is_local(w))
        return usage_error("node", "an address beyond this machine needs --auth-file");
    return w->consensus != NULL ? choose_engine(w) : EXIT_DONE;
}

static int run(wish *w)
{
    char *secret = NULL;
    if (w->auth != NULL && (secret = read_password("node", w->auth)) == NULL)
        return EXIT_FAILED;
    if (w->only_check) {
        puts("fine");
        free(secret);
        return EXIT_DONE;
    }
    w->serve.secret = secret;
    w->daemon->driver.secret = (proof_secret){secret, secret != NULL ? strlen(secret) : 0};
    const char *trouble = serve(&w->serve);
    free(secret);
    if (trouble == NULL)
        return EXIT_DONE;
    fprintf(stderr, "baton node: %s\n", trouble);
    return EXIT_FAILED;
}

static int read_options(int argc, char **argv, wish *w)
{
    bool own_addresses = false;
    for (int option; (option = getopt_long(argc, argv, ":c:h", options, NULL)) != -1;) {
        if (option == 'h') {
            help();
            w->wants_help = true;
            return EXIT_DONE;
        }
        if (option == 'c' && !own_addresses) {
            own_addresses = true;
            w->serve.addresses = 0; /* those of the file */
        }
        int error = parse_option(option, w, argv);
        if (error != EXIT_DONE)
            return error;
    }
    return optind < argc ? usage_error("node", "unexpected '%s'", argv[optind]) : EXIT_DONE;
}

int cmd_node(int argc, char **argv)
{
    static node_daemon daemon = {.driver = {.most_bytes = 1 << 30}};
    wish w = {
        .daemon = &daemon,
        .serve = {.backend = &serve_node,
                  .context = &daemon,
                  .loops = 1,
                  .drain = 3000,
                  .most_connections = 10000,
                  .most_waiters = 10000,
                  .most_name = STORE_MOST_NAME,
                  .most_word =
                      (size_t)2 * OP_MOST_VALUE, /* so that who sends too much is told so */
                  .most_output = 1 << 20,
                  .level = LOG_INFO},
    };
    opterr = 0;
    int error = read_config(argc, argv, &w);
    if (error == EXIT_DONE)
        error = read_options(argc, argv, &w);
    if (error == EXIT_DONE && !w.wants_help)
        error = check(&w);
    if (error == EXIT_DONE)
        error = w.wants_help ? finish_output("node") : run(&w);
    free(w.config);
    return error;
}
