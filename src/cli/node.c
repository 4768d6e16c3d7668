/* `baton node`: reads the command line, and runs a node of a cluster. */
#include "cli.h"
#include "config.h"
#include "daemon.h"
#include "listen.h"
#include "server_options.h"
#include "server_paths.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was asked for. */
typedef struct wish {
    serve_settings serve; /* first: see take_http */
    node_daemon daemon;
    const char *id, *peers, *auth_file, *secret_file, *consensus, *config;
    bool only_check;
} wish;

static const option_row rows[] = {
    {"id", 0, "ID", "this node; 1 to 32 of a-z, 0-9 and '-'", INTO(wish, id)},
    {"peers", 0, "LIST",
     "all nodes, this one too, and where they talk to each other: ID=HOST:PORT,...; the same list "
     "on all of them",
     INTO(wish, peers)},
    {"data", 0, "DIR", "what this node must not forget; made if it is not there",
     INTO(wish, daemon.driver.data)},
    {"client", 'c', "ADDR",
     "where clients connect: HOST:PORT, tls://HOST:PORT, or the path of a Unix socket; may be "
     "repeated",
     INTO_LIST(wish, serve.address, serve.addresses), .usual = "127.0.0.1:7700"},
    {"http", 0, "PORT|HOST:PORT", "/health, and /metrics for Prometheus; no password is asked for",
     .take = take_http, .noun = "port, nor HOST:PORT", .unit = "either"},
    {"ack", 0, "owner|all",
     "who hears that an operation was accepted: the node whose operation it is, or all nodes",
     INTO(wish, daemon.driver.ack_all), .choices = "owner|all", .usual = "owner"},
    {"durability", 0, "disk|memory",
     "disk: what was acknowledged survives the loss of power at all nodes; memory: it survives as "
     "long as a majority runs",
     INTO(wish, daemon.driver.durability), .choices = "disk|memory", .usual = "disk"},
    {"consensus", 0, "ENGINE",
     "what decides how an epoch ends: paxos, among the nodes; or etcd[/NAME]=URL,..., an etcd "
     "cluster. The same engine on all nodes, for ever",
     INTO(wish, consensus), .usual = "paxos"},
    {"etcd-ca", 0, "FILE",
     "trust an etcd at https:// that one of these certificates has signed, or whose own is among "
     "them, and no other; without it, those that the system trusts",
     INTO(wish, daemon.etcd.ca)},
    {"etcd-cert", 0, "FILE", "certificate to show to etcd; with --etcd-key",
     INTO(wish, daemon.etcd.cert)},
    {"etcd-key", 0, "FILE", "its key, without a passphrase", INTO(wish, daemon.etcd.key)},
    {"secret-file", 0, "FILE",
     "its first line is the secret of the nodes, the same on all of them: TLS between them is "
     "keyed "
     "by it. This, or a certificate, is needed if a node is on another machine",
     INTO(wish, secret_file)},
    {"peer-cert", 0, "FILE",
     "instead of a secret, a certificate to show to the other nodes; this node's id is one of its "
     "names. With --peer-key and --peer-ca",
     INTO(wish, daemon.driver.credentials.cert)},
    {"peer-key", 0, "FILE", "its key, without a passphrase",
     INTO(wish, daemon.driver.credentials.key)},
    {"peer-ca", 0, "FILE", "who must have signed the certificates of all nodes",
     INTO(wish, daemon.driver.credentials.ca)},
    {"auth-file", 0, "FILE",
     "its first line is the password of clients; needed if they are on another machine",
     INTO(wish, auth_file)},
    TLS_ROWS(wish),
    {"max-bytes", 0, "BYTES", "that the data may take", INTO(wish, daemon.driver.max_bytes),
     .least = 1 << 20, .max = 1ULL << 42, .unit = "bytes", .usual = "1073741824"},
    {"drain", 0, "MS",
     "on SIGTERM, wait so long for sections held here, and give tokens to other nodes; 0: end at "
     "once",
     INTO(wish, serve.drain), .max = 3600000, .unit = "milliseconds", .usual = "3000"},
    {"config", 0, "FILE",
     "settings, a line for each: KEY = VALUE, named as these options are; what is given here wins",
     INTO(wish, config), .no_setting = true},
    {"check-config", 0, NULL, "say whether all this makes sense, and end", INTO(wish, only_check)},
    {"log-level", 0, "LEVEL", "error, warn, info or debug", INTO(wish, serve.level),
     .choices = LOG_LEVELS, .usual = "info"},
    {0},
};
static_assert(STORE_DISK == 0 && STORE_MEMORY == 1, "in the order of --durability");

const command_line node_line = {
    .program = "baton node",
    .usage = "--id ID --peers ID=HOST:PORT,... --data DIR [OPTION...]",
    .intro = "Runs one node of a cluster: locks that survive the crash of a minority of nodes, and "
             "for each a key-value store that only its holder may change.",
    .rows = rows,
    .end = "Ends on SIGINT and SIGTERM; at once, on a second one.",
};

/* Whether clients, and who looks at the pages, are all on this machine. */
static bool serves_locally(const wish *w)
{
    for (uint32_t i = 0; i < w->serve.addresses; i++)
        if (!listen_is_local(w->serve.address[i]))
            return false;
    return w->serve.http == NULL || listen_is_local(w->serve.http);
}

/* Whether something of that kind begins there, as OpenSSL looks for it. */
static bool has_pem(FILE *file, const char *kind)
{
    char line[128];
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "-----BEGIN ", 11) == 0 && strstr(line, kind) != NULL)
            return true;
    return false;
}

/* EXIT_DONE if it is a file that has something of that kind in it. */
static int check_file(const char *path, const char *kind)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fprintf(stderr, "baton node: cannot read %s: %s\n", path, strerror(errno));
        return EXIT_FAILED;
    }
    bool fine = has_pem(file, kind);
    fclose(file);
    if (!fine)
        fprintf(stderr, "baton node: %s has no %s in PEM: a text with a line -----BEGIN %s-----\n",
                path, kind, kind);
    return fine ? EXIT_DONE : EXIT_FAILED;
}

/* What TLS between nodes needs is there. */
static int check_peers(const wish *w)
{
    const peer_credentials *by = &w->daemon.driver.credentials;
    const char *const files[] = {by->cert, by->key, by->ca};
    static const char *const kinds[] = {"CERTIFICATE", "PRIVATE KEY", "CERTIFICATE"};
    int given = (by->cert != NULL) + (by->key != NULL) + (by->ca != NULL);
    if (given != 0 && given != 3)
        return options_wrong(&node_line, "--peer-cert, --peer-key and --peer-ca go together");
    if (given != 0 && w->secret_file != NULL)
        return options_wrong(&node_line, "nodes have a secret or certificates, not both");
    if (given == 0 && w->secret_file == NULL && !driver_is_local(&w->daemon.driver))
        return options_wrong(&node_line, "nodes on other machines need --secret-file, or "
                                         "--peer-cert, --peer-key and --peer-ca");
    int code = EXIT_DONE;
    for (int i = 0; i < given && code == EXIT_DONE; i++)
        code = check_file(files[i], kinds[i]);
    return code;
}

/* What TLS to etcd needs is readable, and of use. */
static int check_files(const etcd_settings *e)
{
    const char *const files[] = {e->ca, e->cert, e->key};
    static const char *const kinds[] = {"CERTIFICATE", "CERTIFICATE", "PRIVATE KEY"};
    bool tls = false;
    for (uint32_t i = 0; i < e->urls.count; i++)
        tls = tls || e->urls.url[i].tls;
    if ((e->cert == NULL) != (e->key == NULL))
        return options_wrong(&node_line, "--etcd-cert and --etcd-key go together");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i] == NULL)
            continue;
        if (!tls)
            return options_wrong(&node_line, "--etcd-ca, --etcd-cert and --etcd-key are for "
                                             "--consensus etcd=https://HOST:PORT");
        int code = check_file(files[i], kinds[i]);
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}

/* paxos, or etcd=URL,... or etcd/NAME=URL,... */
static int choose_engine(wish *w)
{
    char engine[PEERS_MAX_ENGINE + 1];
    char words[ETCD_URLS_COMPLAINT];
    const char *equals = strchr(w->consensus, '=');
    if (strcmp(w->consensus, "paxos") == 0)
        return check_files(&w->daemon.etcd);
    size_t length = equals != NULL ? (size_t)(equals - w->consensus) : 0;
    if (length == 0 || length > PEERS_MAX_ENGINE)
        return options_wrong(&node_line,
                             "--consensus is paxos, or etcd=http://HOST:PORT, or with a name "
                             "of up to 24 characters etcd/NAME=http://HOST:PORT");
    memcpy(engine, w->consensus, length);
    engine[length] = '\0';
    if (!peers_set_engine(&w->daemon.driver.peers, engine))
        return options_wrong(&node_line,
                             "'%s' is no engine of consensus: paxos, etcd or etcd/NAME; a "
                             "name is of a-z, 0-9 and '-'",
                             engine);
    return etcd_urls_parse(&w->daemon.etcd.urls, equals + 1, words)
               ? check_files(&w->daemon.etcd)
               : options_wrong(&node_line, "%s", words);
}

/* EXIT_DONE if all that was asked for makes sense together. */
static int check(wish *w)
{
    char words[PEERS_COMPLAINT];
    if (w->id == NULL || w->peers == NULL || w->daemon.driver.data == NULL)
        return options_wrong(&node_line, "--id, --peers and --data are needed");
    if (!peers_parse(&w->daemon.driver.peers, w->peers, w->id, words))
        return options_wrong(&node_line, "%s", words);
    if (words[0] != '\0')
        fprintf(stderr, "baton node: %s\n", words);
    if (w->auth_file == NULL && !serves_locally(w))
        return options_wrong(&node_line, "clients on other machines need --auth-file");
    const char *wrong = wrong_tls(&w->serve, w->auth_file);
    if (wrong != NULL)
        return options_wrong(&node_line, "%s", wrong);
    int code = check_peers(w);
    return code == EXIT_DONE ? choose_engine(w) : code;
}

/* NULL, and *code is not EXIT_DONE, if there is a file and nothing in it. */
static char *first_line(const char *file, int *code)
{
    char *line = file != NULL ? read_password("node", file) : NULL;
    if (file != NULL && line == NULL)
        *code = EXIT_FAILED;
    return line;
}

static int serve_node_of(wish *w, const char *password, const char *secret)
{
    w->serve.secret = password;
    w->daemon.driver.credentials.secret =
        (proof_secret){secret, secret != NULL ? strlen(secret) : 0};
    const char *trouble = serve(&w->serve);
    if (trouble != NULL)
        fprintf(stderr, "baton node: %s\n", trouble);
    return trouble == NULL ? EXIT_DONE : EXIT_FAILED;
}

static int run(wish *w)
{
    int code = EXIT_DONE;
    char *password = first_line(w->auth_file, &code);
    char *secret = first_line(w->secret_file, &code);
    if (code == EXIT_DONE && password != NULL && secret != NULL && strcmp(password, secret) == 0)
        code = options_wrong(&node_line, "the nodes' secret is the clients' password: a client "
                                         "could pose as a node; take another");
    if (code == EXIT_DONE && w->only_check)
        puts("fine");
    else if (code == EXIT_DONE)
        code = serve_node_of(w, password, secret);
    free(password);
    free(secret);
    return code;
}

/* EXIT_DONE, if there is a file of settings, after it was read. */
static int read_config(wish *w, options_got *got, char **text)
{
    static wish unused;
    unused = *w;
    return w->config == NULL ? EXIT_DONE
                             : config_read(&node_line, w->config, text, w, &unused, got);
}

int cmd_node(char **argv)
{
    static wish w = {.serve = {.backend = &serve_node,
                               .context = &w.daemon,
                               .loops = 1,
                               .max_connections = 10000,
                               .max_waiters = 10000,
                               .max_name = STORE_MAX_NAME,
                               .max_word = (size_t)2 * OP_MAX_VALUE, /* more is refused in words */
                               .max_output = 1 << 20}};
    options_got got;
    char *settings = NULL;
    int code;
    if (!read_options(&node_line, argv, &w, &got, &code))
        return code;
    code = read_config(&w, &got, &settings);
    if (code == EXIT_DONE)
        code = check(&w);
    if (code == EXIT_DONE)
        code = run(&w);
    free(settings);
    return code;
}
