/* Where commands look for servers and files: defaults, and paths that are too long to be true. */
#include "server_paths.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[] = "/tmp/baton-paths-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(scratch) == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

static void servers(void **state)
{
    (void)state;
    char socket_path[PATH_BYTES];
    setenv("XDG_RUNTIME_DIR", "/run/me", 1);
    assert_string_equal(path_server("a:1", socket_path), "a:1");
    assert_string_equal(path_server(NULL, socket_path), "/run/me/baton/socket");
    assert_string_equal(path_server("", socket_path), "/run/me/baton/socket");
    setenv("XDG_RUNTIME_DIR", "not/absolute", 1);
    char expected[64];
    snprintf(expected, sizeof expected, "/tmp/baton-%u/socket", (unsigned)getuid());
    assert_string_equal(path_server(NULL, socket_path), expected);
}

static void state_files(void **state)
{
    (void)state;
    char file[PATH_BYTES];
    char expected[128];
    snprintf(expected, sizeof expected, "%s/state/baton/tokens", scratch);
    char base[64];
    snprintf(base, sizeof base, "%s/state", scratch);
    setenv("XDG_STATE_HOME", base, 1);
    assert_true(path_state("tokens", file));
    assert_string_equal(file, expected);
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", scratch, 1);
    assert_true(path_state("tokens", file));
    snprintf(expected, sizeof expected, "%s/.local/state/baton/tokens", scratch);
    assert_string_equal(file, expected);
    unsetenv("HOME");
    assert_false(path_state("tokens", file));
}

/* Tokens must not be written to the file whose name is the beginning of the right one. */
static void long_state_files(void **state)
{
    (void)state;
    char file[PATH_BYTES];
    char base[2 * PATH_BYTES];
    size_t length = strlen(scratch);
    memcpy(base, scratch, length);
    while (length + 102 < 1000) {
        base[length++] = '/';
        memset(base + length, 'd', 100);
        length += 100;
    }
    base[length] = '\0';
    setenv("XDG_STATE_HOME", base, 1);
    assert_true(path_state("tokens", file));
    assert_int_equal(strlen(file), length + strlen("/baton/tokens"));
    for (size_t i = 0; i < PATH_BYTES; i++)
        base[i] = i % 2 == 0 ? '/' : 'd';
    base[PATH_BYTES] = '\0';
    setenv("XDG_STATE_HOME", base, 1);
    assert_false(path_state("tokens", file));
    unsetenv("XDG_STATE_HOME");
}

static void runtime_directories(void **state)
{
    (void)state;
    char directory[PATH_BYTES];
    setenv("XDG_RUNTIME_DIR", scratch, 1);
    path_runtime(directory);
    assert_null(path_runtime_make(directory));
    assert_null(path_runtime_make(directory)); /* is there already */
    assert_int_equal(chmod(directory, 0755), 0);
    assert_non_null(strstr(path_runtime_make(directory), "not a directory of yours alone"));
    assert_string_equal(path_runtime_make("/no/such/place"), "No such file or directory");
    unsetenv("XDG_RUNTIME_DIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers),
        cmocka_unit_test(state_files),
        cmocka_unit_test(long_state_files),
        cmocka_unit_test(runtime_directories),
    };
    return cmocka_run_group_tests_name("server_paths", tests, set_up, tear_down);
}
