/* The end of a client: in its own process, in a child of that, and by a child in its place. */
#include "false_nodes.h"
#include "farewell.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool count_exits(void *context, asked *what)
{
    (void)context;
    asked_of += is(what, "EXIT");
    return false;
}

/* However many there are, and however long their names. */
void all_that_is_held_is_left(void **unused)
{
    (void)unused;
    enum { MANY = 100 };
    char name[BATON_CLIENT_NAME_BYTES];
    uint64_t mine;
    actors[0].answers = count_exits;
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < MANY; i++) {
        char number[16];
        snprintf(number, sizeof number, "%03d", i);
        memcpy(name, number, 3);
        assert_int_equal(baton_client_try(c, name, &mine), BATON_OK);
    }
    baton_client_close(c);
    assert_int_equal(asked_of, MANY);
}

/* Closes it twice; whatever has the numbers of its descriptors by then stays open. */
static int close_twice(baton_client *c)
{
    enum { MANY = 64 };
    int mine[MANY], wrong = 0;
    alarm(PATIENCE_MS / 1000);
    int fd = baton_client_fd(c);
    wrong += fcntl(fd, F_GETFD) < 0;
    baton_client_close(c);
    wrong += fcntl(fd, F_GETFD) >= 0;
    for (int i = 0; i < MANY; i++)
        mine[i] = dup(STDIN_FILENO);
    baton_client_close(c);
    for (int i = 0; i < MANY; i++)
        wrong += fcntl(mine[i], F_GETFD) < 0;
    return wrong;
}

void child_that_closes_twice(void **unused)
{
    (void)unused;
    int status;
    baton_client *c = open_at(actors[0].path, (baton_client_options){0});
    uint64_t mine = lock(c, "held");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(close_twice(c));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(increment(c, "held", mine), BATON_OK); /* its parent goes on */
    assert_int_equal(baton_client_exit(c, "held", mine), BATON_OK);
    baton_client_close(c);
}

static bool hear_farewell(void *context, asked *what)
{
    actor *me = context;
    if (is(what, "RESUME"))
        return say(what, "-SUSPENDED this node sees no majority\r\n");
    what->cuts = is_odd;
    if (!is(what, "QUIT"))
        return is_odd;
    me->last = what->over;
    asked_of++;
    return true;
}

/* Over the connection that holds the lock, and no other. */
void farewell_is_said_where_it_is_held(void **unused)
{
    (void)unused;
    uint64_t tried;
    actors[0].answers = actors[1].answers = hear_farewell;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = 60000});
    assert_int_equal(baton_client_try(c, "tried", &tried), BATON_OK);
    uint64_t waited = lock(c, "waited");
    client_farewell(client_socket_of(c, "waited", waited));
    await_count(&asked_of, 1);
    assert_int_equal(actors[0].last, 1);
    client_farewell(client_socket_of(c, "tried", tried));
    await_count(&asked_of, 2);
    assert_int_equal(actors[0].last, 0);
    assert_int_equal(client_socket_of(c, "tried", waited), -1);
    assert_int_equal(client_socket_of(c, "other", tried), -1);
    is_odd = true;
    assert_int_equal(increment(c, "waited", waited), BATON_UNREACHABLE);
    assert_true(baton_client_holds(c, "waited", waited)); /* but over no connection for now */
    assert_int_equal(client_socket_of(c, "waited", waited), -1);
    is_odd = false;
    actors[1].answers = NULL;
    assert_int_equal(baton_client_exit(c, "waited", waited), BATON_OK);
    baton_client_close(c);
}
