/* See false_nodes.h. */
#include "false_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

actor actors[BOTH];
char list[300];
atomic_llong token;
atomic_bool is_odd;
atomic_int asked_of;

static char directory[] = "/tmp/baton-client-XXXXXX";

int nodes_begin(void **unused)
{
    (void)unused;
    return mkdtemp(directory) == NULL;
}

int nodes_end(void **unused)
{
    (void)unused;
    return rmdir(directory);
}

void node_path(const char *name, char *to, size_t bytes)
{
    snprintf(to, bytes, "%s/%s", directory, name);
}

/* ---- what they say ---- */

bool is(const asked *what, const char *verb)
{
    return strcmp(what->verb, verb) == 0;
}

bool say(asked *what, const char *text)
{
    snprintf(what->reply, sizeof what->reply, "%s", text);
    return true;
}

bool grant(asked *what)
{
    size_t bytes = strlen(what->reply);
    snprintf(what->reply + bytes, sizeof what->reply - bytes, ":%lld\r\n", ++token);
    return true;
}

void add_push(asked *what, const char *push)
{
    size_t bytes = strlen(what->reply);
    snprintf(what->reply + bytes, sizeof what->reply - bytes,
             ">3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n:%lld\r\n", strlen(push), push, strlen(what->name),
             what->name, (long long)token);
}

/* Whoever asks is let in, at once, whatever others have. */
static bool let_in(actor *me, asked *what)
{
    if (is(what, "RESUME"))
        me->resumed++;
    else if (!is(what, "TRY") && !is(what, "LOCK"))
        return false;
    return grant(what);
}

static bool answer(void *context, asked *what)
{
    actor *me = context;
    false_answer *answers = me->answers;
    return (answers != NULL && answers(me, what)) || let_in(me, what);
}

/* ---- begin and end ---- */

int false_set_up(void **unused)
{
    (void)unused;
    alarm(3 * PATIENCE_MS / 1000); /* lest it wait for ever */
    token = 100;
    is_odd = false;
    asked_of = 0;
    for (int i = 0; i < BOTH; i++) {
        actors[i] = (actor){.last = -1, .issued = -1};
        node_path(i == 0 ? "a" : "b", actors[i].path, sizeof actors[i].path);
        actors[i].server = false_server_start(actors[i].path, answer, &actors[i]);
    }
    snprintf(list, sizeof list, "%s,%s", actors[0].path, actors[1].path);
    return 0;
}

int false_tear_down(void **unused)
{
    (void)unused;
    for (int i = 0; i < BOTH; i++)
        false_server_end(actors[i].server);
    alarm(0);
    return 0;
}

int connections(void)
{
    return false_server_count(actors[0].server) + false_server_count(actors[1].server);
}

void await_count(const atomic_int *what, int count)
{
    for (int i = 0; i < PATIENCE_MS && *what < count; i++)
        rest(1);
    assert_int_equal(*what, count);
}
