/* Addresses of servers: which are some, which are of this machine only, who may listen there. */
#include "listen.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char directory[] = "/tmp/baton-listen-XXXXXX";
static char path[100];

static int set_up(void **state)
{
    (void)state;
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/socket", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

/* ---- addresses ---- */

static void test_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *address;
        bool is_tcp, is_local;
    } rows[] = {
        {"127.0.0.1:7700", true, true},
        {"127.255.255.255:0", true, true},
        {"126.0.0.1:1", true, false},
        {"128.0.0.1:1", true, false},
        {"0.0.0.0:65535", true, false},
        {"localhost:1", true, true},
        {"[::1]:1", true, true},
        {"::1:1", true, true},
        {"[::]:1", true, false},
        {"[::2]:1", true, false},
        {"/tmp/socket", false, true},
        {"./a:1", false, true},
        {"127.0.0.1", false, false},
        {"127.0.0.1:", false, false},
        {"127.0.0.1:65536", false, false},
        {"127.0.0.1:-1", false, false},
        {"127.0.0.1:1x", false, false},
        {":1", false, false},
        {"", false, false},
        {"[::1:1", false, false},
        {"::1]:1", false, false},
        {"elsewhere:1", false, false},
        {"000000000000000000000000000000000000000000000000000000000127.0.0.1:1", false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(listen_is_tcp(rows[i].address), rows[i].is_tcp);
        assert_int_equal(listen_is_local(rows[i].address), rows[i].is_local);
    }
}

/* ---- a socket for who accepts by himself ---- */

static void expect_port(const char *name, const char *before)
{
    assert_memory_equal(name, before, strlen(before));
    int port = atoi(name + strlen(before));
    assert_true(port > 0 && port < 65536);
}

static void test_socket(void **state)
{
    (void)state;
    char name[LISTEN_NAME_BYTES], again[LISTEN_NAME_BYTES];
    int at = listen_socket("127.0.0.1:0", name);
    assert_true(at >= 0);
    expect_port(name, "127.0.0.1:");
    assert_true((fcntl(at, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(listen_socket(name, again), -1);
    assert_int_equal(errno, EADDRINUSE);
    struct sockaddr_in there = {.sin_family = AF_INET};
    there.sin_port = htons((uint16_t)atoi(strchr(name, ':') + 1));
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int caller = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(caller, (struct sockaddr *)&there, sizeof there), 0);
    close(caller);
    close(at);
    at = listen_socket(name, again); /* though the last connection is not forgotten yet */
    assert_true(at >= 0);
    assert_string_equal(again, name);
    close(at);
    at = listen_socket("[::1]:0", name);
    if (at >= 0) /* a machine may have no such addresses */
        expect_port(name, "[::1]:");
    close(at);
    errno = 0;
    assert_int_equal(listen_socket(path, name), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(listen_socket("nothing", name), -1);
    assert_int_equal(errno, EINVAL);
}

/* ---- listening ---- */

static int accepted, accepted_unix;

static void accept_it(void *context, int socket, address_kind kind)
{
    assert_ptr_equal(context, &accepted);
    assert_true((fcntl(socket, F_GETFD) & FD_CLOEXEC) != 0);
    send(socket, "hello", 5, MSG_NOSIGNAL); /* it may be one who only looks, and is gone */
    close(socket);
    accepted++;
    accepted_unix += kind == ADDRESS_UNIX;
}

static listeners *open_some(uv_loop_t *loop, const char *const *address, uint32_t count,
                            char complaint[COMPLAINT])
{
    complaint[0] = '\0';
    return listen_open(loop, address, count, accept_it, &accepted, complaint);
}

static int call_path(void)
{
    struct sockaddr_un there = {.sun_family = AF_UNIX};
    snprintf(there.sun_path, sizeof there.sun_path, "%s", path);
    int caller = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(caller, (struct sockaddr *)&there, sizeof there) == 0)
        return caller;
    close(caller);
    return -1;
}

static int call_port(const listeners *all)
{
    struct sockaddr_in there;
    socklen_t bytes = sizeof there;
    int caller = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(getsockname(listen_descriptor(all), (struct sockaddr *)&there, &bytes), 0);
    assert_int_equal(connect(caller, (struct sockaddr *)&there, sizeof there), 0);
    return caller;
}

static void expect_hello(uv_loop_t *loop, int caller, bool is_unix)
{
    char said[8] = "";
    ssize_t got;
    accepted = accepted_unix = 0;
    while ((got = recv(caller, said, sizeof said - 1, MSG_DONTWAIT)) < 0)
        uv_run(loop, UV_RUN_ONCE);
    assert_int_equal(got, 5);
    assert_string_equal(said, "hello");
    uv_run(loop, UV_RUN_NOWAIT);
    assert_int_equal(read(caller, said, 1), 0); /* and nobody else has it open */
    assert_int_equal(accepted_unix, is_unix ? accepted : 0);
    close(caller);
}

static void end_all(uv_loop_t *loop, listeners *all)
{
    listen_close(all);
    listen_close(all); /* no harm */
    uv_run(loop, UV_RUN_DEFAULT);
    listen_free(all);
}

static void test_listening(void **state)
{
    (void)state;
    char complaint[COMPLAINT];
    const char *const both[] = {"127.0.0.1:0", path};
    struct stat info;
    uv_loop_t loop;
    uv_loop_init(&loop);
    listeners *all = open_some(&loop, both, 2, complaint);
    assert_non_null(all);
    expect_hello(&loop, call_port(all), false);
    expect_hello(&loop, call_path(), true);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 077, 0); /* for this user only */
    end_all(&loop, all);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* There may be a server already, what one has left behind, or what is none of our business. */
static void test_paths_in_use(void **state)
{
    (void)state;
    char complaint[COMPLAINT];
    const char *const one[] = {path};
    struct stat info;
    uv_loop_t loop;
    uv_loop_init(&loop);
    listeners *all = open_some(&loop, one, 1, complaint);
    assert_non_null(all);
    assert_null(open_some(&loop, one, 1, complaint));
    assert_non_null(strstr(complaint, "cannot listen at /tmp/"));
    expect_hello(&loop, call_path(), true); /* it is left alone */
    end_all(&loop, all);
    int left = socket(AF_UNIX, SOCK_STREAM, 0); /* as if a server had been killed */
    struct sockaddr_un there = {.sun_family = AF_UNIX};
    snprintf(there.sun_path, sizeof there.sun_path, "%s", path);
    unlink(path);
    assert_int_equal(bind(left, (struct sockaddr *)&there, sizeof there), 0);
    close(left);
    all = open_some(&loop, one, 1, complaint);
    assert_non_null(all);
    expect_hello(&loop, call_path(), true);
    end_all(&loop, all);
    unlink(path);
    close(open(path, O_WRONLY | O_CREAT, 0600)); /* a file */
    assert_null(open_some(&loop, one, 1, complaint));
    assert_int_equal(stat(path, &info), 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Some could be opened: these are closed again. */
static void test_one_of_several_is_wrong(void **state)
{
    (void)state;
    char complaint[COMPLAINT];
    const char *const some[] = {path, "127.0.0.1:0", "nonsense"};
    uv_loop_t loop;
    uv_loop_init(&loop);
    assert_null(open_some(&loop, some, 3, complaint));
    assert_string_equal(complaint, "cannot listen at nonsense: it is no HOST:PORT, nor the path of "
                                   "a socket");
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(call_path(), -1);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* ---- who calls ---- */

static void test_peer(void **state)
{
    (void)state;
    char name[LISTEN_NAME_BYTES], at[LISTEN_NAME_BYTES];
    uv_loop_t loop;
    uv_tcp_t tcp;
    uv_loop_init(&loop);
    int server = listen_socket("127.0.0.1:0", at);
    struct sockaddr_in there = {.sin_family = AF_INET};
    there.sin_port = htons((uint16_t)atoi(strchr(at, ':') + 1));
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int caller = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(caller, (struct sockaddr *)&there, sizeof there), 0);
    uv_tcp_init(&loop, &tcp);
    listen_peer_name(&tcp, name, sizeof name);
    assert_string_equal(name, "?"); /* it is nobody yet */
    assert_int_equal(uv_tcp_open(&tcp, caller), 0);
    listen_peer_name(&tcp, name, sizeof name);
    assert_string_equal(name, at);
    uv_close((uv_handle_t *)&tcp, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    close(server);
}

#define in_a_directory(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        in_a_directory(test_socket),
        in_a_directory(test_listening),
        in_a_directory(test_paths_in_use),
        in_a_directory(test_one_of_several_is_wrong),
        cmocka_unit_test(test_peer),
    };
    return cmocka_run_group_tests_name("listen", tests, NULL, NULL);
}
