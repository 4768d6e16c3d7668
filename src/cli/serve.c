/* `baton serve`: reads the command line, and serves. */
#include "serve.h"
#include "cli.h"
#include "listen.h"
#include "server_options.h"
#include "server_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct wish {
    serve_settings serve; /* first: see take_http */
    const char *auth_file;
} wish;

static const option_row rows[] = {
    {"listen", 'l', "ADDR",
     "HOST:PORT, tls://HOST:PORT, or the path of a Unix socket; may be repeated",
     INTO_LIST(wish, serve.address, serve.addresses), .usual = "127.0.0.1:7700"},
    {"http", 0, "PORT|HOST:PORT", "/health, and /metrics for Prometheus; no password is asked for",
     .take = take_http, .noun = "port, nor HOST:PORT", .unit = "either"},
    {"state", 0, "FILE", "where tokens are remembered over restarts ($XDG_STATE_HOME/baton/tokens)",
     INTO(wish, serve.state)},
    {"no-hold-back", 0, NULL,
     "after a crash, grant locks at once though others may still believe to hold them",
     INTO(wish, serve.at_once)},
    {"auth-file", 0, "FILE",
     "its first line is the password that AUTH must give; needed to listen beyond this machine",
     INTO(wish, auth_file)},
    TLS_ROWS(wish),
    {"loops", 0, "N", "event loops, each a thread (one for two processors)",
     INTO(wish, serve.loops), .least = 1, .max = MAX_LOOPS},
    {"idle-exit", 0, "MS", "end when nobody was connected for so long (never)",
     INTO(wish, serve.idle_exit), .max = 86400000, .unit = "milliseconds"},
    {"grace", 0, "MS", "how long a lost connection keeps its locks", INTO(wish, serve.grace),
     .max = 3600000, .unit = "milliseconds", .usual = "0"},
    {"max-connections", 0, "N", "connections at a time", INTO(wish, serve.max_connections),
     .least = 1, .max = 1000000, .usual = "10000"},
    {"max-waiters", 0, "N", "that may wait for one lock", INTO(wish, serve.max_waiters),
     .max = 1000000, .usual = "10000"},
    {"max-name", 0, "BYTES", "of the name of a lock", INTO(wish, serve.max_name), .least = 1,
     .max = 1000, .unit = "bytes", .usual = "512"},
    {"max-output", 0, "BYTES", "that a client may leave unread", INTO(wish, serve.max_output),
     .least = 4096, .max = 1U << 30, .unit = "bytes", .usual = "1048576"},
    {"log-level", 0, "LEVEL", "error, warn, info or debug", INTO(wish, serve.level),
     .choices = LOG_LEVELS, .usual = "info"},
    {0},
};

const command_line serve_line = {
    .program = "baton serve",
    .usage = "[OPTION...]",
    .intro = "Serves locks over the network, in the protocol of Redis. A losing try costs no "
             "message until the winner leaves.",
    .rows = rows,
    .end = "Ends on SIGINT, SIGTERM and SIGHUP. Try it: redis-cli -3 -p 7700 TRY mylock",
};

/* An address that others can reach, and that needs a password; NULL if there is none. */
static const char *public_address(const serve_settings *s)
{
    for (uint32_t i = 0; i < s->addresses; i++)
        if (!listen_is_local(s->address[i]))
            return s->address[i];
    return s->http != NULL && !listen_is_local(s->http) ? s->http : NULL;
}

static int run(serve_settings *s, const char *auth_file)
{
    static char state[PATH_BYTES];
    char *secret = NULL;
    const char *open_to_others = public_address(s);
    if (open_to_others != NULL && auth_file == NULL)
        return options_wrong(&serve_line,
                             "%s is no address of this machine alone; that needs --auth-file",
                             open_to_others);
    const char *wrong = wrong_tls(s, auth_file);
    if (wrong != NULL)
        return options_wrong(&serve_line, "%s", wrong);
    if (auth_file != NULL && (secret = read_password("serve", auth_file)) == NULL)
        return EXIT_FAILED;
    s->secret = secret;
    if (s->state == NULL && !path_state("tokens", state)) {
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

int cmd_serve(char **argv)
{
    long half = sysconf(_SC_NPROCESSORS_ONLN) / 2; /* the rest: the kernel's part, and clients */
    wish w = {.serve = {.backend = &serve_alone,
                        .loops = half < 1           ? 1
                                 : half > MAX_LOOPS ? MAX_LOOPS
                                                    : (uint32_t)half}};
    options_got got;
    int code;
    if (!read_options(&serve_line, argv, &w, &got, &code))
        return code;
    return run(&w.serve, w.auth_file);
}
