/* `baton status`: asks the nodes of a cluster how they are. */
#include "status.h"
#include "cli.h"
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the command line wants. */
typedef struct wish {
    const char *at;
    server_access by;
    bool as_json, locks;
} wish;

static const option_row rows[] = {
    {"at", 0, "ADDR[,ADDR...]",
     "where clients of each node connect: HOST:PORT, or the path of a Unix socket", INTO(wish, at),
     .env = "BATON_AT"},
    {"locks", 0, NULL, "list their locks as well, 1000 of each node at most", INTO(wish, locks)},
    ACCESS_ROWS(wish, by),
    {"json", 0, NULL, "the same as JSON, with the locks", INTO(wish, as_json)},
    {0},
};

const command_line status_line = {
    .program = "baton status",
    .usage = "--at ADDR[,ADDR...] [OPTION...]",
    .intro = "Asks the nodes of a cluster how they are.",
    .rows = rows,
    .end =
        "Columns: REACHES and SUSPECTS, other nodes, as this one sees them; HELD and WAITING, "
        "through this node; OPERATIONS, executed since it was started; LAG, operations that "
        "another of those asked has executed and this one has not yet, over the locks that both "
        "list; CONSENSUS, what decides when a node is taken for dead, with a '!' if it cannot be "
        "reached.\n\n"
        "Exit code: 0 all is well, 1 a node is down, suspected, or still rejoining, or etcd "
        "cannot be reached, 64 wrong usage, 69 no node can be reached.",
};

/* ---- showing ---- */

static const char *or_dash(const char *text)
{
    return text[0] != '\0' ? text : "-";
}

static bool misses_etcd(const status_node *n)
{
    return strncmp(n->consensus, "etcd", 4) == 0 && n->etcd_reached == 0;
}

static void print_nodes(const status_node *nodes, uint32_t count)
{
    printf("%-24s %-8s %-7s %-12s %-12s %8s %6s %8s %11s %6s %s\n", "ADDRESS", "NODE", "STATE",
           "REACHES", "SUSPECTS", "LOCKS", "HELD", "WAITING", "OPERATIONS", "LAG", "CONSENSUS");
    for (uint32_t i = 0; i < count; i++) {
        const status_node *n = &nodes[i];
        if (!n->up) {
            printf("%-24s %-8s down\n", n->address, "-");
            continue;
        }
        printf("%-24s %-8s %-7s %-12s %-12s %8" PRIu64 " %6" PRIu64 " %8" PRIu64 " %11" PRIu64
               " %6" PRIu64 " %s%s\n",
               n->address, or_dash(n->id), n->state[0] != '\0' ? n->state : "up",
               or_dash(n->reached), or_dash(n->suspected), n->locks, n->held, n->waiting,
               n->operations, n->lag, or_dash(n->consensus), misses_etcd(n) ? "!" : "");
    }
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i].why[0] != '\0')
            printf("%s: %s\n", or_dash(nodes[i].id), nodes[i].why);
}

static void print_locks(const status_node *nodes, uint32_t count)
{
    printf("\n%-8s %7s %9s %-8s %-12s %10s %5s %8s %s\n", "NODE", "EPOCH", "SN", "OWNER", "STATE",
           "EXECUTED", "HELD", "WAITING", "LOCK");
    for (uint32_t i = 0; i < count; i++) {
        const status_node *n = &nodes[i];
        for (uint64_t k = 0; k < n->listed; k++) {
            const status_lock *l = &n->lock[k];
            printf("%-8s %7" PRIu64 " %9" PRIu64 " %-8s %-12s %10" PRIu64 " %5s %8" PRIu64 " %s\n",
                   n->id, l->epoch, l->sn, l->owner, l->state, l->executed,
                   l->held != 0 ? "yes" : "-", l->waiting, l->name);
        }
        if (n->listed < n->locks)
            printf("%-8s and %" PRIu64 " more\n", n->id, n->locks - n->listed);
    }
}

static void json_ids(json *j, const char *key, const char *ids)
{
    char copy[STATUS_TEXT];
    char *rest = copy;
    snprintf(copy, sizeof copy, "%s", ids);
    json_open(j, key, '[');
    for (char *id; ids[0] != '\0' && (id = strsep(&rest, ",")) != NULL;)
        json_string(j, NULL, id);
    json_close(j, ']');
}

static void json_lock(json *j, const status_lock *l)
{
    json_open(j, NULL, '{');
    json_string(j, "name", l->name);
    json_integer(j, "epoch", l->epoch);
    json_integer(j, "sn", l->sn);
    json_string(j, "owner", l->owner);
    json_string(j, "state", l->state);
    json_integer(j, "executed", l->executed);
    json_bool(j, "held", l->held != 0);
    json_integer(j, "waiting", l->waiting);
    json_close(j, '}');
}

static void json_node(json *j, const status_node *n)
{
    json_open(j, NULL, '{');
    json_string(j, "address", n->address);
    json_bool(j, "up", n->up);
    if (n->up) {
        json_string(j, "node", n->id);
        json_ids(j, "nodes", n->nodes);
        json_ids(j, "reached", n->reached);
        json_ids(j, "suspected", n->suspected);
        json_string(j, "state", n->state);
        json_string(j, "why", n->why);
        json_string(j, "consensus", n->consensus);
        if (strncmp(n->consensus, "etcd", 4) == 0) {
            json_bool(j, "etcd_reached", n->etcd_reached != 0);
            json_integer(j, "etcd_asked", n->etcd_asked);
            json_integer(j, "etcd_unanswered", n->etcd_unanswered);
            json_integer(j, "etcd_refused", n->etcd_refused);
        }
        json_integer(j, "locks", n->locks);
        json_integer(j, "held", n->held);
        json_integer(j, "waiting", n->waiting);
        json_integer(j, "operations", n->operations);
        json_integer(j, "lag", n->lag);
        json_integer(j, "ejected", n->ejected);
        json_integer(j, "epochs", n->epochs);
        json_integer(j, "messages_sent", n->sent);
        json_integer(j, "messages_received", n->received);
        json_integer(j, "messages_dropped", n->dropped);
        json_integer(j, "commits", n->commits);
        json_integer(j, "bytes", n->bytes);
        json_integer(j, "max_bytes", n->max_bytes);
        json_open(j, "listed", '[');
        for (uint64_t k = 0; k < n->listed; k++)
            json_lock(j, &n->lock[k]);
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void print_json(const status_node *nodes, uint32_t count)
{
    json j = json_start(stdout);
    json_open(&j, NULL, '[');
    for (uint32_t i = 0; i < count; i++)
        json_node(&j, &nodes[i]);
    json_close(&j, ']');
}

/* ---- asking ---- */

/* The addresses of a list; 0 if there is none, or too many. */
static uint32_t split(const char *list, status_node *nodes)
{
    uint32_t count = 0;
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        if (length == 0 || length >= sizeof nodes[0].address || count == STATUS_MAX_NODES)
            return 0;
        memcpy(nodes[count++].address, list, length);
        list += length;
        if (*list == ',' && *++list == '\0')
            return 0;
    }
    return count;
}

static int run(const wish *w)
{
    status_node *nodes = calloc(STATUS_MAX_NODES, sizeof *nodes);
    if (nodes == NULL)
        return EXIT_FAILED;
    uint32_t count = split(w->at, nodes);
    if (count == 0) {
        free(nodes);
        return options_wrong(&status_line, "--at takes 1 to %d addresses with commas between",
                             STATUS_MAX_NODES);
    }
    uint32_t up = 0;
    bool trouble = false;
    for (uint32_t i = 0; i < count; i++) {
        up += status_ask(&nodes[i], &w->by);
        trouble |=
            nodes[i].suspected[0] != '\0' || nodes[i].why[0] != '\0' || misses_etcd(&nodes[i]);
    }
    status_compare(nodes, count);
    if (w->as_json)
        print_json(nodes, count);
    else
        print_nodes(nodes, count);
    if (w->locks && !w->as_json)
        print_locks(nodes, count);
    for (uint32_t i = 0; i < count; i++)
        status_free(&nodes[i]);
    free(nodes);
    int error = finish_output("status");
    if (error != EXIT_DONE)
        return error;
    if (up == 0)
        return EXIT_UNREACHABLE;
    return up < count || trouble ? EXIT_FAILED : EXIT_DONE;
}

int cmd_status(char **argv)
{
    wish w = {0};
    options_got got;
    int code;
    if (!read_options(&status_line, argv, &w, &got, &code))
        return code;
    if (w.at == NULL)
        return options_wrong(&status_line, "--at is needed");
    return run(&w);
}
