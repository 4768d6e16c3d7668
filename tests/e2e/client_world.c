/* The world around the tests of the client: a server, clients of it, and what they ask for. */
#include "client_world.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *baton;
static char state[200];
char server_path[200], server_secret[200];
pid_t server;

int world_begin(const char *program, const char *scratch)
{
    baton = program;
    snprintf(server_path, sizeof server_path, "%s/client-socket", scratch);
    snprintf(state, sizeof state, "%s/client-tokens", scratch);
    snprintf(server_secret, sizeof server_secret, "%s/client-secret", scratch);
    int at = open(server_secret, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (at < 0 || write(at, "open sesame\n", 12) != 12)
        return -1;
    return close(at);
}

uint64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

void rest(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
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

void start_server(const char *auth_file)
{
    server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        int log = open("/dev/null", O_WRONLY);
        dup2(log, 2);
        execl(baton, baton, "serve", "--listen", server_path, "--state", state, "--loops", "2",
              auth_file != NULL ? "--auth-file" : NULL, auth_file, NULL);
        _exit(127);
    }
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

void stop_server(int with)
{
    kill(server, with);
    waitpid(server, NULL, 0);
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
    baton_client *c;
    options.address = server_path;
    int result = baton_client_open(&options, &c);
    if (result != BATON_OK)
        fail_msg("open: %s", baton_strerror(result));
    return c;
}

baton_client *open_plain(void)
{
    return open_with((baton_client_options){0});
}

uint64_t lock(baton_client *c, const char *name)
{
    uint64_t token = 0;
    assert_int_equal(baton_client_lock(c, name, PATIENCE_MS, &token), BATON_OK);
    assert_true(token > 0);
    return token;
}

/* The gate opens when the push has come. */
uint64_t try_until_free(baton_client *c, const char *name)
{
    uint64_t token = 0;
    int result = BATON_BUSY;
    for (int i = 0; i < PATIENCE_MS && result == BATON_BUSY; i++) {
        result = baton_client_try(c, name, &token);
        if (result == BATON_BUSY)
            rest(1);
    }
    assert_int_equal(result, BATON_OK);
    return token;
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

void await_lost(baton_client *c, const char *name, uint64_t token)
{
    char lost_name[BATON_CLIENT_NAME_BYTES];
    uint64_t lost_token;
    struct pollfd fd = {.fd = baton_client_fd(c), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
    assert_false(baton_client_holds(c, name, token));
    assert_int_equal(baton_client_lost(c, lost_name, &lost_token), BATON_OK);
    assert_string_equal(lost_name, name);
    assert_true(lost_token == token);
    assert_int_equal(baton_client_lost(c, lost_name, &lost_token), BATON_BUSY);
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(baton_client_exit(c, name, token), BATON_LOST);
}
