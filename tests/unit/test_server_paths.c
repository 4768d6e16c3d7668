/* Where commands look for servers and files: defaults, and paths that are too long to be true. */
#include "server_paths.h"
#include "unit.h"

#include <fcntl.h>
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

/* A directory in the scratch directory, mode 700. */
static const char *make_in_scratch(const char *name)
{
    static char made[128];
    snprintf(made, sizeof made, "%s/%s", scratch, name);
    mkdir(made, 0700);
    return made;
}

static void servers(void **state)
{
    (void)state;
    char socket_path[PATH_BYTES];
    setenv("BATON_RUNTIME_DIR", "/run/me", 1);
    assert_string_equal(path_server("a:1", socket_path), "a:1");
    assert_string_equal(path_server(NULL, socket_path), "/run/me/socket");
    assert_string_equal(path_server("", socket_path), "/run/me/socket");
    unsetenv("BATON_RUNTIME_DIR");
}

/* A login, which has XDG_RUNTIME_DIR, and cron, which has nothing, find the same directory. */
static void runtime_depends_on_the_user(void **state)
{
    (void)state;
    char users[128], name[32], directory[PATH_BYTES], own[PATH_BYTES], in_tmp[64];
    snprintf(users, sizeof users, "%s", make_in_scratch("users"));
    snprintf(name, sizeof name, "users/%u", (unsigned)getuid());
    snprintf(own, sizeof own, "%s/%u/baton", users, (unsigned)getuid());
    snprintf(in_tmp, sizeof in_tmp, "/tmp/baton-%u", (unsigned)getuid());
    setenv("XDG_RUNTIME_DIR", make_in_scratch("xdg"), 1);
    path_runtime_among(users, directory); /* it is not there */
    assert_memory_equal(directory, scratch, strlen(scratch));
    assert_string_equal(directory + strlen(scratch), "/xdg/baton");
    make_in_scratch(name);
    path_runtime_among(users, directory);
    assert_string_equal(directory, own);
    unsetenv("XDG_RUNTIME_DIR");
    path_runtime_among(users, directory);
    assert_string_equal(directory, own);
    path_runtime_among("/no/such/place", directory);
    assert_string_equal(directory, in_tmp);
    static const char *const not_ours[] = {"", "not/absolute", "/no/such/place", "/proc/version"};
    for (size_t i = 0; i < sizeof not_ours / sizeof not_ours[0]; i++) {
        setenv("XDG_RUNTIME_DIR", not_ours[i], 1);
        path_runtime_among("/no/such/place", directory);
        assert_string_equal(directory, in_tmp);
    }
    setenv("BATON_RUNTIME_DIR", "/chosen", 1);
    path_runtime_among(users, directory);
    assert_string_equal(directory, "/chosen");
    setenv("BATON_RUNTIME_DIR", "not/absolute", 1);
    path_runtime_among(users, directory);
    assert_string_equal(directory, own);
    unsetenv("BATON_RUNTIME_DIR");
    unsetenv("XDG_RUNTIME_DIR");
}

/* Only root can make what belongs to another user. */
static void runtime_of_another_user(void **state)
{
    (void)state;
    enum { ANOTHER = 12345 };
    char users[128], name[32], directory[PATH_BYTES], xdg[128];
    if (getuid() != 0)
        skip();
    snprintf(users, sizeof users, "%s", make_in_scratch("squatted"));
    snprintf(name, sizeof name, "squatted/%u", (unsigned)getuid());
    assert_int_equal(chown(make_in_scratch(name), ANOTHER, ANOTHER), 0);
    snprintf(xdg, sizeof xdg, "%s", make_in_scratch("another's"));
    assert_int_equal(chown(xdg, ANOTHER, ANOTHER), 0);
    setenv("XDG_RUNTIME_DIR", xdg, 1);
    path_runtime_among(users, directory);
    assert_memory_equal(directory, "/tmp/baton-", strlen("/tmp/baton-"));
    const char *wrong = path_runtime_make(xdg);
    assert_non_null(wrong);
    assert_non_null(strstr(wrong, "belongs to another user; set BATON_RUNTIME_DIR"));
    unsetenv("XDG_RUNTIME_DIR");
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
    snprintf(directory, sizeof directory, "%s/runtime", scratch);
    assert_null(path_runtime_make(directory));
    assert_null(path_runtime_make(directory)); /* is there already */
    assert_int_equal(chmod(directory, 0755), 0);
    assert_non_null(strstr(path_runtime_make(directory), "not a directory of yours alone"));
    assert_string_equal(path_runtime_make("/no/such/place"), "No such file or directory");
    snprintf(directory, sizeof directory, "%s/file", scratch);
    int file = creat(directory, 0600);
    assert_true(file >= 0);
    close(file);
    assert_non_null(strstr(path_runtime_make(directory), "not a directory of yours alone"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers),
        cmocka_unit_test(state_files),
        cmocka_unit_test(long_state_files),
        cmocka_unit_test(runtime_directories),
        cmocka_unit_test(runtime_depends_on_the_user),
        cmocka_unit_test(runtime_of_another_user),
    };
    return cmocka_run_group_tests_name("server_paths", tests, set_up, tear_down);
}
