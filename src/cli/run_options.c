/* `baton run`: what is asked for. */
#include "cli.h"
#include "run.h"

#include <string.h>

#define DAY (UINT64_C(86400) * 1000)
static const uint64_t SHORTEST_LEASE = 200;

static bool take_lease(void *into, const char *value)
{
    uint64_t *lease = &((run *)into)->lease;
    return parse_milliseconds(value, 0, DAY, lease) && (*lease == 0 || *lease >= SHORTEST_LEASE);
}

static const option_row rows[] = {
    {"at", 0, "ADDR[,ADDR...]",
     "server, HOST:PORT or the path of a Unix socket, or the nodes of a cluster; without it, a "
     "server for this user alone, started by itself",
     INTO(run, at), .env = "BATON_AT"},
    {"try", 0, NULL, "do not wait for the lock", INTO(run, try)},
    {"timeout", 0, "S", "wait so many seconds at most (for ever, in order of arrival)",
     INTO_SECONDS(run, timeout), .max = 365 * DAY},
    {"lease", 0, "S",
     "a holder that is silent for so long has lost the lock; 0: never (10; of a cluster 3)",
     .take = take_lease, .noun = "number from 0.2 to 86400, nor 0", .unit = "seconds"},
    {"grace", 0, "S",
     "from TERM to KILL when the lock is lost (a quarter of the lease; of a cluster 0.1)",
     INTO_SECONDS(run, grace), .max = DAY},
    {"on-lost", 0, "COMMAND", "then run this by the shell", INTO(run, on_lost)},
    ACCESS_ROWS(run, by),
    {"quiet", 'q', NULL, "suppress all messages except usage errors", INTO(run, quiet)},
    {0},
};

const command_line run_line = {
    .program = "baton run",
    .usage = "NAME [OPTION...] -- COMMAND [ARGUMENT...]",
    .intro = "Runs COMMAND while holding the lock NAME. Nobody else holds it meanwhile.",
    .rows = rows,
    .end = "COMMAND finds BATON_LOCK, BATON_TOKEN and BATON_AT in its environment, and if the lock "
           "is of a cluster, BATON_SESSION, for 'baton issue'.\n\n"
           "Exit code: that of COMMAND, or 128 + n if signal n ended it; 64 wrong usage, 69 no "
           "server, 75 not acquired, 76 lost, 126 not executable, 127 not found.",
    .least_words = 2,
    .max_words = OPTIONS_ANY,
    .takes = "it takes the name of a lock, and a command",
    .stop_after = 2, /* options may stand before and behind NAME; the rest is the command's */
};

bool run_options(run *r, char **argv)
{
    options_got got;
    if (!read_options(&run_line, argv, r, &got, &r->code))
        return false;
    r->name = got.word[0];
    r->command = got.word + 1;
    r->code = EXIT_DONE;
    if (r->name[0] == '\0' || strlen(r->name) >= BATON_CLIENT_NAME_BYTES)
        r->code = options_wrong(&run_line, "a name has 1 to %d bytes", BATON_CLIENT_NAME_BYTES - 1);
    else if (r->try && r->timeout != RUN_NOT_GIVEN)
        r->code = options_wrong(&run_line, "--try does not wait, so it takes no --timeout");
    return r->code == EXIT_DONE;
}
