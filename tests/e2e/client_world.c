/* The world around the tests of the client: a server, clients of it, and what they ask for. */
#include "client_world.h"
#include "port.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *baton;
static char state[200], data[200], directory[200];
static char peers[200];
static int client_port[NODES];
pid_t node[NODES];
char server_path[200], server_secret[200];
pid_t server;

int world_begin(const char *program, const char *scratch)
{
    baton = program;
    snprintf(directory, sizeof directory, "%s", scratch);
    snprintf(server_path, sizeof server_path, "%s/client-socket", scratch);
    snprintf(state, sizeof state, "%s/client-tokens", scratch);
    snprintf(data, sizeof data, "%s/client-data", scratch);
    snprintf(server_secret, sizeof server_secret, "%s/client-secret", scratch);
    int at = open(server_secret, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (at < 0 || write(at, "open sesame\n", 12) != 12)
        return -1;
    return close(at);
}

static int connect_raw(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, server_path);
    int at = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(at >= 0);
    if (connect(at, (struct sockaddr *)&address, sizeof address) == 0)
        return at;
    close(at);
    return -1;
}

/* And does not outlive the tests. */
static void become_quiet(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int log = open("/dev/null", O_WRONLY);
    dup2(log, 2);
}

static void await_server(void)
{
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        int at = connect_raw();
        if (at >= 0) {
            close(at);
            return;
        }
        rest(10);
    }
    fail_msg("the server does not answer");
}

void start_server(const char *auth_file)
{
    server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        become_quiet();
        execl(baton, baton, "serve", "--listen", server_path, "--state", state, "--loops", "2",
              auth_file != NULL ? "--auth-file" : NULL, auth_file, NULL);
        _exit(127);
    }
    await_server();
}

void start_node(void)
{
    char alone[64];
    snprintf(alone, sizeof alone, "a=127.0.0.1:%d", take_port());
    server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        become_quiet();
        execl(baton, baton, "node", "--id", "a", "--peers", alone, "--client", server_path,
              "--data", data, NULL);
        _exit(127);
    }
    await_server();
}

void stop_server(int with)
{
    kill(server, with);
    waitpid(server, NULL, 0);
}

/* ---- a cluster ---- */

const char *nodes_from(int first)
{
    static char list[NODES * sizeof directory];
    size_t bytes = 0;
    for (int i = 0; i < NODES; i++)
        bytes += (size_t)snprintf(list + bytes, sizeof list - bytes, "%s%s/node-%c",
                                  i > 0 ? "," : "", directory, 'a' + (first + i) % NODES);
    return list;
}

int node_port(int which)
{
    return client_port[which];
}

void revive_node(int which)
{
    char id[] = {(char)('a' + which), '\0'}, path[300], port[32], its_data[300];
    snprintf(path, sizeof path, "%s/node-%s", directory, id);
    snprintf(port, sizeof port, "127.0.0.1:%d", client_port[which]);
    snprintf(its_data, sizeof its_data, "%s/data-%s", directory, id);
    node[which] = fork();
    assert_true(node[which] >= 0);
    if (node[which] == 0) {
        become_quiet();
        execl(baton, baton, "node", "--id", id, "--peers", peers, "--client", path, "--client",
              port, "--data", its_data, NULL);
        _exit(127);
    }
}

/* It counts when it has heard of the others; until then it lets nobody in. */
static void await_node(int which)
{
    char address[300];
    uint64_t token;
    int result = BATON_BUSY;
    snprintf(address, sizeof address, "%s/node-%c", directory, 'a' + which);
    baton_client *c = open_at(address, (baton_client_options){0});
    for (int i = 0; i < PATIENCE_MS / 10 && result != BATON_OK; i++) {
        result = baton_client_lock(c, "first", PATIENCE_MS, &token);
        if (result != BATON_OK)
            rest(10);
    }
    assert_int_equal(result, BATON_OK);
    baton_client_close(c);
}

void start_cluster(void)
{
    size_t bytes = 0;
    for (int i = 0; i < NODES; i++) {
        client_port[i] = take_port();
        bytes += (size_t)snprintf(peers + bytes, sizeof peers - bytes, "%s%c=127.0.0.1:%d",
                                  i > 0 ? "," : "", 'a' + i, take_port());
    }
    for (int i = 0; i < NODES; i++)
        revive_node(i);
    for (int i = 0; i < NODES; i++)
        await_node(i);
}

void stop_cluster(void)
{
    for (int i = 0; i < NODES; i++) {
        if (node[i] <= 0)
            continue;
        kill(node[i], SIGKILL);
        waitpid(node[i], NULL, 0);
        node[i] = 0;
    }
}

int server_set_up(void **unused)
{
    (void)unused;
    start_server(NULL);
    return 0;
}

int server_tear_down(void **unused)
{
    (void)unused;
    stop_server(SIGTERM);
    return 0;
}

baton_client *open_with(baton_client_options options)
{
    return open_at(server_path, options);
}

baton_client *open_plain(void)
{
    return open_with((baton_client_options){0});
}

void release(const char *name, uint64_t token)
{
    char line[200], reply[64];
    int at = connect_raw();
    int length =
        snprintf(line, sizeof line, "RELEASE %s %llu\r\n", name, (unsigned long long)token);
    assert_int_equal(write(at, line, (size_t)length), length);
    ssize_t got = read(at, reply, sizeof reply);
    assert_true(got >= 4 && memcmp(reply, ":1\r\n", 4) == 0);
    close(at);
}

uint64_t refusals_reported(void)
{
    static const char ask[] = "INFO\r\nQUIT\r\n", figure[] = "refused_by_clients:";
    char text[4096];
    size_t bytes = 0;
    int at = connect_raw();
    assert_int_equal(write(at, ask, sizeof ask - 1), sizeof ask - 1);
    for (ssize_t got; (got = read(at, text + bytes, sizeof text - 1 - bytes)) > 0;)
        bytes += (size_t)got;
    close(at);
    text[bytes] = '\0';
    const char *found = strstr(text, figure);
    assert_non_null(found);
    return strtoull(found + strlen(figure), NULL, 10);
}
